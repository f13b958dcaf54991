//! What a person or an agent asks for, in a line of text.
//!
//! | written | means |
//! |---|---|
//! | `word` | counts for ranking; common words count only if there is no other |
//! | `"some words"`, `+"some words"` | required: these words in this order, in title or text |
//! | `+word` | required |
//! | `-word`, `-"some words"` | excluded |
//! | `kind:fact`, `label:"two words"`, `tag:k=v` | only documents with this exact term |
//! | `title:word` | only documents with this word in the title |
//! | `-kind:fact` | only documents without it |
//!
//! | `word*` | words that begin so count for ranking too |
//!
//! Of several `kind`, `agent`, `run`, `domain` or `uri` clauses one must hold, since a document
//! has one of each; of other fields all must. A required or excluded word with several parts
//! (`+getUserName`) stands for the phrase of its parts. A quote that is never closed is ignored,
//! with its sign. Anything else is words: there is no such thing as a syntax error.
//!
//! What may as well be plain text is plain text: a sign before a digit or before fewer than three
//! ASCII letters (`-40`, `rm -rf`, `chmod +x`), a quote inside of a word (`{"kind"`), and every
//! sign of a text of several lines, which is a log or a diff. Of what is left the caller may still
//! say that it is none: see [`Query::parse_with`].
//!
//! Words that only count for ranking are also looked for in other spellings: `e-mail` as `email`,
//! `πόλη` as `ΠΟΛΗ`, `ёж` as `еж`.
//!
//! The index knows which words a document has, not where: of a required phrase it requires the
//! words, each ranked by as a required word, of an excluded phrase nothing. The rest is a matter
//! of [`Query::phrases_match`].

mod pieces;

use std::collections::HashSet;
use std::ops::Range;

pub(crate) use pieces::{Item, items};
pub use pieces::{Operator, Sign};
use pieces::{SINGLE_FIELDS, TITLE, prefix_of};

use crate::analyser::{Role, is_hash, is_unspaced, with_analyser};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::phrase::{self, Phrase};
use crate::spelling::{lone_character, neighbours, spellings};
use crate::steps;

/// Longest query in bytes.
pub const QUERY_BYTES_MAX: usize = 64 << 10;
/// Most words that are ranked by; of more, the rarest are taken.
pub const QUERY_TERMS_MAX: usize = 64;
/// Most words of which the rarest are sought; those after them are ignored.
const TERMS_EXAMINED_MAX: usize = 1024;

/// Words too common to rank by, as they are indexed.
pub(crate) const STOP_WORDS: [&str; 83] = [
    "a", "about", "am", "an", "and", "ani", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "d", "did", "do", "doe", "don", "for", "from", "had", "has", "have", "he", "her",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "ll", "m", "me", "my", "no", "not",
    "of", "on", "or", "our", "re", "s", "she", "should", "so", "some", "t", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "ve", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "whi", "will", "with",
    "would", "you", "your",
];

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Words ranked by, none needed.
    pub(crate) should: Vec<String>,
    /// Words all needed, and ranked by; among them those of `phrases`.
    pub(crate) must: Vec<String>,
    /// Words of which none is allowed.
    pub(crate) must_not: Vec<String>,
    /// All needed.
    phrases: Vec<Phrase>,
    /// None allowed.
    phrases_not: Vec<Phrase>,
    /// From the field clauses.
    pub(crate) filter: Filter,
    asked: Vec<AskedWord>,
    prefixes: Vec<String>,
    operators: Vec<Range<usize>>,
    literals: Vec<Range<usize>>,
}

/// A word that a query asks for, common words aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedWord {
    /// As it is written, in lower case.
    pub raw: String,
    /// As it is indexed.
    pub term: String,
}

impl Query {
    /// Reads a query; see the module's table for what can be written.
    ///
    /// # Errors
    /// [`Error::QueryTooLong`].
    pub fn parse(text: &str) -> Result<Query> {
        Query::parse_with(text, &mut |_| true)
    }

