//! Cuts a document into records: at headings, and within long sections at paragraphs.
//!
//! What is a heading, a table or code is what a Markdown reader takes for one. A line under a
//! paragraph makes it a heading only if it is long (`=====`): `---` is far more often a rule.
//!
//! What was read from another format comes in parts that know their headings already.
//!
//! A passage's URI is made of the document's name and the heading it stands under, so that editing
//! one section revises one record and leaves the others alone.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::records::record::{Micros, NewRecord, Source};
use crate::records::uri::{SLUG_CHARS_MAX, Uri, slug};

/// A section longer than this is cut at paragraphs, in bytes.
pub const PASSAGE_BYTES_MAX: usize = 2400;
/// Passages shorter than this are joined with the next one of the same section, in bytes.
const PASSAGE_BYTES_MIN: usize = 400;
/// Most passages of one document: what one commit holds.
pub const PASSAGES_MAX: usize = 1 << 16;
/// Longest part of a heading that stands in titles, in characters.
const HEADING_CHARS_MAX: usize = 200;
/// Kind of the records that documents become.
pub const KIND: &str = "doc";

/// Dashes under a paragraph that make it a heading.
const UNDERLINE_DASHES_MIN: usize = 5;
/// Equals signs that do.
const UNDERLINE_MIN: usize = 3;
/// Fewest signs of a code fence.
const FENCE_MIN: usize = 3;
/// Deepest indentation that does not make a line code.
const INDENT_MAX: usize = 3;
/// Most lines of a front matter.
const FRONT_LINES_MAX: usize = 256;
/// Name of a passage that is a document's front matter.
const FRONT_MATTER: &str = "front-matter";

/// Cuts a Markdown or plain text into passages at headings and paragraphs.
///
/// `name` is the path as it shall be shown; it becomes part of the URIs: `doc/<name…>/<heading>`.
///
/// # Errors
/// `InvalidOperation` for more than [`PASSAGES_MAX`] passages.
pub fn cut(name: &str, text: &str) -> Result<Vec<NewRecord>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let outline = Outline::of(text)?;
    let mut used = HashMap::new();
    let mut passages = Vec::new();
    for section in sections(text, &outline)? {
        for lines in split(text, &section, &outline.whole) {
            passages.extend(passage(name, text, &section, lines, &outline, &mut used));
            expect_few(passages.len())?;
        }
    }
    Ok(passages)
}

/// A part of a document whose format says itself what stands under which heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentPart {
    /// The headings that it stands under, from the outermost.
    pub headings: Vec<String>,
    /// What its URI is made of, where that is not its headings or its first words.
    pub name: Option<String>,
    /// Its text, which is cut at blank lines where it is long.
    pub text: String,
    /// The line of the file that it begins at, counted from 1; none where the file has no lines.
    pub first_line: Option<u32>,
    /// What it says of itself.
    pub metadata: Map<String, Value>,
    /// When what it tells happened.
    pub created_at: Option<Micros>,
}

/// Cuts the parts of a document into passages; `title` is what the document calls itself.
///
/// # Errors
/// As [`cut`].
pub fn cut_parts(
    name: &str,
    title: Option<&str>,
    parts: &[DocumentPart],
) -> Result<Vec<NewRecord>> {
    let mut used = HashMap::new();
    let mut passages = Vec::new();
    for part in parts {
        let outline = Outline::of_part(part, title);
        let first = part.first_line.map_or(1, |line| line as usize);
        let section = Section {
            headings: outline.headings.iter().collect(),
            name: part.name.as_deref(),
            lines: (first..).zip(lines(&part.text)).collect(),
            ..Section::default()
        };
        for lines in split(&part.text, &section, &[]) {
            let found = passage(name, &part.text, &section, lines, &outline, &mut used);
            passages.extend(found.map(|passage| passage_of(part, passage)));
            expect_few(passages.len())?;
        }
    }
    Ok(passages)
}

