//! What is visible? The one place that decides which revision of a URI counts, for a branch, as of a moment.

use std::sync::{Arc, OnceLock};

use kapsa_capsule::Snapshot;
use kapsa_index::{Candidate, Sequences};

use crate::error::{Error, Result};
use crate::records::access::{self, Classification, ClearanceProfile, Term};
use crate::records::codec::{Body, Operation};
use crate::records::record::Record;
use crate::records::uri::Uri;
use crate::tables::access_table::Allowed;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::tables::segments::CONTESTED_TERM;

pub mod as_of;
mod branches;
pub mod checkpoints;
pub(crate) mod raw;
mod store;
mod tail;
pub(crate) mod vectors;
pub(crate) mod visibility;

use store::empty_cells;
pub(crate) use store::{CheckedSection, Store};

/// Most aliases that are followed from one URI to the next.
pub const ALIASES_MAX: usize = 8;
/// Who may know less than this part of all records is shown them by looking for them.
const NARROW_DIVISOR: u64 = 16;
/// A branch as of a moment, in a store that other views share.
#[derive(Clone)]
pub(crate) struct View {
    store: Arc<Store>,
    lineage: Lineage,
    /// Who looks; none for the owner, who sees everything.
    guard: Option<Arc<Guard>>,
    /// Sequences of the memories seen; none when that is all of them.
    memories: OnceLock<Option<Sequences>>,
}

/// A principal who looks: its profile, and the terms of which a record must have one.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) profile: ClearanceProfile,
    /// Sorted.
    terms: Vec<Term>,
    /// What it may know of each segment; none of one that must be read to know.
    allowed: Vec<OnceLock<Option<Allowed>>>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("snapshot", &self.store.snapshot).field("lineage", &self.lineage).finish_non_exhaustive()
    }
}

/// The newest revision of a URI that a view sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) sequence: u64,
    /// Revisions that it did not replace.
    pub(crate) conflicts_with: Vec<u64>,
}

impl Head {
    /// Every revision that counts.
    pub(crate) fn all(&self) -> impl Iterator<Item = u64> + '_ {
        self.conflicts_with.iter().copied().chain([self.sequence])
    }
}

impl View {
    /// What the snapshot holds, whoever looks.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// `main`, as it is in the snapshot.
    pub(crate) fn new(snapshot: Snapshot) -> View {
        View::of(Arc::new(Store::new(snapshot)), Lineage::main())
    }

    fn of(store: Arc<Store>, lineage: Lineage) -> View {
        View { store, lineage, guard: None, memories: OnceLock::new() }
    }

    /// `main` in a snapshot, which shares this one's store when it is of the same commit.
    pub(crate) fn main_of(&self, snapshot: Snapshot) -> View {
        let same = snapshot.commit() == self.store().snapshot.commit()
            && snapshot.file().generation == self.store().snapshot.file().generation;
        if same { View::of(Arc::clone(&self.store), Lineage::main()) } else { View::new(snapshot) }
    }

    /// Another view of the same store.
    pub(crate) fn with(&self, lineage: Lineage) -> View {
        View { guard: self.guard.clone(), ..View::of(Arc::clone(&self.store), lineage) }
    }

    /// The same, as a principal sees it.
    pub(crate) fn guarded(&self, profile: ClearanceProfile) -> View {
        let mut terms = access::terms_for(&profile);
        terms.sort_unstable();
        let guard = Guard { terms, profile, allowed: empty_cells(self.store().access_tables.len()) };
        View { guard: Some(Arc::new(guard)), ..View::of(Arc::clone(&self.store), self.lineage.clone()) }
    }

    /// Who looks; none for the owner.
    pub(crate) fn guard(&self) -> Option<&Guard> {
        self.guard.as_deref()
    }

    /// Whether a record may be known to who looks.
    pub(crate) fn may_know(&self, record: &Record) -> bool {
        self.guard().is_none_or(|guard| guard.profile.can_access(record))
    }

