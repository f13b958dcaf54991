//! What a snapshot holds: its records and tables, each read when it is first needed. Knows nothing
//! of who looks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kapsa_capsule::{Snapshot, Stored, adopt};
use kapsa_index::{Searcher, Sequences};

use super::segment_tables::SegmentTables;
use super::tail::Tail;
use super::vector_block::VectorBlock;
use super::vectors::{Coverage, read_blocks};
use crate::error::{Error, Result};
use crate::records::branch::Made;
use crate::records::codec::{self, Body, Operation};
use crate::records::identity::Identity;
use crate::records::record::{BranchId, Record};
use crate::records::uri::Uri;
use crate::tables::branch_table::Class;
use crate::tables::lineage::{BRANCH_DEPTH_MAX, Lineage};

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

/// A snapshot with its tables, each read when it is first needed. Knows every record, and nothing
/// of who sees it.
pub(crate) struct Store {
    snapshot: Snapshot,
    tables: SegmentTables,
    tail: OnceLock<Tail>,
    searcher: OnceLock<Searcher>,
    vectors: OnceLock<Vec<VectorBlock>>,
    pub(super) coverage: OnceLock<Coverage>,
    /// What an earlier snapshot has read that is in this one, too.
    earlier: Mutex<ReadBefore>,
    /// What the branches met so far see.
    lineages: Mutex<HashMap<BranchId, Lineage>>,
}

/// What an earlier snapshot of the same history has read.
#[derive(Default)]
struct ReadBefore {
    tail: Option<Tail>,
    /// Whose segments are those of this snapshot.
    searcher: Option<Searcher>,
}

impl Store {
    /// A snapshot after one that was read before: what did not change is not read again.
    ///
    /// # Errors
    /// What the disk reports.
    pub(super) fn after(before: &Store, snapshot: Snapshot) -> Result<Store> {
        let store = Store::new(snapshot);
        if !adopt(&store.snapshot, &before.snapshot)? {
            return Ok(store);
        }
        let searcher = before.searcher.get();
        let docs = searcher.map(Searcher::tail).unwrap_or_default();
        let same_segments = store.snapshot.segments() == before.snapshot.segments();
        let earlier = ReadBefore {
            tail: before.tail.get().map(|tail| tail.with_documents(docs)),
            searcher: searcher
                .filter(|_| same_segments)
                .map(|searcher| searcher.with_tail(Vec::new()))
                .transpose()?,
        };
        Ok(Store { earlier: Mutex::new(earlier), ..store })
    }

