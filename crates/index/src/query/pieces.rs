//! The pieces of a query, between its blanks: which of them have the form of an operator.

use std::ops::Range;

use super::words_of;

/// Fields of which a document has one value.
pub(super) const SINGLE_FIELDS: [&str; 5] = ["kind", "agent", "run", "domain", "uri"];
/// Fields of which a document may have several.
const MULTIPLE_FIELDS: [&str; 3] = ["label", "tag", "entity"];
pub(super) const TITLE: &str = "title";
/// Fewest ASCII letters of a word that a sign can stand before: fewer are the flags of a command.
const SIGNED_LETTERS_MIN: usize = 3;
/// Fewest characters before the `*` of a beginning of words.
const PREFIX_CHARS_MIN: usize = 2;

/// A piece of a query that may be an operator or plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator<'a> {
    /// All of it, as it is written.
    pub written: &'a str,
    /// The sign before it.
    pub sign: Sign,
    /// The field before its colon, one that a query may name.
    pub field: Option<&'a str>,
    /// The word, the phrase or the value.
    pub text: &'a str,
}

impl Operator<'_> {
    /// Whether it is words in quotes, with no sign or field before them.
    pub fn is_phrase(&self) -> bool {
        self.sign == Sign::None && self.field.is_none() && self.written.starts_with('"')
    }

    /// The exact terms that a document must have for it to be a field clause that says something.
    pub fn terms(&self) -> Vec<String> {
        match self.field {
            None => Vec::new(),
            Some(TITLE) => {
                let parts = words_of(self.text).parts.into_iter();
                parts.map(|(_, word)| format!("{TITLE}:{word}")).collect()
            }
            Some(field) => vec![format!("{field}:{}", self.text)],
        }
    }
}

/// What is asked about a piece of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It counts.
    None,
    /// It is required.
    Must,
    /// It is excluded.
    MustNot,
}

/// One blank-separated piece of a query.
pub(crate) struct Item<'a> {
    pub(crate) sign: Sign,
    /// The known field before the colon.
    pub(crate) field: Option<&'a str>,
    pub(crate) text: &'a str,
    pub(super) quoted: bool,
    /// All of it in the query.
    pub(crate) range: Range<usize>,
}

impl<'a> Item<'a> {
    fn words(text: &'a str, start: usize) -> Item<'a> {
        let range = start..start + text.len();
        Item { sign: Sign::None, field: None, text, quoted: false, range }
    }

    /// What it may be besides words.
    pub(super) fn operator(&self, written: &'a str) -> Option<Operator<'a>> {
        let is_words = self.sign == Sign::None && self.field.is_none() && !self.quoted;
        let operator = Operator { written, sign: self.sign, field: self.field, text: self.text };
        (!is_words).then_some(operator)
    }
}

pub(crate) fn items(text: &str) -> impl Iterator<Item = Item<'_>> {
    // Who asks in several lines has pasted them.
    let pasted = text.trim().contains(['\n', '\r']);
    let last_closing = text.rmatch_indices('"').map(|(at, _)| at).find(|&at| closes(text, at));
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text[at..].trim_start();
        let start = text.len() - rest.len();
        if rest.is_empty() {
            return None;
        }
        let item = if pasted {
            Item::words(&rest[..word_len(rest)], start)
        } else {
            item(rest, start, last_closing.unwrap_or(0))
        };
        assert!(item.range.end > at, "a piece of a query has bytes");
        at = item.range.end;
        Some(item)
    })
}

/// Whether the quote at `at` can close a phrase.
fn closes(text: &str, at: usize) -> bool {
    text[at + 1..].chars().next().is_none_or(|c| !c.is_alphanumeric())
}

/// The piece that a text begins with, which begins at `start` of the query, of which no quote after
/// `last_closing` closes a phrase.
fn item(rest: &str, start: usize, last_closing: usize) -> Item<'_> {
    let (sign, body) = strip_sign(rest);
    let (field, body) = strip_field(body);
    let at = start + rest.len() - body.len();
    let Some(quote) = body.strip_prefix('"') else {
        let text = &body[..word_len(body)];
        return Item { sign, field, text, quoted: false, range: start..at + text.len() };
    };
    let may_close = at < last_closing;
    let mut quotes = quote.match_indices('"').map(|(end, _)| end).filter(|_| may_close);
    let closing = quotes.find(|&end| closes(quote, end));
    match closing {
        Some(end) => {
            let text = &quote[..end];
            Item { sign, field, text, quoted: true, range: start..at + 1 + end + 1 }
        }
        // The value of a field goes on to the end; no phrase does.
        None if field.is_some() => {
            Item { sign, field, text: quote, quoted: true, range: start..at + body.len() }
        }
        None => {
            Item { sign: Sign::None, field: None, text: "", quoted: false, range: start..at + 1 }
        }
    }
}

/// Bytes up to the next white space.
fn word_len(text: &str) -> usize {
    text.find(char::is_whitespace).unwrap_or(text.len())
}

/// A sign counts only right before a word, and only one: `--flag`, `a - b` and `++i` have none, and
/// `-40`, `-p` and `-rf` are what they are.
fn strip_sign(text: &str) -> (Sign, &str) {
    let sign = match text.as_bytes()[0] {
        b'+' => Sign::Must,
        b'-' => Sign::MustNot,
        _ => return (Sign::None, text),
    };
    let body = &text[1..];
    let word = &body[..word_len(body)];
    let is_flag = word.len() < SIGNED_LETTERS_MIN && word.is_ascii() && !word.starts_with('"');
    let signs = |c: char| c == '"' || c == '_' || c.is_alphanumeric() && !c.is_numeric();
    if body.starts_with(signs) && !is_flag { (sign, body) } else { (Sign::None, text) }
}

/// A known field counts only with a value after its colon.
fn strip_field(text: &str) -> (Option<&str>, &str) {
    let known = [TITLE].into_iter().chain(SINGLE_FIELDS).chain(MULTIPLE_FIELDS);
    let value = |field: &str| text.strip_prefix(field)?.strip_prefix(':');
    known
        .filter_map(|field| Some((Some(field), value(field)?)))
        .find(|(_, value)| value.starts_with(|c: char| !c.is_whitespace()))
        .unwrap_or((None, text))
}

/// The beginning of words that a piece asks for: `conf*`.
pub(super) fn prefix_of(text: &str) -> Option<String> {
    let word = text.strip_suffix('*')?;
    let fits = word.chars().count() >= PREFIX_CHARS_MIN
        && word.chars().all(|c| c == '_' || c.is_alphanumeric());
    fits.then(|| word.to_lowercase())
}
