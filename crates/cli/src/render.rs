//! How does a record look to people?

use std::fmt::Write as _;

use kapsa_memory::record::Source;
use kapsa_memory::request::Hit;
use kapsa_memory::{Decision, Origin, Record};

use crate::error::Result;
use crate::escape;
use crate::moment::readable;
use crate::output::Output;

/// Longest preview of a text, in characters.
const PREVIEW_CHARS_MAX: usize = 72;

/// Prints a record: a line that names it, a line for each field it has, then its text.
pub(crate) fn record(out: &mut Output, record: &Record) -> Result<()> {
    out.strong(&escape::line(record.uri.short()))?;
    out.line(&format!("  #{}  {}  {}", record.sequence, state_or_kind(record), readable(record.committed_at)))?;
    for (name, value) in fields(record) {
        out.faint(&format!("{name:<10}"))?;
        out.line(&escape::line(&value))?;
    }
    if record.tombstone || record.purged {
        return Ok(());
    }
    out.text("\n")?;
    out.text(&record.text)?;
    if record.text.ends_with('\n') { Ok(()) } else { out.text("\n") }
}

/// Why a revision that was not simply put is what it is.
pub(crate) fn decision(origin: &Origin) -> String {
    let what = match origin.decision {
        Decision::Merged => "merged from",
        Decision::Theirs => "conflict decided for",
        Decision::Ours => "conflict decided against",
        Decision::Contested => "left contested with",
        Decision::Edited => "conflict decided by hand with",
        Decision::Picked => "picked from",
        Decision::Reverted => "reverted to what was before, or at,",
    };
    let by = if origin.by.is_empty() { String::new() } else { format!("by {}: ", escape::line(&origin.by)) };
    format!("{by}{what}")
}

fn state_or_kind(record: &Record) -> std::borrow::Cow<'_, str> {
    match (record.purged, record.tombstone) {
        (true, _) => "(erased)".into(),
        (false, true) => "(forgotten)".into(),
        (false, false) => escape::line(&record.kind),
    }
}

