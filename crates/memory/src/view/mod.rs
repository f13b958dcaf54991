//! What is visible. The one place that decides which revision of a URI counts, for a branch, as of
//! a moment, for whoever looks.

use std::sync::{Arc, OnceLock};

use kapsa_capsule::Snapshot;
use kapsa_index::{Candidate, Sequences};

use crate::error::Result;
use crate::records::access::{Classification, ClearanceProfile};
use crate::records::codec::{Body, Operation};
use crate::records::provenance::Trust;
use crate::records::record::Record;
use crate::records::uri::Uri;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

mod aliases;
pub(crate) mod as_of;
pub(crate) mod attached;
pub(crate) mod blobs;
pub(crate) mod branches;
pub(crate) mod checkpoints;
pub(crate) mod counts;
pub(crate) mod coverage;
mod guard;
pub(crate) mod known;
pub(crate) mod present;
pub(crate) mod raw;
mod segment_tables;
mod store;
mod tail;
pub(crate) mod trust;
pub(crate) mod vector_block;
pub(crate) mod vectors;
pub(crate) mod visibility;

use guard::{Guard, Guards};
use known::KnownRecords;
pub(crate) use store::{Head, Store};

/// Most aliases that are followed from one URI to the next.
pub const ALIASES_MAX: usize = 8;

/// A branch as of a moment, in a store that other views share.
#[derive(Clone)]
pub(crate) struct View {
    store: Arc<Store>,
    lineage: Lineage,
    /// Who looks; none for the owner, who sees everything.
    guard: Option<Arc<Guard>>,
    /// Who looked into the store before.
    guards: Arc<Guards>,
    /// Sequences of the memories seen; none when that is all of them.
    memories: OnceLock<Option<Sequences>>,
    /// Sequences seen, the capsule's own included.
    everything: OnceLock<Sequences>,
    /// What is trusted less far is left out of searches and lists.
    trust_min: Trust,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("snapshot", self.store.snapshot())
            .field("lineage", &self.lineage)
            .finish_non_exhaustive()
    }
}

impl View {
    /// `main`, as it is in the snapshot.
    pub(crate) fn new(snapshot: Snapshot) -> View {
        View::of(Arc::new(Store::new(snapshot)), Arc::default(), Lineage::main())
    }

    fn of(store: Arc<Store>, guards: Arc<Guards>, lineage: Lineage) -> View {
        View {
            store,
            lineage,
            guard: None,
            guards,
            memories: OnceLock::new(),
            everything: OnceLock::new(),
            trust_min: Trust::ALL[0],
        }
    }

    /// `main` in a snapshot, which shares this one's store when it is of the same commit, and what
    /// did not change when it is of a later one.
    ///
    /// # Errors
    /// What the disk reports.
    pub(crate) fn main_of(&self, snapshot: Snapshot) -> Result<View> {
        if self.store.snapshot().is_same(&snapshot) {
            return Ok(View::of(
                Arc::clone(&self.store),
                Arc::clone(&self.guards),
                Lineage::main(),
            ));
        }
        let store = Store::after(&self.store, snapshot)?;
        Ok(View::of(Arc::new(store), Arc::default(), Lineage::main()))
    }

    /// Another lineage in the same store, for the same principal.
    pub(crate) fn with(&self, lineage: Lineage) -> View {
        View {
            guard: self.guard.clone(),
            trust_min: self.trust_min,
            ..View::of(Arc::clone(&self.store), Arc::clone(&self.guards), lineage)
        }
    }

    /// The same, as a principal sees it.
    pub(crate) fn guarded(&self, profile: ClearanceProfile) -> View {
        View {
            guard: Some(self.guards.of(profile, self.store.tables().len())),
            ..self.with(self.lineage.clone())
        }
    }

    /// What the snapshot holds, whoever looks.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// What this view sees.
    pub(crate) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Whether a principal looks, to whom things may be hidden.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Whether whoever looks may know a record. The capsule's own are the owner's.
    pub(crate) fn may_know(&self, record: &Record) -> bool {
        let may = |guard: &Arc<Guard>| !record.system && guard.profile.can_access(record);
        self.guard.as_ref().is_none_or(may)
    }

    /// Whether whoever looks may know what the capsule writes about itself, branches and the like.
    pub(crate) fn may_know_system(&self) -> bool {
        self.guard
            .as_ref()
            .is_none_or(|guard| guard.profile.allows("", Classification::Internal, &[]))
    }

