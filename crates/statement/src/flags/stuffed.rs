//! Whether a text repeats the same few words, or one sentence, so that searches find it first.
//!
//! Knows nothing of any topic. Only text that is mostly words is judged: where fewer than four
//! fifths of what stands between spaces are plain words, as in tables, logs and code, nothing is
//! said.

use std::collections::HashMap;

use crate::tables::is_stop;

/// How many words a text has at least for its words to be counted.
const WORDS_MIN: usize = 12;

/// How often a content word occurs at least to count as repeated.
const USES_MIN: usize = 3;

/// The same where there are hardly any words but content words: less than one in
/// [`BARE_SHARE`]. A list of keywords repeats each less often than a sentence would.
const USES_BARE_MIN: usize = 2;

/// A text has fewer function words than one in so many when it is a list of keywords.
const BARE_SHARE: usize = 4;

/// How many of the most repeated content words are the "same few".
const FEW: usize = 5;

/// How often the same sentence stands in a text that is stuffed with it.
const SENTENCES_MIN: usize = 5;

/// The length of a sentence in bytes from which its repetition counts: shorter ones are cries.
const SENTENCE_BYTES_MIN: usize = 16;

/// What is repeated, for a person; the text is folded.
pub(super) fn stuffed(folded: &str) -> Option<String> {
    if folded.bytes().filter(|byte| *byte == b' ' || *byte == b'\n').count() + 1 < WORDS_MIN {
        return sentences(folded);
    }
    let parts = folded.split([' ', '\n']).filter(|part| !part.is_empty());
    let mut all = 0;
    let mut words = Vec::new();
    for part in parts {
        all += 1;
        let word = part.trim_matches(|c: char| !c.is_alphanumeric());
        let is_plain = |c: char| c.is_alphabetic() || matches!(c, '\'' | '-');
        if !word.is_empty() && word.chars().all(is_plain) {
            words.push(word);
        }
    }
    if words.len() * 5 < all * 4 {
        return None;
    }
    let is_line = !folded.trim().contains('\n');
    repeated_words(&words, is_line).or_else(|| sentences(folded))
}

/// More than a third of all words are repetitions of the same few content words.
fn repeated_words(words: &[&str], is_line: bool) -> Option<String> {
    if words.len() < WORDS_MIN {
        return None;
    }
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for word in words.iter().filter(|word| word.len() > 2) {
        *uses.entry(word).or_default() += 1;
    }
    // Lists of commands have few function words as well, and stand in lines.
    let functions = words.iter().filter(|word| is_stop(word)).count();
    let bare = is_line && functions * BARE_SHARE < words.len();
    let uses_min = if bare { USES_BARE_MIN } else { USES_MIN };
    let mut often: Vec<(usize, &str)> = uses
        .into_iter()
        .filter(|(word, uses)| *uses >= uses_min && !is_stop(word))
        .map(|(word, uses)| (uses, word))
        .collect();
    often.sort_unstable_by(|a, b| b.cmp(a));
    often.truncate(FEW);
    let repetitions: usize = often.iter().map(|(uses, _)| uses - 1).sum();
    let is_stuffed = repetitions * 3 > words.len() || bare && repetitions * 3 >= words.len();
    is_stuffed
        .then(|| format!("{repetitions} of {} words repeat the same {}", words.len(), often.len()))
}

/// One sentence stands in the text often, and makes up more than half of it.
fn sentences(folded: &str) -> Option<String> {
    if folded.len() < SENTENCES_MIN * SENTENCE_BYTES_MIN {
        return None;
    }
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for sentence in folded.split(['.', '!', '?', '\n', '。', ';']).map(str::trim) {
        if sentence.len() >= SENTENCE_BYTES_MIN {
            *uses.entry(sentence).or_default() += 1;
        }
    }
    let (sentence, uses) = uses.into_iter().max_by_key(|(sentence, uses)| uses * sentence.len())?;
    let is_text = sentence.chars().filter(|c| c.is_alphabetic()).count() * 5
        >= sentence.chars().filter(|c| *c != ' ').count() * 4;
    let is_most = uses * sentence.len() * 2 > folded.len();
    (uses >= SENTENCES_MIN && is_most && is_text)
        .then(|| format!("one sentence stands here {uses} times"))
}