    /// What of a segment may be known to a principal; none when its records must be read to know.
    fn allowed<'a>(&self, guard: &'a Guard, index: usize) -> Result<Option<&'a Allowed>> {
        let cell = &guard.allowed[index];
        if let Some(allowed) = cell.get() {
            return Ok(allowed.as_ref());
        }
        let allowed = self.store().access_table(index)?.map(|table| table.allowed(&guard.terms)).transpose()?;
        Ok(cell.get_or_init(|| allowed).as_ref())
    }

    /// Whether an indexed record may be known to who looks.
    fn may_know_indexed(&self, sequence: u64) -> Result<bool> {
        let Some(guard) = self.guard() else { return Ok(true) };
        let segments = self.store().snapshot.segments();
        let Some(index) = segments.partition_point(|meta| meta.first_sequence <= sequence).checked_sub(1) else {
            return Ok(false);
        };
        match (self.allowed(guard, index)?, self.store().access_table(index)?) {
            (Some(allowed), Some(table)) => {
                let group = table.group_of((sequence - segments[index].first_sequence) as usize)?;
                Ok(allowed.groups.get(group).copied().unwrap_or(false))
            }
            _ => Ok(guard.profile.can_access(&self.store().record(sequence)?)),
        }
    }

    /// The exact terms that narrow a search down to what may be known to who looks, where that is so little that looking for it pays;
    /// none where it is enough to ask of each record that comes up.
    pub(crate) fn narrowing_terms(&self) -> Result<Option<Vec<String>>> {
        let Some(guard) = self.guard() else { return Ok(None) };
        let mut known = 0;
        for index in 0..self.store().access_tables.len() {
            match self.allowed(guard, index)? {
                Some(allowed) => known += allowed.records,
                // There may be records without terms.
                None => return Ok(None),
            }
        }
        let all = self.store().tail()?.first_sequence - 1;
        Ok((known < all / NARROW_DIVISOR).then(|| guard.terms.iter().map(access::exact).collect()))
    }

    /// Whether what the capsule writes about itself, branches and the like, may be known to who looks.
    pub(crate) fn may_know_system(&self) -> bool {
        self.guard().is_none_or(|guard| guard.profile.allows("", Classification::Internal, &[]))
    }

    /// What this view sees.
    pub(crate) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Newest revision of a URI, tombstones included.
    pub(crate) fn newest(&self, uri: &Uri) -> Result<Option<Head>> {
        if uri.is_reserved() {
            // The capsule's own names are each given once, wherever that was.
            return self.store().newest_under(uri, &Lineage::all().before(self.lineage.below()));
        }
        let head = self.store().newest_under(uri, &self.lineage)?;
        match &head {
            // Whoever purges leaves a marker on every branch that wrote the URI, but not on those that only inherit it.
            Some(newest) if self.lineage != Lineage::main() && self.store().is_purged(uri, newest.sequence)? => Ok(None),
            _ => Ok(head),
        }
    }

    /// The URI that a URI stands for, and whether a memory is visible under it.
    ///
    /// # Errors
    /// `InvalidOperation` when aliases lead in a circle or too far.
    pub(crate) fn look_up(&self, uri: &Uri) -> Result<(Uri, bool)> {
        let mut uri = uri.clone();
        for _ in 0..=ALIASES_MAX {
            let Some(head) = self.newest(&uri)? else { return Ok((uri, false)) };
            let body = self.store().body(head.sequence)?;
            match body.record.alias {
                Some(target) => uri = target,
                None => return Ok((uri, body.operation == Operation::Put)),
            }
        }
        let reason = format!("{uri} is an alias that leads in a circle, or over more than {ALIASES_MAX} others");
        Err(Error::InvalidOperation { reason })
    }

    /// The URI that a URI stands for, if a memory is visible under it.
    pub(crate) fn resolve(&self, uri: &Uri) -> Result<Option<Uri>> {
        let (uri, exists) = self.look_up(uri)?;
        Ok(exists.then_some(uri))
    }

    /// The newest visible revision under exactly this URI, an alias included.
    pub(crate) fn visible(&self, uri: &Uri) -> Result<Option<Body>> {
        let Some(head) = self.newest(uri)? else { return Ok(None) };
        Ok(Some(self.store().body(head.sequence)?).filter(|body| !body.record.tombstone))
    }

    /// What counts under exactly this URI, the newest last: all that contest each other, an alias included; nothing when it is forgotten
    /// or purged.
    pub(crate) fn counting(&self, uri: &Uri) -> Result<Vec<Body>> {
        let Some(head) = self.newest(uri)? else { return Ok(Vec::new()) };
        self.store().counting_with(&self.store().body(head.sequence)?)
    }

    /// Every revision of a URI that this view sees, ascending.
    pub(crate) fn revisions(&self, uri: &Uri) -> Result<Vec<u64>> {
        self.store().revisions_under(uri, &self.lineage)
    }

    /// Sequences of the memories that this view sees, replaced ones included; none when that is all of them.
    pub(crate) fn memories(&self) -> Result<Option<&Sequences>> {
        if let Some(known) = self.memories.get() {
            return Ok(known.as_ref());
        }
        let all = self.lineage == Lineage::main() && self.store().is_plain()?;
        let memories = if all { None } else { Some(self.store().sequences(&self.lineage, Class::Memory)?) };
        Ok(self.memories.get_or_init(|| memories).as_ref())
    }

    /// Whether a memory that this view sees is a newest revision of its URI, no tombstone, and may be known to who looks.
    pub(crate) fn is_visible(&self, candidate: &Candidate<'_>) -> Result<bool> {
        let sequence = candidate.seq();
        let tail = self.store().tail()?;
        if sequence >= tail.first_sequence {
            let Some(body) = tail.body(sequence) else { return Ok(false) };
            let counts = body.operation == Operation::Put && !tail.replaces(&body.record.uri, sequence, &self.lineage);
            return Ok(counts && self.may_know(&body.record));
        }
        if !self.may_know_indexed(sequence)? || self.is_replaced(sequence)? {
            return Ok(false);
        }
        if tail.revisions.is_empty() || !tail.revisions.contains_key(&candidate.key_hash()?) {
            return Ok(true);
        }
        Ok(!tail.replaces(&self.store().record(sequence)?.uri, sequence, &self.lineage))
    }

    /// Whether a revision that this view sees took the place of the indexed record `sequence`.
    fn is_replaced(&self, sequence: u64) -> Result<bool> {
        let memories = self.memories()?;
        for table in self.store().replaced()? {
            for new in table.replacements(sequence)? {
                let new = new?;
                if new == sequence || memories.is_none_or(|seen| seen.contains(new)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Under how many URIs a memory is visible.
    pub(crate) fn uri_count(&self) -> Result<u64> {
        let filter = kapsa_index::Filter {
            all: vec![vec![CONTESTED_TERM.to_string()]],
            seqs: self.memories()?.cloned(),
            ..kapsa_index::Filter::default()
        };
        let mut more = 0;
        for sequence in self.store().searcher()?.oldest(&filter, usize::MAX >> 8, None, &mut |_| true)? {
            let uri = self.store().record(sequence)?.uri;
            let Some(head) = self.newest(&uri)?.filter(|head| head.sequence == sequence) else { continue };
            let mut memories = 0;
            for revision in self.revisions(&uri)?.into_iter().filter(|&revision| head.all().any(|counts| counts == revision)) {
                memories += u64::from(self.store().body(revision)?.operation == Operation::Put);
            }
            more += memories.saturating_sub(1);
        }
        Ok(self.visible_count()?.saturating_sub(more))
    }

    /// How many memories are visible.
    fn visible_count(&self) -> Result<u64> {
        let tail = self.store().tail()?;
        let memories = self.memories()?;
        let seen = |sequence: u64| memories.is_none_or(|seen| seen.contains(sequence));
        let mut hidden = std::collections::HashSet::new();
        for table in self.store().replaced()? {
            let pairs = table.pairs()?.filter(|pair| seen(pair.old) && (pair.new == pair.old || seen(pair.new)));
            hidden.extend(pairs.map(|pair| pair.old));
        }
        let mut visible = 0;
        for body in tail.bodies.iter().flatten() {
            let record = &body.record;
            let counts = seen(record.sequence) && body.operation == Operation::Put;
            visible += u64::from(counts && !tail.replaces(&record.uri, record.sequence, &self.lineage));
            let purge = body.operation == Operation::Purge;
            if body.fresh || !purge && !seen(record.sequence) {
                continue;
            }
            for sequence in self.store().revisions_under(&record.uri, &self.lineage)? {
                if sequence < tail.first_sequence && seen(sequence) && tail.replaces(&record.uri, sequence, &self.lineage) {
                    hidden.insert(sequence);
                }
            }
        }
        let indexed = memories.map_or(tail.first_sequence - 1, |seen| {
            seen.within(0..tail.first_sequence).map(|range| range.end - range.start).sum()
        });
        Ok((indexed + visible).saturating_sub(hidden.len() as u64))
    }
}
