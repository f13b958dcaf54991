//! Which bytes of a capsule depend on which others: the sums and hashes of `docs/format.md`, from
//! that document alone.
//!
//! [`repair`] makes them match again after an edit, from the innermost outwards, so that the edit
//! is not refused by a checksum before anybody looks at it.

use std::collections::HashMap;
use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Where the log begins.
pub(crate) const LOG_START: usize = 12_288;
/// Bytes of a frame header.
pub(crate) const FRAME_HEADER: usize = 72;
/// Where the commit pointers lie.
pub(crate) const POINTERS: [usize; 2] = [4096, 8192];
const HEADER_SUM: usize = 4088;
const POINTER_SUM: usize = 120;
const COMMIT_BYTES: usize = 256;
/// Blocks of a segment begin at multiples of this in the file.
const SEGMENT_BLOCK: usize = 4096;
const MANIFEST_ENTRY: usize = 80;
/// Most bytes that a packed body is unpacked to for the chain.
const BODY_MAX: usize = 1 << 20;

/// Kinds of frames.
pub(crate) mod kind {
    pub(crate) const RECORDS: u8 = 1;
    pub(crate) const SEGMENT: u8 = 2;
    pub(crate) const MANIFEST: u8 = 3;
    pub(crate) const DICTIONARY: u8 = 4;
    pub(crate) const COMMIT: u8 = 5;
    pub(crate) const SMALL_COMMIT: u8 = 7;
}

/// What stays as an edit left it; a bit for each.
pub(crate) mod skip {
    pub(crate) const HEADER_SUM: u8 = 1;
    pub(crate) const FRAME_DIGEST: u8 = 2;
    pub(crate) const FRAME_SUM: u8 = 4;
    pub(crate) const FRAMES_HASH: u8 = 8;
    pub(crate) const PREVIOUS: u8 = 16;
    pub(crate) const CHAIN: u8 = 32;
    pub(crate) const POINTER: u8 = 64;
    pub(crate) const SEGMENT_SUMS: u8 = 128;
}

type Hash = [u8; 32];

/// The offsets of the frames of a whole file.
pub(crate) fn frames_of(file: &[u8]) -> Vec<usize> {
    let mut frames = Vec::new();
    let mut offset = LOG_START;
    while offset + FRAME_HEADER <= file.len() {
        frames.push(offset);
        offset += FRAME_HEADER + (u64_at(file, offset + 8) as usize).next_multiple_of(8);
    }
    frames
}

/// Makes every sum and hash of `file` match its bytes again; `frames` are the offsets of its
/// frames, ascending.
pub(crate) fn repair(file: &mut [u8], frames: &[usize], skipped: u8) {
    if file.len() < LOG_START {
        return;
    }
    if skipped & skip::HEADER_SUM == 0 {
        let sum = xxh3_64(&file[..HEADER_SUM]);
        put_u64(file, HEADER_SUM, sum);
    }
    let seed = u64_at(file, 32).wrapping_add(u64_at(file, 56));
    let mut repairer = Repairer { skipped, seed, ..Repairer::default() };
    let len = file.len();
    for &offset in frames.iter().filter(|&&offset| offset + FRAME_HEADER <= len) {
        repairer.frame(file, offset);
    }
    if skipped & skip::POINTER == 0 {
        repairer.pointers(file);
    }
}

/// What the frames so far say of those to come.
#[derive(Default)]
struct Repairer {
    skipped: u8,
    seed: u64,
    /// Digests by frame.
    digests: HashMap<usize, Hash>,
    /// Sum of the head, by segment.
    segment_sums: HashMap<usize, u64>,
    /// Dictionaries by frame.
    dictionaries: HashMap<u64, Vec<u8>>,
    /// Frame headers of the open transaction.
    headers: blake3::Hasher,
    /// Hashes of its records; none when they cannot be known.
    records: Option<Vec<Hash>>,
    previous_digest: Hash,
    chain: Hash,
}

impl Repairer {
    fn skips(&self, what: u8) -> bool {
        self.skipped & what != 0
    }

