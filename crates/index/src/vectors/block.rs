//! Vectors of passages, and which records they are of, as immutable bytes.
//!
//! A vector is kept as one factor and a number of 8 bits for each dimension, in two planes: the
//! upper four bits of all of them, which a scan reads, and the lower four, which only the best are
//! looked up in. Little-endian; each part is filled with zeros to a multiple of 8:
//!
//! | part | bytes |
//! |---|---|
//! | `KAPSAVEC`, version (1), dimension, epoch, length of the label (4 each), number of ranges, of entries (8 each) | 40 |
//! | label: what the caller says of the model | its length |
//! | ranges: first record and record after the last that were looked at, vectors or not | 16 each |
//! | entries, ascending: record, begin and end of the passage in bytes (4 each), hash of its text | 24 each |
//! | factors | 4 each |
//! | upper plane, then lower plane: dimension, rounded up to a multiple of 64, halved | … each |

use std::ops::Range;

use super::kernel::{CHUNK, CHUNK_BYTES};
use crate::error::{Error, Result};
use crate::segment_bytes::SegmentBytes;
use crate::seqs::Sequences;

const MAGIC: [u8; 8] = *b"KAPSAVEC";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 40;
const RANGE_BYTES: usize = 16;
const ENTRY_BYTES: usize = 24;
/// Most numbers in a vector.
pub const DIMENSION_MAX: u32 = 4096;
/// Most vectors in one block.
pub const VECTORS_MAX: usize = 1 << 24;
/// Most bytes that a label has.
pub const LABEL_BYTES_MAX: usize = 1 << 16;
const RANGES_MAX: usize = 1 << 24;
/// What is added to a number of 8 bits to make it positive.
pub(crate) const OFFSET: i32 = 128;

/// A passage that has a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Sequence of its record.
    pub seq: u64,
    /// Its bytes in the text that was embedded.
    pub passage: Range<u32>,
    /// The caller's hash of that passage, by which the same text is found again.
    pub hash: u64,
}

/// Puts vectors together.
#[derive(Debug)]
pub struct VectorsBuilder {
    label: Vec<u8>,
    pub(super) dimension: usize,
    epoch: u32,
    covered: Vec<Range<u64>>,
    pub(super) entries: Vec<Entry>,
    pub(super) factors: Vec<f32>,
    pub(super) upper: Vec<u8>,
    pub(super) lower: Vec<u8>,
}

pub(super) fn padded(dimension: usize) -> usize {
    dimension.next_multiple_of(CHUNK)
}

impl VectorsBuilder {
    /// Of vectors with `dimension` numbers, at most [`DIMENSION_MAX`]. The `label` (at most
    /// [`LABEL_BYTES_MAX`] bytes) and the `epoch` are the caller's.
    #[must_use]
    pub fn new(label: &[u8], dimension: u32, epoch: u32) -> VectorsBuilder {
        assert!(
            (1..=DIMENSION_MAX).contains(&dimension) && label.len() <= LABEL_BYTES_MAX,
            "within the limits"
        );
        VectorsBuilder {
            label: label.to_vec(),
            dimension: dimension as usize,
            epoch,
            covered: Vec::new(),
            entries: Vec::new(),
            factors: Vec::new(),
            upper: Vec::new(),
            lower: Vec::new(),
        }
    }

    /// Says that all that is to be embedded of these records is.
    pub fn cover(&mut self, seqs: Range<u64>) {
        self.covered.push(seqs);
    }

    /// Adds a vector, in ascending order of record and passage.
    pub fn add(&mut self, entry: Entry, vector: &[f32]) {
        assert_eq!(vector.len(), self.dimension, "of the dimension that was given");
        debug_assert!(
            entry.passage.start <= entry.passage.end,
            "a passage does not end before it begins"
        );
        let largest = vector.iter().fold(1e-12f32, |largest, x| largest.max(x.abs()));
        let factor = largest / 127.0;
        let mut row = vec![OFFSET as u8; padded(self.dimension)];
        for (byte, x) in row.iter_mut().zip(vector) {
            *byte = ((x / factor).round() as i32 + OFFSET) as u8;
        }
        self.entries.push(entry);
        self.factors.push(factor);
        for chunk in row.chunks_exact(CHUNK) {
            let (first, second) = chunk.split_at(CHUNK_BYTES);
            self.upper.extend(first.iter().zip(second).map(|(a, b)| a >> 4 | (b & 0xf0)));
            self.lower.extend(first.iter().zip(second).map(|(a, b)| a & 15 | b << 4));
        }
    }

