//! Web pages: what a reader sees of them, in blocks under their headings.
//!
//! Tags are read one after another and never as a tree, so that no nesting costs more than its
//! bytes. Links are not followed, and scripts are not read.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::charset;
use crate::error::ReadError;
use crate::limits::Limits;
use crate::text::{Draft, Text};

/// Elements whose content no reader sees.
const HIDDEN: [&str; 8] =
    ["script", "style", "template", "noscript", "svg", "math", "iframe", "object"];
/// Elements that begin and end a paragraph.
const BLOCKS: [&str; 31] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "tbody",
    "thead",
    "title",
    "ul",
];
/// What stands between two cells of a row.
pub(crate) const CELL_GAP: &str = " | ";

/// Reads a page.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Text, ReadError> {
    let mut draft = Draft::new(limits);
    read_into(&charset::page(bytes), &mut draft, true)?;
    draft.finish()
}

/// Adds what a page says to a draft; `is_whole`: its title and headings are those of the document.
pub(crate) fn read_into(
    page: &str,
    draft: &mut Draft<'_>,
    is_whole: bool,
) -> Result<(), ReadError> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reader = Page { draft, is_whole, open: OpenElements::default() };
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.start(&tag)?,
            Token::EndTag(tag) => reader.end(&name_of(&tag.name))?,
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.flush()
}

fn name_of(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// What is open at a place of a page.
#[derive(Default)]
struct OpenElements {
    /// The element whose content is not read, and how often it is open.
    hidden: Option<(String, usize)>,
    /// How many `pre` are open: white space counts there.
    pre: usize,
    /// The level of the heading.
    heading: Option<usize>,
    /// Whether it is the title.
    is_title: bool,
    /// How a paragraph of a list or a row begins.
    mark: &'static str,
    /// Whether what is collected is a row.
    is_row: bool,
    /// What is collected.
    words: String,
}

struct Page<'d, 'l> {
    draft: &'d mut Draft<'l>,
    is_whole: bool,
    open: OpenElements,
}

impl Page<'_, '_> {
    fn start(&mut self, tag: &StartTag<()>) -> Result<(), ReadError> {
        let name = name_of(&tag.name);
        if let Some((hidden, depth)) = &mut self.open.hidden {
            *depth += usize::from(*hidden == name && !tag.self_closing);
            return Ok(());
        }
        if HIDDEN.contains(&name.as_str()) {
            if !tag.self_closing {
                self.open.hidden = Some((name, 1));
            }
            return Ok(());
        }
        match name.as_str() {
            "br" => self.open.words.push('\n'),
            "pre" | "textarea" => {
                self.flush()?;
                self.open.pre += 1;
            }
            "title" => {
                self.flush()?;
                self.open.is_title = true;
            }
            "meta" => self.meta(tag),
            "img" => self.text(&attribute(tag, "alt").unwrap_or_default()),
            "li" => {
                self.flush()?;
                self.open.mark = "- ";
            }
            "tr" => {
                self.flush()?;
                self.open.is_row = true;
            }
            "td" | "th" if !self.open.words.trim().is_empty() => self.open.words.push_str(CELL_GAP),
            _ if level(&name).is_some() => {
                self.flush()?;
                self.open.heading = level(&name);
            }
            _ if BLOCKS.contains(&name.as_str()) && !self.open.is_row => self.flush()?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), ReadError> {
        if let Some((hidden, depth)) = &mut self.open.hidden {
            if hidden == name {
                *depth -= 1;
                if *depth == 0 {
                    self.open.hidden = None;
                }
            }
            return Ok(());
        }
        match name {
            "pre" | "textarea" => {
                self.flush()?;
                self.open.pre = self.open.pre.saturating_sub(1);
            }
            "title" | "li" | "tr" => self.flush()?,
            "table" => self.flush()?,
            _ if level(name).is_some() => self.flush()?,
            _ if BLOCKS.contains(&name) && !self.open.is_row => self.flush()?,
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.open.hidden.is_some() {
            return;
        }
        let words = &mut self.open.words;
        if self.open.pre > 0 {
            words.push_str(text);
            return;
        }
        for (at, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            let is_apart = at > 0 && !words.is_empty() && !words.ends_with([' ', '\n']);
            if is_apart {
                words.push(' ');
            }
            words.push_str(word);
        }
    }

    /// What the page says of itself.
    fn meta(&mut self, tag: &StartTag<()>) {
        let name = attribute(tag, "name").or_else(|| attribute(tag, "property"));
        let (Some(name), Some(value)) = (name, attribute(tag, "content")) else { return };
        if !self.is_whole {
            return;
        }
        match name.to_ascii_lowercase().as_str() {
            "author" | "dc.creator" | "article:author" => self.draft.says("author", &value),
            "date" | "dc.date" | "article:published_time" => self.draft.says("date", &value),
            "description" | "og:description" => self.draft.says("description", &value),
            "keywords" => self.draft.says("keywords", &value),
            _ => {}
        }
    }

    /// Ends what is collected.
    fn flush(&mut self) -> Result<(), ReadError> {
        let words = std::mem::take(&mut self.open.words);
        let mark = std::mem::take(&mut self.open.mark);
        let is_row = std::mem::take(&mut self.open.is_row);
        let is_title = std::mem::take(&mut self.open.is_title);
        let heading = self.open.heading.take();
        if words.trim().is_empty() {
            return Ok(());
        }
        if is_title {
            if self.is_whole {
                self.draft.title(&words);
            }
            return Ok(());
        }
        match heading {
            Some(level) if self.is_whole => {
                if level == 1 {
                    self.draft.title(&words);
                }
                self.draft.heading(level, &words)
            }
            _ if !mark.is_empty() => self.draft.line(&format!("{mark}{}", words.trim())),
            _ if is_row => self.draft.line(&words),
            _ => self.draft.paragraph(&words),
        }
    }
}

/// The level of a heading, 1 to 6.
fn level(name: &str) -> Option<usize> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &str) -> Text {
        read(html.as_bytes(), &Limits::default()).expect("a page")
    }

    #[test]
    fn a_page_is_read_as_a_reader_sees_it() {
        let text = page(
            "<!doctype html><head><title>Lamp &amp; oil</title><meta name=author content='Ann'>
             <style>p{}</style><script>if (a<b) '</p>'</script></head><body>
             <h1>Lamps</h1><p>Turn\n it <b>on</b>.<p>Second.<ul><li>one<li>two</ul>
             <h2>Oil</h2><table><tr><th>kind<th>price<tr><td>rape<td>3</table><pre>a\n  b</pre>",
        );
        assert_eq!(text.title.as_deref(), Some("Lamp & oil"));
        assert_eq!(text.metadata, [("author", "Ann".to_string())]);
        let found: Vec<_> =
            text.sections.iter().map(|s| (s.headings.join("/"), s.text.as_str())).collect();
        assert_eq!(
            found,
            [
                ("Lamps".into(), "Turn it on.\n\nSecond.\n- one\n- two"),
                ("Lamps/Oil".into(), "kind | price\nrape | 3\n\na\n  b"),
            ]
        );
    }

    #[test]
    fn soup_is_read_to_its_end() {
        let deep = "<div>".repeat(100_000) + "deep";
        assert_eq!(page(&deep).sections[0].text, "deep");
        assert_eq!(page("<p>a<script>no").sections[0].text, "a");
        assert_eq!(page("<svg><svg><text>no</svg></svg>yes").sections[0].text, "yes");
        assert_eq!(page("</p></h1><h7>a</h9>&#0;&bogus;b").sections.len(), 1);
    }
}
