//! Which records of one kind fit a query, exactly, and without reading all of them where the index knows better?
//!
//! The index only ever narrows: what it lets through is decoded and asked again by the rule that all stores share
//! (`super::matching`). A clause goes to the index when every record that fits the rule has the term. What that costs:
//!
//! - *Entity, domain, attribute, agent, tags, clearance*: the index knows them, so that only what fits is read. An empty name has no term.
//! - *Text* is a part of the content, `spons` in `sponsor`, and the index knows whole words. A word of the text that ends on both
//!   sides within the text is a whole word of the content as well, and there the index narrows (see [`whole_words`]); else the texts
//!   of all that fit the other clauses are read, a few microseconds each, until there are enough.
//! - *Confidence, validity*: read and asked.
//!
//! The order of what was first stored is that of the sequences, but for things that were revised: those carry the sequence of their
//! first revision in a tag. The first few are therefore found by walking along the sequences of what was never revised until there are
//! enough, and putting all that was revised among them.

mod likely;

use std::cmp::Reverse;

use kapsa_index::{Candidate, Filter, Query};

use super::matching::fold;
use super::records::{ATTRIBUTE_TAG, PLACE_TAG, is_indexed, place};
use super::types::Fact;
use crate::access::{self, Access, ClearanceProfile};
use crate::error::Result;
use crate::read::Visibility;
use crate::record::{Micros, Record};
use crate::view::View;

/// Most records with all words of a text that are put in order; when there are more, they are walked through as without words.
const WORD_MATCHES_MAX: usize = 4096;
/// Most words of a text that the index is asked for.
const WORDS_ASKED_MAX: usize = 4;
/// Most words of a text that others are looked for by.
const WORDS_ALIKE_MAX: usize = 64;
/// Most letters of such a word; the index leaves out words of more than 64 bytes.
const WORD_LETTERS_MAX: usize = 32;
/// As many as there are.
const ALL: usize = usize::MAX >> 8;

/// Clauses that the index can answer; each lets through all that fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Clauses {
    all: Vec<Vec<String>>,
    since: Option<Micros>,
}

impl Clauses {
    /// What has this value in a field.
    pub(super) fn field(mut self, field: &str, value: Option<&str>) -> Clauses {
        self.all.extend(value.filter(|value| !value.is_empty()).map(|value| vec![format!("{field}:{value}")]));
        self
    }

    /// What tells of this attribute.
    pub(super) fn attribute(mut self, attribute: Option<&str>) -> Clauses {
        let attribute = attribute.filter(|attribute| !attribute.is_empty());
        self.all.extend(attribute.map(|attribute| vec![format!("tag:{ATTRIBUTE_TAG}={attribute}")]));
        self
    }

    /// What has one of these tags.
    pub(super) fn tags(mut self, tags: &[String]) -> Clauses {
        if !tags.is_empty() && tags.iter().all(|tag| is_indexed(tag)) {
            self.all.push(tags.iter().map(|tag| format!("tag:{tag}")).collect());
        }
        self
    }

    /// What this profile may know.
    pub(super) fn clearance(mut self, profile: Option<&ClearanceProfile>) -> Clauses {
        self.all.extend(profile.map(access::terms_for));
        self
    }

    /// What only those may know who may know this.
    pub(super) fn readers_of(mut self, fact: &Fact) -> Clauses {
        let access = Access { level: fact.classification, named: fact.named.clone() };
        self.all.push(access::terms_of(Some(&access), &fact.domain));
        self
    }

    /// What came about at this moment or later.
    pub(super) fn since(mut self, since: Option<Micros>) -> Clauses {
        self.since = since;
        self
    }
}

/// What a record is, if it is wanted.
pub(super) type Read<'a, T> = &'a dyn Fn(&Record) -> Option<T>;

/// The records of one kind that a view sees.
pub(super) struct Shelf<'a> {
    pub(super) view: &'a View,
    pub(super) kind: &'static str,
}