    /// Adds the vector at `index` of other vectors of the same dimension once more, for another
    /// passage.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn add_from(&mut self, entry: Entry, from: &Vectors, index: usize) -> Result<()> {
        assert_eq!(from.dimension, self.dimension, "of the same dimension");
        self.factors.push(from.factors(index..index + 1)?[0]);
        self.upper.extend_from_slice(from.plane(&from.upper, index..index + 1)?);
        self.lower.extend_from_slice(from.plane(&from.lower, index..index + 1)?);
        self.entries.push(entry);
        Ok(())
    }

    /// Adds the vectors of other ones of the same dimension whose record is kept, and the records
    /// that those cover.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn append(&mut self, from: &Vectors, keep: &mut dyn FnMut(u64) -> bool) -> Result<()> {
        for (index, entry) in from.entries()?.enumerate() {
            if keep(entry.seq) {
                self.add_from(entry, from, index)?;
            }
        }
        self.covered.extend_from_slice(from.covered.ranges());
        Ok(())
    }

    /// Moves the vectors of the records from `from` on, so that those of `from` are of `to`. The
    /// records that were said to be covered are not moved.
    pub fn renumber(&mut self, from: u64, to: u64) {
        assert!(from <= to, "records are only ever added before the new ones");
        for entry in self.entries.iter_mut().filter(|entry| entry.seq >= from) {
            entry.seq += to - from;
        }
    }

    /// Number of vectors so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The records that were said to be covered.
    #[must_use]
    pub fn covered(&self) -> Sequences {
        Sequences::new(self.covered.clone())
    }

    /// The bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.sort();
        self.expect_readable();
        let covered = Sequences::new(std::mem::take(&mut self.covered));
        let mut out = MAGIC.to_vec();
        for word in [VERSION, self.dimension as u32, self.epoch, self.label.len() as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for count in [covered.ranges().len(), self.entries.len()] {
            out.extend_from_slice(&(count as u64).to_le_bytes());
        }
        out.extend_from_slice(&self.label);
        align(&mut out);
        for range in covered.ranges() {
            out.extend_from_slice(&range.start.to_le_bytes());
            out.extend_from_slice(&range.end.to_le_bytes());
        }
        for entry in &self.entries {
            out.extend_from_slice(&entry.seq.to_le_bytes());
            out.extend_from_slice(&entry.passage.start.to_le_bytes());
            out.extend_from_slice(&entry.passage.end.to_le_bytes());
            out.extend_from_slice(&entry.hash.to_le_bytes());
        }
        self.factors.iter().for_each(|factor| out.extend_from_slice(&factor.to_le_bytes()));
        align(&mut out);
        out.extend_from_slice(&self.upper);
        align(&mut out);
        out.extend_from_slice(&self.lower);
        align(&mut out);
        debug_assert!(
            Vectors::open(out.clone().into()).is_ok(),
            "whoever opens the block accepts it"
        );
        out
    }

    /// What [`Vectors::open`] expects.
    fn expect_readable(&self) {
        let (count, plane) = (self.entries.len(), self.entries.len() * padded(self.dimension) / 2);
        assert!(count <= VECTORS_MAX, "whoever opens the block accepts the number of its vectors");
        assert_eq!(self.factors.len(), count, "a factor for each vector");
        assert!(
            self.upper.len() == plane && self.lower.len() == plane,
            "both halves of each vector"
        );
        debug_assert!(
            self.entries.is_sorted_by_key(|entry| (entry.seq, entry.passage.start)),
            "entries are looked for by record"
        );
    }

    /// Brings everything into the order of records and passages.
    fn sort(&mut self) {
        let key = |entry: &Entry| (entry.seq, entry.passage.start);
        if self.entries.is_sorted_by_key(key) {
            return;
        }
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|&at| key(&self.entries[at]));
        let row = padded(self.dimension) / 2;
        let rows = |plane: &[u8]| {
            order
                .iter()
                .flat_map(|&at| &plane[at * row..(at + 1) * row])
                .copied()
                .collect::<Vec<u8>>()
        };
        (self.upper, self.lower) = (rows(&self.upper), rows(&self.lower));
        self.factors = order.iter().map(|&at| self.factors[at]).collect();
        self.entries = order.iter().map(|&at| self.entries[at].clone()).collect();
    }
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Vectors as [`VectorsBuilder::finish`] wrote them.
#[derive(Debug, Clone)]
pub struct Vectors {
    bytes: SegmentBytes,
    label: Range<usize>,
    covered: Sequences,
    entries: Range<usize>,
    factors: Range<usize>,
    pub(super) upper: Range<usize>,
    pub(super) lower: Range<usize>,
    dimension: usize,
    epoch: u32,
    count: usize,
}

fn damaged(what: &str) -> Error {
    Error::Damaged(format!("vectors: {what}"))
}

