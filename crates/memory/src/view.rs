//! What is visible in a snapshot? The one place that decides which revision of a URI counts.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use kapsa_capsule::{Section, Snapshot, Stored, Tag};
use kapsa_index::{Candidate, Checks, Searcher, Segment, SegmentBytes, TailDoc};

use crate::codec::{self, Body, Operation};
use crate::error::{Error, Result};
use crate::keys::{KeyTable, ReplacedTable};
use crate::record::Record;
use crate::segments::{Indexed, LEXICAL, REPLACED, Source, URIS};
use crate::uri::{self, Uri};

/// Segments whose heads are asked for at once when a URI is looked for in one after the other.
const HEADS_AT_ONCE: usize = 8;
/// What the words of a segment begin with, besides a byte for each record, in bytes.
const LEXICAL_HEAD_BYTES: u64 = 4096;

/// A snapshot with its tables, each read when it is first needed.
pub(crate) struct View {
    snapshot: Snapshot,
    keys: Vec<OnceLock<KeyTable>>,
    replaced: OnceLock<Vec<ReplacedTable>>,
    tail: OnceLock<Tail>,
    searcher: OnceLock<Searcher>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

/// The records that no segment covers yet.
#[derive(Debug, Default)]
struct Tail {
    first_sequence: u64,
    /// None where the content was erased.
    bodies: Vec<Option<Body>>,
    /// Newest revision of each URI in the tail, by the URI's hash.
    newest: HashMap<u64, Vec<u64>>,
}

impl Tail {
    fn body(&self, sequence: u64) -> Option<&Body> {
        let index = sequence.checked_sub(self.first_sequence)?;
        self.bodies.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// Newest revision of `uri` in the tail.
    fn newest(&self, uri: &Uri) -> Option<u64> {
        let sequences = self.newest.get(&uri.hash())?;
        sequences.iter().rev().copied().find(|&s| self.body(s).is_some_and(|b| b.record.uri == *uri))
    }
}

impl View {
    pub(crate) fn new(snapshot: Snapshot) -> View {
        let mut keys = Vec::new();
        keys.resize_with(snapshot.segments().len(), OnceLock::new);
        View { snapshot, keys, replaced: OnceLock::new(), tail: OnceLock::new(), searcher: OnceLock::new() }
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

    /// Newest revision of a URI, tombstones included.
    pub(crate) fn newest(&self, uri: &Uri) -> Result<Option<u64>> {
        if !self.snapshot.tail().is_empty()
            && let Some(sequence) = self.tail()?.newest(uri)
        {
            return Ok(Some(sequence));
        }
        self.newest_indexed(uri)
    }

    /// Every revision of a URI, ascending.
    pub(crate) fn revisions(&self, uri: &Uri) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        for index in 0..self.keys.len() {
            all.extend(self.in_segment(index, uri)?);
        }
        let tail = self.tail()?;
        let sequences = tail.newest.get(&uri.hash()).map(Vec::as_slice).unwrap_or_default();
        all.extend(sequences.iter().filter(|&&s| tail.body(s).is_some_and(|b| b.record.uri == *uri)));
        Ok(all)
    }

    fn in_segment(&self, index: usize, uri: &Uri) -> Result<Vec<u64>> {
        let first = self.snapshot.segments()[index].first_sequence;
        let mut found = Vec::new();
        for place in self.keys(index)?.find(uri.hash())? {
            let sequence = first + u64::from(place);
            if self.has_uri(sequence, uri)? {
                found.push(sequence);
            }
        }
        Ok(found)
    }

    fn has_uri(&self, sequence: u64, uri: &Uri) -> Result<bool> {
        let record = self.snapshot.record(sequence)?;
        Ok(match record.stored() {
            Stored::Body(bytes) => codec::uri_bytes(bytes) == Some(uri.as_str().as_bytes()),
            Stored::Purged(_) => false,
        })
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

    fn replaced(&self) -> Result<&[ReplacedTable]> {
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

    fn tail(&self) -> Result<&Tail> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let tail = self.load_tail()?;
        Ok(self.tail.get_or_init(|| tail))
    }

    fn load_tail(&self) -> Result<Tail> {
        let range = self.snapshot.tail();
        let mut tail = Tail { first_sequence: range.start, ..Tail::default() };
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
                tail.newest.entry(body.record.uri.hash()).or_default().push(stored.sequence());
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
        Ok(SegmentBytes::checked_by(Arc::new(LexicalSection(section)), bytes))
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

    /// Whether a candidate of the search is the newest revision of its URI, and not a tombstone.
    pub(crate) fn is_visible(&self, candidate: &Candidate<'_>) -> Result<bool> {
        let sequence = candidate.seq();
        let tail = self.tail()?;
        if sequence >= tail.first_sequence {
            let Some(body) = tail.body(sequence) else { return Ok(false) };
            return Ok(!body.record.tombstone && tail.newest(&body.record.uri) == Some(sequence));
        }
        for table in self.replaced()? {
            if table.replacement(sequence)?.is_some() {
                return Ok(false);
            }
        }
        if tail.newest.is_empty() {
            return Ok(true);
        }
        match tail.newest.get(&candidate.key_hash()?) {
            None => Ok(true),
            Some(_) => Ok(tail.newest(&self.record(sequence)?.uri).is_none()),
        }
    }

    /// How many URIs are visible.
    pub(crate) fn visible_count(&self) -> Result<u64> {
        let tail = self.tail()?;
        let mut hidden = std::collections::HashSet::new();
        for table in self.replaced()? {
            hidden.extend(table.pairs()?.map(|pair| pair.old));
        }
        let mut visible = tail.first_sequence - 1;
        for sequences in tail.newest.values() {
            for &sequence in sequences {
                let Some(body) = tail.body(sequence) else { continue };
                if tail.newest(&body.record.uri) != Some(sequence) {
                    continue;
                }
                hidden.extend(self.newest_indexed(&body.record.uri)?);
                visible += u64::from(!body.record.tombstone);
            }
        }
        Ok(visible.saturating_sub(hidden.len() as u64))
    }

    /// Newest revision of a URI that a segment covers.
    pub(crate) fn newest_indexed(&self, uri: &Uri) -> Result<Option<u64>> {
        for index in (0..self.keys.len()).rev() {
            if (self.keys.len() - 1 - index).is_multiple_of(HEADS_AT_ONCE) {
                (index.saturating_sub(HEADS_AT_ONCE - 1)..=index).for_each(|index| self.snapshot.will_read_segment(index, 0));
            }
            if let Some(sequence) = self.in_segment(index, uri)?.last() {
                return Ok(Some(*sequence));
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
                })
            })
            .collect()
    }
}

/// Checks the words of a segment by the capsule's sums.
#[derive(Debug)]
struct LexicalSection(Section);

impl Checks for LexicalSection {
    fn check(&self, range: Range<usize>) -> Result<(), String> {
        self.0.check(range).map_err(|error| error.to_string())
    }

    fn will_read(&self, range: Range<usize>) -> bool {
        self.0.will_read(range)
    }
}

fn erased(sequence: u64) -> Body {
    let mut record = codec::blank(sequence);
    record.purged = true;
    record.tombstone = true;
    Body { operation: Operation::Tombstone, fresh: false, record }
}

/// Hash of the URI of an encoded body.
pub(crate) fn hash_of_body(body: &[u8]) -> Option<u64> {
    codec::uri_bytes(body).map(uri::hash_bytes)
}
