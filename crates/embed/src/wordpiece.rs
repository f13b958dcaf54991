//! The tokenizer of BERT: words and punctuation, then the longest known pieces of words.

use std::ops::Range;

use kapsa_model::EmbedError;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::cross::Pair;
use crate::weights::Weights;

/// A word with more characters is one unknown token.
const WORD_CHARS_MAX: usize = 100;

/// The numbers of the special tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Special {
    unknown: u32,
    begin: u32,
    end: u32,
}

impl Special {
    pub(crate) fn of(weights: &Weights<'_>) -> Result<Special, EmbedError> {
        let number = |word: &str| {
            let message = format!("the model's vocabulary has no {word}");
            weights.word(word.as_bytes()).ok_or(EmbedError {
                message,
                hint: Some("only WordPiece vocabularies are supported".into()),
            })
        };
        Ok(Special { unknown: number("[UNK]")?, begin: number("[CLS]")?, end: number("[SEP]")? })
    }
}

/// A token and the bytes of the text that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) number: u32,
    /// The bytes of the whole word that it is a piece of.
    pub(crate) word: Range<usize>,
}

/// The tokens of a text that a model with room for `most` tokens sees, including the first and last
/// special ones.
pub(crate) fn framed(
    weights: &Weights<'_>,
    special: Special,
    prefix: &str,
    text: &str,
    most: usize,
) -> Vec<u32> {
    let mut numbers = vec![special.begin];
    let room = most.saturating_sub(2);
    let mut add = |text: &str| {
        tokens(weights, special, text, &mut |token| {
            if numbers.len() <= room {
                numbers.push(token.number);
            }
            numbers.len() <= room
        });
    };
    add(prefix);
    add(text);
    numbers.push(special.end);
    numbers
}

/// The numbers of the first `most` tokens of a text, without special ones.
pub(crate) fn numbers(
    weights: &Weights<'_>,
    special: Special,
    text: &str,
    most: usize,
) -> Vec<u32> {
    let mut numbers = Vec::new();
    tokens(weights, special, text, &mut |token| {
        numbers.push(token.number);
        numbers.len() < most
    });
    numbers
}

/// A question and a text as one sequence of at most `most` tokens: of the longer one more is cut.
pub(crate) fn pair(special: Special, query: &[u32], text: &[u32], most: usize) -> Pair {
    let room = most.saturating_sub(3);
    let query = &query[..query.len().min(room.saturating_sub(text.len()).max(room / 2))];
    let text = &text[..text.len().min(room - query.len())];
    let second = query.len() + 2;
    let ends = [special.end];
    let tokens = [&[special.begin], query, &ends, text, &ends].concat();
    Pair { tokens, second }
}

/// Calls `sink` with each token of `text` until it returns false.
pub(crate) fn tokens(
    weights: &Weights<'_>,
    special: Special,
    text: &str,
    sink: &mut impl FnMut(Token) -> bool,
) {
    let mut folded = String::new();
    let mut at = 0;
    while let Some(word) = next_word(text, &mut at) {
        folded.clear();
        fold(&text[word.clone()], weights.lower_case, &mut folded);
        if !folded.is_empty() && !pieces(weights, special, &folded, &word, sink) {
            return;
        }
    }
}

/// The next run of characters that are neither spaces nor punctuation, or the next single
/// character.
fn next_word(text: &str, at: &mut usize) -> Option<Range<usize>> {
    let rest = text[*at..].char_indices().map(|(offset, c)| (*at + offset, c));
    let mut start = None;
    for (offset, c) in rest {
        let (space, alone) = (is_space(c), stands_alone(c));
        match start {
            None if space => {}
            None if alone => {
                *at = offset + c.len_utf8();
                return Some(offset..*at);
            }
            None => start = Some(offset),
            Some(start) if space || alone => {
                *at = offset;
                return Some(start..offset);
            }
            Some(_) => {}
        }
    }
    *at = text.len();
    start.map(|start| start..text.len())
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

fn stands_alone(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_punctuation()
    } else {
        is_ideograph(c) || c.general_category_group() == GeneralCategoryGroup::Punctuation
    }
}

/// The blocks that BERT takes for Chinese characters.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F | 0x2B820..=0x2CEAF
        | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

/// Removes control characters and, if `lower_case`, accents and upper case.
fn fold(word: &str, lower_case: bool, out: &mut String) {
    if word.is_ascii() {
        out.extend(
            word.chars()
                .filter(|c| !c.is_ascii_control())
                .map(|c| if lower_case { c.to_ascii_lowercase() } else { c }),
        );
        return;
    }
    let kept = word
        .chars()
        .filter(|&c| c != '\u{fffd}' && c.general_category_group() != GeneralCategoryGroup::Other);
    if lower_case {
        let mark =
            |c: &char| c.general_category() == unicode_properties::GeneralCategory::NonspacingMark;
        out.extend(kept.nfd().filter(|c| !mark(c)).flat_map(char::to_lowercase));
    } else {
        out.extend(kept);
    }
}

/// The longest known piece at the front, then the longest known continuation, and so on; all or
/// nothing.
fn pieces(
    weights: &Weights<'_>,
    special: Special,
    word: &str,
    range: &Range<usize>,
    sink: &mut impl FnMut(Token) -> bool,
) -> bool {
    let token = |number| Token { number, word: range.clone() };
    if let Some(number) = weights.word(word.as_bytes()) {
        return sink(token(number));
    }
    if word.chars().count() > WORD_CHARS_MAX {
        return sink(token(special.unknown));
    }
    let mut found = Vec::new();
    let mut start = 0;
    let mut piece = Vec::with_capacity(word.len() + 2);
    while start < word.len() {
        let ends = word[start..].char_indices().map(|(offset, c)| start + offset + c.len_utf8());
        let longest = ends.rev().find_map(|end| {
            piece.clear();
            piece.extend_from_slice(if start > 0 { b"##" } else { b"" });
            piece.extend_from_slice(&word.as_bytes()[start..end]);
            weights.word(&piece).map(|number| (end, number))
        });
        let Some((end, number)) = longest else { return sink(token(special.unknown)) };
        found.push(number);
        start = end;
    }
    found.into_iter().all(|number| sink(token(number)))
}