impl Vectors {
    /// Opens them: reads the head, the label and the ranges.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn open(bytes: SegmentBytes) -> Result<Vectors> {
        let len = bytes.len();
        if len < HEAD_BYTES {
            return Err(damaged("they are cut short"));
        }
        let head = bytes.read(0..HEAD_BYTES)?;
        let word =
            |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes")) as usize;
        let count = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        if head[..8] != MAGIC || word(8) != VERSION as usize {
            return Err(damaged("they are none, or of an unknown version"));
        }
        let (dimension, epoch, label_len) = (word(12), word(16) as u32, word(20));
        let (ranges, entries) = (count(24), count(32));
        let fits = (1..=DIMENSION_MAX as usize).contains(&dimension)
            && label_len <= LABEL_BYTES_MAX
            && ranges <= RANGES_MAX as u64
            && entries <= VECTORS_MAX as u64;
        if !fits {
            return Err(damaged("their head breaks a limit"));
        }
        let (ranges, count) = (ranges as usize, entries as usize);
        let mut at = HEAD_BYTES;
        let mut part = |len: usize| {
            let range = at..at + len;
            at = (at + len).next_multiple_of(8);
            range
        };
        let label = part(label_len);
        let covered = part(ranges * RANGE_BYTES);
        let [entries, factors] = [part(count * ENTRY_BYTES), part(count * 4)];
        let plane = count * padded(dimension) / 2;
        let [upper, lower] = [part(plane), part(plane)];
        if at != len {
            return Err(damaged("their length does not fit their count"));
        }
        bytes.check(label.clone())?;
        let covered = bytes.read(covered)?.as_chunks::<RANGE_BYTES>().0.iter().map(|range| {
            let number =
                |at: usize| u64::from_le_bytes(range[at..at + 8].try_into().expect("8 bytes"));
            number(0)..number(8)
        });
        let covered = Sequences::new(covered.collect());
        Ok(Vectors {
            covered,
            label,
            entries,
            factors,
            upper,
            lower,
            dimension,
            epoch,
            count,
            bytes,
        })
    }

    /// What the caller said of the model.
    #[must_use]
    pub fn label(&self) -> &[u8] {
        &self.bytes.bytes()[self.label.clone()]
    }

    /// The caller's number of the set of vectors that these belong to.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Numbers in a vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The records all of whose passages are here.
    #[must_use]
    pub fn covered(&self) -> &Sequences {
        &self.covered
    }

    /// Number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All entries, ascending.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn entries(&self) -> Result<impl ExactSizeIterator<Item = Entry> + '_> {
        Ok(self.bytes.read(self.entries.clone())?.as_chunks::<ENTRY_BYTES>().0.iter().map(decode))
    }

    /// The entry at `index`.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn entry(&self, index: usize) -> Result<Entry> {
        assert!(index < self.count, "there is such an entry");
        let start = self.entries.start + index * ENTRY_BYTES;
        let bytes = self.bytes.read(start..start + ENTRY_BYTES)?;
        Ok(decode(bytes.try_into().expect("an entry's bytes")))
    }

    /// The place of a passage with this hash.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn find(&self, hash: u64) -> Result<Option<usize>> {
        Ok(self.entries()?.position(|entry| entry.hash == hash))
    }

    /// The numbers of the vector at `index`, as far as they are kept.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn vector(&self, index: usize) -> Result<Vec<f32>> {
        let factor = self.factors(index..index + 1)?[0];
        let (upper, lower) = (
            self.plane(&self.upper, index..index + 1)?,
            self.plane(&self.lower, index..index + 1)?,
        );
        let mut row = Vec::with_capacity(upper.len() * 2);
        for (upper, lower) in upper.chunks_exact(CHUNK_BYTES).zip(lower.chunks_exact(CHUNK_BYTES)) {
            let number = |byte: u8| (i32::from(byte) - OFFSET) as f32 * factor;
            row.extend(upper.iter().zip(lower).map(|(u, l)| number(u << 4 | l & 15)));
            row.extend(upper.iter().zip(lower).map(|(u, l)| number(u & 0xf0 | l >> 4)));
        }
        debug_assert_eq!(row.len(), padded(self.dimension), "a row has whole chunks");
        row.truncate(self.dimension);
        Ok(row)
    }

    pub(super) fn factors(&self, range: Range<usize>) -> Result<Vec<f32>> {
        assert!(range.end <= self.count, "there are such factors");
        let start = self.factors.start;
        let bytes = self.bytes.read(start + range.start * 4..start + range.end * 4)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    pub(super) fn plane(&self, plane: &Range<usize>, range: Range<usize>) -> Result<&[u8]> {
        let row = padded(self.dimension) / 2;
        assert!(range.end <= self.count, "there are such rows");
        self.bytes.read(plane.start + range.start * row..plane.start + range.end * row)
    }
}

fn decode(bytes: &[u8; ENTRY_BYTES]) -> Entry {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    Entry { seq: number(0), passage: word(8)..word(12), hash: number(16) }
}
