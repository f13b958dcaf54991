//! Finds the words of a query in a text, and the piece of it that shows them best.

use std::collections::HashMap;
use std::ops::Range;

use crate::analyser::{Wanted, with_analyser};
use crate::query::Query;
use crate::steps;

/// How far a snippet's ends move to fall between words, in bytes.
const WORD_BYTES_MAX: usize = 40;

/// The piece of a text that shows best what a query found there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Bytes of the text, on character boundaries.
    pub range: Range<usize>,
    /// Matched words, as bytes of the piece, ascending and apart.
    pub highlights: Vec<Range<usize>>,
}

/// Bytes of `text` that match a word of the query, ascending and apart, on character boundaries.
pub fn highlight(text: &str, query: &Query) -> Vec<Range<usize>> {
    joined(matches(text, query))
}

fn joined(matches: Vec<Match>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for Match { range, .. } in matches {
        match ranges.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => ranges.push(range),
        }
    }
    debug_assert!(ranges.is_sorted_by(|one, other| one.end <= other.start), "marks do not overlap");
    ranges
}

/// The piece of `text`, of at most `chars_max` characters, with the most different query words,
/// then with the most words; the beginning if there is none.
pub fn snippet(text: &str, query: &Query, chars_max: usize) -> Snippet {
    let mut matches = matches(text, query);
    matches.iter_mut().for_each(|found| found.cut(text, chars_max));
    let range = match best_window(&matches, chars_max) {
        Some(window) => widen(text, window, chars_max),
        None => forward(text, 0, chars_max),
    };
    let inside = |word: &Range<usize>| range.start <= word.start && word.end <= range.end;
    let words = joined(matches).into_iter().filter(inside);
    let highlights: Vec<_> =
        words.map(|word| word.start - range.start..word.end - range.start).collect();
    debug_assert!(
        highlights.last().is_none_or(|last| last.end <= range.len()),
        "what is marked lies in the piece"
    );
    Snippet { range, highlights }
}

/// Which terms of the query a text has: their places in [`Query::terms`], ascending.
pub fn terms_in(text: &str, query: &Query) -> Vec<usize> {
    let terms: HashMap<&str, usize> = query.terms().zip(0..).collect();
    let mut found = vec![false; terms.len()];
    with_analyser(|analyser| {
        analyser.analyse_wanted(text, &Wanted::like(query.terms()), &mut |word| {
            if let Some(&term) = terms.get(word.text) {
                found[term] = true;
            }
        });
    });
    (0..found.len()).filter(|&term| found[term]).collect()
}

/// A word of a text that a query has too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermPlace {
    /// Where it begins, in bytes of the text.
    pub at: usize,
    /// Its place in [`Query::terms`].
    pub term: usize,
}

/// Where in a text the terms of the query are, in the order of the text.
pub fn term_places(text: &str, query: &Query) -> Vec<TermPlace> {
    let terms: HashMap<&str, usize> = query.terms().zip(0..).collect();
    let mut found = Vec::new();
    with_analyser(|analyser| {
        analyser.analyse_wanted(text, &Wanted::like(query.terms()), &mut |word| {
            let at = word.range.start;
            found.extend(terms.get(word.text).map(|&term| TermPlace { at, term }));
        });
    });
    found.sort_by_key(|place| place.at);
    found
}

/// A word of the text that the query has too.
struct Match {
    range: Range<usize>,
    /// The same in characters.
    chars: Range<usize>,
    /// Number of its term in the query.
    term: usize,
}

impl Match {
    /// Leaves of a word that is longer than any snippet what fits into one.
    fn cut(&mut self, text: &str, chars_max: usize) {
        if chars_max > 0 && self.chars.len() > chars_max {
            self.chars.end = self.chars.start + chars_max;
            let mut ends = text[self.range.clone()].char_indices();
            let len = ends.nth(chars_max).map_or(self.range.len(), |(at, _)| at);
            self.range.end = self.range.start + len;
        }
    }
}

/// Matched words, ascending.
fn matches(text: &str, query: &Query) -> Vec<Match> {
    let terms: HashMap<&str, usize> = query.terms().zip(0..).collect();
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    with_analyser(|analyser| {
        analyser.analyse_wanted(text, &Wanted::like(query.terms()), &mut |word| {
            found.extend(terms.get(word.text).map(|&term| (word.range, term)));
        });
    });
    found.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut byte, mut char) = (0, 0);
    let in_chars = found.into_iter().map(|(range, term)| {
        let before = char;
        char += text[byte..range.start].chars().count();
        byte = range.start;
        let chars = char..char + text[range.clone()].chars().count();
        steps::note(chars.end - before);
        Match { range, chars, term }
    });
    in_chars.collect()
}

/// From the first to the last word of the best run of matches that fits.
fn best_window(matches: &[Match], chars_max: usize) -> Option<Range<usize>> {
    let mut best = None;
    let mut first = 0;
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for (last, found) in matches.iter().enumerate() {
        *counts.entry(found.term).or_default() += 1;
        while first <= last && found.chars.end - matches[first].chars.start > chars_max {
            let count = counts.entry(matches[first].term).or_default();
            assert!(*count > 0, "what leaves the window was in it");
            *count -= 1;
            if *count == 0 {
                counts.remove(&matches[first].term);
            }
            first += 1;
        }
        let value = (counts.len(), last + 1 - first);
        if value.1 > 0 && best.as_ref().is_none_or(|(most, _)| value > *most) {
            steps::note(last + 1 - first);
            let ends = matches[first..=last].iter().map(|found| found.range.end);
            best = Some((value, matches[first].range.start..ends.max().unwrap_or_default()));
        }
    }
    best.map(|(_, window)| window)
}

