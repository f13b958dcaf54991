//! What a reader sees, as it is stored. For crates that keep kinds of records of their own. Knows
//! nothing of what they mean.
//!
//! [`crate::Reader`] shows records to people and programs: it follows aliases and leaves out of a
//! fact what its reader may not know. A store of facts does that itself, after it has added its
//! counts, so it reads here. What the principal who looks may not know is not here either.

use kapsa_index::{Candidate, Query, Searcher};
use kapsa_model::Model;

use super::known::KnownRecords;
use super::visibility::{Visibility, list};
use super::{View, branches, present, vectors};
use crate::error::Result;
use crate::records::kinds;
use crate::records::record::{BranchId, Micros, Record};
use crate::records::request::{Filter, LIMIT_NONE};
use crate::records::uri::Uri;
use crate::tables::branch_table::Class;

/// What the index can answer by itself. Each clause lets through all that fits it; empty ones let
/// through everything.
#[derive(Clone, Debug, Default)]
pub struct ScanFilter {
    /// Of each group, one of its terms: `kind:fact`, `entity:acme`, `tag:name=value`.
    pub all: Vec<Vec<String>>,
    /// None of these terms.
    pub none: Vec<String>,
    /// Each of these texts as a part of the record's text, upper and lower case alike.
    pub parts: Vec<String>,
    /// Created at this time or later.
    pub since: Option<Micros>,
}

/// Asked of each visible record that a scan comes to, by its sequence: whether it counts.
pub type Wanted<'a> = &'a mut dyn FnMut(u64) -> Result<bool>;

/// A view as it is stored: records with everything that is in them.
#[derive(Clone, Copy, Debug)]
pub struct RawView<'a> {
    view: &'a View,
}

impl<'a> RawView<'a> {
    pub(crate) fn of(view: &'a View) -> RawView<'a> {
        RawView { view }
    }

    pub(crate) fn view(&self) -> &'a View {
        self.view
    }