    fn frame(&mut self, file: &mut [u8], offset: usize) {
        let payload = payload_of(file, offset);
        match file[offset + 4] {
            kind::RECORDS => {
                let hashes = record_hashes(&file[payload.clone()], &self.dictionaries);
                self.records = match (self.records.take().or(Some(Vec::new())), hashes) {
                    (Some(known), Some(new)) => Some([known, new].concat()),
                    _ => None,
                };
            }
            kind::SEGMENT if !self.skips(skip::SEGMENT_SUMS) => {
                let sum = repair_segment(&mut file[payload.clone()], payload.start);
                self.segment_sums.extend(sum.map(|sum| (offset, sum)));
            }
            kind::DICTIONARY => {
                drop(self.dictionaries.insert(offset as u64, file[payload.clone()].to_vec()))
            }
            kind::MANIFEST if !self.skips(skip::SEGMENT_SUMS) => {
                self.manifest(&mut file[payload.clone()])
            }
            kind::COMMIT if payload.len() >= COMMIT_BYTES => {
                self.commit(&mut file[payload.clone()])
            }
            kind::SMALL_COMMIT => self.small_commit(&mut file[payload.clone()]),
            _ => {}
        }
        let filled = payload.start..payload.end.next_multiple_of(8).min(file.len());
        if !self.skips(skip::FRAME_DIGEST) {
            let digest = blake3::hash(&file[filled]);
            file[offset + 32..offset + 64].copy_from_slice(digest.as_bytes());
        }
        if !self.skips(skip::FRAME_SUM) {
            let sum = xxh3_64_with_seed(&file[offset..offset + 64], self.seed);
            put_u64(file, offset + 64, sum);
        }
        self.after(&file[offset..offset + FRAME_HEADER], offset);
    }

    fn after(&mut self, header: &[u8], offset: usize) {
        let digest = hash_at(header, 32);
        self.digests.insert(offset, digest);
        if [kind::COMMIT, kind::SMALL_COMMIT].contains(&header[4]) {
            self.headers = blake3::Hasher::new();
            self.records = None;
            self.previous_digest = digest;
        } else {
            self.headers.update(header);
        }
    }

    fn manifest(&self, payload: &mut [u8]) {
        for entry in payload.get_mut(8..).unwrap_or_default().chunks_exact_mut(MANIFEST_ENTRY) {
            let segment = u64_at(entry, 24) as usize;
            if let (Some(digest), Some(head)) =
                (self.digests.get(&segment), self.segment_sums.get(&segment))
            {
                entry[40..72].copy_from_slice(digest);
                put_u64(entry, 72, *head);
            }
        }
    }

    fn commit(&mut self, payload: &mut [u8]) {
        if !self.skips(skip::FRAMES_HASH) {
            payload[96..128].copy_from_slice(self.headers.finalize().as_bytes());
        }
        if !self.skips(skip::PREVIOUS) {
            payload[192..224].copy_from_slice(&self.previous_digest);
        }
        // The first commit of a compacted file continues a chain whose commits are not there.
        let folded = u64_at(payload, 88) != 0 && u64_at(payload, 0) == 1;
        if !self.skips(skip::CHAIN) && !folded {
            let chain = self.next_chain(payload);
            payload[128..160].copy_from_slice(&self.chain);
            payload[160..192].copy_from_slice(&chain);
        }
        self.chain = hash_at(payload, 160);
    }

    /// One whose fields cannot be read stays as it is.
    fn small_commit(&mut self, payload: &mut [u8]) {
        let Some(fields) = SmallFields::read(payload) else { return };
        if !self.skips(skip::PREVIOUS) {
            payload[40..72].copy_from_slice(&self.previous_digest);
        }
        let body = &payload[fields.body.clone()];
        self.records = fields.packed.hashes(body, &self.dictionaries);
        if !self.skips(skip::CHAIN) {
            let time = u64_at(payload, 0);
            let chain = self.chain_of([fields.number, time, fields.first_sequence]);
            payload[8..40].copy_from_slice(&chain);
        }
        self.chain = hash_at(payload, 8);
    }

    fn next_chain(&self, payload: &[u8]) -> Hash {
        self.chain_of([8, 16, 40].map(|field| u64_at(payload, field)))
    }

    /// The chain after the open transaction, of this number, time and first sequence.
    fn chain_of(&self, fields: [u64; 3]) -> Hash {
        let Some(records) = self.records.as_ref() else { return self.chain };
        let mut hasher = blake3::Hasher::new_derive_key("kapsa chain v1");
        hasher.update(&self.chain);
        for field in fields {
            hasher.update(&field.to_le_bytes());
        }
        hasher.update(&(records.len() as u64).to_le_bytes());
        for record in records {
            hasher.update(record);
        }
        *hasher.finalize().as_bytes()
    }

    fn pointers(&self, file: &mut [u8]) {
        let generation = u64_at(file, 56);
        let id: [u8; 16] = file[32..48].try_into().expect("sixteen bytes");
        for slot in POINTERS {
            let pointer = &mut file[slot..slot + POINTER_SUM + 8];
            if pointer.iter().all(|&byte| byte == 0) {
                continue;
            }
            if let Some(digest) = self.digests.get(&(u64_at(pointer, 16) as usize)) {
                pointer[32..64].copy_from_slice(digest);
            }
            put_u64(pointer, 64, generation);
            pointer[72..88].copy_from_slice(&id);
            let sum = xxh3_64_with_seed(&pointer[..POINTER_SUM], self.seed);
            put_u64(pointer, POINTER_SUM, sum);
        }
    }
}