/// Puts `window` in the middle of a piece of `chars_max` characters, cut between words.
fn widen(text: &str, window: Range<usize>, chars_max: usize) -> Range<usize> {
    let needed = text[window.clone()].chars().count();
    assert!(needed <= chars_max, "the best window fits");
    let spare = chars_max - needed;
    let start = back(text, window.start, spare / 2);
    let range = forward(text, start, chars_max);
    // Near the end of the text, what is not needed after the window is given to what is before.
    let missing = chars_max - text[range.clone()].chars().count();
    if range.end == text.len() && missing > 0 {
        back(text, start, missing)..range.end
    } else {
        range.start..range.end.max(window.end)
    }
}

/// At most `chars` characters from `start` on, ending between words if possible.
fn forward(text: &str, start: usize, chars: usize) -> Range<usize> {
    let rest = &text[start..];
    let Some((end, _)) = rest.char_indices().nth(chars) else {
        return start..text.len();
    };
    let cut = &rest[..end];
    if rest[end..].starts_with(char::is_whitespace) {
        return start..start + cut.trim_end().len();
    }
    let space = cut.trim_end_matches(|c: char| !c.is_whitespace());
    let keep = if !space.is_empty() && end - space.len() <= WORD_BYTES_MAX { space } else { cut };
    start..start + keep.trim_end().len()
}

/// A place at most `chars` characters before `end`, beginning a word if possible.
fn back(text: &str, end: usize, chars: usize) -> usize {
    let before = &text[..end];
    let Some((at, _)) = before.char_indices().rev().take(chars).last() else {
        return end;
    };
    if at == 0 {
        return 0;
    }
    let rest = &text[at..end];
    let word = rest.find(char::is_whitespace).filter(|&len| len <= WORD_BYTES_MAX);
    word.map_or(at, |len| end - rest[len..].trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::parse(text).expect("short")
    }

    /// Matched words in brackets.
    fn check_highlight(text: &str, words: &str, expected: &str) {
        let mut marked = text.to_owned();
        for range in highlight(text, &query(words)).into_iter().rev() {
            marked.insert(range.end, ']');
            marked.insert(range.start, '[');
        }
        assert_eq!(marked, expected);
    }

    #[test]
    fn highlights() {
        check_highlight("Foxes run, the fox ran.", "fox", "[Foxes] run, the [fox] ran.");
        check_highlight("a getUserName b", "user", "a get[User]Name b");
        check_highlight("a getUserName b", "getUserName", "a [getUserName] b");
        check_highlight("naïve Éclair", "eclair naive", "[naïve] [Éclair]");
        check_highlight("これは東京都です", "東京都", "これは[東京都]です");
        check_highlight("one two three", "\"two three\" -one", "one [two] [three]");
        check_highlight("nothing here", "fox", "nothing here");
    }

    fn check_snippet(text: &str, words: &str, chars_max: usize, expected: &str) {
        let found = snippet(text, &query(words), chars_max);
        assert_eq!(&text[found.range], expected);
    }

    #[test]
    fn snippets() {
        let text = "Alpha beta gamma delta. One fox and one dog met. Epsilon zeta eta theta fox.";
        check_snippet(text, "fox dog", 20, "fox and one dog met.");
        check_snippet(text, "fox dog", 1000, text);
        check_snippet(text, "absent", 12, "Alpha beta");
        check_snippet(text, "theta", 12, "theta fox.");
        check_snippet(text, "fox", 0, "");
        check_snippet("", "fox", 10, "");
    }

    #[test]
    fn snippets_of_long_words() {
        let long = "é3x".repeat(1000);
        let text = format!("One {long} two");
        let found = snippet(&text, &query(&long), 20);
        assert_eq!(found.highlights, std::slice::from_ref(&(0..27)), "its beginning");
        assert_eq!(found.range, 4..31);
        let found = snippet(&text, &query("two"), 20);
        assert_eq!(found.highlights.len(), 1, "what follows");
        check_highlight(&text, &long, &format!("One [{long}] two"));
        let camel = "GetUserName".repeat(30);
        check_highlight(&format!("a {camel} b"), &camel, &format!("a [{camel}] b"));
        let marked = "[Get]User[Name]".repeat(30);
        check_highlight(&camel, "name get", &marked);
    }

    #[test]
    fn snippets_hold_their_promises_on_any_text() {
        let pieces =
            ["fox", "é", "東京都", " ", "\n", "getUserName", "🦊", "dog.", "e\u{301}", "x"];
        let mut number = 1_u64;
        for _ in 0..3000 {
            let mut text = String::new();
            for _ in 0..number % 40 {
                number = number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(number >> 33) as usize % pieces.len()]);
            }
            number = number.wrapping_add(1);
            let chars_max = (number >> 40) as usize % 30;
            let found = snippet(&text, &query("fox dog 東京 getUserName é"), chars_max);
            let piece = text.get(found.range.clone()).expect("on character boundaries");
            assert!(piece.chars().count() <= chars_max, "{text:?} {chars_max}");
            let mut end = 0;
            for word in found.highlights {
                assert!(word.start >= end && !piece.get(word.clone()).expect("inside").is_empty());
                end = word.end;
            }
        }
    }
}
