//! A statement: the words of a sentence with what each is, the values it gives and its cues.

use super::attribute::{Said, attributes};
use super::cue::{Cue, Cues, cues};
use super::subject::Subject;
use super::tables::{is_light, is_stop, stem};
use super::token::{Token, is_han, tokens};
use super::value::Value;
use super::when::{When, when};

mod reading;

/// Longest text that is read, in bytes: a statement is a sentence, not a document.
pub(crate) const READ_BYTES_MAX: usize = 1024;

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// It says nothing of its own.
    Stop,
    /// It belongs to a cue.
    Cue,
    /// It only joins a thing with its value.
    Light,
    /// A word.
    Word,
    /// The name of something.
    Name,
    /// One or more words that give a value.
    Value(Value),
}

/// A word, or several that are one value.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    /// What it is compared by: the stem.
    pub(crate) key: String,
    pub(crate) folded: String,
    /// Whether it is a part of an enumeration.
    pub(crate) is_listed: bool,
}

impl Item {
    /// Whether it says something.
    pub(crate) fn is_content(&self) -> bool {
        !matches!(self.kind, Kind::Stop | Kind::Cue)
    }

    pub(crate) fn is_name(&self) -> bool {
        matches!(&self.kind, Kind::Name | Kind::Value(Value::Code(_)))
    }

    /// A value other than a code, which is compared as a name.
    pub(crate) fn value(&self) -> Option<&Value> {
        match &self.kind {
            Kind::Value(Value::Code(_)) => None,
            Kind::Value(value) => Some(value),
            _ => None,
        }
    }
}

/// What a sentence states.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) items: Vec<Item>,
    pub(crate) cues: Cues,
    /// All words in their order, without signs.
    pub(crate) order: Vec<String>,
    pub(crate) attributes: Vec<Said>,
    pub(crate) subject: Subject,
    pub(crate) when: When,
    /// Signs and inner capitals by which texts of the same words differ.
    pub(crate) marks: Vec<String>,
    /// What of a long text was not read.
    pub(crate) rest: String,
}

impl Statement {
    /// Reads a text. Of a long one its beginning.
    #[must_use]
    pub fn of(text: &str) -> Statement {
        let longest = READ_BYTES_MAX.min(text.len());
        let end = (0..=longest).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let (text, rest) = text.split_at(end);
        let words = tokens(text);
        let (cues, taken) = cues(text, &words);
        let (when, dated) = when(&words, &cues);
        let mut items = reading::items(&words, &taken, &dated);
        listed(&mut items, &words);
        Statement {
            attributes: attributes(&words),
            subject: Subject::of(&words),
            marks: marks(&words),
            rest: rest.trim().to_string(),
            order: words.into_iter().map(|word| word.folded).collect(),
            items: items.into_iter().map(|placed| placed.item).collect(),
            cues,
            when,
        }
    }

    /// The values that it gives, but for names with digits in them.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.items.iter().filter_map(|item| match &item.kind {
            Kind::Value(value) => Some(value),
            _ => None,
        })
    }

    /// Its cues.
    #[must_use]
    pub fn cues(&self) -> &Cues {
        &self.cues
    }

    /// What it says of when it holds.
    #[must_use]
    pub fn when(&self) -> &When {
        &self.when
    }

    /// Whether it denies something.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.cues.has(Cue::Negation) || self.cues.has(Cue::Retraction)
    }

    /// The signs among its words.
    pub(crate) fn signs(&self) -> Vec<&str> {
        let is_sign = |mark: &&String| mark.contains(|c: char| !c.is_alphanumeric());
        let mut signs: Vec<&str> = self.marks.iter().filter(is_sign).map(String::as_str).collect();
        signs.sort_unstable();
        signs
    }

    /// Whether it says what was, by an auxiliary verb.
    pub(crate) fn is_past(&self) -> bool {
        let past = [
            "was", "were", "had", "did", "war", "waren", "hatte", "était", "avait", "era", "aveva",
        ];
        self.order.iter().any(|word| past.contains(&word.as_str()))
    }

    /// Whether it has no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// An item, and where the words end that it is made of.
pub(crate) struct Placed {
    pub(crate) item: Item,
    pub(crate) until: usize,
}

/// Words that join the parts of an enumeration.
const JOINING: [&str; 14] =
    ["and", "or", "und", "oder", "et", "ou", "y", "o", "e", "en", "och", "og", "a", "&"];

/// Whether a word joins the parts of an enumeration.
pub(crate) fn is_joining(word: &str) -> bool {
    word != "a" && JOINING.contains(&word)
}

