//! The parts of an agent's text that say what is asked for. A text is cut at its lines into
//! passages that fit a prompt, and each passage is weighed by the words of the query that it has.

use std::ops::Range;

use kapsa_memory::query::{Query, terms_in};

use kapsa_memory::tokens;

/// Most bytes of one text that are looked at.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// A word of the query in the title counts for this much of one in the passage.
const TITLE_SHARE: f32 = 0.5;

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passage {
    /// Bytes of the text, on character boundaries.
    pub(super) range: Range<usize>,
    /// Places of the query's terms that it has, ascending.
    pub(super) terms: Vec<usize>,
}

/// Cuts a text into passages of at most `chars_max` characters: whole lines as long as they fit,
/// else parts of one line.
pub(super) fn cut(text: &str, query: &Query, chars_max: usize) -> Vec<Passage> {
    let seen = tokens::first_bytes(text, TEXT_BYTES_MAX);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut open: Option<(Range<usize>, usize)> = None;
    for (range, chars) in pieces(seen, chars_max) {
        match &mut open {
            Some((passage, held)) if *held + chars <= chars_max => {
                passage.end = range.end;
                *held += chars;
            }
            _ => {
                ranges.extend(open.take().map(|(passage, _)| passage));
                open = Some((range, chars));
            }
        }
    }
    ranges.extend(open.map(|(passage, _)| passage));
    ranges.retain(|range| !text[range.clone()].trim().is_empty());
    let passage =
        |range: Range<usize>| Passage { terms: terms_in(&text[range.clone()], query), range };
    ranges.into_iter().map(passage).collect()
}

/// The lines of a text with their number of characters; a line above the limit in parts, which end
/// with a sentence where one ends in their second half, else with a word.
fn pieces(text: &str, chars_max: usize) -> Vec<(Range<usize>, usize)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while !rest.is_empty() {
            let part = ended(rest, tokens::first_chars(rest, chars_max.max(1)));
            pieces.push((start..start + part.len(), part.chars().count()));
            start += part.len();
            rest = &rest[part.len()..];
        }
    }
    pieces
}

/// The beginning of a line, which has to end within `most`: after a sentence, or else after a word.
fn ended<'a>(line: &'a str, most: &'a str) -> &'a str {
    if most.len() == line.len() {
        return line;
    }
    let half = tokens::first_chars(most, most.chars().count() / 2).len();
    let after = |(at, c): (usize, char)| at + c.len_utf8();
    let sentence = most.char_indices().zip(most.chars().skip(1)).filter(|((_, c), next)| {
        matches!(c, '.' | '!' | '?' | ';' | '。' | '！' | '？')
            && (next.is_whitespace() || !c.is_ascii())
    });
    let sentence = sentence.map(|(ending, _)| after(ending)).filter(|end| *end > half).last();
    let word =
        most.char_indices().filter(|(_, c)| c.is_whitespace()).map(after).rfind(|end| *end > half);
    &most[..sentence.or(word).unwrap_or(most.len())]
}

/// Words with which agents state what others have to go by.
const DECISION_WORDS: [&str; 14] = [
    "decided", "decision", "must", "never", "always", "chose", "chosen", "settled", "agreed",
    "instead", "learned", "rejected", "not done", "requires",
];

/// Whether a text states a decision. Other languages than English are not looked at: for them
/// nothing changes.
pub(super) fn decides(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_word = |at: usize, word: &str| {
        !lower[..at].ends_with(char::is_alphanumeric)
            && !lower[at + word.len()..].starts_with(char::is_alphanumeric)
    };
    DECISION_WORDS.iter().any(|word| lower.match_indices(word).any(|(at, _)| is_word(at, word)))
}

/// What each term of a query is worth: more, the fewer of the passages have it (as in BM25).
pub(super) fn weights<'a>(passages: impl Iterator<Item = &'a Passage>, terms: usize) -> Vec<f32> {
    let mut have = vec![0u32; terms];
    let mut all = 0u32;
    for passage in passages {
        all += 1;
        passage.terms.iter().for_each(|&term| have[term] += 1);
    }
    have.into_iter()
        .map(|have| (1.0 + ((all - have) as f32 + 0.5) / (have as f32 + 0.5)).ln())
        .collect()
}

/// What a passage, and half of what the title above it, has of the query.
pub(super) fn worth(passage: &Passage, title: &[usize], weights: &[f32]) -> f32 {
    let own: f32 = passage.terms.iter().map(|&term| weights[term]).sum();
    let above = title.iter().filter(|term| !passage.terms.contains(term));
    // The sum of nothing is a negative zero.
    0.0 + own + above.map(|&term| TITLE_SHARE * weights[term]).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, chars_max: usize) -> Vec<&str> {
        let query = Query::parse("port").expect("a query");
        cut(text, &query, chars_max).into_iter().map(|passage| &text[passage.range]).collect()
    }

    #[test]
    fn passages_are_whole_lines_where_they_fit() {
        assert_eq!(texts("one\ntwo\nthree\n", 8), ["one\ntwo\n", "three\n"]);
        assert_eq!(texts("one\n\n\n\ntwo", 4), ["one\n", "two"]);
        assert_eq!(texts("žluťoučký", 4), ["žluť", "oučk", "ý"]);
        assert_eq!(texts("a\nbcdefgh", 4), ["a\n", "bcde", "fgh"]);
        assert_eq!(
            texts("One is this. Two goes on and on.", 20),
            ["One is this.", " Two goes on and on."]
        );
        assert_eq!(
            texts("no sentence ends here at all", 12),
            ["no sentence ", "ends here ", "at all"]
        );
        assert!(texts(" \n\t", 4).is_empty() && texts("", 4).is_empty());
    }

    #[test]
    fn rare_words_are_worth_more() {
        let query = Query::parse("service port").expect("a query");
        let passages =
            ["service a", "service b", "service port"].map(|text| cut(text, &query, 99).remove(0));
        let weights = weights(passages.iter(), query.terms().count());
        let worths: Vec<f32> =
            passages.iter().map(|passage| worth(passage, &[], &weights)).collect();
        assert!(worths[2] > 2.0 * worths[0], "{worths:?}");
        assert!(worth(&passages[0], &[1], &weights) > worths[0], "a word in the title counts");
    }

    #[test]
    fn decisions_are_known_by_their_words() {
        for (text, decides_something) in [
            ("We decided on port 1", true),
            ("Money MUST be in cents", true),
            ("mustard and neverland", false),
            ("undecided mess", false),
            ("I read the files", false),
        ] {
            assert_eq!(decides(text), decides_something, "{text}");
        }
    }
}
