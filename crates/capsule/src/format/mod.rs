//! What do the bytes mean? One module for each structure of `docs/format.md`, each with its writer and its reader.
//!
//! Nothing here does I/O. Every reader takes bytes that may be hostile: lengths are checked before they are used.

pub use header::{FORMAT_VERSION, READER_FEATURES, WRITER_FEATURES};
pub use manifest::SegmentMeta;
pub use records::Stored;
pub use segment::Tag;

pub(crate) mod commit;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod hint;
pub(crate) mod history;
pub(crate) mod manifest;
pub(crate) mod records;
pub(crate) mod segment;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Where the log of frames begins, in bytes.
pub const LOG_START: u64 = 12_288;
/// Largest payload of any frame, in bytes.
pub const PAYLOAD_BYTES_MAX: u64 = 1 << 36;
/// Largest serial, number, sequence, offset or count of bytes: so far below the end of the integers that nobody
/// who adds to a few of them need think of it.
pub(crate) const COUNT_MAX: u64 = 1 << 62;
/// Largest plain body of a records frame, in bytes.
pub const BODY_BYTES_MAX: u64 = 1 << 26;
/// Largest record body, in bytes.
pub const RECORD_BYTES_MAX: usize = 1 << 25;
/// Most records in one frame.
pub const RECORDS_PER_FRAME_MAX: usize = 65_536;
/// Most segments in a manifest.
pub const SEGMENTS_MAX: usize = 65_536;
/// Most annexes in a manifest.
pub const ANNEXES_MAX: usize = 4096;
/// Most sections in a segment.
pub const SECTIONS_MAX: usize = 64;
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

/// `length` rounded up to the alignment of frames.
pub(crate) const fn aligned(length: u64) -> u64 {
    length.next_multiple_of(8)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader says of a structure with this number in it.
    type Reads = fn(u64) -> Result<(), Damage>;

    fn commit(number: u64) -> Result<(), Damage> {
        let commit = commit::Commit { serial: number, indexed: 1, next_sequence: 1, ..commit::Commit::default() };
        commit::Commit::decode(&commit.encode()).map(drop)
    }

    fn sequences(number: u64) -> Result<(), Damage> {
        let commit = commit::Commit { indexed: number, next_sequence: number, ..commit::Commit::default() };
        commit::Commit::decode(&commit.encode()).map(drop)
    }

    fn segment(frame_offset: u64) -> Result<(), Damage> {
        let (digest, payload_len) = ([0; 32], 0);
        let meta = SegmentMeta { id: 1, first_sequence: 1, next_sequence: 2, frame_offset, payload_len, digest, head_sum: 0 };
        decode_segment(meta).map(drop)
    }

    fn decode_segment(meta: SegmentMeta) -> Result<manifest::Manifest, Damage> {
        let manifest = manifest::Manifest { segments: vec![meta], annexes: Vec::new() };
        let commit = commit::Commit { indexed: 2, next_sequence: 2, ..commit::Commit::default() };
        manifest::Manifest::decode(&manifest.encode(), &commit)
    }

    fn records(first_sequence: u64) -> Result<(), Damage> {
        let mut payload = Vec::new();
        records::Head { first_sequence, count: 1, coding: records::Coding::Plain, dictionary: 0, plain_len: 0 }
            .encode(&mut payload);
        records::Head::decode(&payload).map(drop)
    }

    #[test]
    fn numbers_that_leave_no_room_to_count_on_are_refused() {
        let readers: [(&str, Reads); 4] =
            [("serial", commit), ("sequences", sequences), ("segment", segment), ("records", records)];
        for (name, reads) in readers {
            assert_eq!(reads(COUNT_MAX), Ok(()), "{name}");
            assert!(reads(COUNT_MAX + 1).is_err() && reads(u64::MAX).is_err(), "{name}");
        }
    }

    #[test]
    fn a_segment_longer_than_any_frame_is_refused() {
        let of = |payload_len| {
            let digest = [0; 32];
            let frame_offset = LOG_START;
            let meta = SegmentMeta { id: 1, first_sequence: 1, next_sequence: 2, frame_offset, payload_len, digest, head_sum: 0 };
            decode_segment(meta)
        };
        assert!(of(PAYLOAD_BYTES_MAX).is_ok());
        assert!(of(PAYLOAD_BYTES_MAX + 1).is_err() && of(u64::MAX).is_err());
    }
}