    /// Reads a query, asking of everything that has the form of an operator whether it is one; what
    /// is not, is plain text.
    ///
    /// # Errors
    /// [`Error::QueryTooLong`].
    pub fn parse_with(
        text: &str,
        is_operator: &mut dyn FnMut(&Operator<'_>) -> bool,
    ) -> Result<Query> {
        if text.len() > QUERY_BYTES_MAX {
            return Err(Error::QueryTooLong { bytes: text.len(), max: QUERY_BYTES_MAX });
        }
        let mut builder = Builder { unspaced: text.contains(is_unspaced), ..Builder::default() };
        for item in items(text) {
            steps::note(item.text.len());
            let written = &text[item.range.clone()];
            let Some(operator) = item.operator(written) else {
                builder.add_words(item.text);
                continue;
            };
            if is_operator(&operator) {
                builder.add(&item);
                builder.query.operators.push(item.range);
            } else {
                builder.add_words(written);
                builder.query.literals.push(item.range);
            }
        }
        Ok(builder.finish())
    }

    /// A query that requires these words, as they are indexed.
    #[must_use]
    pub fn requiring(words: Vec<String>) -> Query {
        Query { must: words, ..Query::default() }
    }

    /// The words that it asks for, common words aside unless there are no others.
    pub fn asked(&self) -> &[AskedWord] {
        &self.asked
    }

    /// The beginnings of words that it asks for, in lower case.
    pub fn prefixes(&self) -> &[String] {
        &self.prefixes
    }

    /// What of the text was taken as operators.
    pub fn operators(&self) -> &[Range<usize>] {
        &self.operators
    }

    /// What of the text has the form of an operator, and was taken as plain text.
    pub fn literals(&self) -> &[Range<usize>] {
        &self.literals
    }

    /// The same query, ranked by these words too, as they are indexed.
    #[must_use]
    pub fn with_words(mut self, words: impl IntoIterator<Item = String>) -> Query {
        for word in words {
            let is_new = !self.must.contains(&word) && !self.should.contains(&word);
            if is_new && self.should.len() < TERMS_EXAMINED_MAX {
                self.should.push(word);
            }
        }
        self
    }

    /// The same query, which requires everything that `other` requires as well. Terms get other
    /// places.
    #[must_use]
    pub fn and_required(mut self, other: &Query) -> Query {
        self.should.retain(|word| !other.must.contains(word));
        for word in &other.must {
            if !self.must.contains(word) {
                self.must.push(word.clone());
            }
        }
        self.phrases.extend(other.phrases.iter().cloned());
        self
    }

    /// The same query without the words that only count for ranking, to find whatever may be an
    /// answer at all; none when it requires nothing.
    #[must_use]
    pub fn required(&self) -> Option<Query> {
        (!self.must.is_empty()).then(|| Query { should: Vec::new(), ..self.clone() })
    }

    /// Whether a record with this title and text has what is required and nothing that is excluded;
    /// field clauses are the filter's.
    pub fn fits(&self, title: &str, text: &str) -> bool {
        if !self.is_strict() {
            return true;
        }
        let must: HashSet<&str> = self.must.iter().map(String::as_str).collect();
        let must_not: HashSet<&str> = self.must_not.iter().map(String::as_str).collect();
        let mut missing = must.clone();
        let mut has_excluded = false;
        with_analyser(|analyser| {
            for part in [title, text] {
                analyser.analyse(part, &mut |term| {
                    missing.remove(term.text);
                    has_excluded |= must_not.contains(term.text);
                });
            }
        });
        missing.is_empty() && !has_excluded && self.phrases_match(title, text)
    }

    /// The words ranked by, as they are indexed, each once, in the order of the query, other
    /// spellings last.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.must.iter().chain(&self.should).map(String::as_str)
    }

    /// The same query, ranked by fewer words: of those that are not required the `count` that
    /// tell most, none of which tells less than half of what the first does. `rarities` are
    /// those of [`Query::terms`].
    #[must_use]
    pub fn telling(&self, rarities: &[f32], count: usize) -> Query {
        let told = |at: usize| rarities.get(self.must.len() + at).copied().unwrap_or_default();
        let mut order: Vec<usize> = (0..self.should.len()).collect();
        order.sort_by(|&a, &b| told(b).total_cmp(&told(a)));
        let least = order.first().map_or(0.0, |&first| told(first) / 2.0);
        order.retain(|&at| told(at) >= least);
        order.truncate(count);
        order.sort_unstable();
        debug_assert!(
            order.len() <= self.should.len().min(count),
            "a query is never ranked by more words"
        );
        Query {
            should: order.into_iter().map(|at| self.should[at].clone()).collect(),
            ..self.clone()
        }
    }