    /// The records that whoever looks may know, on any branch; none for the owner: all.
    pub(crate) fn scope(&self) -> Result<Option<&KnownRecords>> {
        self.guard.as_ref().map(|guard| guard.known(&self.store)).transpose()
    }

    /// Narrows a filter to what whoever looks may know, where it is not enough to check each
    /// candidate, and to what is trusted as far as is asked.
    pub(crate) fn narrow(&self, filter: &mut kapsa_index::Filter) -> Result<()> {
        if let Some(guard) = &self.guard {
            filter.all.extend(guard.narrowing_terms(&self.store)?);
        }
        filter.none.extend(self.trust_min.terms_below());
        Ok(())
    }

    /// Newest revision of a URI, tombstones included.
    pub(crate) fn newest(&self, uri: &Uri) -> Result<Option<Head>> {
        if uri.is_reserved() {
            // The capsule's own names are each given once, wherever that was.
            return self.store.newest_under(uri, &Lineage::all().before(self.lineage.below()));
        }
        let head = self.store.newest_under(uri, &self.lineage)?;
        match &head {
            // Whoever purges leaves a marker on every branch that wrote the URI, but not on those
            // that only inherit it.
            Some(newest)
                if self.lineage != Lineage::main()
                    && self.store.is_purged(uri, newest.sequence)? =>
            {
                Ok(None)
            }
            _ => Ok(head),
        }
    }

    /// The newest visible revision under exactly this URI, an alias included.
    pub(crate) fn visible(&self, uri: &Uri) -> Result<Option<Body>> {
        let Some(head) = self.newest(uri)? else { return Ok(None) };
        Ok(Some(self.store.body(head.sequence)?).filter(|body| !body.record.tombstone))
    }

    /// What counts under exactly this URI, the newest last: all that contest each other, an alias
    /// included; nothing when it is forgotten or purged.
    pub(crate) fn counting(&self, uri: &Uri) -> Result<Vec<Body>> {
        let Some(head) = self.newest(uri)? else { return Ok(Vec::new()) };
        self.store.counting_with(&self.store.body(head.sequence)?)
    }

    /// Every revision of a URI that this view sees, ascending.
    pub(crate) fn revisions(&self, uri: &Uri) -> Result<Vec<u64>> {
        self.store.revisions_under(uri, &self.lineage)
    }

    /// Sequences of the memories that this view sees, replaced ones included; none when that is all
    /// of them.
    pub(crate) fn memories(&self) -> Result<Option<&Sequences>> {
        if let Some(known) = self.memories.get() {
            return Ok(known.as_ref());
        }
        let all = self.lineage == Lineage::main() && self.store.is_plain()?;
        let memories =
            if all { None } else { Some(self.store.sequences(&self.lineage, Class::Memory)?) };
        Ok(self.memories.get_or_init(|| memories).as_ref())
    }

    /// Whether a memory that this view sees is a newest revision of its URI, not a tombstone, and
    /// may be known to whoever looks.
    pub(crate) fn is_visible(&self, candidate: &Candidate<'_>) -> Result<bool> {
        let sequence = candidate.seq();
        let tail = self.store.tail()?;
        if sequence >= tail.first_sequence {
            let Some(body) = tail.body(sequence) else { return Ok(false) };
            let counts = body.operation == Operation::Put
                && !tail.replaces(&body.record.uri, sequence, &self.lineage);
            return Ok(counts && self.may_know(&body.record));
        }
        let may_know = self
            .guard
            .as_ref()
            .map_or(Ok(true), |guard| guard.may_know_indexed(&self.store, sequence))?;
        if !may_know || self.is_replaced(sequence)? {
            return Ok(false);
        }
        if tail.revisions.is_empty() || !tail.revisions.contains_key(&candidate.key_hash()?) {
            return Ok(true);
        }
        Ok(!tail.replaces(&self.store.record(sequence)?.uri, sequence, &self.lineage))
    }

    /// Whether a revision that this view sees took the place of the indexed record `sequence`.
    fn is_replaced(&self, sequence: u64) -> Result<bool> {
        // What the capsule writes about itself is replaced by its like, which is not a memory.
        let seen = match self.memories()? {
            Some(memories) if !memories.contains(sequence) => match self.everything.get() {
                Some(known) => Some(known),
                None => {
                    let all = self.store.sequences(&self.lineage, Class::Both)?;
                    Some(self.everything.get_or_init(|| all))
                }
            },
            memories => memories,
        };
        for table in self.store.tables().replaced()? {
            for new in table.replacements(sequence)? {
                let new = new?;
                if new == sequence || seen.is_none_or(|seen| seen.contains(new)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
