//! What begins in one message and ends in another: a token that was written in two pieces.
//!
//! Knows nothing of who wrote the messages; they are read as one text, without anything between.

use crate::{Span, joined, spans};

/// How much of what is before and after a border of two messages is read, in bytes: as long as
/// the longest key.
const SIDE_BYTES_MAX: usize = 8 * 1024;

/// How a key begins that may go on in the next message, although a line ends between them.
const KEY: &str = "-----BEGIN ";

/// The rule of addresses of mail: what stands behind one that ends a message is the next word.
const ADDRESS: &str = "email";

/// What must not be kept of texts that follow each other, but is found in none of them alone: for
/// each text its parts, ascending.
#[must_use]
pub fn spans_across(texts: &[&str]) -> Vec<Vec<Span>> {
    let mut found: Vec<Vec<Span>> = vec![Vec::new(); texts.len()];
    for border in 1..texts.len() {
        if !may_go_on(texts[border - 1], texts[border]) {
            continue;
        }
        let side = Side::around(texts, border);
        for span in spans(&side.text) {
            let goes_on = span.range.start < side.border && side.border < span.range.end;
            if goes_on && span.rule != ADDRESS && !ends_with_word(&span, &side) {
                side.share(&span, texts, &mut found);
            }
        }
    }
    found.into_iter().map(joined).collect()
}

/// Whether what is before the border is all of it, and what is behind is a word like any other.
fn ends_with_word(span: &Span, side: &Side) -> bool {
    let (before, after) = side.text.split_at(side.border);
    let word = after.split(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_end_matches(|c: char| c.is_ascii_punctuation());
    let is_plain = word.chars().count() > 1
        && word.chars().all(char::is_alphabetic)
        && word.chars().skip(1).all(char::is_lowercase);
    is_plain
        && spans(before)
            .iter()
            .any(|alone| alone.rule == span.rule && alone.range.end == before.len())
}

/// Whether a word may go on from one text to the next, or a key does.
fn may_go_on(before: &str, after: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    is_word(before.chars().next_back()) && is_word(after.chars().next())
        || tail(before, SIDE_BYTES_MAX).contains(KEY)
}

/// What is around the border of two texts, across as many texts as that takes.
struct Side {
    text: String,
    /// Where the border is in it.
    border: usize,
    /// Of each text in it: which, where its part begins in the text, and where in this.
    parts: Vec<Part>,
}

struct Part {
    index: usize,
    start: usize,
    at: usize,
    len: usize,
}

impl Side {
    fn around(texts: &[&str], border: usize) -> Side {
        let mut first = border;
        let mut before = 0;
        while first > 0 && before < SIDE_BYTES_MAX {
            first -= 1;
            before += texts[first].len();
        }
        let mut side = Side { text: String::new(), border: 0, parts: Vec::new() };
        let mut left = SIDE_BYTES_MAX;
        for (index, text) in texts.iter().enumerate().skip(first) {
            if index == border {
                side.border = side.text.len();
            }
            let excess = if index == first { before.saturating_sub(SIDE_BYTES_MAX) } else { 0 };
            let kept = tail(text, text.len() - excess);
            let kept = if index < border { kept } else { head(kept, left) };
            let (start, at) =
                (if index < border { text.len() - kept.len() } else { 0 }, side.text.len());
            side.parts.push(Part { index, start, at, len: kept.len() });
            side.text.push_str(kept);
            left -= if index < border { 0 } else { kept.len() };
            if index >= border && (left == 0 || kept.len() < text.len()) {
                break;
            }
        }
        side
    }

    /// Gives each text its part of a span.
    fn share(&self, span: &Span, texts: &[&str], found: &mut [Vec<Span>]) {
        for part in &self.parts {
            let start = span.range.start.max(part.at);
            let end = span.range.end.min(part.at + part.len);
            if start < end {
                let offset = part.start;
                let range = start - part.at + offset..end - part.at + offset;
                debug_assert!(texts[part.index].get(range.clone()).is_some(), "whole characters");
                found[part.index].push(Span { range, rule: span.rule });
            }
        }
    }
}

fn head(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn tail(text: &str, bytes_max: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes_max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