    /// Whether it asks for phrases, required or excluded. They are not the index's to check.
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty() || !self.phrases_not.is_empty()
    }

    /// Whether a record with this title and text has every required phrase, in one of the two,
    /// and no excluded one.
    ///
    /// To be asked in the `accept` of a [search](crate::Searcher::search), which returns
    /// documents that have the words of the required phrases, in whatever order.
    pub fn phrases_match(&self, title: &str, text: &str) -> bool {
        phrase::matches(&self.phrases, &self.phrases_not, &[title, text])
    }

    /// Whether it requires or excludes words or phrases. Then likeness alone is no answer.
    pub fn is_strict(&self) -> bool {
        !self.must.is_empty() || !self.must_not.is_empty() || self.has_phrases()
    }

    /// The restrictions that the field clauses ask for.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether it asks for nothing at all.
    pub fn is_empty(&self) -> bool {
        self.is_unranked()
            && self.must_not.is_empty()
            && !self.has_phrases()
            && self.filter.is_empty()
    }

    /// Whether it has no word to rank by.
    pub(crate) fn is_unranked(&self) -> bool {
        self.should.is_empty() && self.must.is_empty()
    }
}

/// Words at their positions, the whole words that span several, and what is inside of words that
/// are too long.
#[derive(Default)]
struct Words {
    parts: Vec<(u32, String)>,
    /// The parts as they are written.
    written: Vec<String>,
    wholes: Vec<String>,
    inside: Vec<String>,
}

fn words_of(text: &str) -> Words {
    let mut words = Words::default();
    with_analyser(|analyser| {
        analyser.analyse(text, &mut |term| {
            let word = term.text.to_owned();
            match term.role {
                Role::Part => {
                    words.written.push(text[term.range].to_lowercase());
                    words.parts.push((term.position, word));
                }
                Role::Whole => words.wholes.push(word),
                Role::Inside => words.inside.push(word),
            }
        });
    });
    words
}

#[derive(Default)]
struct Builder {
    query: Query,
    stop_words: Vec<String>,
    /// The common words that are asked for.
    common: Vec<AskedWord>,
    /// Other spellings of words to rank by.
    spellings: Vec<String>,
    /// Parts inside of words that are too long.
    inside: Vec<String>,
    /// Characters that stand alone here, and in the index only in pairs.
    alone: Vec<char>,
    /// Whether something of the query is in a script without spaces.
    unspaced: bool,
    seen: HashSet<String>,
    seen_asked: HashSet<String>,
    seen_must: HashSet<String>,
}

impl Builder {
    fn add(&mut self, item: &Item<'_>) {
        match (item.field, item.sign) {
            (Some(field), sign) => self.add_field(field, item.text, sign == Sign::MustNot),
            (None, Sign::None) if !item.quoted => self.add_words(item.text),
            (None, sign) => self.add_phrase(item.text, sign),
        }
    }

    fn add_words(&mut self, text: &str) {
        self.query.prefixes.extend(prefix_of(text));
        let words = words_of(text);
        self.ask_for(&words);
        let Words { parts, wholes, inside, .. } = words;
        let parts = parts.into_iter().map(|(_, word)| word);
        if self.has_room() {
            self.spellings.extend(spellings(text, self.unspaced));
            self.inside.extend(inside);
        }
        // The `年` of `2024年` is a unit, not what is asked for.
        let counted = text.contains(char::is_numeric);
        for word in wholes.into_iter().chain(parts) {
            self.alone.extend(lone_character(&word).filter(|_| !counted));
            if STOP_WORDS.contains(&word.as_str()) {
                self.stop_words.push(word);
            } else {
                self.add_should(word);
            }
        }
    }

    /// Notes which words are asked for.
    fn ask_for(&mut self, words: &Words) {
        let asked = words
            .parts
            .iter()
            .zip(&words.written)
            .map(|((_, term), raw)| AskedWord { raw: raw.clone(), term: term.clone() });
        for word in asked.take(TERMS_EXAMINED_MAX) {
            let is_common = STOP_WORDS.contains(&word.term.as_str());
            let noted = if is_common { &mut self.common } else { &mut self.query.asked };
            if noted.len() < TERMS_EXAMINED_MAX && self.seen_asked.insert(word.term.clone()) {
                noted.push(word);
            }
        }
    }

