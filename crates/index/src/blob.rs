//! The bytes of one lexical segment.
//!
//! ```text
//! 0   8  magic "kapsalex"
//! 8   4  format version
//! 12  4  analyser id
//! 16  4  documents
//! 20  4  files
//! 24  8  terms of the text field, over all documents
//! 32  .. one entry for each file: offset u64, length u64, xxh3-64 of the file u64
//! ..  8  xxh3-64 of everything above
//! ..  .. the files, each at a multiple of 8, the gaps zero
//! ```
//! All little-endian. The files: zones (the least and the greatest time, i64 each, of every
//! [`ZONE_DOCUMENTS`] documents), tantivy's in the order of [`FILES`], the key hash of each
//! document (u64), and the time of each document less the least of all, in as many bytes as the
//! greatest needs. Those that every search reads come first and are small, so that one request
//! fetches them. Opening checks the head and the bounds of every file; [`verify`] also checks their
//! content.

use std::ops::Range;

use bytes::Bytes;
use tantivy::index::SegmentComponent;
use xxhash_rust::xxh3::xxh3_64;

use crate::analyser::ANALYSER_ID;
use crate::error::{Error, Result};
use crate::segment_bytes::SegmentBytes;

const MAGIC: &[u8; 8] = b"kapsalex";
/// Version of this layout and of tantivy's inside it.
const FORMAT: u32 = 1;
const ALIGN: usize = 8;

/// The parts of a tantivy segment that are kept. Its document store is not, nothing is
/// stored, nor its positions, there are none.
pub(crate) static FILES: [SegmentComponent; TANTIVY_COUNT] = [
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Terms,
    SegmentComponent::Postings,
];

const TANTIVY_COUNT: usize = 4;
const FILE_COUNT: usize = TANTIVY_COUNT + 3;
const ZONES: usize = 0;
const TANTIVY: usize = 1;
const KEY_HASHES: usize = TANTIVY + TANTIVY_COUNT;
const TIMES: usize = KEY_HASHES + 1;
const TERMS: usize = TANTIVY + 2;
const POSTINGS: usize = TANTIVY + 3;
const KEY_HASH_BYTES: usize = 8;
/// What opening reads of a large file lies within so many bytes of its end or of the start of the
/// next.
const END_BYTES: usize = 256;
/// Documents in a zone; the last may have fewer.
pub(crate) const ZONE_DOCUMENTS: u32 = 1024;
const ZONE_BYTES: usize = 16;
const ENTRY_BYTES: usize = 24;
const TABLE_AT: usize = 32;
const CHECKSUM_AT: usize = TABLE_AT + FILE_COUNT * ENTRY_BYTES;
const HEAD_BYTES: usize = CHECKSUM_AT + 8;

/// A segment's bytes, its head checked.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    bytes: SegmentBytes,
    pub(crate) documents: u32,
    pub(crate) tokens: u64,
    files: [FileEntry; FILE_COUNT],
}

#[derive(Debug, Clone, Default)]
struct FileEntry {
    range: Range<usize>,
    checksum: u64,
}

/// What is kept of each document besides its words.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) key_hashes: Vec<u64>,
    pub(crate) times_us: Vec<i64>,
}

/// The time of each document.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    bytes: SegmentBytes,
    width: usize,
    least: i64,
}

impl Blob {
    pub(crate) fn parse(bytes: SegmentBytes) -> Result<Blob> {
        if bytes.len() < HEAD_BYTES {
            return Err(Error::Malformed("too short"));
        }
        let head = bytes.read(0..HEAD_BYTES)?;
        if !head.starts_with(MAGIC) {
            return Err(Error::Malformed("no magic"));
        }
        check_version(head)?;
        if xxh3_64(&head[..CHECKSUM_AT]) != u64_at(head, CHECKSUM_AT) {
            return Err(Error::Malformed("head checksum"));
        }
        if u32_at(head, 20) as usize != FILE_COUNT {
            return Err(Error::Malformed("number of files"));
        }
        let documents = u32_at(head, 16);
        let tokens = u64_at(head, 24);
        let files = parse_table(head, bytes.len())?;
        let len = |file: usize| files[file].range.len();
        if len(ZONES) != documents.div_ceil(ZONE_DOCUMENTS) as usize * ZONE_BYTES {
            return Err(Error::Malformed("number of zones"));
        }
        let count = documents as usize;
        if len(KEY_HASHES) != count * KEY_HASH_BYTES
            || !len(TIMES).is_multiple_of(count.max(1))
            || len(TIMES) > count * 8
        {
            return Err(Error::Malformed("number of documents"));
        }
        Ok(Blob { bytes, documents, tokens, files })
    }

