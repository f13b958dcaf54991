//! What comes out of a document, and how it is put together.

use crate::error::ReadError;
use crate::limits::{Limits, expect_at_most};

/// The text of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// What it calls itself.
    pub title: Option<String>,
    /// What it says of itself, such as its author, by name.
    pub metadata: Vec<(&'static str, String)>,
    /// Its sections, in order; none is empty.
    pub sections: Vec<Section>,
    /// What could not be read, for people.
    pub unread: Vec<String>,
}

/// A part of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// The headings that it stands under, from the outermost.
    pub headings: Vec<String>,
    /// What it is called within its document, where that is not made of its headings: it stays when
    /// the section or another one is edited.
    pub name: Option<String>,
    /// Its text: lines, with a blank one between paragraphs.
    pub text: String,
    /// Where it stands.
    pub place: Place,
    /// What it says of itself, by name.
    pub metadata: Vec<(&'static str, String)>,
    /// When what it tells happened, where it says so: seconds since the Unix epoch.
    pub time: Option<i64>,
}

/// Where a section stands in its document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// Under its headings.
    #[default]
    Headings,
    /// On a page, counted from 1.
    Page(usize),
    /// On a slide, counted from 1.
    Slide(usize),
    /// From one line to another, counted from 1, inclusive.
    Lines(usize, usize),
    /// From one row to another of a table, counted from 1, inclusive.
    Rows(usize, usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Headings => Ok(()),
            Place::Page(page) => write!(f, "page {page}"),
            Place::Slide(slide) => write!(f, "slide {slide}"),
            Place::Lines(first, last) => write!(f, "lines {first}-{last}"),
            Place::Rows(first, last) => write!(f, "rows {first}-{last}"),
        }
    }
}

/// Longest heading, in characters.
pub(crate) const HEADING_CHARS_MAX: usize = 200;
/// Deepest level of a heading, which is the deepest that Word knows: each passage repeats the
/// headings that it stands under.
const LEVEL_MAX: usize = 9;
/// Most notes of what could not be read, and the longest, in characters.
const UNREAD_MAX: usize = 1000;
const UNREAD_CHARS_MAX: usize = 500;
/// Longest value of metadata, in characters.
const VALUE_CHARS_MAX: usize = 500;

/// A text that is being put together: paragraphs under headings.
pub(crate) struct Draft<'a> {
    limits: &'a Limits,
    text: Text,
    /// The headings that what comes next stands under, with their levels.
    headings: Vec<(usize, String)>,
    place: Place,
    body: String,
    bytes: usize,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Draft {
            limits,
            text: Text::default(),
            headings: Vec::new(),
            place: Place::default(),
            body: String::new(),
            bytes: 0,
        }
    }

    /// Keeps the first title that says something.
    pub(crate) fn title(&mut self, title: &str) {
        let title = one_line(title, HEADING_CHARS_MAX);
        if self.text.title.is_none() && !title.is_empty() {
            self.text.title = Some(title);
        }
    }

    /// Keeps what the document says of itself.
    pub(crate) fn says(&mut self, name: &'static str, value: &str) {
        let value = one_line(value, VALUE_CHARS_MAX);
        if !value.is_empty() && !self.text.metadata.iter().any(|(known, _)| *known == name) {
            self.text.metadata.push((name, value));
        }
    }

    /// Notes what could not be read.
    pub(crate) fn unread(&mut self, what: String) {
        if self.text.unread.len() < UNREAD_MAX {
            self.text.unread.push(one_line(&what, UNREAD_CHARS_MAX));
        }
    }

    /// What comes next stands under this heading. Levels are those of `1..=9`; a deeper one is the
    /// deepest.
    pub(crate) fn heading(&mut self, level: usize, title: &str) -> Result<(), ReadError> {
        let title = one_line(title, HEADING_CHARS_MAX);
        if title.is_empty() {
            return Ok(());
        }
        self.end_section()?;
        let level = level.min(LEVEL_MAX);
        self.headings.retain(|(outer, _)| *outer < level);
        self.headings.push((level, title));
        Ok(())
    }

    /// What comes next stands there, under no heading yet.
    pub(crate) fn place(&mut self, place: Place) -> Result<(), ReadError> {
        self.end_section()?;
        self.headings.clear();
        self.place = place;
        Ok(())
    }

    /// Adds a paragraph; its lines stay.
    pub(crate) fn paragraph(&mut self, text: &str) -> Result<(), ReadError> {
        self.block(text, "\n\n")
    }

    /// Adds a line that belongs to the one before: a row, an item of a list.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), ReadError> {
        self.block(text, "\n")
    }

    fn block(&mut self, text: &str, gap: &str) -> Result<(), ReadError> {
        let text = text.trim_matches(['\n', '\r', ' ']);
        if text.trim().is_empty() {
            return Ok(());
        }
        if !self.body.is_empty() {
            self.body.push_str(gap);
        }
        let before = self.body.len();
        push_clean(&mut self.body, text);
        self.charge(self.body.len() - before)
    }

    /// Counts bytes that come out.
    fn charge(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.bytes = self.bytes.saturating_add(bytes);
        expect_at_most(self.bytes, self.limits.text_bytes, "bytes of text")
    }

    fn end_section(&mut self) -> Result<(), ReadError> {
        let body = std::mem::take(&mut self.body);
        // What has headings and no text is a title page: its words are its text.
        if body.is_empty() {
            return Ok(());
        }
        let headings = self.headings.iter().map(|(_, title)| title.clone()).collect();
        self.push(Section { headings, text: body, place: self.place, ..Section::default() })
    }

    /// Adds a section as it is.
    pub(crate) fn add(&mut self, section: Section) -> Result<(), ReadError> {
        self.end_section()?;
        self.charge(section.text.len())?;
        self.push(section)
    }

    fn push(&mut self, mut section: Section) -> Result<(), ReadError> {
        section.text.truncate(section.text.trim_end().len());
        if section.text.trim().is_empty() {
            return Ok(());
        }
        self.charge(section.headings.iter().map(String::len).sum())?;
        self.text.sections.push(section);
        expect_at_most(self.text.sections.len(), self.limits.sections, "sections")
    }

    pub(crate) fn finish(mut self) -> Result<Text, ReadError> {
        self.end_section()?;
        Ok(self.text)
    }
}

