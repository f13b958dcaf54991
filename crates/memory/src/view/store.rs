//! What does a snapshot hold? Its records and tables, each read when it is first needed; knows nothing of who looks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kapsa_capsule::{Section, Snapshot, Stored, Tag};
use kapsa_index::{Checks, Searcher, Segment, SegmentBytes, Sequences, TailDoc};

use super::Head;
use super::tail::Tail;
use super::vectors::Block;
use crate::error::{Error, Result};
use crate::records::branch::Made;
use crate::records::codec::{self, Body, Operation};
use crate::records::record::{BranchId, Record};
use crate::records::uri::Uri;
use crate::tables::access_table::AccessTable;
use crate::tables::branch_table::{BranchTable, Class};
use crate::tables::keys::{KeyTable, ReplacedTable};
use crate::tables::lineage::{BRANCH_DEPTH_MAX, Lineage};
use crate::tables::segments::{ACCESS, BRANCHES, Indexed, LEXICAL, REPLACED, Source, URIS};

/// Segments whose heads are asked for at once when a URI is looked for in one after the other.
const HEADS_AT_ONCE: usize = 8;
/// What the words of a segment begin with, besides a byte for each record, in bytes.
const LEXICAL_HEAD_BYTES: u64 = 4096;

/// A snapshot with its tables, each read when it is first needed. Knows every record, and nothing of who sees it.
pub(crate) struct Store {
    pub(super) snapshot: Snapshot,
    keys: Vec<OnceLock<KeyTable>>,
    branch_tables: Vec<OnceLock<BranchTable>>,
    pub(super) access_tables: Vec<OnceLock<Option<AccessTable>>>,
    replaced: OnceLock<Vec<ReplacedTable>>,
    tail: OnceLock<Tail>,
    searcher: OnceLock<Searcher>,
    vectors: OnceLock<Vec<Block>>,
    /// What the branches met so far see.
    lineage: Mutex<HashMap<BranchId, Lineage>>,
}

