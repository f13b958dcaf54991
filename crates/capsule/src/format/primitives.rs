//! What all structures are made of: little-endian numbers, hashes, sums, and the limits that every
//! reader holds them to.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Where the log of frames begins, in bytes.
pub const LOG_START: u64 = 12_288;
/// Largest payload of any frame, in bytes.
pub const PAYLOAD_BYTES_MAX: u64 = 1 << 36;
/// Largest serial, number, sequence, offset or count of bytes: so far below the end of the integers
/// that nobody who adds to a few of them need think of it.
pub(crate) const COUNT_MAX: u64 = 1 << 62;
/// Largest plain body of a records frame, in bytes.
pub const BODY_BYTES_MAX: u64 = 1 << 26;
/// Largest record body, in bytes.
pub const RECORD_BYTES_MAX: usize = 1 << 25;
/// Most bytes of the records that no index segment covers: readers hold them in memory.
pub const TAIL_BYTES_MAX: u64 = 1 << 27;
/// Most of those records.
pub const TAIL_RECORDS_MAX: u64 = 1 << 20;
/// Bytes that both make, unpacked: a record has a length of four beside its body.
pub(crate) const TAIL_PLAIN_BYTES_MAX: u64 = TAIL_BYTES_MAX + 4 * TAIL_RECORDS_MAX;
/// Most records in one frame.
pub const RECORDS_PER_FRAME_MAX: usize = 65_536;
/// Most segments in a manifest.
pub const SEGMENTS_MAX: usize = 65_536;
/// Most derived segments in a manifest.
pub const DERIVED_SEGMENTS_MAX: usize = 4096;
/// Most sections in a segment.
pub const SECTIONS_MAX: usize = 64;
/// Largest payload of a small commit, in bytes.
pub const SMALL_COMMIT_BYTES_MAX: usize = 1 << 16;
/// Largest dictionary, in bytes.
pub const DICTIONARY_BYTES_MAX: usize = 1 << 20;

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// Why bytes are not the structure they should be.
pub(crate) type Damage = &'static str;

pub(crate) fn hash(bytes: &[u8]) -> Hash {
    *blake3::hash(bytes).as_bytes()
}

pub(crate) fn sum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

pub(crate) fn seeded_sum(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// Every frame begins at a multiple of it.
pub(crate) const FRAME_ALIGN: u64 = 8;

/// `length` rounded up to the alignment of frames.
pub(crate) const fn aligned(length: u64) -> u64 {
    length.next_multiple_of(FRAME_ALIGN)
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let word = bytes.get(offset..offset + 4).expect("the caller checked the structure's length");
    u32::from_le_bytes(word.try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let word = bytes.get(offset..offset + 8).expect("the caller checked the structure's length");
    u64::from_le_bytes(word.try_into().expect("eight bytes"))
}

pub(crate) fn hash_at(bytes: &[u8], offset: usize) -> Hash {
    let word = bytes.get(offset..offset + 32).expect("the caller checked the structure's length");
    word.try_into().expect("thirty-two bytes")
}

pub(crate) fn all_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b == 0)
}

/// Appends `value` as unsigned LEB128.
pub(crate) fn push_leb128(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes an unsigned LEB128 number off the front of `bytes`.
pub(crate) fn take_leb128(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
