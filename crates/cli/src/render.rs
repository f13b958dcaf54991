//! How a record is shown to people.

use std::fmt::Write as _;

use kapsa_memory::event::{EventType, RUN_NONE, SPEC_NONE};
use kapsa_memory::record::Source;
use kapsa_memory::request::{Expansion, Hit, QueryRead, Standing};
use kapsa_memory::{Decision, Micros, Origin, Provenance, Record, Trust, Uri};

use crate::error::Result;
use crate::escape;
use crate::moment::{now, readable};
use crate::output::{Look, Output, Piece, shortened_to};
use crate::wire::record::own_tags;

/// Longest preview of a text, in columns, where the output has no width.
const PREVIEW_COLUMNS: usize = 72;
/// Fewest columns worth filling with a preview beside other text.
const PREVIEW_COLUMNS_MIN: usize = 20;

/// Prints a record: a line that names it, a line for each field it has, then its text.
pub(crate) fn record(out: &mut Output, record: &Record) -> Result<()> {
    let kind = state_or_kind(record);
    out.pieces(
        &[
            Piece::strong(record.uri.short()),
            Piece::plain(format!("  #{}  {kind}", record.sequence)),
        ],
        FIELD_COLUMNS,
    )?;
    for (name, value) in fields(record) {
        out.pieces(
            &[Piece::faint(format!("{name:<FIELD_COLUMNS$}")), Piece::plain(value)],
            FIELD_COLUMNS,
        )?;
    }
    if record.tombstone || record.purged {
        return Ok(());
    }
    out.text("\n")?;
    out.body(&record.text)
}

/// Prints a record that contests the one shown before it: which it is, by whom and on which branch,
/// then its text.
pub(crate) fn rival(out: &mut Output, record: &Record, branch: &str) -> Result<()> {
    let by = if record.agent.is_empty() { String::new() } else { format!(" by {}", record.agent) };
    let about = format!(
        "contested by #{} on {branch}{by}, committed {}",
        record.sequence,
        readable(record.committed_at)
    );
    out.pieces(&[Piece::strong(about)], FIELD_COLUMNS)?;
    out.text("\n")?;
    out.body(if record.tombstone { "(forgotten)" } else { &record.text })
}

/// Columns of the names of fields, with the gap after them.
const FIELD_COLUMNS: usize = 11;

/// When a record was created, where that differs from when it was committed.
fn created_apart(record: &Record) -> Option<String> {
    let apart = record.created_at != record.committed_at && !record.tombstone && !record.purged;
    apart.then(|| readable(record.created_at))
}

/// Why a revision that was not simply put is what it is.
pub(crate) fn decision(origin: &Origin) -> String {
    let what = match origin.decision {
        Decision::Merged => "merged from",
        Decision::Theirs => "conflict resolved with",
        Decision::Ours => "conflict resolved against",
        Decision::Contested => "kept as contested, from",
        Decision::Edited => "conflict resolved by hand with",
        Decision::Picked => "picked from",
        Decision::Reverted => "reverted to the state before, or at,",
    };
    let by = if origin.by.is_empty() {
        String::new()
    } else {
        format!("by {}: ", escape::line(&origin.by))
    };
    format!("{by}{what}")
}

fn state_or_kind(record: &Record) -> std::borrow::Cow<'_, str> {
    match (record.purged, record.tombstone) {
        (true, _) => "(erased)".into(),
        (false, true) => "(forgotten)".into(),
        (false, false) => escape::line(&record.kind),
    }
}