impl Store {
    pub(super) fn new(snapshot: Snapshot) -> Store {
        let count = snapshot.segments().len();
        Store {
            snapshot,
            keys: empty_cells(count),
            branch_tables: empty_cells(count),
            access_tables: empty_cells(count),
            replaced: OnceLock::new(),
            tail: OnceLock::new(),
            searcher: OnceLock::new(),
            vectors: OnceLock::new(),
            lineage: Mutex::default(),
        }
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Decodes one revision; an erased one comes back blank.
    pub(crate) fn body(&self, sequence: u64) -> Result<Body> {
        if sequence >= self.snapshot.indexed()
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

    pub(crate) fn record(&self, sequence: u64) -> Result<Record> {
        Ok(self.body(sequence)?.record)
    }

    /// What counts when `newest` is the newest revision: those that it is beside, then itself; nothing when it is a tombstone.
    pub(crate) fn counting_with(&self, newest: &Body) -> Result<Vec<Body>> {
        if newest.record.tombstone {
            return Ok(Vec::new());
        }
        let beside = newest.record.conflicts_with.iter().map(|&sequence| self.body(sequence));
        beside.chain([Ok(newest.clone())]).collect()
    }

    /// Newest revision of a URI that `lineage` see, tombstones and purged ones included.
    pub(crate) fn newest_under(&self, uri: &Uri, lineage: &Lineage) -> Result<Option<Head>> {
        if !self.snapshot.tail().is_empty()
            && let Some(head) = self.tail()?.newest(uri, lineage)
        {
            return Ok(Some(head));
        }
        self.newest_indexed(uri, lineage)
    }

    /// Every revision of a URI that `lineage` see, ascending.
    pub(crate) fn revisions_under(&self, uri: &Uri, lineage: &Lineage) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        for index in 0..self.keys.len() {
            all.extend(self.in_segment(index, uri, lineage)?.into_iter().map(|head| head.sequence));
        }
        let tail = self.tail()?.revisions(uri).map(|body| &body.record);
        let mut tail: Vec<u64> = tail.filter(|r| lineage.hold(r.branch, r.sequence)).map(|r| r.sequence).collect();
        tail.reverse();
        all.extend(tail);
        Ok(all)
    }

    /// Revisions of a URI in one segment that `lineage` see, ascending.
    fn in_segment(&self, index: usize, uri: &Uri, lineage: &Lineage) -> Result<Vec<Head>> {
        let first = self.snapshot.segments()[index].first_sequence;
        let mut found = Vec::new();
        if first >= lineage.below() {
            return Ok(found);
        }
        for place in self.keys(index)?.find(uri.hash())? {
            let sequence = first + u64::from(place);
            if self.branch_table(index)?.holds(lineage, Class::Both, sequence)? {
                found.extend(self.head_at(sequence, uri)?);
            }
        }
        Ok(found)
    }

    /// The revision `sequence`, if it is one of `uri`.
    fn head_at(&self, sequence: u64, uri: &Uri) -> Result<Option<Head>> {
        let record = self.snapshot.record(sequence)?;
        let Stored::Body(bytes) = record.stored() else { return Ok(None) };
        let brief = codec::brief(bytes).filter(|brief| brief.uri == uri.as_str().as_bytes());
        Ok(brief.map(|brief| Head { sequence, conflicts_with: brief.conflicts_with }))
    }

    /// Whether the content of a revision is to be erased, on whatever branch that was said.
    pub(crate) fn is_purged(&self, uri: &Uri, sequence: u64) -> Result<bool> {
        match self.body(sequence)?.operation {
            Operation::Put => {}
            Operation::Alias => return self.is_purged_after(uri, sequence),
            Operation::Tombstone | Operation::Purge => return Ok(false),
        }
        let mut in_tail = self.tail()?.revisions(uri).take_while(|body| body.record.sequence > sequence);
        if in_tail.any(|body| body.operation == Operation::Purge) {
            return Ok(true);
        }
        for table in self.replaced()? {
            for new in table.replacements(sequence)? {
                if new? == sequence {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a purge of the URI came after a sequence. Segments do not tell of an alias whether it was purged: none is ever listed.
    fn is_purged_after(&self, uri: &Uri, sequence: u64) -> Result<bool> {
        for later in self.revisions_under(uri, &Lineage::all())?.into_iter().rev().take_while(|&later| later > sequence) {
            if self.body(later)?.operation == Operation::Purge {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which records of a segment are whose.
    fn branch_table(&self, index: usize) -> Result<&BranchTable> {
        let cell = &self.branch_tables[index];
        if let Some(table) = cell.get() {
            return Ok(table);
        }
        let meta = &self.snapshot.segments()[index];
        let table = BranchTable::new(self.snapshot.section(index, BRANCHES)?, meta.first_sequence..meta.next_sequence)?;
        Ok(cell.get_or_init(|| table))
    }

    /// Who may know the records of a segment; none of one that does not tell.
    pub(super) fn access_table(&self, index: usize) -> Result<Option<&AccessTable>> {
        let cell = &self.access_tables[index];
        if let Some(table) = cell.get() {
            return Ok(table.as_ref());
        }
        let meta = &self.snapshot.segments()[index];
        let section = self.snapshot.section(index, ACCESS)?;
        let records = meta.next_sequence - meta.first_sequence;
        let table = section.map(|bytes| AccessTable::new(bytes, meta.first_sequence, records)).transpose()?;
        Ok(cell.get_or_init(|| table).as_ref())
    }

    /// Whether there is nothing but memories on `main`.
    pub(super) fn is_plain(&self) -> Result<bool> {
        for index in 0..self.branch_tables.len() {
            if !self.branch_table(index)?.is_plain() {
                return Ok(false);
            }
        }
        Ok(self.tail()?.plain)
    }

    /// Sequences that `lineage` see, replaced ones included.
    pub(crate) fn sequences(&self, lineage: &Lineage, class: Class) -> Result<Sequences> {
        let mut ranges = Vec::new();
        for index in 0..self.branch_tables.len() {
            ranges.extend(self.branch_table(index)?.sequences(lineage, class)?);
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
            if let Some(known) = self.known_lines(at) {
                break known;
            }
            if unknown.len() > BRANCH_DEPTH_MAX {
                return Err(Error::DamagedRecord { sequence: branch.0, reason: "its branch has too many ancestors" });
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
            self.lineage.lock().unwrap_or_else(PoisonError::into_inner).insert(made.id, lineage.clone());
        }
        Ok(lineage)
    }

    fn known_lines(&self, branch: BranchId) -> Option<Lineage> {
        self.lineage.lock().unwrap_or_else(PoisonError::into_inner).get(&branch).cloned()
    }

    /// How a branch was made; none when its record is lost.
    pub(crate) fn made(&self, branch: BranchId) -> Result<Option<Made>> {
        if branch.0 >= self.snapshot.commit().next_sequence {
            return Ok(None);
        }
        Ok(Made::of(&self.record(branch.0)?).filter(|made| made.id == branch))
    }

    fn keys(&self, index: usize) -> Result<&KeyTable> {
        let cell = &self.keys[index];
        if let Some(table) = cell.get() {
            return Ok(table);
        }
        let table = KeyTable::new(self.section(index, URIS)?);
        Ok(cell.get_or_init(|| table))
    }

    /// A section that every segment has.
    fn section(&self, index: usize, tag: Tag) -> Result<Section> {
        let sequence = self.snapshot.segments()[index].first_sequence;
        let missing = Error::DamagedRecord { sequence, reason: "its segment lacks a section" };
        self.snapshot.section(index, tag)?.ok_or(missing)
    }

    pub(super) fn replaced(&self) -> Result<&[ReplacedTable]> {
        if let Some(tables) = self.replaced.get() {
            return Ok(tables);
        }
        let mut tables = Vec::new();
        for index in 0..self.keys.len() {
            tables.extend(self.snapshot.section(index, REPLACED)?.map(ReplacedTable::new));
        }
        tables.retain(|table| !table.is_empty());
        Ok(self.replaced.get_or_init(|| tables))
    }

    pub(super) fn tail(&self) -> Result<&Tail> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let tail = self.load_tail()?;
        Ok(self.tail.get_or_init(|| tail))
    }

    fn load_tail(&self) -> Result<Tail> {
        let range = self.snapshot.tail();
        let mut tail = Tail { first_sequence: range.start, plain: true, ..Tail::default() };
        if range.is_empty() {
            return Ok(tail);
        }
        for stored in self.snapshot.records(range.start) {
            let stored = stored?;
            let body = match stored.stored() {
                Stored::Body(bytes) => Some(codec::decode(stored.sequence(), bytes)?),
                Stored::Purged(_) => None,
            };
            if let Some(body) = &body {
                tail.revisions.entry(body.record.uri.hash()).or_default().push(stored.sequence());
                tail.plain &= !body.record.system && body.record.branch == BranchId::MAIN;
            }
            tail.bodies.push(body);
        }
        Ok(tail)
    }

    /// Bodies of the tail, oldest first; none where the content was erased.
    pub(crate) fn tail_bodies(&self) -> Result<&[Option<Body>]> {
        Ok(&self.tail()?.bodies)
    }

    /// The search over everything in the snapshot.
    pub(crate) fn searcher(&self) -> Result<&Searcher> {
        if let Some(searcher) = self.searcher.get() {
            return Ok(searcher);
        }
        let mut segments = Vec::new();
        self.read_ahead_for_search();
        for (index, meta) in self.snapshot.segments().iter().enumerate() {
            segments.push(Segment { first_seq: meta.first_sequence, bytes: self.lexical(index)? });
        }
        let searcher = Searcher::open(segments, self.tail_documents()?)?;
        Ok(self.searcher.get_or_init(|| searcher))
    }

    /// The vectors in the snapshot, of all models.
    pub(crate) fn vector_blocks(&self) -> Result<&[Block]> {
        if let Some(blocks) = self.vectors.get() {
            return Ok(blocks);
        }
        let blocks = self.read_vector_blocks()?;
        Ok(self.vectors.get_or_init(|| blocks))
    }

    /// What a search reads of every segment in any case, asked for at once: the disk answers many requests sooner than one
    /// after the other.
    fn read_ahead_for_search(&self) {
        for (index, meta) in self.snapshot.segments().iter().enumerate() {
            let records = meta.next_sequence - meta.first_sequence;
            self.snapshot.will_read_segment(index, LEXICAL_HEAD_BYTES + records);
        }
    }

    /// The words of a segment.
    fn lexical(&self, index: usize) -> Result<SegmentBytes> {
        let section = self.section(index, LEXICAL)?;
        let bytes = section.unchecked();
        Ok(SegmentBytes::checked_by(Arc::new(CheckedSection(section)), bytes))
    }

    fn tail_documents(&self) -> Result<Vec<TailDoc>> {
        let tail = self.tail()?;
        let blank = kapsa_index::Document { title: "", text: "", terms: &[], key_hash: 0, time_us: 0 };
        let document = |(offset, body): (usize, &Option<Body>)| {
            let sequence = tail.first_sequence + offset as u64;
            let Some(body) = body else { return TailDoc::new(sequence, &blank) };
            let indexed = Indexed::of_record(&body.record, body.fresh, body.operation == Operation::Purge);
            TailDoc::new(sequence, &indexed.document(&body.record.text, body.record.uri.hash()))
        };
        Ok(tail.bodies.iter().enumerate().map(document).collect())
    }

    /// Newest revision of a URI that a segment covers and `lineage` see.
    pub(crate) fn newest_indexed(&self, uri: &Uri, lineage: &Lineage) -> Result<Option<Head>> {
        for index in (0..self.keys.len()).rev() {
            if (self.keys.len() - 1 - index).is_multiple_of(HEADS_AT_ONCE) {
                (index.saturating_sub(HEADS_AT_ONCE - 1)..=index).for_each(|index| self.snapshot.will_read_segment(index, 0));
            }
            if let Some(head) = self.in_segment(index, uri, lineage)?.pop() {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// What merging the segments `range` reads.
    pub(crate) fn sources(&self, range: Range<usize>) -> Result<Vec<Source>> {
        range
            .map(|index| {
                let meta = &self.snapshot.segments()[index];
                Ok(Source {
                    first_sequence: meta.first_sequence,
                    next_sequence: meta.next_sequence,
                    lexical: self.lexical(index)?,
                    keys: self.keys(index)?.clone(),
                    replaced: self.snapshot.section(index, REPLACED)?.map(ReplacedTable::new),
                    branch_table: self.branch_table(index)?.clone(),
                    access: self.access_table(index)?.cloned(),
                })
            })
            .collect()
    }
}

/// Checks what lies in a section by the capsule's sums.
#[derive(Debug)]
pub(crate) struct CheckedSection(pub(crate) Section);

impl Checks for CheckedSection {
    fn check(&self, range: Range<usize>) -> Result<(), String> {
        self.0.check(range).map_err(|error| error.to_string())
    }

    fn will_read(&self, range: Range<usize>) -> bool {
        self.0.will_read(range)
    }
}

pub(super) fn empty_cells<T>(count: usize) -> Vec<OnceLock<T>> {
    std::iter::repeat_with(OnceLock::new).take(count).collect()
}

fn erased(sequence: u64) -> Body {
    let mut record = codec::blank(sequence);
    record.purged = true;
    record.tombstone = true;
    Body { operation: Operation::Tombstone, fresh: false, record }
}
