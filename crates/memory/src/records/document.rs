//! Cuts a document into records: at headings, and within long sections at paragraphs.
//!
//! A passage's URI is made of the document's name and the heading it stands under, so that editing
//! one section revises one record and leaves the others alone.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::records::record::{NewRecord, Source};
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

/// Cuts a Markdown or plain text into passages at headings and paragraphs.
///
/// `name` is the path as it shall be shown; it becomes part of the URIs: `doc/<name…>/<heading>`.
///
/// # Errors
/// `InvalidOperation` for more than [`PASSAGES_MAX`] passages.
pub fn cut(name: &str, text: &str) -> Result<Vec<NewRecord>> {
    let mut used = HashMap::new();
    let mut passages = Vec::new();
    for section in sections(text)? {
        for lines in split(text, &section) {
            passages.extend(passage(name, text, &section, lines, &mut used));
            expect_few(passages.len())?;
        }
    }
    Ok(passages)
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
#[derive(Debug, Default)]
struct Section<'a> {
    /// Headings from the outermost to this one, each with its level.
    headings: Vec<(usize, &'a str)>,
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

fn sections(text: &str) -> Result<Vec<Section<'_>>> {
    let mut sections = vec![Section::default()];
    let mut fence: Option<&str> = None;
    for (number, line) in lines(text).enumerate() {
        let content = &text[line.start..line.end];
        fence = next_fence(fence, content);
        if let Some((level, title)) = heading(content).filter(|_| fence.is_none()) {
            let mut headings = sections.last().map(|s| s.headings.clone()).unwrap_or_default();
            headings.retain(|(outer, _)| *outer < level);
            headings.push((level, first_chars(title)));
            sections.push(Section { headings, lines: Vec::new() });
            expect_few(sections.len())?;
        }
        sections.last_mut().expect("never empty").lines.push((number + 1, line));
    }
    Ok(sections)
}

fn first_chars(title: &str) -> &str {
    title.char_indices().nth(HEADING_CHARS_MAX).map_or(title, |(end, _)| title[..end].trim_end())
}

/// Whether the lines after `content` stand inside a code fence, and of which kind.
fn next_fence<'a>(fence: Option<&'a str>, content: &'a str) -> Option<&'a str> {
    let trimmed = content.trim_start();
    let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
    match (fence, mark) {
        (None, Some(mark)) => Some(mark),
        (Some(open), Some(mark)) if open == mark => None,
        (open, _) => open,
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|&b| b == b'#').count();
    let rest = line.get(level..)?;
    let title = rest.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t']) && !title.is_empty())
        .then_some((level, title))
}

/// Cuts a section's lines into runs at blank lines, each run long enough to mean something and
/// short enough to point at.
fn split<'a>(text: &str, section: &'a Section<'_>) -> Vec<&'a [(usize, Line)]> {
    let all = &section.lines;
    let mut runs = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, (_, line)) in all.iter().enumerate() {
        let length = line.end - line.start + 1;
        let blank = text[line.start..line.end].trim().is_empty();
        let full = bytes + length > PASSAGE_BYTES_MAX && bytes > 0;
        let paragraph =
            blank && bytes >= PASSAGE_BYTES_MIN && rest_bytes(&all[index..]) >= PASSAGE_BYTES_MIN;
        if full
            || paragraph
                && bytes + next_paragraph_bytes(text, &all[index + 1..]) > PASSAGE_BYTES_MAX
        {
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
    used: &mut HashMap<String, u32>,
) -> Option<NewRecord> {
    let blank = |(_, line): &&(usize, Line)| text[line.start..line.end].trim().is_empty();
    let first = lines.iter().find(|line| !blank(line))?;
    let last = lines.iter().rev().find(|line| !blank(line))?;
    let body = &text[first.1.start..last.1.end];
    let headings: Vec<&str> = section.headings.iter().map(|(_, title)| *title).collect();
    let only_heading =
        heading(body).is_some() && first.0 == last.0 && section.lines.len() > lines.len();
    if only_heading {
        return None;
    }
    let slug = unique(anchor(&headings, body), used);
    let hash = blake3::hash(body.as_bytes()).to_hex();
    let segments = ["doc"].into_iter().chain(name.split('/').filter(|part| !part.is_empty()));
    Some(NewRecord {
        uri: Some(Uri::from_segments(segments.chain([slug.as_str()]))),
        title: if headings.is_empty() { name.to_string() } else { headings.join(" › ") },
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
    fn one_endless_line_and_empty_texts_are_fine() {
        assert_eq!(passages("").len(), 0);
        assert_eq!(passages("\n \n\t\n").len(), 0);
        assert_eq!(passages(&"y".repeat(100_000)).len(), 1);
        assert_eq!(passages("# only a heading\n").len(), 1);
    }
}