    fn add_should(&mut self, word: String) {
        if self.query.should.len() < TERMS_EXAMINED_MAX && self.seen.insert(word.clone()) {
            self.query.should.push(word);
        }
    }

    /// Whether there can be more words to rank by without leaving out others.
    fn has_room(&self) -> bool {
        self.query.should.len() < QUERY_TERMS_MAX
    }

    fn add_must(&mut self, word: &str) {
        if self.seen_must.insert(word.to_owned()) {
            self.query.must.push(word.to_owned());
        }
    }

    /// A phrase, or, of one word, that word. Characters that stand alone are indexed in pairs,
    /// and older segments lack the hashes of long words, so that only the text tells.
    fn add_phrase(&mut self, text: &str, sign: Sign) {
        let words = words_of(text);
        let excluded = sign == Sign::MustNot;
        if !excluded {
            self.ask_for(&words);
        }
        let parts = words.parts;
        let mut alone = false;
        for (_, word) in &parts {
            let character = lone_character(word);
            alone |= character.is_some();
            match character {
                _ if excluded => {}
                Some(character) => {
                    self.alone.push(character);
                    self.add_should(word.clone());
                }
                None if is_hash(word) && parts.len() > 1 => self.add_should(word.clone()),
                None => self.add_must(word),
            }
        }
        match parts.as_slice() {
            [] => {}
            [(_, word)] if excluded && !alone => self.query.must_not.push(word.clone()),
            [_] if !alone => {}
            _ if excluded => self.query.phrases_not.push(Phrase::new(parts)),
            _ => self.query.phrases.push(Phrase::new(parts)),
        }
    }

    fn add_field(&mut self, field: &str, value: &str, negated: bool) {
        if field == TITLE {
            self.add_title(value, negated);
            return;
        }
        let term = format!("{field}:{value}");
        let same_field = |group: &&mut Vec<String>| {
            SINGLE_FIELDS.contains(&field)
                && group.iter().all(|term| term.split_once(':').is_some_and(|(f, _)| f == field))
        };
        if negated {
            self.query.filter.none.push(term);
        } else if let Some(group) = self.query.filter.all.iter_mut().find(same_field) {
            group.push(term);
        } else {
            self.query.filter.all.push(vec![term]);
        }
    }

    fn add_title(&mut self, value: &str, negated: bool) {
        let terms = words_of(value).parts.into_iter().map(|(_, word)| format!("title:{word}"));
        if negated {
            self.query.filter.none.extend(terms);
        } else {
            self.query.filter.all.extend(terms.map(|term| vec![term]));
        }
    }

    /// Adds what is inside of long words, and other spellings, as far as no word of the query
    /// itself has to make way for them.
    fn add_spellings(&mut self) {
        let inside = std::mem::take(&mut self.inside).into_iter();
        for word in inside.filter(|word| !STOP_WORDS.contains(&word.as_str())) {
            if self.has_room() {
                self.add_should(word);
            }
        }
        let pairs = std::mem::take(&mut self.alone).into_iter().flat_map(neighbours);
        for text in std::mem::take(&mut self.spellings).into_iter().chain(pairs) {
            if !self.has_room() {
                break;
            }
            let Words { parts, wholes, .. } = words_of(&text);
            let words = if wholes.is_empty() {
                parts.into_iter().map(|(_, word)| word).collect()
            } else {
                wholes
            };
            for word in words.into_iter().filter(|word| !STOP_WORDS.contains(&word.as_str())) {
                self.add_should(word);
            }
        }
    }

    fn finish(mut self) -> Query {
        if self.query.asked.is_empty() {
            self.query.asked = std::mem::take(&mut self.common);
        }
        if self.query.is_unranked() {
            for word in std::mem::take(&mut self.stop_words) {
                self.add_should(word);
            }
        }
        self.add_spellings();
        // What is required is ranked by already.
        self.query.should.retain(|word| !self.seen_must.contains(word));
        assert!(self.query.should.len() <= TERMS_EXAMINED_MAX, "no more words are examined");
        debug_assert!(
            self.query.must.iter().all(|word| !self.query.should.contains(word)),
            "no word is ranked by twice"
        );
        self.query
    }
}

#[cfg(test)]
mod tests;
