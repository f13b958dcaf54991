//! What do the bytes of one lexical segment look like?
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
//! All little-endian. The files are tantivy's, in the order of [`FILES`], and one of zones: the least
//! and the greatest time (i64 each) of every [`ZONE_DOCUMENTS`] documents. Opening checks the head
//! and the bounds of every file; [`verify`] also checks their content.

use std::ops::Range;

use bytes::Bytes;
use tantivy::index::SegmentComponent;
use xxhash_rust::xxh3::xxh3_64;

use crate::analyser::ANALYSER_ID;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"kapsalex";
/// Version of this layout and of tantivy's inside it.
const FORMAT: u32 = 1;
const ALIGN: usize = 8;

/// The parts of a tantivy segment that are kept. Its document store is not, nothing is
/// stored, nor its positions, there are none.
pub(crate) static FILES: [SegmentComponent; ZONES] =
    [SegmentComponent::Terms, SegmentComponent::Postings, SegmentComponent::FieldNorms, SegmentComponent::FastFields];

/// tantivy's files and the zones.
const FILE_COUNT: usize = 5;
const ZONES: usize = FILE_COUNT - 1;
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
    bytes: Bytes,
    pub(crate) documents: u32,
    pub(crate) tokens: u64,
    files: [FileEntry; FILE_COUNT],
}

#[derive(Debug, Clone, Default)]
struct FileEntry {
    range: Range<usize>,
    checksum: u64,
}

impl Blob {
    pub(crate) fn parse(bytes: Bytes) -> Result<Blob> {
        let head = bytes.get(..HEAD_BYTES).ok_or(Error::Malformed("too short"))?;
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
        if files[ZONES].range.len() != documents.div_ceil(ZONE_DOCUMENTS) as usize * ZONE_BYTES {
            return Err(Error::Malformed("number of zones"));
        }
        Ok(Blob { bytes, documents, tokens, files })
    }

    /// Bytes of the file at `index` of [`FILES`].
    pub(crate) fn file(&self, index: usize) -> Bytes {
        self.bytes.slice(self.files[index].range.clone())
    }

    /// Least and greatest time of each zone.
    pub(crate) fn zones(&self) -> impl Iterator<Item = (i64, i64)> {
        let zones = &self.bytes[self.files[ZONES].range.clone()];
        zones.chunks_exact(ZONE_BYTES).map(|zone| (u64_at(zone, 0) as i64, u64_at(zone, 8) as i64))
    }

    pub(crate) fn verify(&self) -> Result<()> {
        for entry in &self.files {
            if xxh3_64(&self.bytes[entry.range.clone()]) != entry.checksum {
                return Err(Error::Malformed("file checksum"));
            }
        }
        Ok(())
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
        let offset = usize::try_from(u64_at(head, at)).ok();
        let len = usize::try_from(u64_at(head, at + 8)).ok();
        let range = offset.zip(len).and_then(|(from, len)| Some(from..from.checked_add(len)?));
        let range = range.filter(|range| range.start == end.next_multiple_of(ALIGN));
        let range = range.filter(|range| range.end <= total);
        file.range = range.ok_or(Error::Malformed("file bounds"))?;
        file.checksum = u64_at(head, at + 16);
        end = file.range.end;
    }
    if end != total {
        return Err(Error::Malformed("length"));
    }
    Ok(files)
}

/// Lays out a segment; `files` are in the order of [`FILES`], `times_us` in that of the documents.
pub(crate) fn write(tokens: u64, times_us: &[i64], files: &[impl AsRef<[u8]>; ZONES]) -> Vec<u8> {
    let documents = u32::try_from(times_us.len()).expect("a segment's documents fit u32");
    let zones = zones_of(times_us);
    let files = || files.iter().map(AsRef::as_ref).chain([zones.as_slice()]);
    let body: usize = files().map(|file| file.len() + ALIGN).sum();
    let mut out = Vec::with_capacity(HEAD_BYTES + body);
    out.extend_from_slice(MAGIC);
    for number in [FORMAT, ANALYSER_ID, documents, FILE_COUNT as u32] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&tokens.to_le_bytes());
    let mut end = HEAD_BYTES;
    for file in files() {
        let start = end.next_multiple_of(ALIGN);
        for number in [start as u64, file.len() as u64, xxh3_64(file)] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        end = start + file.len();
    }
    let checksum = xxh3_64(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    for file in files() {
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        out.extend_from_slice(file);
    }
    debug_assert_eq!(out.len(), end);
    out
}

fn zones_of(times_us: &[i64]) -> Vec<u8> {
    let mut zones = Vec::new();
    for zone in times_us.chunks(ZONE_DOCUMENTS as usize) {
        let bounds = [zone.iter().min(), zone.iter().max()];
        for bound in bounds {
            zones.extend_from_slice(&bound.expect("a chunk is not empty").to_le_bytes());
        }
    }
    zones
}

/// Checks all of a segment's bytes against its checksums.
///
/// Opening a [`Searcher`](crate::Searcher) checks only the head and the bounds, for it must not
/// read everything. Bytes from a place without checksums of its own must pass this first: with
/// damaged ones a search may give wrong hits, fail with [`Error::Damaged`] or, rarely, never end.
///
/// # Errors
/// [`Error::Malformed`], [`Error::Format`] or [`Error::Analyser`].
pub fn verify(segment: &Bytes) -> Result<()> {
    Blob::parse(segment.clone())?.verify()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
