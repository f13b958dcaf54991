//! Finds the records of one kind, or of a few, that fit a query, exactly, and without reading all
//! of them where the index knows better.
//!
//! The index only ever narrows: what it lets through is decoded and asked again by the rule that
//! all stores share (`super::matching`). A clause goes to the index when every record that fits the
//! rule has the term. What that costs:
//!
//! - *Entity, domain, attribute, agent, tags, clearance*: the index knows them, so that only what
//!   fits is read. An empty name has no term.
//! - *Text* is a part of the content, and the index knows the trigrams of it. A text of fewer than
//!   three characters narrows nothing: the texts of all that fit the other clauses are read, a few
//!   microseconds each, until there are enough.
//! - *Confidence, validity*: read and asked.
//!
//! The order of what was first stored is that of the sequences, but for things that were revised:
//! those carry the sequence of their first revision in a tag. The first few are therefore found by
//! walking along the sequences of what was never revised until there are enough, and putting all
//! that was revised among them.

mod likely;

use std::cmp::Reverse;

use kapsa_statement::{initials, is_numeronym, slug};

use super::records::{ATTRIBUTE_TAG, ENTITY_TAG, INITIALS_TAG, PLACE_TAG, is_indexed, place};
use super::types::Fact;
use kapsa_memory::access::{Access, index_terms};
use kapsa_memory::query::{Query, TOKEN_BYTES_MAX};
use kapsa_memory::{Error, LIMIT_NONE, Micros, RawView, Record, Result, ScanFilter};

/// Most words of a text that others are looked for by.
const WORDS_ALIKE_MAX: usize = 64;

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
        self.all.extend(
            value.filter(|value| !value.is_empty()).map(|value| vec![format!("{field}:{value}")]),
        );
        self
    }

    /// What is about this entity, by any spelling of its name, or of one that has one of these
    /// slugs.
    pub(super) fn entity(mut self, name: Option<&str>, aliases: &[String]) -> Clauses {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return self };
        self.all.push(entity_terms(name, aliases));
        self
    }

    /// The same, and what a short name may stand for.
    pub(super) fn near_entity(mut self, name: &str, aliases: &[String]) -> Clauses {
        if name.is_empty() {
            return self;
        }
        let mut terms = entity_terms(name, aliases);
        if is_numeronym(name) {
            terms.push(format!("tag:{INITIALS_TAG}={}", slug(name)));
        }
        if let Some(short) = initials(name) {
            terms.extend([
                format!("entity:{short}"),
                format!("entity:{}", short.to_uppercase()),
                format!("tag:{ENTITY_TAG}={short}"),
            ]);
        }
        self.all.push(terms);
        self
    }

    /// What has this text as a part of its own.
    pub(super) fn text(mut self, text: &str) -> Clauses {
        self.parts.extend(Some(text).filter(|text| !text.is_empty()).map(str::to_string));
        self
    }

    /// What is about this attribute.
    pub(super) fn attribute(mut self, attribute: Option<&str>) -> Clauses {
        let attribute = attribute.filter(|attribute| !attribute.is_empty());
        self.all
            .extend(attribute.map(|attribute| vec![format!("tag:{ATTRIBUTE_TAG}={attribute}")]));
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
        self.all.push(index_terms(&access, &fact.domain));
        self
    }

    /// What came about at this moment or later.
    pub(super) fn since(mut self, since: Option<Micros>) -> Clauses {
        self.since = since;
        self
    }
}

/// The terms of an entity: its name as it is, and by its slugs.
fn entity_terms(name: &str, aliases: &[String]) -> Vec<String> {
    let mut terms = vec![format!("entity:{name}")];
    for slug in std::iter::once(&slug(name)).chain(aliases) {
        terms.extend([format!("entity:{slug}"), format!("tag:{ENTITY_TAG}={slug}")]);
    }
    terms.dedup();
    terms
}

/// What a record is, if it is wanted.
pub(super) type Read<'a, T> = &'a dyn Fn(&Record) -> Option<T>;

/// Something that was found.
pub(super) struct Placed<T> {
    /// Its place in the order in which things of its kind were first stored.
    pub(super) place: u64,
    pub(super) thing: T,
}

/// The records of some kinds that a view sees.
pub(super) struct KindIndex<'a> {
    pub(super) view: RawView<'a>,
    pub(super) kinds: &'static [&'static str],
}