/// Marks what is enumerated: content right before and right after what joins or separates it.
fn listed(items: &mut [Placed], words: &[Token]) {
    let separates = |placed: &Placed| {
        let word = &placed.item.folded;
        placed.item.kind == Kind::Stop && is_joining(word) || word == "&"
    };
    for at in 1..items.len() {
        let is_content = |placed: &Placed| placed.item.is_content();
        let joined = at + 1 < items.len()
            && separates(&items[at])
            && is_content(&items[at - 1])
            && is_content(&items[at + 1]);
        if joined {
            (items[at - 1].item.is_listed, items[at + 1].item.is_listed) = (true, true);
        }
        let comma = words[items[at - 1].until - 1].before_comma;
        if comma && is_content(&items[at]) && is_content(&items[at - 1]) {
            (items[at - 1].item.is_listed, items[at].item.is_listed) = (true, true);
        }
    }
    // A list has an "and", or more than one comma.
    let joined = items.iter().any(separates);
    let count = items.iter().filter(|placed| placed.item.is_listed).count();
    if !joined && count < 3 {
        items.iter_mut().for_each(|placed| placed.item.is_listed = false);
    }
}

/// Signs that distinguish words: `C++` from `C`, `a < b` from `a > b`; and inner capitals.
fn marks(words: &[Token]) -> Vec<String> {
    let is_mark = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '\'' | '-' | '’');
    let all_capitals = is_shouted(words);
    words
        .iter()
        .filter(|word| !word.written.contains(|c: char| c.is_ascii_digit()))
        .filter(|word| {
            word.written.contains(is_mark)
                || !all_capitals
                    && word.has_inner_capital()
                    && word.written.chars().any(char::is_lowercase)
        })
        .map(|word| word.written.clone())
        .collect()
}

/// Whether a text is written in capitals throughout, so that they say nothing.
fn is_shouted(words: &[Token]) -> bool {
    let mut letters =
        words.iter().flat_map(|word| word.written.chars()).filter(|c| c.is_alphabetic());
    words.len() > 1 && !letters.any(char::is_lowercase)
}

/// What a word that gives no value is.
fn kind_of(words: &[Token], at: usize, capitals_name: bool) -> Kind {
    let word = &words[at];
    let folded = word.folded.as_str();
    let letters = folded.trim_end_matches('\'');
    let is_particle = at + 1 == words.len() && ["on", "in", "off"].contains(&letters);
    if is_particle {
        return Kind::Word;
    }
    let is_out_of = letters == "out" && words.get(at + 1).is_some_and(|next| next.folded == "of");
    if is_out_of
        || is_stop(letters)
        || !folded.contains(char::is_alphanumeric)
        || is_hiragana(folded)
    {
        return Kind::Stop;
    }
    if is_light(folded) {
        return Kind::Light;
    }
    let is_name = capitals_name
        && (word.has_inner_capital()
            || word.is_capital() && (!word.is_initial || names_initially(words, at)));
    if is_name || folded.chars().all(is_han) { Kind::Name } else { Kind::Word }
}

fn is_hiragana(word: &str) -> bool {
    word.chars().all(|c| ('ぁ'..='ゟ').contains(&c))
}

/// Whether the first word of a sentence is a name, as far as the word after it shows.
fn names_initially(words: &[Token], at: usize) -> bool {
    let Some(next) = words.get(at + 1) else { return false };
    let follows_name = ["is", "was", "has", "will", "took", "became", "does", "did"];
    let verb = next.folded.ends_with('s') && !next.folded.ends_with("ss");
    let plural = words[at].folded.ends_with('s');
    let leads_on = verb || follows_name.contains(&next.folded.as_str());
    leads_on && !plural || next.is_capital()
}

/// Whether capitals are those of names: not where all words or all nouns have them.
fn capitals_name(words: &[Token]) -> bool {
    const GERMAN: [&str; 12] =
        ["der", "die", "das", "ist", "und", "nicht", "wird", "dem", "den", "ein", "eine", "im"];
    let german = words.iter().filter(|word| GERMAN.contains(&word.folded.as_str())).count();
    !is_shouted(words) && german == 0
}

/// The key of a word.
fn key_of(folded: &str) -> String {
    stem(folded.trim_end_matches('\''))
}

/// The date that these words begin with, and how many they are.
pub(crate) fn date_at(words: &[Token], before: &str) -> Option<(Value, usize)> {
    reading::date(words, before).map(|read| (read.value, read.words))
}
