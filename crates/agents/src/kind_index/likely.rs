//! Finds the few records of one kind that are worth weighing, without reading all of them: those
//! with most of some words, and those that were written last; what they are worth is not known
//! here.
//!
//! It does not read all that there is: the words are a ranked search or two, first by the few that
//! say most; the newest are one walk back along the sequences of what fits the clauses; and
//! [`LOOKED_AT_MAX`] bounds both where nearly all that fits is not wanted after all.

use std::collections::BTreeMap;

use kapsa_memory::query::Query;
use kapsa_memory::{Error, Result};

use super::{Clauses, KindIndex, Read};

/// Most records that are looked at in either way, however few of them are wanted.
const LOOKED_AT_MAX: usize = 2048;

/// From so many records on, frequent words are not looked for where rarer ones find something: they
/// cost most and say least.
const MANY_RECORDS: u64 = 1 << 16;
/// Rarest words of a query, which are searched for then.
const RARE_WORDS_MAX: usize = 4;

/// What was looked at, by sequence: none for what is not wanted.
type LookedAt<T> = BTreeMap<u64, Option<T>>;

impl KindIndex<'_> {
    /// At most `limit` wanted ones that have most to do with `words`, and at most `limit` that were
    /// written last, each once, the newest first. The words are plain ones: no operator of a search
    /// is among them.
    pub(crate) fn likely<T>(
        &self,
        clauses: &Clauses,
        words: &str,
        limit: usize,
        read: Read<'_, T>,
    ) -> Result<Vec<T>> {
        let words = Query::parse(words).map_err(Error::from)?;
        let mut looked_at = LookedAt::new();
        if words.terms().next().is_some() {
            let rare = if self.view.indexed_count()? < MANY_RECORDS {
                words.clone()
            } else {
                self.view.rarest_terms(&words, &self.filter(clauses), RARE_WORDS_MAX)?
            };
            let found = self.with_most_words(clauses, &rare, limit, read, &mut looked_at)?;
            if found == 0 && rare != words {
                self.with_most_words(clauses, &words, limit, read, &mut looked_at)?;
            }
        }
        self.written_last(clauses, limit, read, &mut looked_at)?;
        Ok(looked_at.into_values().rev().flatten().collect())
    }

    /// A search does not know what is wanted: when too few of its best are, more are asked for.
    /// Returns how many are that were not looked at before.
    fn with_most_words<T>(
        &self,
        clauses: &Clauses,
        words: &Query,
        limit: usize,
        read: Read<'_, T>,
        looked_at: &mut LookedAt<T>,
    ) -> Result<usize> {
        let filter = self.filter(clauses);
        let (mut asked, mut wanted) = (limit, 0);
        loop {
            let hits = self.view.ranked(words, &filter, asked, &mut |_| Ok(true))?;
            for sequence in &hits {
                if wanted < limit && !looked_at.contains_key(sequence) {
                    let thing = self.wanted(*sequence, read)?.map(|found| found.thing);
                    wanted += usize::from(thing.is_some());
                    looked_at.insert(*sequence, thing);
                }
            }
            if wanted >= limit || hits.len() < asked || asked >= LOOKED_AT_MAX {
                return Ok(wanted);
            }
            asked = asked.saturating_mul(4).min(LOOKED_AT_MAX);
        }
    }

    fn written_last<T>(
        &self,
        clauses: &Clauses,
        limit: usize,
        read: Read<'_, T>,
        looked_at: &mut LookedAt<T>,
    ) -> Result<()> {
        let mut count = 0;
        let mut wanted = |sequence: u64| {
            count += 1;
            // A place that is taken by what is not wanted brings the walk to its end.
            let is_over = count > LOOKED_AT_MAX;
            if let Some(known) = looked_at.get(&sequence) {
                return Ok(is_over || known.is_some());
            }
            let thing = self.wanted(sequence, read)?.map(|found| found.thing);
            let is_wanted = thing.is_some();
            looked_at.insert(sequence, thing);
            Ok(is_over || is_wanted)
        };
        self.view.newest(&self.filter(clauses), limit, &mut wanted).map(drop)
    }
}