/// What a record says of itself besides its text, by name.
pub(crate) fn fields(record: &Record) -> Vec<(&'static str, String)> {
    let texts = [
        ("title", &record.title),
        ("label", &record.label),
        ("entity", &record.entity),
        ("domain", &record.domain),
        ("agent", &record.agent),
        ("run", &record.run),
    ];
    let mut fields: Vec<_> =
        texts.into_iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| (n, v.clone())).collect();
    if own_tags(record).next().is_some() {
        fields.push(("tags", tags(record)));
    }
    // Revisions that contest each other have a line of their own.
    let worth = standing(&kapsa_memory::standing(record, Some(now())));
    if let Some(worth) = worth.filter(|_| record.conflicts_with.is_empty()) {
        fields.push(("standing", worth));
    }
    if let Some(brought) = brought_by(&record.provenance) {
        fields.push(("by", brought));
    }
    if let Some(confidence) = record.confidence {
        fields.push(("confidence", format!("{confidence}")));
    }
    if let Some(created) = created_apart(record) {
        fields.push(("created", created));
    }
    fields.push(("committed", readable(record.committed_at)));
    if let Some(source) = &record.source {
        fields.push(("source", place(source)));
    }
    if let Some(content) = &record.content {
        let (name, media_type) = (content.name(), content.media_type());
        fields.push(("file", format!("{name}, {media_type}, {}", size(content.size_bytes()))));
    }
    if !record.conflicts_with.is_empty() {
        let rivals: Vec<String> =
            record.conflicts_with.iter().map(|sequence| format!("#{sequence}")).collect();
        fields.push(("contested", format!("with {}", rivals.join(", "))));
    }
    if let Some(origin) = &record.origin {
        fields.push(("origin", format!("{} #{}", decision(origin), origin.sequence)));
    }
    if !record.metadata.is_empty() {
        fields.push(("metadata", serde_json::Value::Object(record.metadata.clone()).to_string()));
    }
    fields
}

/// Who brought a revision, and who let it in; nothing for what the owner wrote.
pub(crate) fn brought_by(provenance: &Provenance) -> Option<String> {
    if *provenance == Provenance::default() {
        return None;
    }
    let mut text = provenance.principal.clone();
    if provenance.trust != Trust::Principal || text.is_empty() {
        let gap = if text.is_empty() { "" } else { ", " };
        write!(text, "{gap}{}", provenance.trust).expect("writing to a String cannot fail");
    }
    if let Some(review) = &provenance.review {
        let by = if review.by.is_empty() { "the owner" } else { &review.by };
        write!(text, ", let in by {by}").expect("writing to a String cannot fail");
    }
    Some(text)
}

fn tags(record: &Record) -> String {
    let mut text = String::new();
    for (name, value) in own_tags(record) {
        let gap = if text.is_empty() { "" } else { ", " };
        let equals = if value.is_empty() { "" } else { "=" };
        write!(text, "{gap}{name}{equals}{value}").expect("writing to a String cannot fail");
    }
    text
}

/// Where a passage was read, as editors and grep write it.
pub(crate) fn place(source: &Source) -> String {
    match (source.line_start, source.line_end) {
        (0, _) => source.path.clone(),
        (start, end) if start == end => format!("{}:{start}", source.path),
        (start, end) => format!("{}:{start}-{end}", source.path),
    }
}

/// Prints a record as one line of a list.
pub(crate) fn list_line(out: &mut Output, record: &Record, sequence_width: usize) -> Result<()> {
    let sequence = format!("#{}", record.sequence);
    let before = format!(
        "{sequence:<width$}  {}  ",
        readable(record.committed_at),
        width = sequence_width + 1
    );
    let created = created_apart(record)
        .map(|created| format!("created {}  ", &created[..DAY_CHARS.min(created.len())]));
    let worth = standing(&kapsa_memory::standing(record, Some(now())));
    let worth = worth.map(|worth| format!("{worth}  ")).unwrap_or_default();
    named_line(out, &before, record, &format!("{}{worth}", created.unwrap_or_default()))
}

/// Prints a line about a record: what stands before its URI, the URI, a remark and as much of its
/// headline as fits.
pub(crate) fn named_line(
    out: &mut Output,
    before: &str,
    record: &Record,
    remark: &str,
) -> Result<()> {
    let uri = escape::line(record.uri.short());
    let used = [before, &uri, remark].map(textwrap::core::display_width).iter().sum::<usize>() + 2;
    let columns = out
        .columns()
        .map_or(PREVIEW_COLUMNS, |columns| columns.saturating_sub(used).max(PREVIEW_COLUMNS_MIN));
    let rest = if record.tombstone || record.purged {
        state_or_kind(record).into_owned()
    } else {
        headline_in(record, columns)
    };
    out.pieces(
        &[
            Piece::plain(before),
            Piece::strong(&*uri),
            Piece::faint(format!("  {remark}")),
            Piece::plain(rest),
        ],
        4,
    )
}

