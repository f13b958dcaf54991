//! Which records of one kind fit a query, exactly, and without reading all of them where the index knows better?
//!
//! The index only ever narrows: what it lets through is decoded and asked again by the rule that all stores share
//! (`super::matching`). A clause goes to the index when every record that fits the rule has the term. What that costs:
//!
//! - *Entity, domain, attribute, agent, tags, clearance*: the index knows them, so that only what fits is read. An empty name has no term.
//! - *Text* is a part of the content, and the index knows the trigrams of it. A text of fewer than three characters narrows nothing:
//!   the texts of all that fit the other clauses are read, a few microseconds each, until there are enough.
//! - *Confidence, validity*: read and asked.
//!
//! The order of what was first stored is that of the sequences, but for things that were revised: those carry the sequence of their
//! first revision in a tag. The first few are therefore found by walking along the sequences of what was never revised until there are
//! enough, and putting all that was revised among them.

mod likely;

use std::cmp::Reverse;

use kapsa_index::{Candidate, Filter, Query};

use super::records::{ATTRIBUTE_TAG, PLACE_TAG, is_indexed, place};
use super::types::Fact;
use crate::error::Result;
use crate::records::access::{self, Access};
use crate::records::record::{Micros, Record};
use crate::view::View;
use crate::view::visibility::Visibility;

/// Most words of a text that others are looked for by.
const WORDS_ALIKE_MAX: usize = 64;
/// As many as there are.
const ALL: usize = usize::MAX >> 8;

/// Clauses that the index can answer; each lets through all that fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Clauses {
    all: Vec<Vec<String>>,
    parts: Vec<String>,
    since: Option<Micros>,
}

impl Clauses {
    /// What has this value in a field.
    pub(super) fn field(mut self, field: &str, value: Option<&str>) -> Clauses {
        self.all.extend(value.filter(|value| !value.is_empty()).map(|value| vec![format!("{field}:{value}")]));
        self
    }

    /// What has this text as a part of its own.
    pub(super) fn text(mut self, text: &str) -> Clauses {
        self.parts.extend(Some(text).filter(|text| !text.is_empty()).map(str::to_string));
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

    /// What only those may know who may know this.
    pub(super) fn readers_of(mut self, fact: &Fact) -> Clauses {
        let access = Access { level: fact.classification, named: fact.named.clone() };
        self.all.push(access::terms_of(Some(&access), &fact.domain).iter().map(access::exact).collect());
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
    /// The first `limit` that are wanted, in the order in which they were first stored.
    pub(super) fn first<T>(&self, clauses: &Clauses, limit: usize, read: Read<'_, T>) -> Result<Vec<T>> {
        Ok(self.some(clauses, limit, read)?.into_iter().map(|(_, thing)| thing).collect())
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
        self.view.store().searcher()?.newest(&self.filter(clauses)?, ALL, None, &mut note)?;
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
        let fitting = words.iter().filter(|word| word.len() <= kapsa_index::TOKEN_BYTES_MAX);
        let words = fitting.take(WORDS_ALIKE_MAX).map(String::as_str).collect::<Vec<_>>();
        let query = Query::parse(&words.join(" "))?;
        let (filter, searcher) = (self.filter(clauses)?, self.view.store().searcher()?);
        self.gather(read, |accept| searcher.search(&query, &filter, limit, accept).map(drop))
    }

    fn filter(&self, clauses: &Clauses) -> Result<Filter> {
        let mut all = vec![vec![format!("kind:{}", self.kind)]];
        all.extend_from_slice(&clauses.all);
        all.extend(self.view.narrowing_terms()?);
        Ok(Filter {
            all,
            parts: clauses.parts.clone(),
            since_us: clauses.since,
            seqs: self.view.memories()?.cloned(),
            ..Filter::default()
        })
    }

    /// The first `limit`, with their places.
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
        let searcher = self.view.store().searcher()?;
        let mut found = self.gather(read, |accept| searcher.oldest(&never_revised, limit, None, accept).map(drop))?;
        found.extend(self.gather(read, |accept| searcher.oldest(&revised, ALL, None, accept).map(drop))?);
        Ok(found)
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
        let record = self.view.store().record(sequence)?;
        let Some(thing) = read(&record) else { return Ok(None) };
        let is_newest = self.view.newest(&record.uri)?.is_some_and(|head| head.sequence == sequence);
        Ok(is_newest.then(|| (place(&record), thing)))
    }
}
