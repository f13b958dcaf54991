//! Which few of the many records of one kind are worth weighing, without reading all of them? Those with most of some words, and those
//! that were written last; what they are worth is not known here.
//!
//! What it costs does not grow with what there is: the words are one ranked search, the newest one walk back along the sequences of what
//! fits the clauses, and [`LOOKED_AT_MAX`] bounds both where nearly all that fits is not wanted after all.

use std::collections::BTreeMap;

use kapsa_index::{Candidate, Filter, Query};

use super::{Clauses, Read, Shelf};
use crate::error::Result;
use crate::read::Visibility;

/// Most records that are looked at in either way, however few of them are wanted.
const LOOKED_AT_MAX: usize = 2048;

/// From so many records on, common words are not looked for where there are rarer ones.
const MANY_RECORDS: u64 = 1 << 16;
/// Inverse document frequency of a word that one in fifty records has: what is below is common.
const RARE_MIN: f32 = 3.9;

/// What was looked at, by sequence: none for what is not wanted.
type LookedAt<T> = BTreeMap<u64, Option<T>>;

impl Shelf<'_> {
    /// At most `limit` wanted ones that have most to do with `words`, and at most `limit` that were written last, each once, the newest
    /// first. The words are plain ones: no operator of a search is among them.
    pub(in crate::agent) fn likely<T>(&self, clauses: &Clauses, words: &str, limit: usize, read: Read<'_, T>) -> Result<Vec<T>> {
        let mut looked_at = LookedAt::new();
        if let Some(words) = self.telling(Query::parse(words)?)? {
            self.with_most_words(clauses, &words, limit, read, &mut looked_at)?;
        }
        self.written_last(clauses, limit, read, &mut looked_at)?;
        Ok(looked_at.into_values().rev().flatten().collect())
    }

    /// The words to look for; none when there are none. Among many records a common word tells next to nothing, and finding the best of
    /// all that have it is what a search takes longest for: where there are rarer ones, those are enough.
    fn telling(&self, query: Query) -> Result<Option<Query>> {
        if query.terms().next().is_none() {
            return Ok(None);
        }
        let searcher = self.view.searcher()?;
        if searcher.document_count() < MANY_RECORDS {
            return Ok(Some(query));
        }
        let rarities = searcher.rarities(&query, &Filter::default())?;
        let rare: Vec<String> =
            query.terms().zip(rarities).filter(|(_, rarity)| *rarity >= RARE_MIN).map(|(word, _)| word.to_string()).collect();
        Ok(Some(if rare.is_empty() { query } else { query.only(&rare) }))
    }

    /// A search does not know what is wanted: when too few of its best are, more are asked for.
    fn with_most_words<T>(
        &self,
        clauses: &Clauses,
        words: &Query,
        limit: usize,
        read: Read<'_, T>,
        looked_at: &mut LookedAt<T>,
    ) -> Result<()> {
        let (filter, searcher) = (self.filter(clauses)?, self.view.searcher()?);
        let (mut asked, mut wanted) = (limit, 0);
        loop {
            let mut visibility = Visibility::of(self.view);
            let hits = searcher.search(words, &filter, asked, &mut |candidate| visibility.accepts(&candidate))?;
            visibility.finish()?;
            for hit in &hits {
                if wanted < limit && !looked_at.contains_key(&hit.seq) {
                    let thing = self.wanted(hit.seq, read)?.map(|(_, thing)| thing);
                    wanted += usize::from(thing.is_some());
                    looked_at.insert(hit.seq, thing);
                }
            }
            if wanted >= limit || hits.len() < asked || asked >= LOOKED_AT_MAX {
                return Ok(());
            }
            asked = asked.saturating_mul(4).min(LOOKED_AT_MAX);
        }
    }

    fn written_last<T>(&self, clauses: &Clauses, limit: usize, read: Read<'_, T>, looked_at: &mut LookedAt<T>) -> Result<()> {
        let mut visibility = Visibility::of(self.view);
        let mut count = 0;
        let mut accept = |candidate: Candidate<'_>| {
            if !visibility.accepts(&candidate) {
                return false;
            }
            count += 1;
            // A place that is taken by what is not wanted brings the walk to its end.
            let is_over = count > LOOKED_AT_MAX;
            if let Some(known) = looked_at.get(&candidate.seq()) {
                return is_over || known.is_some();
            }
            match self.wanted(candidate.seq(), read) {
                Ok(thing) => {
                    let is_wanted = thing.is_some();
                    looked_at.insert(candidate.seq(), thing.map(|(_, thing)| thing));
                    is_over || is_wanted
                }
                Err(error) => visibility.fail(error),
            }
        };
        self.view.searcher()?.newest(&self.filter(clauses)?, limit, None, &mut accept)?;
        visibility.finish()
    }
}