/// A passage with what its part says.
fn passage_of(part: &DocumentPart, mut passage: NewRecord) -> NewRecord {
    passage.metadata.clone_from(&part.metadata);
    passage.created_at = part.created_at;
    if let Some(source) = passage.source.as_mut().filter(|_| part.first_line.is_none()) {
        (source.line_start, source.line_end) = (0, 0);
    }
    passage
}

/// What a Markdown reader sees in a text.
#[derive(Debug, Default)]
struct Outline {
    /// The headings, in order.
    headings: Vec<Heading>,
    /// Bytes of code and tables, which are not cut.
    whole: Vec<Range<usize>>,
    /// Bytes of the front matter.
    front: Option<Range<usize>>,
    /// The title that the front matter gives.
    title: Option<String>,
}

/// A heading.
#[derive(Debug)]
struct Heading {
    level: usize,
    title: String,
    /// Its bytes, with the line under it.
    range: Range<usize>,
}

impl Outline {
    /// The headings of a part; the title stands before them unless it is the first one.
    fn of_part(part: &DocumentPart, title: Option<&str>) -> Outline {
        let is_titled = part.headings.first().map(String::as_str) == title;
        let levels = if is_titled { 1.. } else { 2.. };
        let headings = levels.zip(&part.headings).map(|(level, title)| Heading {
            level,
            title: first_chars(title).to_string(),
            range: 0..0,
        });
        Outline {
            headings: headings.collect(),
            title: title.map(|title| first_chars(title).to_string()),
            ..Outline::default()
        }
    }

    fn of(text: &str) -> Result<Outline> {
        let mut outline = Outline::default();
        let mut fence: Option<Fence<'_>> = None;
        let mut before: Option<Line> = None;
        let mut table: Option<Range<usize>> = None;
        for line in lines(text).skip(outline.read_front(text)) {
            let content = &text[line.start..line.end];
            let is_row = fence.is_none() && content.trim_start().starts_with('|');
            match (&mut table, is_row) {
                (Some(table), true) => table.end = line.end,
                (None, true) => table = Some(line.start..line.end),
                (_, false) => outline.whole.extend(table.take()),
            }
            if let Some(open) = &fence {
                if open.is_closed_by(content) {
                    outline.whole.push(open.start..line.end);
                    fence = None;
                }
                before = None;
                continue;
            }
            fence = Fence::opened_by(content, line.start);
            if let Some((level, title)) = heading(content).filter(|_| fence.is_none()) {
                outline.add(level, title, line.start..line.end)?;
            } else if let Some((level, title)) = before.and_then(|before| {
                let title = &text[before.start..before.end];
                Some((underline(content, title)?, before))
            }) {
                outline.add(level, text[title.start..title.end].trim(), title.start..line.end)?;
            }
            let is_text = fence.is_none() && !is_row && !content.trim().is_empty();
            before = is_text.then_some(line).filter(|_| before.is_none());
        }
        outline.whole.extend(table);
        outline.whole.extend(fence.map(|open| open.start..text.len()));
        outline.whole.sort_unstable_by_key(|block| block.start);
        Ok(outline)
    }

    /// Reads the front matter, if the text begins with one; returns how many lines it has.
    fn read_front(&mut self, text: &str) -> usize {
        let is_mark = |line: &Line| text[line.start..line.end].trim_end() == "---";
        let mut all = lines(text);
        if !all.next().is_some_and(|first| is_mark(&first)) {
            return 0;
        }
        let mut inside = all.take(FRONT_LINES_MAX).enumerate();
        let Some((count, end)) = inside.find(|(_, line)| is_mark(line)) else { return 0 };
        let front = &text[..end.end];
        // What has no `name: value` is a rule and a paragraph.
        if !front.lines().any(|line| line.contains(':')) {
            return 0;
        }
        self.title = title_in(front);
        self.front = Some(0..end.end);
        count + 2
    }

    fn add(&mut self, level: usize, title: &str, range: Range<usize>) -> Result<()> {
        self.headings.push(Heading { level, title: first_chars(title).to_string(), range });
        expect_few(self.headings.len())
    }
}

/// A code fence that is open: what it is made of, how long it is and where it begins.
struct Fence<'a> {
    mark: &'a str,
    start: usize,
}