impl Shelf<'_> {
    /// The first `limit` that are wanted, in the order in which they were first stored. All of them must have `text` as a part of their
    /// text: `read` is what decides, `text` helps to find them.
    pub(super) fn first<T>(&self, clauses: &Clauses, text: &str, limit: usize, read: Read<'_, T>) -> Result<Vec<T>> {
        let filter = self.filter(clauses)?;
        let mut found = match self.with_words(&filter, &whole_words(text), read)? {
            Some(found) => found,
            None => self.walk(&filter, limit, read)?,
        };
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().take(limit).map(|(_, thing)| thing).collect())
    }

    /// The newest `limit` that are wanted, by the moment at which they came about. Times are in the index: no more are decoded than are
    /// needed.
    pub(super) fn newest<T>(&self, clauses: &Clauses, limit: usize, read: Read<'_, T>) -> Result<Vec<T>> {
        let mut visibility = Visibility::of(self.view);
        let mut moments = Vec::new();
        let mut note = |candidate: Candidate<'_>| {
            if visibility.accepts(&candidate) {
                match candidate.time_us() {
                    Ok(time) => moments.push((time, candidate.seq())),
                    Err(error) => drop(visibility.fail(error.into())),
                }
            }
            false
        };
        self.view.searcher()?.newest(&self.filter(clauses)?, ALL, None, &mut note)?;
        visibility.finish()?;
        moments.sort_unstable_by_key(|moment| Reverse(*moment));
        let mut found = Vec::new();
        for (_, sequence) in moments {
            if found.len() >= limit {
                break;
            }
            found.extend(self.wanted(sequence, read)?.map(|(_, thing)| thing));
        }
        Ok(found)
    }

    /// The `limit` that have the most of these words, as the index weighs them, with their places and in any order.
    pub(super) fn alike<T>(&self, clauses: &Clauses, words: &[String], limit: usize, read: Read<'_, T>) -> Result<Vec<(u64, T)>> {
        let words = words.iter().take(WORDS_ALIKE_MAX).map(String::as_str).collect::<Vec<_>>();
        let query = Query::parse(&words.join(" "))?;
        let (filter, searcher) = (self.filter(clauses)?, self.view.searcher()?);
        self.gather(read, |accept| searcher.search(&query, &filter, limit, accept).map(drop))
    }

    fn filter(&self, clauses: &Clauses) -> Result<Filter> {
        let mut all = vec![vec![format!("kind:{}", self.kind)]];
        all.extend_from_slice(&clauses.all);
        all.extend(self.view.guard().map(|guard| guard.terms.clone()));
        Ok(Filter { all, since_us: clauses.since, seqs: self.view.memories()?.cloned(), ..Filter::default() })
    }

    /// The first `limit` of a few, with their places.
    pub(super) fn some<T>(&self, clauses: &Clauses, limit: usize, read: Read<'_, T>) -> Result<Vec<(u64, T)>> {
        let mut found = self.walk(&self.filter(clauses)?, limit, read)?;
        found.sort_by_key(|(place, _)| *place);
        found.truncate(limit);
        Ok(found)
    }

    /// The first `limit`, with their places, in any order, and perhaps more.
    fn walk<T>(&self, filter: &Filter, limit: usize, read: Read<'_, T>) -> Result<Vec<(u64, T)>> {
        let revised = format!("tag:{PLACE_TAG}");
        let never_revised = Filter { none: vec![revised.clone()], ..filter.clone() };
        let revised = Filter { all: [filter.all.clone(), vec![vec![revised]]].concat(), ..filter.clone() };
        let searcher = self.view.searcher()?;
        let mut found = self.gather(read, |accept| searcher.oldest(&never_revised, limit, None, accept).map(drop))?;
        found.extend(self.gather(read, |accept| searcher.oldest(&revised, ALL, None, accept).map(drop))?);
        Ok(found)
    }

    /// All that have the words; none when the words do not narrow it down.
    fn with_words<T>(&self, filter: &Filter, words: &[String], read: Read<'_, T>) -> Result<Option<Vec<(u64, T)>>> {
        if words.is_empty() {
            return Ok(None);
        }
        let required: Vec<String> = words.iter().map(|word| format!("+{word}")).collect();
        let query = Query::parse(&required.join(" "))?;
        let searcher = self.view.searcher()?;
        let found = self.gather(read, |accept| searcher.search(&query, filter, WORD_MATCHES_MAX, accept).map(drop))?;
        // Below its limit a search asks about everything that has the words.
        Ok((found.len() < WORD_MATCHES_MAX).then_some(found))
    }

    /// What a search accepts of what is wanted, with the places.
    fn gather<T>(
        &self,
        read: Read<'_, T>,
        search: impl FnOnce(&mut dyn FnMut(Candidate<'_>) -> bool) -> kapsa_index::Result<()>,
    ) -> Result<Vec<(u64, T)>> {
        let mut visibility = Visibility::of(self.view);
        let mut found = Vec::new();
        search(&mut |candidate| {
            if !visibility.accepts(&candidate) {
                return false;
            }
            match self.wanted(candidate.seq(), read) {
                Ok(Some(wanted)) => found.push(wanted),
                Ok(None) => return false,
                Err(error) => return visibility.fail(error),
            }
            true
        })?;
        visibility.finish()?;
        Ok(found)
    }

    /// A visible record, if it is wanted, with its place. Of revisions that contest each other the newest speaks for its URI, as it does
    /// for whoever asks by id.
    fn wanted<T>(&self, sequence: u64, read: Read<'_, T>) -> Result<Option<(u64, T)>> {
        let record = self.view.record(sequence)?;
        let Some(thing) = read(&record) else { return Ok(None) };
        let is_newest = self.view.newest(&record.uri)?.is_some_and(|head| head.sequence == sequence);
        Ok(is_newest.then(|| (place(&record), thing)))
    }
}

/// Words that every content has as whole words of which `text` is a part: runs of ASCII letters with a character on either side that
/// belongs to no word, whatever stands beyond it. The first and the last word of a text are none: `port 5433 is` is a part of
/// `airport 5433 isn't`. Nor is a word beside a point, an apostrophe or an underscore, which can join words. The longest ones.
fn whole_words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let bytes = folded.as_bytes();
    let ends =
        |at: usize| bytes[at].is_ascii() && !bytes[at].is_ascii_alphanumeric() && !matches!(bytes[at], b'.' | b'\'' | b'_');
    let mut words = Vec::new();
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if byte.is_ascii_lowercase() {
            continue;
        }
        let word = start..at;
        start = at + 1;
        let fits = (3..=WORD_LETTERS_MAX).contains(&word.len());
        if fits && word.start > 0 && ends(word.start - 1) && ends(at) {
            words.push(folded[word].to_string());
        }
    }
    words.sort_by_key(|word| Reverse(word.len()));
    words.dedup();
    words.truncate(WORDS_ASKED_MAX);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_are_whole_in_every_content_are_asked_for() {
        for (text, want) in [
            ("", vec![]),
            ("VP sponsor", vec![]),
            ("the VP sponsor predicts", vec!["sponsor"]),
            (" sponsor ", vec!["sponsor"]),
            ("a (Getting) started-here now", vec!["getting", "started", "here"]),
            ("x user's_name.is this.", vec![]),
            ("x é word é y", vec!["word"]),
            ("x éword wordé y", vec![]),
            ("x do5 do y", vec![]),
        ] {
            assert_eq!(whole_words(text), want, "{text}");
        }
    }
}