/// The payload of the frame at `offset` by its length field, cut at the end of the file.
fn payload_of(file: &[u8], offset: usize) -> Range<usize> {
    let start = offset + FRAME_HEADER;
    let len = usize::try_from(u64_at(file, offset + 8)).unwrap_or(usize::MAX);
    start..start.saturating_add(len).min(file.len())
}

/// Recomputes the sums in the head of a segment's payload that lies at `payload_offset`; returns
/// the one that its manifest entry holds.
fn repair_segment(payload: &mut [u8], payload_offset: usize) -> Option<u64> {
    if payload.len() < 24 {
        return None;
    }
    let content_len = usize::try_from(u64_at(payload, 8)).ok()?;
    let sections = u32::from_le_bytes(payload[16..20].try_into().ok()?) as usize;
    let sums = 24 + 24 * sections.min(64);
    let head_len = (content_len / SEGMENT_BLOCK + 2).checked_mul(8)?.checked_add(sums)?;
    let end = head_len.checked_add(content_len)?;
    if end > payload.len() {
        return None;
    }
    let (mut start, mut entry) = (head_len, sums);
    while start < end {
        let next = ((payload_offset + start) / SEGMENT_BLOCK + 1) * SEGMENT_BLOCK - payload_offset;
        let sum = xxh3_64(&payload[start..next.min(end)]);
        put_u64(payload, entry, sum);
        (start, entry) = (next, entry + 8);
    }
    Some(xxh3_64(&payload[..head_len]))
}

/// The hash of each record of a records frame.
fn record_hashes(payload: &[u8], dictionaries: &HashMap<u64, Vec<u8>>) -> Option<Vec<Hash>> {
    let body = payload.get(32..)?;
    let packed = PackedFields {
        count: u32::from_le_bytes(payload[8..12].try_into().ok()?) as usize,
        is_plain: payload[12] == 0,
        dictionary: u64_at(payload, 16),
        plain_len: u64_at(payload, 24),
    };
    packed.hashes(body, dictionaries)
}

/// What is said of a body of records beside it.
struct PackedFields {
    count: usize,
    is_plain: bool,
    dictionary: u64,
    plain_len: u64,
}

impl PackedFields {
    /// The hash of each record of a body.
    fn hashes(&self, body: &[u8], dictionaries: &HashMap<u64, Vec<u8>>) -> Option<Vec<Hash>> {
        let plain = if self.is_plain {
            body.to_vec()
        } else {
            let dictionary =
                dictionaries.get(&self.dictionary).map(Vec::as_slice).unwrap_or_default();
            let mut unpacker = zstd::bulk::Decompressor::with_dictionary(dictionary).ok()?;
            unpacker.decompress(body, BODY_MAX.min(self.plain_len as usize)).ok()?
        };
        let mut hashes = Vec::new();
        let mut rest = plain.get(self.count.checked_mul(4)?..)?;
        for word in plain.chunks_exact(4).take(self.count) {
            let word = u32::from_le_bytes(word.try_into().ok()?);
            let (record, after) = rest.split_at_checked((word & 0x7fff_ffff) as usize)?;
            let purged = word >> 31 == 1;
            hashes.push(if purged {
                record.try_into().ok()?
            } else {
                *blake3::hash(record).as_bytes()
            });
            rest = after;
        }
        Some(hashes)
    }
}

/// What the repairer needs of a small commit's fields.
struct SmallFields {
    number: u64,
    first_sequence: u64,
    packed: PackedFields,
    body: Range<usize>,
}

impl SmallFields {
    fn read(payload: &[u8]) -> Option<SmallFields> {
        let mut rest = payload.get(72..)?;
        let mut numbers = [0u64; 15];
        for number in &mut numbers {
            *number = leb128(&mut rest)?;
        }
        let start = payload.len() - rest.len();
        let end = start.checked_add(usize::try_from(numbers[13]).ok()?)?;
        let packed = PackedFields {
            count: usize::try_from(numbers[3]).ok()?,
            is_plain: numbers[10] == 0,
            dictionary: numbers[11],
            plain_len: numbers[12],
        };
        let (number, first_sequence) = (numbers[0], numbers[2]);
        (end <= payload.len()).then_some(SmallFields {
            number,
            first_sequence,
            packed,
            body: start..end,
        })
    }
}

/// Takes a LEB128 number off the front.
fn leb128(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

pub(crate) fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

fn hash_at(bytes: &[u8], offset: usize) -> Hash {
    bytes[offset..offset + 32].try_into().expect("thirty-two bytes")
}