impl<'a> Fence<'a> {
    fn opened_by(content: &'a str, start: usize) -> Option<Fence<'a>> {
        let text = unindented(content)?;
        let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let mark = &text[..text.len() - text.trim_start_matches(sign).len()];
        let after = &text[mark.len()..];
        (mark.len() >= FENCE_MIN && !(sign == '`' && after.contains('`')))
            .then_some(Fence { mark, start })
    }

    fn is_closed_by(&self, content: &str) -> bool {
        let text = unindented(content).unwrap_or_default().trim_end();
        let sign = |c: char| self.mark.starts_with(c);
        text.len() >= self.mark.len() && text.chars().all(sign)
    }
}

/// A line without its indentation, if that is less than what makes it code.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= INDENT_MAX && !text.starts_with('\t')).then_some(text)
}

/// The level of the heading that a line makes of the one line before it.
fn underline(line: &str, title: &str) -> Option<usize> {
    let under = unindented(line)?.trim_end();
    let is_title = !title.trim().starts_with(['-', '*', '>', '|', '#', '=', '+'])
        && unindented(title).is_some();
    let all = |c: char| under.chars().all(|other| other == c);
    match under.len() {
        _ if !is_title => None,
        UNDERLINE_MIN.. if all('=') => Some(1),
        UNDERLINE_DASHES_MIN.. if all('-') => Some(2),
        _ => None,
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let line = unindented(line)?;
    let level = line.bytes().take_while(|&b| b == b'#').count();
    let rest = line.get(level..)?;
    let title = rest.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t']) && !title.is_empty())
        .then_some((level, title))
}

/// The title in a front matter: `title: Harbour Plan`.
fn title_in(front: &str) -> Option<String> {
    let value = front.lines().find_map(|line| line.strip_prefix("title:"))?.trim();
    let bare = value.trim_matches(['"', '\'']).trim();
    (!bare.is_empty()).then(|| first_chars(bare).to_string())
}

fn expect_few(count: usize) -> Result<()> {
    if count <= PASSAGES_MAX {
        return Ok(());
    }
    let reason = format!("the document has more than {PASSAGES_MAX} passages; cut it into several");
    Err(Error::InvalidOperation { reason })
}

/// A line of the text: its bytes without the line break.
#[derive(Clone, Copy, Debug)]
struct Line {
    start: usize,
    end: usize,
}

/// Consecutive lines under one heading.
#[derive(Clone, Debug, Default)]
struct Section<'a> {
    /// Headings from the outermost to this one.
    headings: Vec<&'a Heading>,
    /// What it is called, where that is not made of its headings.
    name: Option<&'a str>,
    /// Whether it is the front matter.
    is_front: bool,
    lines: Vec<(usize, Line)>,
}

fn lines(text: &str) -> impl Iterator<Item = Line> + '_ {
    let mut start = 0;
    text.split_inclusive('\n').map(move |raw| {
        let line = Line { start, end: start + raw.trim_end_matches(['\n', '\r']).len() };
        start += raw.len();
        line
    })
}

fn sections<'a>(text: &str, outline: &'a Outline) -> Result<Vec<Section<'a>>> {
    let is_front = outline.front.is_some();
    let mut sections = vec![Section { is_front, ..Section::default() }];
    let front_end = outline.front.as_ref().map_or(0, |front| front.end);
    let mut ahead = outline.headings.iter().peekable();
    for (number, line) in lines(text).enumerate() {
        let last = sections.last_mut().expect("never empty");
        if last.is_front && line.start >= front_end {
            sections.push(Section::default());
        }
        while let Some(heading) = ahead.next_if(|heading| heading.range.start <= line.start) {
            let mut headings = sections.last().map(|s| s.headings.clone()).unwrap_or_default();
            headings.retain(|outer| outer.level < heading.level);
            headings.push(heading);
            sections.push(Section { headings, ..Section::default() });
            expect_few(sections.len())?;
        }
        sections.last_mut().expect("never empty").lines.push((number + 1, line));
    }
    Ok(sections)
}

fn first_chars(title: &str) -> &str {
    title.char_indices().nth(HEADING_CHARS_MAX).map_or(title, |(end, _)| title[..end].trim_end())
}