    /// The file at `index` of [`FILES`].
    pub(crate) fn file(&self, index: usize) -> SegmentBytes {
        assert!(index < TANTIVY_COUNT, "one of tantivy's files");
        self.part(TANTIVY + index)
    }

    /// The file that is `component`, if it is kept.
    pub(crate) fn component(&self, component: &SegmentComponent) -> Option<SegmentBytes> {
        FILES.iter().position(|file| file == component).map(|index| self.file(index))
    }

    fn part(&self, file: usize) -> SegmentBytes {
        self.bytes.part(self.files[file].range.clone())
    }

    /// Least and greatest time of each zone.
    pub(crate) fn zones(&self) -> Result<Vec<(i64, i64)>> {
        let zones = self.bytes.read(self.files[ZONES].range.clone())?;
        debug_assert!(
            zones.len().is_multiple_of(ZONE_BYTES),
            "the head was checked to have whole zones"
        );
        Ok(zones
            .chunks_exact(ZONE_BYTES)
            .map(|zone| (u64_at(zone, 0) as i64, u64_at(zone, 8) as i64))
            .collect())
    }

    /// The times, by the `zones` of the segment.
    pub(crate) fn times(&self, zones: &[(i64, i64)]) -> Times {
        let bytes = self.part(TIMES);
        let width = bytes.len() / self.documents.max(1) as usize;
        assert!(width <= 8, "the head was checked to have times of eight bytes at most");
        Times {
            bytes,
            width,
            least: zones.iter().map(|(least, _)| *least).min().unwrap_or_default(),
        }
    }

    pub(crate) fn key_hash(&self, doc: u32) -> Result<u64> {
        let at = self.files[KEY_HASHES].range.start + doc as usize * KEY_HASH_BYTES;
        Ok(u64_at(self.bytes.read(at..at + KEY_HASH_BYTES)?, 0))
    }

    /// The columns of all documents.
    pub(crate) fn columns(&self) -> Result<Columns> {
        let times = self.times(&self.zones()?);
        Ok(Columns {
            key_hashes: (0..self.documents).map(|doc| self.key_hash(doc)).collect::<Result<_>>()?,
            times_us: (0..self.documents).map(|doc| times.get(doc)).collect::<Result<_>>()?,
        })
    }

    /// Says that the segment is about to be opened for a search: that reads the ends of the larger
    /// files.
    pub(crate) fn will_open(&self) {
        for file in [TERMS, POSTINGS] {
            let end = self.files[file].range.end;
            self.bytes
                .will_read(end.saturating_sub(END_BYTES)..(end + END_BYTES).min(self.bytes.len()));
        }
    }

    /// Has every byte checked by whoever owns them.
    pub(crate) fn check_all(&self) -> Result<()> {
        self.bytes.check(0..self.bytes.len())
    }

    pub(crate) fn verify(&self) -> Result<()> {
        let bytes = self.bytes.read_all()?;
        for entry in &self.files {
            if xxh3_64(&bytes[entry.range.clone()]) != entry.checksum {
                return Err(Error::Malformed("file checksum"));
            }
        }
        Ok(())
    }
}

impl Times {
    /// Microseconds since the Unix epoch.
    pub(crate) fn get(&self, doc: u32) -> Result<i64> {
        let at = doc as usize * self.width;
        let mut later = [0; 8];
        later[..self.width].copy_from_slice(self.bytes.read(at..at + self.width)?);
        Ok(self.least.wrapping_add_unsigned(u64::from_le_bytes(later)))
    }
}

fn check_version(head: &[u8]) -> Result<()> {
    let format = u32_at(head, 8);
    if format != FORMAT {
        return Err(Error::Format { found: format, expected: FORMAT });
    }
    let analyser = u32_at(head, 12);
    if analyser != ANALYSER_ID {
        return Err(Error::Analyser { found: analyser, expected: ANALYSER_ID });
    }
    Ok(())
}