/// Characters of a day, such as 2026-11-28.
const DAY_CHARS: usize = 10;

/// How a URI is shown in lists: without the names that stand for no spec and no run. Its sequence,
/// shown beside it, finds it.
pub(crate) fn listed_uri(record: &Record) -> &str {
    let uri = record.uri.short();
    if !record.system {
        return uri;
    }
    let uri = uri.strip_prefix(SPEC_NONE).and_then(|rest| rest.strip_prefix('/')).unwrap_or(uri);
    uri.strip_prefix(RUN_NONE).and_then(|rest| rest.strip_prefix('/')).unwrap_or(uri)
}

/// What an event says in words, where its type alone would not: which branch was merged.
pub(crate) fn event_in_words(
    event_type: &str,
    payload: &serde_json::Map<String, serde_json::Value>,
) -> Option<String> {
    if event_type != EventType::BranchMerged.name() {
        return None;
    }
    let text = |name: &str| payload.get(name)?.as_str();
    Some(format!("merged {} into {}", text("from_branch")?, text("to_branch")?))
}

/// The title, or the beginning of the text, fit for one line.
pub(crate) fn headline(record: &Record) -> String {
    headline_in(record, PREVIEW_COLUMNS)
}

fn headline_in(record: &Record, columns: usize) -> String {
    let text = if record.title.is_empty() {
        record.text.trim_start().lines().next().unwrap_or_default()
    } else {
        &record.title
    };
    // What is longer by far need not be looked at whole.
    let text = text.char_indices().nth(columns * 4).map_or(text, |(at, _)| &text[..at]);
    shortened_to(&escape::line(text), columns)
}

/// At most `chars_max` characters of a text, the cut shown by `…`.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_string(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// What a list of hits is read from, so that each shows only what differs from it.
pub(crate) struct Reading<'a> {
    /// The branch that is searched.
    pub(crate) branch: &'a str,
}

/// Prints a hit: where it is, what it is, and the passage with the matched words marked. `branch`
/// is the one it was written to.
pub(crate) fn hit(
    out: &mut Output,
    rank: usize,
    hit: &Hit,
    branch: &str,
    reading: &Reading<'_>,
) -> Result<()> {
    let record = &hit.record;
    let mut rest = vec![format!("#{}", record.sequence), day_of(record)];
    if record.kind != KIND_DEFAULT {
        rest.push(record.kind.clone());
    }
    if branch != reading.branch {
        rest.push(format!("on {branch}"));
    }
    if hit.strength > 0.0 {
        let weak = if hit.is_weak() { "weak " } else { "" };
        rest.push(format!("{weak}{:.2}", hit.strength));
    }
    rest.extend(standing(&hit.standing));
    if !hit.same_text.is_empty() {
        rest.push(format!("same text in {}", same_text(&hit.same_text)));
    }
    rest.extend(hit.newer.map(|newer| format!("older than #{newer}")));
    let name = [
        Piece::plain(format!("{rank:>2}. ")),
        Piece::strong(record.uri.short()),
        Piece::plain(format!("  {}", rest.join("  "))),
    ];
    out.pieces(&name, HIT_INDENT)?;
    let indent = " ".repeat(HIT_INDENT);
    if !record.title.is_empty() {
        out.pieces(&[Piece::plain(format!("{indent}{}", headline(record)))], HIT_INDENT)?;
    }
    let (before, after): (Vec<&Record>, Vec<&Record>) =
        hit.around.iter().partition(|turn| turn.sequence < record.sequence);
    turns(out, &before)?;
    let mut passage = vec![Piece::plain(indent.as_str())];
    passage.extend(snippet(hit));
    out.pieces(&passage, HIT_INDENT)?;
    turns(out, &after)?;
    let Some(source) = &record.source else { return Ok(()) };
    out.pieces(&[Piece::plain(indent.as_str()), Piece::faint(place(source))], HIT_INDENT)
}