/// Cuts a section's lines into runs at blank lines, each run long enough to mean something and
/// short enough to point at.
fn split<'a>(
    text: &str,
    section: &'a Section<'_>,
    whole: &[Range<usize>],
) -> Vec<&'a [(usize, Line)]> {
    let all = &section.lines;
    let is_inside = |line: &Line| {
        let at = whole.partition_point(|block| block.start < line.start);
        let block = at.checked_sub(1).map(|before| &whole[before]);
        block.is_some_and(|block| line.start < block.end && block.len() <= PASSAGE_BYTES_MAX)
    };
    let mut runs = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, (_, line)) in all.iter().enumerate() {
        let length = line.end - line.start + 1;
        let blank = text[line.start..line.end].trim().is_empty();
        let full = bytes + length > PASSAGE_BYTES_MAX && bytes > 0;
        let paragraph =
            blank && bytes >= PASSAGE_BYTES_MIN && rest_bytes(&all[index..]) >= PASSAGE_BYTES_MIN;
        let long = || bytes + next_paragraph_bytes(text, &all[index + 1..]) > PASSAGE_BYTES_MAX;
        if (full || paragraph && long()) && !is_inside(line) {
            runs.push(&all[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += length;
    }
    runs.push(&all[start..]);
    runs
}

fn rest_bytes(lines: &[(usize, Line)]) -> usize {
    match (lines.first(), lines.last()) {
        (Some((_, first)), Some((_, last))) => last.end - first.start,
        _ => 0,
    }
}

fn next_paragraph_bytes(text: &str, lines: &[(usize, Line)]) -> usize {
    let paragraph = lines.iter().take_while(|(_, l)| !text[l.start..l.end].trim().is_empty());
    paragraph.map(|(_, l)| l.end - l.start + 1).sum()
}

fn passage(
    name: &str,
    text: &str,
    section: &Section<'_>,
    lines: &[(usize, Line)],
    outline: &Outline,
    used: &mut HashMap<String, u32>,
) -> Option<NewRecord> {
    let blank = |(_, line): &&(usize, Line)| text[line.start..line.end].trim().is_empty();
    let first = lines.iter().find(|line| !blank(line))?;
    let last = lines.iter().rev().find(|line| !blank(line))?;
    let body = &text[first.1.start..last.1.end];
    let headings: Vec<&str> = section.headings.iter().map(|heading| &*heading.title).collect();
    let head_end = section.headings.last().map_or(0, |heading| heading.range.end);
    let is_head = last.1.end <= head_end.max(first.1.end) && head_end > first.1.start;
    if is_head && section.lines.len() > lines.len() {
        return None;
    }
    let named = match section.name {
        _ if section.is_front => FRONT_MATTER.to_string(),
        Some(name) => slug(name),
        None => anchor(&headings, body),
    };
    let slug = unique(named, used);
    let hash = blake3::hash(body.as_bytes()).to_hex();
    let segments = ["doc"].into_iter().chain(name.split('/').filter(|part| !part.is_empty()));
    Some(NewRecord {
        uri: Some(Uri::from_segments(segments.chain([slug.as_str()]))),
        title: title_of(name, section, outline),
        text: body.to_string(),
        kind: KIND.to_string(),
        source: Some(Source {
            path: name.to_string(),
            line_start: first.0 as u32,
            line_end: last.0 as u32,
            content_hash: hash[..32].to_string(),
        }),
        ..NewRecord::default()
    })
}

/// The headings over a passage, under the document's title where no heading says it.
fn title_of(name: &str, section: &Section<'_>, outline: &Outline) -> String {
    let is_titled = section.headings.first().is_some_and(|heading| heading.level == 1);
    let mut parts: Vec<&str> = Vec::new();
    parts.extend(outline.title.as_deref().filter(|_| !is_titled));
    parts.extend(section.headings.iter().map(|heading| &*heading.title));
    if parts.is_empty() { name.to_string() } else { parts.join(" › ") }
}

/// Name of a passage within its document: its headings, or the first words where there is none.
fn anchor(headings: &[&str], body: &str) -> String {
    match headings {
        [] => slug(&body.split_whitespace().take(6).collect::<Vec<_>>().join(" ")),
        [only] => slug(only),
        [_, inner @ ..] => slug(&inner.join(" ")),
    }
}

/// `slug`, or `slug-2`, `slug-3` … when the document used it before.
fn unique(slug: String, used: &mut HashMap<String, u32>) -> String {
    let count = used.entry(slug.clone()).or_insert(0);
    *count += 1;
    if *count == 1 {
        return slug;
    }
    let numbered = format!("{slug}-{count}");
    let cut = numbered.chars().count().saturating_sub(SLUG_CHARS_MAX);
    let kept: String = slug.chars().take(slug.chars().count().saturating_sub(cut)).collect();
    unique_exact(format!("{kept}-{count}"), used)
}

/// Reserves a numbered slug; a heading may have had that very name.
fn unique_exact(mut slug: String, used: &mut HashMap<String, u32>) -> String {
    while used.contains_key(&slug) {
        slug.push('_');
    }
    used.insert(slug.clone(), 1);
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages(text: &str) -> Vec<NewRecord> {
        cut("x.md", text).expect("few")
    }

    #[test]
    fn endless_headings_are_refused_and_long_ones_cut() {
        assert!(cut("x", &"# a\n".repeat(PASSAGES_MAX + 2)).is_err());
        let long = format!("# {}\n{}", "long ".repeat(1 << 18), "## b\nc\n".repeat(1 << 10));
        let bytes: usize = passages(&long).iter().map(|passage| passage.title.len()).sum();
        assert!(bytes < 1 << 20, "{bytes}");
    }

    fn outline(text: &str) -> Vec<(String, u32, u32)> {
        let of = |r: NewRecord| {
            let source = r.source.expect("documents have a source");
            (
                r.uri.expect("documents have URIs").short().to_string(),
                source.line_start,
                source.line_end,
            )
        };
        cut("a/B.md", text).expect("few").into_iter().map(of).collect()
    }

    #[test]
    fn headings_cut_and_name() {
        let text = "intro here\n\n# One\ntext\n\n## Two\nmore\n```\n# no heading\n```\n## Two\nagain\n# 日本\nx";
        let want = [
            ("doc/a/b.md/intro-here", 1, 1),
            ("doc/a/b.md/one", 3, 4),
            ("doc/a/b.md/two", 6, 10),
            ("doc/a/b.md/two-2", 11, 12),
            ("doc/a/b.md/日本", 13, 14),
        ];
        let want: Vec<_> = want.map(|(uri, from, to)| (uri.to_string(), from, to)).into();
        assert_eq!(outline(text), want);
    }

    fn titles(text: &str) -> Vec<String> {
        passages(text).into_iter().map(|record| record.title).collect()
    }

    #[test]
    fn a_document_is_read_as_a_person_reads_it() {
        assert_eq!(
            titles("\u{feff}# Lamp\n\nTurn it.\n\n## Oil\n\nUse oil.\n"),
            ["Lamp", "Lamp › Oil"]
        );
        assert!(passages("\u{feff}# Lamp\n\nTurn it.\n")[0].text.starts_with("# Lamp"));
        assert_eq!(
            titles("Boats\n=====\n\nTwo.\n\nOars\n-----\n\nFour.\n"),
            ["Boats", "Boats › Oars"]
        );
        assert_eq!(
            titles("## Prices\nThey were checked.\n---\n\n## Next\nx\n"),
            ["Prices", "Next"]
        );
        let front =
            "---\ntitle: 'Harbour: North'\nstate: draft\n---\n\nTwo cranes.\n\n## Crew\n\nSix.\n";
        assert_eq!(titles(front), ["Harbour: North", "Harbour: North", "Harbour: North › Crew"]);
        assert_eq!(passages(front)[1].text, "Two cranes.");
        assert_eq!(titles("# A\n````md\n```\n# no\n```\n# no\n````\n    # no\n> # no\n"), ["A"]);
        assert_eq!(titles("   # Set in\nx\n\n# `get` it\ny\n"), ["Set in", "`get` it"]);
    }

    #[test]
    fn code_and_tables_stay_whole() {
        let rows: String = (0..60).map(|n| format!("| row {n} | value {n} |\n")).collect();
        let table = format!("| a | b |\n|---|---|\n{rows}");
        let code = format!("```\n{}```\n", "let x = 1;\n\n".repeat(100));
        let text = format!(
            "# T\n\n{}\n\n{table}\n\n{}\n\n{code}",
            "word ".repeat(400),
            "more ".repeat(400)
        );
        let records = passages(&text);
        assert!(records.len() > 2, "{}", records.len());
        for whole in [table.trim(), code.trim()] {
            assert!(records.iter().any(|record| record.text.contains(whole)), "{whole}");
        }
    }

    #[test]
    fn the_title_is_the_path_of_headings_and_the_text_is_verbatim() {
        let records = passages("# A\r\n\r\n## B ##\r\n  indented\r\n\ttab  \r\n\r\n");
        assert_eq!(records.len(), 2);
        assert_eq!(
            (records[1].title.as_str(), records[1].text.as_str()),
            ("A › B", "## B ##\r\n  indented\r\n\ttab  ")
        );
    }

    #[test]
    fn long_sections_are_cut_at_paragraphs_and_nothing_is_lost() {
        let paragraph = "word ".repeat(120);
        let text = format!(
            "# Long\n{}",
            (0..30).map(|i| format!("{i} {paragraph}\n\n")).collect::<String>()
        );
        let records = passages(&text);
        assert!(records.len() > 5, "{}", records.len());
        assert!(records.iter().all(|r| r.text.len() <= PASSAGE_BYTES_MAX + 16));
        let joined: String = records.iter().flat_map(|r| r.text.split_whitespace()).collect();
        assert_eq!(joined, text.split_whitespace().collect::<String>());
        let mut uris: Vec<_> = records.iter().map(|r| r.uri.clone()).collect();
        uris.dedup();
        assert_eq!(uris.len(), records.len());
    }

    #[test]
    fn parts_are_cut_and_say_where_they_stand() {
        let part = |headings: &[&str], name: Option<&str>, text: String| DocumentPart {
            headings: headings.iter().map(ToString::to_string).collect(),
            name: name.map(ToString::to_string),
            text,
            ..DocumentPart::default()
        };
        let long = "word ".repeat(120) + "\n\n";
        let parts = [
            part(&["Plan"], None, "One.".into()),
            part(&["Plan", "Oil"], None, long.repeat(8)),
            part(&["page 2"], Some("page 2"), "# no heading".into()),
            DocumentPart { first_line: Some(7), ..part(&[], None, "\nfirst words\n".into()) },
        ];
        let records = cut_parts("a/plan.pdf", Some("Plan"), &parts).expect("few");
        let uri = |record: &NewRecord| record.uri.as_ref().expect("a URI").short().to_string();
        assert!(records.len() > parts.len() && records.iter().all(|r| r.text.len() < 2500));
        assert_eq!((uri(&records[0]), &*records[0].title), ("doc/a/plan.pdf/plan".into(), "Plan"));
        assert_eq!(uri(&records[1]), "doc/a/plan.pdf/oil");
        assert_eq!(records[1].title, "Plan › Oil");
        let [page, lines] = &records[records.len() - 2..] else { panic!("two more") };
        assert_eq!((uri(page), &*page.title), ("doc/a/plan.pdf/page-2".into(), "Plan › page 2"));
        assert_eq!(uri(lines), "doc/a/plan.pdf/first-words");
        let source = |record: &NewRecord| record.source.clone().expect("a source");
        assert_eq!((source(page).line_start, source(lines).line_start), (0, 8));
    }

    #[test]
    fn one_endless_line_and_empty_texts_are_fine() {
        assert_eq!(passages("").len(), 0);
        assert_eq!(passages("\n \n\t\n").len(), 0);
        assert_eq!(passages(&"y".repeat(100_000)).len(), 1);
        assert_eq!(passages("# only a heading\n").len(), 1);
    }
}