fn parse_table(head: &[u8], total: usize) -> Result<[FileEntry; FILE_COUNT]> {
    let mut files: [FileEntry; FILE_COUNT] = Default::default();
    let mut end = HEAD_BYTES;
    for (index, file) in files.iter_mut().enumerate() {
        let at = TABLE_AT + index * ENTRY_BYTES;
        // A number beyond this machine's addresses is out of bounds, which is reported below.
        let [from, len] =
            [at, at + 8].map(|at| usize::try_from(u64_at(head, at)).unwrap_or(usize::MAX));
        let range = from.checked_add(len).map(|to| from..to);
        let range = range.filter(|range| range.start == end.next_multiple_of(ALIGN));
        let range = range.filter(|range| range.end <= total);
        file.range = range.ok_or(Error::Malformed("file bounds"))?;
        file.checksum = u64_at(head, at + 16);
        end = file.range.end;
    }
    if end != total {
        return Err(Error::Malformed("length"));
    }
    debug_assert!(
        files.is_sorted_by(|one, other| one.range.end <= other.range.start),
        "files lie one after the other"
    );
    Ok(files)
}

/// Lays out a segment; `files` are in the order of [`FILES`], the columns in that of the documents.
pub(crate) fn write(
    tokens: u64,
    columns: &Columns,
    files: &[impl AsRef<[u8]>; TANTIVY_COUNT],
) -> Vec<u8> {
    let documents = u32::try_from(columns.times_us.len()).expect("a segment's documents fit u32");
    assert_eq!(
        columns.key_hashes.len(),
        columns.times_us.len(),
        "every document has a key and a time"
    );
    let zones = zones_of(&columns.times_us);
    let key_hashes: Vec<u8> =
        columns.key_hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    let times = encode_times(&columns.times_us);
    let tantivy = files.iter().map(AsRef::as_ref);
    let files: Vec<&[u8]> = [zones.as_slice()]
        .into_iter()
        .chain(tantivy)
        .chain([&key_hashes[..], &times[..]])
        .collect();
    let body: usize = files.iter().map(|file| file.len() + ALIGN).sum();
    let mut out = Vec::with_capacity(HEAD_BYTES + body);
    out.extend_from_slice(MAGIC);
    for number in [FORMAT, ANALYSER_ID, documents, FILE_COUNT as u32] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&tokens.to_le_bytes());
    let mut end = HEAD_BYTES;
    for file in &files {
        let start = end.next_multiple_of(ALIGN);
        for number in [start as u64, file.len() as u64, xxh3_64(file)] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        end = start + file.len();
    }
    let checksum = xxh3_64(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    for file in files {
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        out.extend_from_slice(file);
    }
    assert_eq!(out.len(), end, "the files lie where the table says");
    debug_assert!(Blob::parse(out.clone().into()).is_ok(), "whoever opens the segment accepts it");
    out
}

fn encode_times(times_us: &[i64]) -> Vec<u8> {
    let least = times_us.iter().copied().min().unwrap_or_default();
    let later = |time: &i64| time.wrapping_sub(least) as u64;
    let greatest = times_us.iter().map(later).max().unwrap_or_default();
    let width = (u64::BITS - greatest.leading_zeros()).div_ceil(8) as usize;
    let bytes: Vec<u8> = times_us
        .iter()
        .flat_map(|time| later(time).to_le_bytes().into_iter().take(width))
        .collect();
    assert_eq!(bytes.len(), times_us.len() * width, "all times have the same width");
    bytes
}

fn zones_of(times_us: &[i64]) -> Vec<u8> {
    let mut zones = Vec::new();
    for zone in times_us.chunks(ZONE_DOCUMENTS as usize) {
        let bounds = [zone.iter().min(), zone.iter().max()];
        for bound in bounds {
            zones.extend_from_slice(&bound.expect("a chunk is not empty").to_le_bytes());
        }
    }
    assert_eq!(
        zones.len(),
        times_us.len().div_ceil(ZONE_DOCUMENTS as usize) * ZONE_BYTES,
        "whoever opens it counts as many"
    );
    zones
}

/// Checks all of a segment's bytes against its checksums.
///
/// Opening a [`Searcher`](crate::Searcher) checks only the head and the bounds, for it must not
/// read everything. Bytes from a place without [checks](crate::Checks) of its own must pass this
/// first: with damaged ones a search may give wrong hits, fail with [`Error::Damaged`] or, rarely,
/// never end.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Format`] or [`Error::Analyser`].
pub fn verify(segment: &Bytes) -> Result<()> {
    Blob::parse(segment.clone().into())?.verify()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