    pub(super) fn new(snapshot: Snapshot) -> Store {
        let tables = SegmentTables::new(snapshot.clone());
        Store {
            snapshot,
            tables,
            tail: OnceLock::new(),
            searcher: OnceLock::new(),
            vectors: OnceLock::new(),
            coverage: OnceLock::new(),
            earlier: Mutex::default(),
            lineages: Mutex::default(),
        }
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The tables of the segments.
    pub(crate) fn tables(&self) -> &SegmentTables {
        &self.tables
    }

    /// Decodes one revision; an erased one comes back blank.
    pub(crate) fn body(&self, sequence: u64) -> Result<Body> {
        if sequence >= self.snapshot.tail().start
            && let Some(body) = self.tail()?.body(sequence)
        {
            return Ok(body.clone());
        }
        let stored = self.snapshot.record(sequence)?;
        match stored.stored() {
            Stored::Body(bytes) => codec::decode(sequence, bytes),
            Stored::Purged(_) => Ok(erased(sequence)),
        }
    }

    /// Whether the capsule wrote a record about itself, found without decoding what it holds.
    pub(crate) fn is_system(&self, sequence: u64) -> Result<bool> {
        if sequence >= self.snapshot.tail().start
            && let Some(body) = self.tail()?.body(sequence)
        {
            return Ok(body.record.system);
        }
        match self.snapshot.record(sequence)?.stored() {
            Stored::Body(bytes) => Ok(codec::brief(bytes).is_some_and(|brief| brief.system)),
            Stored::Purged(_) => Ok(false),
        }
    }

    /// What a revision is called in every capsule that has it.
    pub(crate) fn identity(&self, sequence: u64) -> Result<Identity> {
        let stored = self.snapshot.record(sequence)?;
        match stored.stored() {
            Stored::Body(bytes) => Ok(codec::identity_of_stored(sequence, bytes)),
            Stored::Purged(hash) => Ok(Identity::of(hash, sequence)),
        }
    }

    pub(crate) fn record(&self, sequence: u64) -> Result<Record> {
        Ok(self.body(sequence)?.record)
    }

    /// What counts when `newest` is the newest revision: those that it conflicts with, then itself;
    /// nothing when it is a tombstone.
    pub(crate) fn counting_with(&self, newest: &Body) -> Result<Vec<Body>> {
        if newest.record.tombstone {
            return Ok(Vec::new());
        }
        let others = newest.record.conflicts_with.iter().map(|&sequence| self.body(sequence));
        others.chain([Ok(newest.clone())]).collect()
    }

    /// Newest revision of a URI that `lineage` sees, tombstones and purged ones included.
    pub(crate) fn newest_under(&self, uri: &Uri, lineage: &Lineage) -> Result<Option<Head>> {
        if !self.snapshot.tail().is_empty()
            && let Some(head) = self.tail()?.newest(uri, lineage)
        {
            return Ok(Some(head));
        }
        self.tables.newest(uri, lineage)
    }

    /// Every revision of a URI that `lineage` sees, ascending.
    pub(crate) fn revisions_under(&self, uri: &Uri, lineage: &Lineage) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        for index in 0..self.tables.len() {
            all.extend(
                self.tables.revisions(index, uri, lineage)?.into_iter().map(|head| head.sequence),
            );
        }
        let tail = self.tail()?.revisions(uri).map(|body| &body.record);
        let mut tail: Vec<u64> =
            tail.filter(|r| lineage.hold(r.branch, r.sequence)).map(|r| r.sequence).collect();
        tail.reverse();
        all.extend(tail);
        Ok(all)
    }

