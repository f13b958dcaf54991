//! The meaning of the bytes: one module for each structure of `docs/format.md`, each with its
//! writer and its reader.
//!
//! Nothing here does I/O. Every reader takes bytes that may be hostile: lengths are checked before
//! they are used.

pub use header::{FORMAT_VERSION, READER_FEATURES, WRITER_FEATURES};
pub use manifest::SegmentMeta;
pub use primitives::{
    BODY_BYTES_MAX, DERIVED_SEGMENTS_MAX, DICTIONARY_BYTES_MAX, Hash, LOG_START, PAYLOAD_BYTES_MAX,
    RECORD_BYTES_MAX, RECORDS_PER_FRAME_MAX, SECTIONS_MAX, SEGMENTS_MAX, SMALL_COMMIT_BYTES_MAX,
    TAIL_BYTES_MAX, TAIL_RECORDS_MAX,
};
pub use records::Stored;
pub use segment::Tag;

pub(crate) use primitives::{
    COUNT_MAX, Damage, FRAME_ALIGN, TAIL_PLAIN_BYTES_MAX, aligned, all_zero, hash, sum,
};

#[cfg(test)]
mod bounds;
pub(crate) mod commit;
pub(crate) mod commit_pointer;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod history;
pub(crate) mod manifest;
mod primitives;
pub(crate) mod records;
pub(crate) mod segment;
pub(crate) mod small_commit;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader says of a structure with this number in it.
    type Reads = fn(u64) -> Result<(), Damage>;

    fn commit(number: u64) -> Result<(), Damage> {
        let commit = commit::Commit {
            serial: number,
            indexed: 1,
            next_sequence: 1,
            ..commit::Commit::default()
        };
        commit::Commit::decode(&commit.encode()).map(drop)
    }

    fn sequences(number: u64) -> Result<(), Damage> {
        let commit =
            commit::Commit { indexed: number, next_sequence: number, ..commit::Commit::default() };
        commit::Commit::decode(&commit.encode()).map(drop)
    }

    fn segment(frame_offset: u64) -> Result<(), Damage> {
        decode_segment(frame_offset, 0)
    }

    fn decode_segment(frame_offset: u64, payload_len: u64) -> Result<(), Damage> {
        let meta = SegmentMeta {
            id: 1,
            first_sequence: 1,
            next_sequence: 2,
            frame_offset,
            payload_len,
            digest: [0; 32],
            head_sum: 0,
        };
        let manifest = manifest::Manifest { segments: vec![meta], derived: Vec::new() };
        let commit = commit::Commit { indexed: 2, next_sequence: 2, ..commit::Commit::default() };
        manifest::Manifest::decode(&manifest.encode(), &commit).map(drop)
    }

    fn records(first_sequence: u64) -> Result<(), Damage> {
        let mut payload = Vec::new();
        records::RecordsHead {
            first_sequence,
            count: 1,
            coding: records::Coding::Plain,
            dictionary: 0,
            plain_len: 0,
        }
        .encode(&mut payload);
        records::Packed::decode(&payload.into()).map(drop)
    }

    #[test]
    fn numbers_that_leave_no_room_to_count_on_are_refused() {
        let readers: [(&str, Reads); 4] = [
            ("serial", commit),
            ("sequences", sequences),
            ("segment", segment),
            ("records", records),
        ];
        for (name, reads) in readers {
            assert_eq!(reads(COUNT_MAX), Ok(()), "{name}");
            assert!(reads(COUNT_MAX + 1).is_err() && reads(u64::MAX).is_err(), "{name}");
        }
    }

    #[test]
    fn a_segment_longer_than_any_frame_is_refused() {
        let of = |payload_len| decode_segment(LOG_START, payload_len);
        assert!(of(PAYLOAD_BYTES_MAX).is_ok());
        assert!(of(PAYLOAD_BYTES_MAX + 1).is_err() && of(u64::MAX).is_err());
    }
}