/// Adds a text without what is no text: control characters but for line breaks and tabs.
fn push_clean(out: &mut String, text: &str) {
    let mut after_return = false;
    for c in text.chars() {
        match c {
            '\n' if after_return => {}
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            '\u{feff}' | '\u{fffe}' => {}
            c => out.push(c),
        }
        after_return = c == '\r';
    }
}

/// A text without what is no text.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_clean(&mut out, text);
    out
}

/// A text on one line: its words, with single spaces between them, cut to so many characters.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let word: String = word.chars().filter(|c| !c.is_control() && *c != '\u{feff}').collect();
        if word.is_empty() {
            continue;
        }
        chars += word.chars().count() + usize::from(!out.is_empty());
        if chars > chars_max {
            if out.is_empty() {
                out.extend(word.chars().take(chars_max));
            }
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_stand_under_their_headings() {
        let limits = Limits::default();
        let mut draft = Draft::new(&limits);
        draft.paragraph("Before.").expect("few");
        for (level, title, text) in [(1, "A", "one"), (2, "B", "two"), (2, "C", "three")] {
            draft.heading(level, title).expect("few");
            draft.paragraph(text).expect("few");
        }
        let text = draft.finish().expect("few");
        let found: Vec<_> = text.sections.iter().map(|s| s.headings.join("/")).collect();
        assert_eq!(found, ["", "A", "A/B", "A/C"]);
    }

    #[test]
    fn headings_have_nine_levels_and_notes_are_few() {
        let limits = Limits::default();
        let mut draft = Draft::new(&limits);
        for level in 1..=2 * LEVEL_MAX {
            draft.heading(level, &format!("h{level}")).expect("few");
            draft.paragraph("text").expect("few");
        }
        (0..=UNREAD_MAX).for_each(|_| draft.unread("long ".repeat(UNREAD_CHARS_MAX)));
        let text = draft.finish().expect("few");
        assert!(text.sections.iter().all(|section| section.headings.len() <= LEVEL_MAX));
        assert_eq!(
            text.sections.last().and_then(|s| s.headings.last().cloned()),
            Some("h18".into())
        );
        assert_eq!(text.unread.len(), UNREAD_MAX);
        assert!(text.unread.iter().all(|note| note.len() <= UNREAD_CHARS_MAX));
    }

    #[test]
    fn what_is_no_text_is_left_out() {
        assert_eq!(clean("a\u{1b}[31m\r\nb\0\tc\r"), "a[31m\nb\tc\n");
        assert_eq!(one_line("  a\n b\u{7}c  ", 100), "a bc");
        assert_eq!(one_line("aaa bbb", 5), "aaa");
        assert_eq!(one_line("aaaaaaaa", 5), "aaaaa");
    }

    #[test]
    fn more_than_a_limit_is_refused() {
        let limits = Limits { text_bytes: 5, sections: 1, ..Limits::default() };
        let mut draft = Draft::new(&limits);
        assert!(draft.add(Section { text: "abcdef".into(), ..Section::default() }).is_err());
        let mut draft = Draft::new(&limits);
        let headings = vec!["abcdef".to_string()];
        assert!(draft.add(Section { headings, text: "a".into(), ..Section::default() }).is_err());
        let mut draft = Draft::new(&limits);
        assert!(draft.paragraph("abcdef").is_err());
        let mut draft = Draft::new(&limits);
        draft.add(Section { text: "a".into(), ..Section::default() }).expect("one");
        assert!(draft.add(Section { text: "b".into(), ..Section::default() }).is_err());
    }
}