    /// Whether a principal looks rather than the owner.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.view.is_guarded()
    }

    /// Sequence of the last record before the end of what is seen, whether or not whoever looks
    /// may know it; 0 in an empty capsule. [`crate::AsOf::Sequence`] of it is this view again.
    #[must_use]
    pub fn moment(&self) -> u64 {
        let next = self.view.store().snapshot().commit().next_sequence;
        self.view.lineage().below().min(next) - 1
    }

    /// The model whose vectors are in force; none where there are none. [`crate::Reader::coverage`]
    /// counts them as well, which takes longer.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn model(&self) -> Result<Option<Model>> {
        vectors::model(self.view.store())
    }

    /// The memory under exactly this URI, an alias included, if whoever looks may know it.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn known(&self, uri: &Uri) -> Result<Option<Record>> {
        Ok(present::known(self.view, uri)?.map(|body| body.record))
    }

    /// The note that the memory keeps under this URI, whoever looks: how often a fact was read,
    /// what a trace said. None under the URI of anything else.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn noted(&self, uri: &Uri) -> Result<Option<Record>> {
        let is_note = |record: &Record| record.system && kinds::is_note(&record.kind);
        Ok(self.view.visible(uri)?.map(|body| body.record).filter(is_note))
    }

    /// Every note of a kind, the newest first; none for a principal, and none of any other kind.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn notes(&self, kind: &str) -> Result<Vec<Record>> {
        if !kinds::is_note(kind) || self.view.is_guarded() {
            return Ok(Vec::new());
        }
        let store = self.view.store();
        let filter = kapsa_index::Filter {
            all: vec![vec![format!("kind:{kind}")]],
            seqs: Some(store.sequences(self.view.lineage(), Class::System)?),
            ..kapsa_index::Filter::default()
        };
        let mut visibility = Visibility::of(self.view);
        let mut accept = |candidate: Candidate<'_>| visibility.accepts(&candidate);
        let found = store.searcher()?.newest(&filter, LIMIT_NONE, None, &mut accept)?;
        visibility.finish()?;
        found.into_iter().map(|sequence| store.record(sequence)).collect()
    }

    /// The record, if whoever looks may know it.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn known_record(&self, sequence: u64) -> Result<Option<Record>> {
        let record = self.view.store().record(sequence)?;
        Ok(present::may_still_know(self.view, &record)?.then_some(record))
    }

    /// Whether no later revision of its URI counts that whoever looks may know. Of revisions that
    /// contest each other the last one speaks for its URI.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn is_newest(&self, record: &Record) -> Result<bool> {
        if self.view.is_guarded() {
            let newest = present::known(self.view, &record.uri)?;
            return Ok(newest.is_some_and(|newest| newest.record.sequence == record.sequence));
        }
        Ok(self.view.newest(&record.uri)?.is_some_and(|head| head.sequence == record.sequence))
    }

    /// The first `limit` wanted records in the order of their sequences.
    ///
    /// # Errors
    /// What the disk or a damaged file reports, or `wanted`.
    pub fn oldest(
        &self,
        filter: &ScanFilter,
        limit: usize,
        wanted: Wanted<'_>,
    ) -> Result<Vec<u64>> {
        self.scan(filter, wanted, |searcher, filter, accept| {
            searcher.oldest(filter, limit, None, accept)
        })
    }

    /// The last `limit` wanted records, the last one first.
    ///
    /// # Errors
    /// As [`RawView::oldest`].
    pub fn newest(
        &self,
        filter: &ScanFilter,
        limit: usize,
        wanted: Wanted<'_>,
    ) -> Result<Vec<u64>> {
        self.scan(filter, wanted, |searcher, filter, accept| {
            searcher.newest(filter, limit, None, accept)
        })
    }

    /// The `limit` wanted records that have the most of a query, the best first.
    ///
    /// # Errors
    /// As [`RawView::oldest`].
    pub fn ranked(
        &self,
        query: &Query,
        filter: &ScanFilter,
        limit: usize,
        wanted: Wanted<'_>,
    ) -> Result<Vec<u64>> {
        self.scan(filter, wanted, |searcher, filter, accept| {
            Ok(searcher
                .search(query, filter, limit, accept)?
                .into_iter()
                .map(|hit| hit.seq)
                .collect())
        })
    }

    /// When each visible record that fits was created, in no order. Reads no record.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn times(&self, filter: &ScanFilter) -> Result<Vec<(Micros, u64)>> {
        let mut visibility = Visibility::of(self.view);
        let mut times = Vec::new();
        let mut note = |candidate: Candidate<'_>| {
            if visibility.accepts(&candidate) {
                match candidate.time_us() {
                    Ok(time) => times.push((time, candidate.seq())),
                    Err(error) => drop(visibility.fail(error.into())),
                }
            }
            false
        };
        self.view.store().searcher()?.newest(&self.within(filter)?, LIMIT_NONE, None, &mut note)?;
        visibility.finish()?;
        Ok(times)
    }

    /// The `count` terms of a query that say most: the rarest of them among what fits the filter.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn rarest_terms(&self, query: &Query, filter: &ScanFilter, count: usize) -> Result<Query> {
        let rarities = self.view.store().searcher()?.rarities(
            query,
            &self.within(filter)?,
            self.view.scope()?.map(KnownRecords::as_scope),
        )?;
        Ok(query.telling(&rarities, count))
    }

    /// How many records the index has, visible or not.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn indexed_count(&self) -> Result<u64> {
        Ok(self.view.store().searcher()?.document_count())
    }

    /// How many visible records fit a filter; at most `limit`.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn count(&self, filter: &Filter, limit: usize) -> Result<usize> {
        Ok(list(self.view, filter, limit, true)?.len())
    }

    /// The branch called `name`, archived or not; none when there is none, or when whoever looks
    /// may not know of branches.
    ///
    /// # Errors
    /// `InvalidOperation` when that is not the name of a branch.
    pub fn find_branch(&self, name: &str) -> Result<Option<BranchId>> {
        if !self.view.may_know_system() {
            return Ok(None);
        }
        Ok(branches::find(self.view.store(), name)?.map(|made| made.id))
    }

    /// The branch that is seen, whose ancestors may be seen as well.
    #[must_use]
    pub fn branch(&self) -> BranchId {
        self.view.lineage().own()
    }

    fn scan(
        &self,
        filter: &ScanFilter,
        wanted: Wanted<'_>,
        search: impl FnOnce(
            &Searcher,
            &kapsa_index::Filter,
            &mut dyn FnMut(Candidate<'_>) -> bool,
        ) -> kapsa_index::Result<Vec<u64>>,
    ) -> Result<Vec<u64>> {
        let mut visibility = Visibility::of(self.view);
        let mut accept = |candidate: Candidate<'_>| {
            visibility.accepts(&candidate)
                && wanted(candidate.seq()).unwrap_or_else(|error| visibility.fail(error))
        };
        let found = search(self.view.store().searcher()?, &self.within(filter)?, &mut accept)?;
        visibility.finish()?;
        Ok(found)
    }

    /// The filter, narrowed down to what is seen.
    fn within(&self, filter: &ScanFilter) -> Result<kapsa_index::Filter> {
        let mut filter = kapsa_index::Filter {
            all: filter.all.clone(),
            none: filter.none.clone(),
            parts: filter.parts.clone(),
            since_us: filter.since,
            seqs: self.view.memories()?.cloned(),
            ..kapsa_index::Filter::default()
        };
        self.view.narrow(&mut filter)?;
        Ok(filter)
    }
}