impl KindIndex<'_> {
    /// The first `limit` that are wanted, in the order in which they were first stored.
    pub(super) fn first<T>(
        &self,
        clauses: &Clauses,
        limit: usize,
        read: Read<'_, T>,
    ) -> Result<Vec<T>> {
        Ok(self.first_placed(clauses, limit, read)?.into_iter().map(|found| found.thing).collect())
    }

    /// The newest `limit` that are wanted, by the time at which they came about. Times are in the
    /// index: no more are decoded than are needed.
    pub(super) fn newest<T>(
        &self,
        clauses: &Clauses,
        limit: usize,
        read: Read<'_, T>,
    ) -> Result<Vec<T>> {
        let mut times = self.view.times(&self.filter(clauses))?;
        times.sort_unstable_by_key(|time| Reverse(*time));
        let mut found = Vec::new();
        for (_, sequence) in times {
            if found.len() >= limit {
                break;
            }
            found.extend(self.wanted(sequence, read)?.map(|found| found.thing));
        }
        Ok(found)
    }

    /// The `limit` that have the most of these words, as the index weighs them, in any order.
    pub(super) fn alike<T>(
        &self,
        clauses: &Clauses,
        words: &[String],
        limit: usize,
        read: Read<'_, T>,
    ) -> Result<Vec<Placed<T>>> {
        let fitting = words.iter().filter(|word| word.len() <= TOKEN_BYTES_MAX);
        let words = fitting.take(WORDS_ALIKE_MAX).map(String::as_str).collect::<Vec<_>>();
        let query = Query::parse(&words.join(" ")).map_err(Error::from)?;
        let mut found = Vec::new();
        self.view.ranked(&query, &self.filter(clauses), limit, &mut |sequence| {
            self.keep(sequence, read, &mut found)
        })?;
        Ok(found)
    }

    /// The first `limit` in the order in which they were first stored.
    pub(super) fn first_placed<T>(
        &self,
        clauses: &Clauses,
        limit: usize,
        read: Read<'_, T>,
    ) -> Result<Vec<Placed<T>>> {
        let mut found = self.walk(&self.filter(clauses), limit, read)?;
        found.sort_by_key(|found| found.place);
        found.truncate(limit);
        Ok(found)
    }

    fn filter(&self, clauses: &Clauses) -> ScanFilter {
        let mut all = vec![self.kinds.iter().map(|kind| format!("kind:{kind}")).collect()];
        all.extend_from_slice(&clauses.all);
        ScanFilter { all, none: Vec::new(), parts: clauses.parts.clone(), since: clauses.since }
    }

    /// The first `limit` in any order, and perhaps more.
    fn walk<T>(
        &self,
        filter: &ScanFilter,
        limit: usize,
        read: Read<'_, T>,
    ) -> Result<Vec<Placed<T>>> {
        let revised = format!("tag:{PLACE_TAG}");
        let never_revised = ScanFilter { none: vec![revised.clone()], ..filter.clone() };
        let revised = ScanFilter {
            all: [filter.all.clone(), vec![vec![revised]]].concat(),
            ..filter.clone()
        };
        let mut found = Vec::new();
        for (filter, limit) in [(never_revised, limit), (revised, LIMIT_NONE)] {
            self.view
                .oldest(&filter, limit, &mut |sequence| self.keep(sequence, read, &mut found))?;
        }
        Ok(found)
    }

    /// Keeps a record among those found, if it is wanted. Says whether it is.
    fn keep<T>(
        &self,
        sequence: u64,
        read: Read<'_, T>,
        found: &mut Vec<Placed<T>>,
    ) -> Result<bool> {
        let wanted = self.wanted(sequence, read)?;
        let is_wanted = wanted.is_some();
        found.extend(wanted);
        Ok(is_wanted)
    }

    /// A visible record, if it is wanted. Of revisions that contest each other the newest speaks
    /// for its URI, as it does for whoever asks by id.
    fn wanted<T>(&self, sequence: u64, read: Read<'_, T>) -> Result<Option<Placed<T>>> {
        let Some(record) = self.view.known_record(sequence)? else { return Ok(None) };
        let Some(thing) = read(&record) else { return Ok(None) };
        Ok(self.view.is_newest(&record)?.then(|| Placed { place: place(&record), thing }))
    }
}
