//! Who looks: a principal's profile, and what it may know of each segment. Knows nothing of
//! branches and revisions.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kapsa_index::Sequences;

use super::known::KnownRecords;
use super::store::{Store, empty_cells};
use crate::error::Result;
use crate::records::access::{self, ClearanceProfile, Term};
use crate::records::codec::Body;
use crate::records::record::Record;
use crate::tables::access_table::Allowed;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

/// A principal who may know less than this part of all records is answered by searching for those
/// records.
const NARROW_DIVISOR: u64 = 16;

/// Principals of whom is kept what they may know: an eighth of a byte for each record.
const GUARDS_MAX: usize = 8;

/// A principal who looks: its profile, and the terms of which a record must have one.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) profile: ClearanceProfile,
    /// Sorted.
    terms: Vec<Term>,
    /// What it may know of each segment; none for a segment whose records must be read to know.
    allowed: Vec<OnceLock<Option<Allowed>>>,
    /// What it may know of all, once a search ranks by it.
    known: OnceLock<KnownRecords>,
}

/// The principals who looked into one store last, the newest last: what one may know of all
/// records is found out once.
#[derive(Debug, Default)]
pub(super) struct Guards(Mutex<Vec<Arc<Guard>>>);

impl Guards {
    /// A principal who looks into a store of so many segments.
    pub(super) fn of(&self, profile: ClearanceProfile, segments: usize) -> Arc<Guard> {
        let mut guards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = match guards.iter().position(|guard| guard.profile == profile) {
            Some(at) => guards.remove(at),
            None => Arc::new(Guard::new(profile, segments)),
        };
        if guards.len() == GUARDS_MAX {
            guards.remove(0);
        }
        guards.push(Arc::clone(&guard));
        guard
    }
}

impl Guard {
    /// A guard for a store of so many segments.
    fn new(profile: ClearanceProfile, segments: usize) -> Guard {
        let mut terms = access::terms_for(&profile);
        terms.sort_unstable();
        Guard { profile, terms, allowed: empty_cells(segments), known: OnceLock::new() }
    }

    /// Whether the principal may know an indexed record.
    pub(super) fn may_know_indexed(&self, store: &Store, sequence: u64) -> Result<bool> {
        let segments = store.snapshot().segments();
        let Some(index) =
            segments.partition_point(|meta| meta.first_sequence <= sequence).checked_sub(1)
        else {
            return Ok(false);
        };
        match (self.allowed(store, index)?, store.tables().access_table(index)?) {
            (Some(allowed), Some(table)) => {
                let group = table.group_of((sequence - segments[index].first_sequence) as usize)?;
                Ok(allowed.groups.get(group).copied().unwrap_or(false))
            }
            _ => Ok(self.profile.can_access(&store.record(sequence)?)),
        }
    }

    /// The exact terms that narrow a search to what the principal may know, where that is so little
    /// that searching for it pays; none where it is enough to check each candidate.
    pub(super) fn narrowing_terms(&self, store: &Store) -> Result<Option<Vec<String>>> {
        let mut known = 0;
        for index in 0..self.allowed.len() {
            match self.allowed(store, index)? {
                Some(allowed) => known += allowed.records,
                // There may be records without terms.
                None => return Ok(None),
            }
        }
        let all = store.tail()?.first_sequence - 1;
        Ok((known < all / NARROW_DIVISOR).then(|| self.terms.iter().map(access::exact).collect()))
    }

    /// The records that the principal may know. A segment that does not say was written before
    /// there were levels: its records are everybody's. What the capsule writes about itself is the
    /// owner's; a tombstone and an alias say nothing, and may be those of something hidden.
    pub(super) fn known(&self, store: &Store) -> Result<&KnownRecords> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let system = match store.is_plain()? {
            true => Sequences::new(Vec::new()),
            false => store.sequences(&Lineage::all(), Class::System)?,
        };
        let mut known = KnownRecords::default();
        for (index, meta) in store.snapshot().segments().iter().enumerate() {
            let sequences = meta.first_sequence..meta.next_sequence;
            let records = sequences.end - sequences.start;
            let bits = match (self.allowed(store, index)?, store.tables().access_table(index)?) {
                (Some(allowed), Some(table)) if allowed.records < records => {
                    Some(table.bits_of(allowed, records as usize)?)
                }
                _ => None,
            };
            known.add_without(sequences, bits, &system);
        }
        let tail = store.tail()?;
        let says = |record: &Record| !record.system && !record.tombstone && record.alias.is_none();
        let may_know = |record: &Record| says(record) && self.profile.can_access(record);
        let known_there =
            |body: &Option<Arc<Body>>| body.as_ref().is_some_and(|b| may_know(&b.record));
        known.add_each(tail.first_sequence, tail.bodies.iter().map(known_there));
        Ok(self.known.get_or_init(|| known))
    }

    /// What the principal may know of a segment; none when its records must be read to know.
    fn allowed(&self, store: &Store, index: usize) -> Result<Option<&Allowed>> {
        let cell = &self.allowed[index];
        if let Some(allowed) = cell.get() {
            return Ok(allowed.as_ref());
        }
        let allowed = store
            .tables()
            .access_table(index)?
            .map(|table| table.allowed(&self.terms))
            .transpose()?;
        Ok(cell.get_or_init(|| allowed).as_ref())
    }
}