/// Prints turns beside a hit, a line each.
fn turns(out: &mut Output, turns: &[&Record]) -> Result<()> {
    for turn in turns {
        let speaker = if turn.entity.is_empty() { &turn.agent } else { &turn.entity };
        let names = if speaker.is_empty() { "" } else { ": " };
        let text: String = turn.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = text.chars().take(TURN_CHARS_MAX).collect();
        let more = if cut.len() < text.len() { "…" } else { "" };
        let line =
            format!("{}#{} {speaker}{names}{cut}{more}", " ".repeat(HIT_INDENT), turn.sequence);
        out.pieces(&[Piece::faint(line)], HIT_INDENT)?;
    }
    Ok(())
}

/// Longest part of a turn that is shown beside a hit, in characters.
const TURN_CHARS_MAX: usize = 200;
/// Columns before what belongs to a hit.
const HIT_INDENT: usize = 4;
/// Kind of a record that was given none.
const KIND_DEFAULT: &str = "note";

/// The day that a record is from: of its commit, and where that differs, of its creation.
fn day_of(record: &Record) -> String {
    let day = |at: Micros| readable(at).chars().take(DAY_CHARS).collect::<String>();
    match (day(record.committed_at), day(record.created_at)) {
        (committed, created) if committed == created => committed,
        (committed, created) => format!("created {created}, stored {committed}"),
    }
}

/// What a record is worth now, where that is not what one expects.
fn standing(standing: &Standing) -> Option<String> {
    let day = |at: Micros| readable(at).chars().take(DAY_CHARS).collect::<String>();
    match standing {
        Standing::Current => None,
        Standing::Superseded { by } => Some(format!("superseded by {by}")),
        Standing::Expired { at } => Some(format!("valid until {}", day(*at))),
        Standing::Scheduled { from } => Some(format!("valid from {}", day(*from))),
        Standing::Contested { with } => Some(format!("contested with {}", with.join(", "))),
        Standing::Pending { with } => Some(format!("pending with {}", with.join(", "))),
    }
}

/// The first of the records that hold the same text, and how many others there are.
fn same_text(others: &[Uri]) -> String {
    match others {
        [] => String::new(),
        [only] => only.short().to_string(),
        [first, rest @ ..] => {
            format!("{} and {}", first.short(), counted(rest.len() as u64, "other"))
        }
    }
}

/// Prints how a query was read, where not as plain words.
pub(crate) fn query(out: &mut Output, read: &QueryRead) -> Result<()> {
    let mut reasons = Vec::new();
    if !read.operators.is_empty() {
        reasons.push(format!("operators: {}", read.operators.join(" ")));
    }
    if !read.phrases.is_empty() {
        reasons.push(format!("phrases first: {}", read.phrases.join(" ")));
    }
    if !read.literals.is_empty() {
        reasons.push(format!("taken as text: {}", read.literals.join(" ")));
    }
    for Expansion { word, to } in &read.expanded {
        reasons.push(format!("{word}: also {}", to.join(" ")));
    }
    let moment = |at: Option<Micros>| at.map(readable).unwrap_or_default();
    for span in &read.times {
        reasons.push(format!("time: {} to {}", moment(span.from), moment(span.until)));
    }
    if reasons.is_empty() {
        reasons.push("plain words".to_string());
    }
    out.pieces(&[Piece::faint(format!("query: {}", reasons.join("; ")))], HIT_INDENT)
}

/// Prints what speaks for a hit.
pub(crate) fn why(out: &mut Output, hit: &Hit) -> Result<()> {
    let why = &hit.why;
    let mut reasons = Vec::new();
    reasons.extend(why.words.map(|(rank, score)| format!("words: rank {rank}, {score:.2}")));
    reasons.extend(
        why.meaning.map(|(rank, cosine)| format!("meaning: rank {rank}, cosine {cosine:.2}")),
    );
    if why.meaning.is_none() {
        reasons.extend(why.cosine.map(|cosine| format!("meaning: cosine {cosine:.2}")));
    }
    if !why.terms.is_empty() {
        reasons.push(format!("terms: {}", why.terms.join(" ")));
    }
    reasons.push(format!("{:.0}% of the words", 100.0 * why.share));
    if !why.points.is_empty() {
        let points: Vec<String> = why
            .points
            .iter()
            .map(|(what, points)| format!("{} {points:+.2}", what.replace('_', " ")))
            .collect();
        reasons.push(points.join(" "));
    }
    if hit.group_hits > 1 {
        reasons.push(format!("{} hits in its group", hit.group_hits));
    }
    out.pieces(
        &[Piece::plain(" ".repeat(HIT_INDENT)), Piece::faint(reasons.join("; "))],
        HIT_INDENT,
    )
}

