//! The tables of a snapshot's segments, each read when it is first needed. Knows nothing of the
//! records that no segment covers.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use kapsa_capsule::{Section, Snapshot, Stored, Tag};
use kapsa_index::{CheckError, Checks, Segment, SegmentBytes};

use super::store::{Head, empty_cells};
use crate::error::{Error, Result};
use crate::records::codec;
use crate::records::uri::Uri;
use crate::tables::access_table::AccessTable;
use crate::tables::branch_table::{BranchTable, Class};
use crate::tables::keys::{KeyTable, ReplacedTable};
use crate::tables::lineage::Lineage;
use crate::tables::segments::{ACCESS, BRANCHES, LEXICAL, MergeSource, REPLACED, URIS};

/// Segments whose heads are asked for at once when a URI is looked for in one after the other.
const HEADS_AT_ONCE: usize = 8;
/// What the words of a segment begin with, besides a byte for each record, in bytes.
const LEXICAL_HEAD_BYTES: u64 = 4096;

/// The tables of each segment.
pub(crate) struct SegmentTables {
    snapshot: Snapshot,
    keys: Vec<OnceLock<KeyTable>>,
    branch_tables: Vec<OnceLock<BranchTable>>,
    access_tables: Vec<OnceLock<Option<AccessTable>>>,
    replaced: OnceLock<Vec<ReplacedTable>>,
}

impl SegmentTables {
    pub(super) fn new(snapshot: Snapshot) -> SegmentTables {
        let count = snapshot.segments().len();
        SegmentTables {
            snapshot,
            keys: empty_cells(count),
            branch_tables: empty_cells(count),
            access_tables: empty_cells(count),
            replaced: OnceLock::new(),
        }
    }

    /// Number of segments.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many records the segments hold; an erased one is none.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub(crate) fn record_count(&self) -> Result<u64> {
        (0..self.len()).map(|index| Ok(self.keys(index)?.len() as u64)).sum()
    }

    /// Which branch each record of a segment is on.
    pub(super) fn branch_table(&self, index: usize) -> Result<&BranchTable> {
        let cell = &self.branch_tables[index];
        if let Some(table) = cell.get() {
            return Ok(table);
        }
        let meta = &self.snapshot.segments()[index];
        let table = BranchTable::new(
            self.snapshot.section(index, BRANCHES)?,
            meta.first_sequence..meta.next_sequence,
        )?;
        Ok(cell.get_or_init(|| table))
    }

    /// Who may know the records of a segment; none for a segment that does not say.
    pub(super) fn access_table(&self, index: usize) -> Result<Option<&AccessTable>> {
        let cell = &self.access_tables[index];
        if let Some(table) = cell.get() {
            return Ok(table.as_ref());
        }
        let meta = &self.snapshot.segments()[index];
        let section = self.snapshot.section(index, ACCESS)?;
        let records = meta.next_sequence - meta.first_sequence;
        let table = section
            .map(|bytes| AccessTable::new(bytes, meta.first_sequence, records))
            .transpose()?;
        Ok(cell.get_or_init(|| table).as_ref())
    }

    /// Which revisions were replaced by which, of every segment that records it.
    pub(super) fn replaced(&self) -> Result<&[ReplacedTable]> {
        if let Some(tables) = self.replaced.get() {
            return Ok(tables);
        }
        let mut tables = Vec::new();
        for index in 0..self.len() {
            tables.extend(self.snapshot.section(index, REPLACED)?.map(ReplacedTable::new));
        }
        tables.retain(|table| !table.is_empty());
        Ok(self.replaced.get_or_init(|| tables))
    }

    /// Revisions of a URI in one segment that `lineage` sees, ascending.
    pub(super) fn revisions(
        &self,
        index: usize,
        uri: &Uri,
        lineage: &Lineage,
    ) -> Result<Vec<Head>> {
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

    /// Newest revision of a URI that a segment covers and `lineage` sees.
    pub(crate) fn newest(&self, uri: &Uri, lineage: &Lineage) -> Result<Option<Head>> {
        for index in (0..self.len()).rev() {
            if (self.len() - 1 - index).is_multiple_of(HEADS_AT_ONCE) {
                let ahead = index.saturating_sub(HEADS_AT_ONCE - 1)..=index;
                ahead.for_each(|index| self.snapshot.will_read_segment(index, 0));
            }
            if let Some(head) = self.revisions(index, uri, lineage)?.pop() {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// What a search reads of every segment. The heads are asked for at once: the disk answers many
    /// requests sooner than one after the other.
    pub(super) fn lexical_segments(&self) -> Result<Vec<Segment>> {
        let all = self.snapshot.segments();
        for (index, meta) in all.iter().enumerate() {
            let records = meta.next_sequence - meta.first_sequence;
            self.snapshot.will_read_segment(index, LEXICAL_HEAD_BYTES + records);
        }
        let segment = |(index, first_seq)| Ok(Segment { first_seq, bytes: self.lexical(index)? });
        all.iter().map(|meta| meta.first_sequence).enumerate().map(segment).collect()
    }

    /// What merging the segments `range` reads.
    pub(crate) fn merge_sources(&self, range: Range<usize>) -> Result<Vec<MergeSource>> {
        let source = |index: usize| {
            let meta = &self.snapshot.segments()[index];
            Ok(MergeSource {
                first_sequence: meta.first_sequence,
                next_sequence: meta.next_sequence,
                lexical: self.lexical(index)?,
                keys: self.keys(index)?.clone(),
                replaced: self.snapshot.section(index, REPLACED)?.map(ReplacedTable::new),
                branch_table: self.branch_table(index)?.clone(),
                access: self.access_table(index)?.cloned(),
            })
        };
        range.map(source).collect()
    }

    fn keys(&self, index: usize) -> Result<&KeyTable> {
        let cell = &self.keys[index];
        if let Some(table) = cell.get() {
            return Ok(table);
        }
        let table = KeyTable::new(self.section(index, URIS)?);
        Ok(cell.get_or_init(|| table))
    }

    /// The revision `sequence`, if it is one of `uri`.
    fn head_at(&self, sequence: u64, uri: &Uri) -> Result<Option<Head>> {
        let record = self.snapshot.record(sequence)?;
        let Stored::Body(bytes) = record.stored() else { return Ok(None) };
        let brief = codec::brief(bytes).filter(|brief| brief.uri == uri.as_str().as_bytes());
        Ok(brief.map(|brief| Head { sequence, conflicts_with: brief.conflicts_with }))
    }

    /// The words of a segment.
    fn lexical(&self, index: usize) -> Result<SegmentBytes> {
        let section = self.section(index, LEXICAL)?;
        let bytes = section.unchecked();
        Ok(SegmentBytes::checked_by(Arc::new(CheckedSection(section)), bytes))
    }

    /// A section that every segment has.
    fn section(&self, index: usize, tag: Tag) -> Result<Section> {
        let sequence = self.snapshot.segments()[index].first_sequence;
        let missing = Error::DamagedRecord { sequence, reason: "its segment lacks a section" };
        self.snapshot.section(index, tag)?.ok_or(missing)
    }
}

/// Checks what lies in a section by the capsule's checksums.
#[derive(Debug)]
pub(crate) struct CheckedSection(pub(crate) Section);

impl Checks for CheckedSection {
    fn check(&self, range: Range<usize>) -> Result<(), CheckError> {
        self.0.check(range).map_err(|error| Arc::new(error) as CheckError)
    }

    fn will_read(&self, range: Range<usize>) -> bool {
        self.0.will_read(range)
    }
}
