//! Finds the documents that may have a text as a part of theirs, letter case aside. Trigrams: a
//! document has the text only if it has each three consecutive letters of it, which are exact terms
//! like any other. What the trigrams let through must be read to be sure.
//!
//! Zobel, Moffat and Sacks-Davis (1993), "Searching large lexicons for partially specified terms",
//! and Cox (2012), "Regular expression matching with a trigram index", explain why few others get
//! through.

use std::collections::BTreeSet;

/// Longest text whose parts are indexed, in bytes; a longer one is let through whatever is asked
/// for.
pub const PART_TEXT_BYTES_MAX: usize = 4096;
/// Begins the terms; no other term begins so.
const PREFIX: &str = "\u{2}";
/// Most trigrams of one question that are looked up.
const LOOKED_UP_MAX: usize = 32;
/// Most trigrams of one question that documents are asked for: the rarest.
pub(crate) const ASKED_MAX: usize = 5;

/// A text without the difference between upper and lower case. Each character for itself, so that a
/// part of a text gives a part of the result; the Greek sigma at the end of a word is therefore
/// like any other.
#[must_use]
pub fn fold_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

/// The exact terms that let a document be filtered by parts of `text`; see
/// [`Filter::parts`](crate::Filter::parts).
#[must_use]
pub fn part_terms(text: &str) -> Vec<String> {
    if text.len() > PART_TEXT_BYTES_MAX {
        return vec![PREFIX.to_owned()];
    }
    trigrams(&fold_case(text)).into_iter().map(term).collect()
}

/// The terms to look up for a part; none for one that is too short to be looked for.
pub(crate) fn wanted(part: &str) -> Vec<String> {
    let folded = fold_case(part);
    let all = trigrams(&folded);
    // Spread over the part: what stands side by side is found together.
    let step = all.len().div_ceil(LOOKED_UP_MAX).max(1);
    let wanted: Vec<String> = all.into_iter().step_by(step).map(term).collect();
    debug_assert!(wanted.len() <= LOOKED_UP_MAX, "a long part asks for no more");
    wanted
}

/// The term of documents that are too long for terms.
pub(crate) fn long_term() -> &'static str {
    PREFIX
}

fn term(trigram: &str) -> String {
    format!("{PREFIX}{trigram}")
}

fn trigrams(folded: &str) -> BTreeSet<&str> {
    let starts: Vec<usize> =
        folded.char_indices().map(|(at, _)| at).chain([folded.len()]).collect();
    starts.windows(4).map(|ends| &folded[ends[0]..ends[3]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_a_part_has_no_other_terms() {
        let text = "The VP's ΛΌΓΟΣ is \u{1f419}\u{1f419}\u{1f419} — 5433!";
        let all = part_terms(text);
        let chars: Vec<char> = text.chars().collect();
        for start in 0..chars.len() {
            for end in start..=chars.len() {
                let part: String = chars[start..end].iter().collect();
                for part in [part.to_uppercase(), part.to_lowercase(), part] {
                    let folded = fold_case(text).contains(&fold_case(&part));
                    let has_all = wanted(&part).iter().all(|term| all.contains(term));
                    assert!(has_all || !folded, "{part:?}");
                }
            }
        }
        assert_eq!(wanted("ab"), Vec::<String>::new());
        assert_eq!(part_terms("Abcd"), ["\u{2}abc", "\u{2}bcd"]);
    }

    #[test]
    fn long_texts_and_parts_have_few_terms() {
        let long: String = (0..2000).map(|n| format!("{n} ")).collect();
        assert_eq!(part_terms(&long), [long_term()]);
        assert!((1..=LOOKED_UP_MAX).contains(&wanted(&long).len()));
    }
}