fn fields(record: &Record) -> Vec<(&'static str, String)> {
    let texts = [
        ("title", &record.title),
        ("label", &record.label),
        ("entity", &record.entity),
        ("domain", &record.domain),
        ("agent", &record.agent),
        ("run", &record.run),
    ];
    let mut fields: Vec<_> = texts.into_iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| (n, v.clone())).collect();
    if !record.tags.is_empty() {
        fields.push(("tags", tags(record)));
    }
    if let Some(confidence) = record.confidence {
        fields.push(("sure", format!("{confidence}")));
    }
    if record.created_at != record.committed_at && !record.tombstone && !record.purged {
        fields.push(("created", readable(record.created_at)));
    }
    if let Some(source) = &record.source {
        fields.push(("source", place(source)));
    }
    if !record.conflicts_with.is_empty() {
        let rivals: Vec<String> = record.conflicts_with.iter().map(|sequence| format!("#{sequence}")).collect();
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

fn tags(record: &Record) -> String {
    let mut text = String::new();
    for (name, value) in &record.tags {
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
    out.text(&format!("{sequence:<width$}  {}  ", readable(record.committed_at), width = sequence_width + 1))?;
    out.strong(&escape::line(record.uri.short()))?;
    let rest = if record.tombstone || record.purged { state_or_kind(record).into_owned() } else { headline(record) };
    out.line(&format!("  {rest}"))
}

/// The title, or the beginning of the text, fit for one line.
pub(crate) fn headline(record: &Record) -> String {
    let text = if record.title.is_empty() { record.text.trim_start().lines().next().unwrap_or_default() } else { &record.title };
    escape::line(&shortened(text, PREVIEW_CHARS_MAX)).into_owned()
}

/// At most `chars_max` characters of a text, the cut shown by `…`.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_string(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Prints a hit: where it is, what it is, and the passage with the matched words marked.
pub(crate) fn hit(out: &mut Output, rank: usize, hit: &Hit) -> Result<()> {
    out.text(&format!("{rank:>2}. "))?;
    out.strong(&escape::line(hit.record.uri.short()))?;
    let score = if hit.score > 0.0 { format!("  {:.2}", hit.score) } else { String::new() };
    let gone = superseded(&hit.record).map_or_else(String::new, |by| format!("  superseded by {}", escape::line(by)));
    out.line(&format!("  #{}  {}{score}{gone}", hit.record.sequence, escape::line(&hit.record.kind)))?;
    if !hit.record.title.is_empty() {
        out.line(&format!("    {}", headline(&hit.record)))?;
    }
    out.text("    ")?;
    snippet(out, hit)?;
    out.text("\n")?;
    let Some(source) = &hit.record.source else { return Ok(()) };
    out.text("    ")?;
    out.faint(&escape::line(&place(source)))?;
    out.text("\n")
}

/// The fact that took a fact's place.
fn superseded(record: &Record) -> Option<&str> {
    record.metadata.get("superseded_by").filter(|_| record.kind == "fact")?.as_str()
}

/// Prints what speaks for a hit.
pub(crate) fn why(out: &mut Output, hit: &Hit) -> Result<()> {
    let why = &hit.why;
    let mut told = Vec::new();
    told.extend(why.words.map(|(rank, score)| format!("words: rank {rank}, {score:.2}")));
    told.extend(why.meaning.map(|(rank, cosine)| format!("meaning: rank {rank}, cosine {cosine:.2}")));
    if why.meaning.is_none() {
        told.extend(why.cosine.map(|cosine| format!("meaning: cosine {cosine:.2}")));
    }
    if !why.terms.is_empty() {
        told.push(format!("terms: {}", why.terms.iter().map(|term| escape::line(term)).collect::<Vec<_>>().join(" ")));
    }
    if !why.points.is_empty() {
        let points: Vec<String> = why.points.iter().map(|(what, points)| format!("{what} {points:+.2}")).collect();
        told.push(points.join(" "));
    }
    if hit.group_hits > 1 {
        told.push(format!("{} hits of its group", hit.group_hits));
    }
    out.text("    ")?;
    out.faint(&told.join("; "))?;
    out.text("\n")
}

/// Prints the passage of a hit on one line, its matched words marked.
pub(crate) fn snippet(out: &mut Output, hit: &Hit) -> Result<()> {
    for (text, matched) in pieces(hit) {
        let text = flat(text);
        if matched { out.marked(&text)? } else { out.text(&text)? }
    }
    Ok(())
}

/// The snippet cut at its marks. Marks that overlap or fall between characters are passed over.
fn pieces(hit: &Hit) -> Vec<(&str, bool)> {
    let mut pieces = Vec::with_capacity(hit.marks.len() * 2 + 1);
    let mut at = 0;
    for mark in &hit.marks {
        let (Some(before), Some(word)) = (hit.snippet.get(at..mark.start), hit.snippet.get(mark.clone())) else { continue };
        pieces.push((before, false));
        pieces.push((word, true));
        at = mark.end;
    }
    pieces.push((&hit.snippet[at..], false));
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
}

/// Text with its line breaks and runs of blanks as single blanks, escaped.
fn flat(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    escape::line(&out).into_owned()
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
    let plural = if count == 1 { "" } else { "s" };
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
            branch: kapsa_memory::BranchId::MAIN,
            system: false,
            conflicts_with: Vec::new(),
            origin: None,
            pulled: None,
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
        }
    }

    #[test]
    fn marks_cut_the_snippet_and_bad_ones_are_passed_over() {
        assert_eq!(pieces(&a_hit("a lock b", std::slice::from_ref(&(2..6)))), [("a ", false), ("lock", true), (" b", false)]);
        assert_eq!(pieces(&a_hit("é lock", &[1..2, 3..7])), [("é ", false), ("lock", true)]);
        assert_eq!(pieces(&a_hit("abc", &[0..2, 1..3, 9..12])), [("ab", true), ("c", false)]);
    }

    #[test]
    fn a_snippet_is_one_harmless_line() {
        assert_eq!(flat("a\n\n b\t\x1bc"), "a b \\x1bc");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(u64::MAX), "16777216.0 TiB");
        assert_eq!(counted(1, "record"), "1 record");
        assert_eq!(shortened("žluť", 3), "žl…");
        assert_eq!(place(&Source { path: "a.md".into(), line_start: 2, line_end: 2, ..Source::default() }), "a.md:2");
    }
}
