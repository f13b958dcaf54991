//! The text as a reader understands it, whatever characters write it: for matching only, never to
//! be stored or ranked by.
//!
//! Knows nothing of rules. Letter case, accents, full-width and mathematical letters, letters of
//! other scripts that look Latin, invisible characters and odd spaces disappear.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

use super::hidden::is_invisible;
use crate::tables::rows;

/// How many single letters in a row are a word with spaces between its letters.
const SPACED_LETTERS_MIN: usize = 6;

/// A text for matching.
pub(super) struct Folded {
    /// In lower case; one space or one line end between words.
    pub(super) text: String,
    /// The original without its invisible characters, if it has any.
    pub(super) visible: Option<String>,
}

/// A text for matching.
pub(super) fn fold(text: &str) -> Folded {
    let visible = (!text.is_ascii() && text.chars().any(is_invisible))
        .then(|| text.chars().filter(|c| !is_invisible(*c)).collect::<String>());
    let joined = joined(visible.as_deref().unwrap_or(text));
    let read = joined.as_deref().or(visible.as_deref()).unwrap_or(text);
    let mut folder = Folder { text: String::with_capacity(read.len()), gap: None };
    for c in read.chars() {
        folder.add(c);
    }
    Folded { text: folder.text, visible }
}

struct Folder {
    text: String,
    gap: Option<char>,
}

impl Folder {
    fn add(&mut self, c: char) {
        if c.is_whitespace() {
            let is_end = matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
            self.gap = if is_end || self.gap == Some('\n') { Some('\n') } else { Some(' ') };
        } else if c.is_ascii() {
            if !c.is_ascii_control() {
                self.push(c.to_ascii_lowercase());
            }
        } else if let Some(alike) = look_alike(c) {
            alike.chars().for_each(|c| self.push(c));
        } else {
            decompose_compatible(c, |part| self.add_part(part));
        }
    }

    fn add_part(&mut self, part: char) {
        if part == ' ' {
            self.gap = self.gap.or(Some(' '));
        } else if part.is_ascii() {
            self.push(part.to_ascii_lowercase());
        } else if !is_combining_mark(part) {
            match look_alike(part) {
                Some(alike) => alike.chars().for_each(|c| self.push(c)),
                None => part.to_lowercase().for_each(|c| self.push(c)),
            }
        }
    }

    fn push(&mut self, c: char) {
        if let Some(gap) = self.gap.take()
            && !self.text.is_empty()
        {
            self.text.push(gap);
        }
        self.text.push(c);
    }
}

/// The Latin letters that a character looks like.
fn look_alike(c: char) -> Option<&'static str> {
    static ALIKE: LazyLock<HashMap<char, &str>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for row in rows(include_str!("../../tables/lookalikes.txt")) {
            if let Some((latin, others)) = row.split_once(' ') {
                all.extend(others.chars().filter(|c| *c != ' ').map(|other| (other, latin)));
            }
        }
        all
    });
    ALIKE.get(&c).copied()
}

/// A text whose words `w e r e  s p a c e d  o u t`, with them in one piece; none if there are
/// none. Two spaces or more separate such words.
fn joined(text: &str) -> Option<String> {
    let is_letter = |part: &str| part.chars().count() == 1;
    let mut longest = 0;
    let mut run = 0;
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        run = if is_letter(part) { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    if longest < SPACED_LETTERS_MIN {
        return None;
    }
    let mut joined = String::with_capacity(text.len());
    let mut after_letter = false;
    for part in text.split(' ') {
        if !(after_letter && is_letter(part)) {
            joined.push(' ');
        }
        joined.push_str(part);
        after_letter = is_letter(part);
    }
    Some(joined)
}