/// The passage of a hit as one line, its matched words marked.
pub(crate) fn snippet(hit: &Hit) -> Vec<Piece<'static>> {
    let looks = pieces(hit).into_iter();
    looks
        .map(|(text, matched)| Piece {
            text: flat(text).into(),
            look: if matched { Look::Marked } else { Look::Plain },
        })
        .collect()
}

/// The snippet cut at its marks. Marks that overlap or fall between characters are passed over.
fn pieces(hit: &Hit) -> Vec<(&str, bool)> {
    let mut pieces = Vec::with_capacity(hit.marks.len() * 2 + 1);
    let mut at = 0;
    for mark in &hit.marks {
        let (Some(before), Some(word)) =
            (hit.snippet.get(at..mark.start), hit.snippet.get(mark.clone()))
        else {
            continue;
        };
        pieces.push((before, false));
        pieces.push((word, true));
        at = mark.end;
    }
    pieces.push((&hit.snippet[at..], false));
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
}

/// Text with its line breaks and runs of blanks as single blanks.
fn flat(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// `1 record`, `2 records`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = match count {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kapsa_memory::Uri;

    use kapsa_memory::Why;

    use super::*;

    fn a_hit(snippet: &str, marks: &[std::ops::Range<usize>]) -> Hit {
        let record = Record {
            sequence: 1,
            uri: Uri::parse("note/a").expect("valid"),
            tombstone: false,
            purged: false,
            committed_at: 0,
            created_at: 0,
            title: String::new(),
            text: snippet.to_string(),
            kind: "note".into(),
            label: String::new(),
            tags: BTreeMap::new(),
            metadata: serde_json::Map::new(),
            entity: String::new(),
            domain: String::new(),
            agent: String::new(),
            run: String::new(),
            confidence: None,
            source: None,
            access: None,
            content: None,
            provenance: Provenance::default(),
            branch: kapsa_memory::BranchId::MAIN,
            system: false,
            conflicts_with: Vec::new(),
            origin: None,
            alias: None,
        };
        Hit {
            record,
            score: 1.0,
            snippet: snippet.to_string(),
            marks: marks.to_vec(),
            why: Why::default(),
            passage: None,
            group_hits: 0,
            strength: 1.0,
            standing: Standing::Current,
            same_text: Vec::new(),
            around: Vec::new(),
            newer: None,
        }
    }

    #[test]
    fn marks_cut_the_snippet_and_bad_ones_are_passed_over() {
        assert_eq!(
            pieces(&a_hit("a lock b", std::slice::from_ref(&(2..6)))),
            [("a ", false), ("lock", true), (" b", false)]
        );
        assert_eq!(pieces(&a_hit("é lock", &[1..2, 3..7])), [("é ", false), ("lock", true)]);
        assert_eq!(pieces(&a_hit("abc", &[0..2, 1..3, 9..12])), [("ab", true), ("c", false)]);
    }

    #[test]
    fn a_snippet_is_one_line() {
        assert_eq!(flat("a\n\n b\tc"), "a b c");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(u64::MAX), "16777216.0 TiB");
        assert_eq!(counted(1, "record"), "1 record");
        assert_eq!(shortened("žluť", 3), "žl…");
        assert_eq!(
            place(&Source { path: "a.md".into(), line_start: 2, line_end: 2, ..Source::default() }),
            "a.md:2"
        );
    }

    #[test]
    fn what_is_counted_has_its_plural() {
        let counts = [(1, "search"), (2, "search"), (0, "file"), (1, "file")];
        let shown = counts.map(|(count, noun)| counted(count, noun));
        assert_eq!(shown, ["1 search", "2 searches", "0 files", "1 file"]);
    }
}