    /// Whether the content of a revision is to be erased, on whatever branch that was said.
    pub(crate) fn is_purged(&self, uri: &Uri, sequence: u64) -> Result<bool> {
        match self.body(sequence)?.operation {
            Operation::Put => {}
            Operation::Alias => return is_purged_after(self, uri, sequence),
            Operation::Tombstone | Operation::Purge => return Ok(false),
        }
        let mut in_tail =
            self.tail()?.revisions(uri).take_while(|body| body.record.sequence > sequence);
        if in_tail.any(|body| body.operation == Operation::Purge) {
            return Ok(true);
        }
        for table in self.tables.replaced()? {
            for new in table.replacements(sequence)? {
                if new? == sequence {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether there is nothing but memories on `main`.
    pub(super) fn is_plain(&self) -> Result<bool> {
        for index in 0..self.tables.len() {
            if !self.tables.branch_table(index)?.is_plain() {
                return Ok(false);
            }
        }
        Ok(self.tail()?.plain)
    }

    /// Whether a record is one that the capsule wrote about itself on `main`; reads tables only.
    pub(crate) fn is_own(&self, sequence: u64) -> Result<bool> {
        for index in 0..self.tables.len() {
            let table = self.tables.branch_table(index)?;
            if table.holds(&Lineage::main(), Class::System, sequence)? {
                return Ok(true);
            }
        }
        Ok(self.tail()?.body(sequence).is_some_and(|body| body.record.system))
    }

    /// Sequences that `lineage` sees, replaced ones included.
    pub(crate) fn sequences(&self, lineage: &Lineage, class: Class) -> Result<Sequences> {
        let mut ranges = Vec::new();
        for index in 0..self.tables.len() {
            ranges.extend(self.tables.branch_table(index)?.sequences(lineage, class)?);
        }
        for body in self.tail()?.bodies.iter().flatten() {
            let record = &body.record;
            if class.holds(record.system) && lineage.hold(record.branch, record.sequence) {
                ranges.push(record.sequence..record.sequence + 1);
            }
        }
        Ok(Sequences::new(ranges))
    }

    /// What a branch sees. One whose record is lost sees itself only.
    ///
    /// # Errors
    /// Damage; a chain of branches deeper than [`BRANCH_DEPTH_MAX`], which nobody can have made.
    pub(crate) fn lineage_of(&self, branch: BranchId) -> Result<Lineage> {
        let mut unknown = Vec::new();
        let mut at = branch;
        let mut lineage = loop {
            if at == BranchId::MAIN {
                break Lineage::main();
            }
            let known =
                self.lineages.lock().unwrap_or_else(PoisonError::into_inner).get(&at).cloned();
            if let Some(known) = known {
                break known;
            }
            if unknown.len() > BRANCH_DEPTH_MAX {
                return Err(Error::DamagedRecord {
                    sequence: branch.0,
                    reason: "its branch has too many ancestors",
                });
            }
            match self.made(at)? {
                Some(made) => {
                    at = made.parent;
                    unknown.push(made);
                }
                None => break Lineage::alone(at),
            }
        };
        for made in unknown.into_iter().rev() {
            lineage = lineage.child(made.id, made.fork);
            self.lineages
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(made.id, lineage.clone());
        }
        Ok(lineage)
    }

    /// How a branch was made; none when its record is lost.
    pub(crate) fn made(&self, branch: BranchId) -> Result<Option<Made>> {
        if branch.0 >= self.snapshot.commit().next_sequence {
            return Ok(None);
        }
        Ok(Made::of(&self.record(branch.0)?).filter(|made| made.id == branch))
    }

    /// The records that no segment covers yet.
    pub(super) fn tail(&self) -> Result<&Tail> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let tail = match self.earlier().tail.take() {
            Some(earlier) => earlier.grown(&self.snapshot)?,
            None => Tail::read(&self.snapshot)?,
        };
        Ok(self.tail.get_or_init(|| tail))
    }

    fn earlier(&self) -> MutexGuard<'_, ReadBefore> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bodies of the tail, oldest first; none where the content was erased.
    pub(crate) fn tail_bodies(&self) -> Result<&[Option<Arc<Body>>]> {
        Ok(&self.tail()?.bodies)
    }

    /// The search over everything in the snapshot.
    pub(crate) fn searcher(&self) -> Result<&Searcher> {
        if let Some(searcher) = self.searcher.get() {
            return Ok(searcher);
        }
        let documents = self.tail()?.documents();
        let searcher = match &self.earlier().searcher {
            Some(earlier) => earlier.with_tail(documents)?,
            None => Searcher::open(self.tables.lexical_segments()?, documents)?,
        };
        Ok(self.searcher.get_or_init(|| searcher))
    }

    /// The vectors in the snapshot, of all models.
    pub(crate) fn vector_blocks(&self) -> Result<&[VectorBlock]> {
        if let Some(blocks) = self.vectors.get() {
            return Ok(blocks);
        }
        let blocks = read_blocks(&self.snapshot)?;
        Ok(self.vectors.get_or_init(|| blocks))
    }
}

pub(super) fn empty_cells<T>(count: usize) -> Vec<OnceLock<T>> {
    std::iter::repeat_with(OnceLock::new).take(count).collect()
}

fn erased(sequence: u64) -> Body {
    let mut record = codec::blank(sequence);
    record.purged = true;
    record.tombstone = true;
    Body {
        operation: Operation::Tombstone,
        fresh: false,
        identity: None,
        replaces: Vec::new(),
        erased: Vec::new(),
        record,
    }
}

/// Whether a purge of the URI came after a sequence. Segments do not record of an
/// alias whether it was purged: none is ever listed.
fn is_purged_after(store: &Store, uri: &Uri, sequence: u64) -> Result<bool> {
    for later in store
        .revisions_under(uri, &Lineage::all())?
        .into_iter()
        .rev()
        .take_while(|&later| later > sequence)
    {
        if store.body(later)?.operation == Operation::Purge {
            return Ok(true);
        }
    }
    Ok(false)
}
