//! The manifest: the segments in force, index and derived.

use std::ops::Range;

use super::commit::Commit;
use super::primitives::{
    COUNT_MAX, DERIVED_SEGMENTS_MAX, Damage, Hash, PAYLOAD_BYTES_MAX, SEGMENTS_MAX, hash_at,
    u32_at, u64_at,
};

/// Version of a manifest without derived segments.
const VERSION: u32 = 1;
/// Version of one that has them.
const VERSION_WITH_DERIVED: u32 = 2;
/// Version and count of segments, or count of derived segments and zeros.
const COUNT_BYTES: usize = 8;
const ENTRY_BYTES: usize = 80;

/// One segment in force, index or derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentMeta {
    /// Its number, unique in the file.
    pub id: u64,
    /// First record covered.
    pub first_sequence: u64,
    /// Sequence after the last record covered.
    pub next_sequence: u64,
    /// Offset of its frame.
    pub(crate) frame_offset: u64,
    /// Length of its payload in bytes.
    pub payload_len: u64,
    pub(crate) digest: Hash,
    pub(crate) head_sum: u64,
}

/// What is in force at one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Ascending and without gaps.
    pub(crate) segments: Vec<SegmentMeta>,
    /// Ascending by id.
    pub(crate) derived: Vec<SegmentMeta>,
}

impl Manifest {
    /// Sequence after the last record that a segment covers.
    pub(crate) fn indexed(&self) -> u64 {
        self.segments.last().map_or(1, |segment| segment.next_sequence)
    }

    /// Which segments a new one over `range` takes the place of.
    pub(crate) fn replaced(&self, range: &Range<u64>) -> Result<Range<usize>, &'static str> {
        let Manifest { segments, .. } = self;
        let indexed = self.indexed();
        let from = segments.partition_point(|s| s.first_sequence < range.start);
        let to = segments.partition_point(|s| s.first_sequence < range.end);
        let starts = segments.get(from).map_or(indexed, |s| s.first_sequence) == range.start;
        let ends =
            range.end >= indexed || segments.get(to).is_some_and(|s| s.first_sequence == range.end);
        if !starts || !ends {
            return Err("a segment does not join the ones in force");
        }
        if segments.len() - (to - from) >= SEGMENTS_MAX {
            return Err("there are too many segments");
        }
        Ok(from..to)
    }

    /// The derived segments without those that have these ids.
    pub(crate) fn derived_without(&self, ids: &[u64]) -> Result<Vec<SegmentMeta>, &'static str> {
        let derived = &self.derived;
        if ids.iter().any(|id| derived.binary_search_by_key(id, |one| one.id).is_err()) {
            return Err("no derived segment in force has this id");
        }
        Ok(derived.iter().filter(|one| !ids.contains(&one.id)).copied().collect())
    }

    /// A manifest without derived segments is written as it was before there were any.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Manifest { segments, derived } = self;
        assert!(
            segments.len() <= SEGMENTS_MAX && derived.len() <= DERIVED_SEGMENTS_MAX,
            "the writer keeps the manifest small"
        );
        let mut out =
            Vec::with_capacity(2 * COUNT_BYTES + (segments.len() + derived.len()) * ENTRY_BYTES);
        let version = if derived.is_empty() { VERSION } else { VERSION_WITH_DERIVED };
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&(segments.len() as u32).to_le_bytes());
        segments.iter().for_each(|segment| encode_entry(segment, &mut out));
        if !derived.is_empty() {
            out.extend_from_slice(&(derived.len() as u64).to_le_bytes());
            derived.iter().for_each(|derived| encode_entry(derived, &mut out));
        }
        out
    }

    /// Reads the manifest that `commit` names.
    pub(crate) fn decode(payload: &[u8], commit: &Commit) -> Result<Manifest, Damage> {
        if payload.len() < COUNT_BYTES
            || ![VERSION, VERSION_WITH_DERIVED].contains(&u32_at(payload, 0))
        {
            return Err("the manifest is cut short or of an unknown version");
        }
        let (segments, rest) =
            take_entries(&payload[COUNT_BYTES..], u32_at(payload, 4), SEGMENTS_MAX)?;
        let (derived, rest) = match rest.get(..COUNT_BYTES) {
            Some(count) if u32_at(payload, 0) == VERSION_WITH_DERIVED && u32_at(count, 4) == 0 => {
                take_entries(&rest[COUNT_BYTES..], u32_at(count, 0), DERIVED_SEGMENTS_MAX)?
            }
            None if u32_at(payload, 0) == VERSION => (Vec::new(), rest),
            _ => return Err(LENGTH),
        };
        if !rest.is_empty() {
            return Err(LENGTH);
        }
        expect_segments(&segments, commit.indexed)?;
        expect_derived(&derived, commit)?;
        Ok(Manifest { segments, derived })
    }
}

const LENGTH: Damage = "the manifest's length does not fit its counts";

/// Takes `count` entries off the front of `bytes`.
fn take_entries(
    bytes: &[u8],
    count: u32,
    limit: usize,
) -> Result<(Vec<SegmentMeta>, &[u8]), Damage> {
    let count = count as usize;
    if count > limit || bytes.len() < count * ENTRY_BYTES {
        return Err(LENGTH);
    }
    let (entries, rest) = bytes.split_at(count * ENTRY_BYTES);
    Ok((entries.chunks_exact(ENTRY_BYTES).map(decode_entry).collect(), rest))
}

fn breaks_a_limit(meta: &SegmentMeta) -> bool {
    meta.frame_offset > COUNT_MAX || meta.payload_len > PAYLOAD_BYTES_MAX
}

fn expect_segments(segments: &[SegmentMeta], indexed: u64) -> Result<(), Damage> {
    let mut next = 1;
    for segment in segments {
        if segment.first_sequence != next || segment.next_sequence <= next {
            return Err("the manifest's segments leave a gap or overlap");
        }
        if breaks_a_limit(segment) {
            return Err("the manifest names a segment that breaks a limit");
        }
        next = segment.next_sequence;
    }
    if next == indexed {
        Ok(())
    } else {
        Err("the manifest does not reach as far as the commit says")
    }
}

/// The next derived segment lies after the manifest: its id will be the highest.
fn expect_derived(derived: &[SegmentMeta], commit: &Commit) -> Result<(), Damage> {
    if !derived.is_sorted_by(|one, other| one.id < other.id) {
        return Err("the manifest's derived segments are not in the order of their ids");
    }
    for derived in derived {
        if derived.first_sequence == 0
            || derived.first_sequence >= derived.next_sequence
            || derived.next_sequence > commit.next_sequence
        {
            return Err("the manifest names a derived segment over records that do not exist");
        }
        if derived.id != derived.frame_offset
            || derived.id >= commit.manifest_offset
            || breaks_a_limit(derived)
        {
            return Err("the manifest names a derived segment where none can be");
        }
    }
    Ok(())
}

fn encode_entry(meta: &SegmentMeta, out: &mut Vec<u8>) {
    for word in
        [meta.id, meta.first_sequence, meta.next_sequence, meta.frame_offset, meta.payload_len]
    {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&meta.digest);
    out.extend_from_slice(&meta.head_sum.to_le_bytes());
}

fn decode_entry(entry: &[u8]) -> SegmentMeta {
    SegmentMeta {
        id: u64_at(entry, 0),
        first_sequence: u64_at(entry, 8),
        next_sequence: u64_at(entry, 16),
        frame_offset: u64_at(entry, 24),
        payload_len: u64_at(entry, 32),
        digest: hash_at(entry, 40),
        head_sum: u64_at(entry, 72),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(id: u64, first_sequence: u64, next_sequence: u64) -> SegmentMeta {
        SegmentMeta {
            id,
            first_sequence,
            next_sequence,
            frame_offset: id,
            payload_len: 9,
            digest: [5; 32],
            head_sum: 6,
        }
    }

    fn commit(indexed: u64) -> Commit {
        Commit { indexed, next_sequence: 9, manifest_offset: 8000, ..Commit::default() }
    }

    fn decode_derived(derived: Vec<SegmentMeta>) -> Result<Manifest, Damage> {
        let segments = vec![meta(80, 1, 4), meta(16, 4, 6)];
        Manifest::decode(&Manifest { segments, derived }.encode(), &commit(6))
    }

    #[test]
    fn what_was_encoded_is_decoded_with_derived_segments_and_without() {
        let some = vec![meta(24, 2, 9), meta(32, 1, 3), meta(400, 2, 9)];
        for (derived, version, len) in [(Vec::new(), 1, 8 + 2 * 80), (some, 2, 16 + 5 * 80)] {
            let manifest = Manifest { segments: vec![meta(80, 1, 4), meta(16, 4, 6)], derived };
            let bytes = manifest.encode();
            assert_eq!((u32_at(&bytes, 0), bytes.len()), (version, len));
            assert_eq!(Manifest::decode(&bytes, &commit(6)), Ok(manifest));
        }
    }

    #[test]
    fn derived_segments_that_cannot_be_are_refused() {
        let elsewhere = SegmentMeta { frame_offset: 32, ..meta(24, 2, 9) };
        let long = SegmentMeta { payload_len: PAYLOAD_BYTES_MAX + 1, ..meta(24, 2, 9) };
        let ranges = [(0, 9), (3, 3), (4, 3), (2, 10)].map(|(first, next)| meta(24, first, next));
        let places = [meta(8000, 2, 9), meta(COUNT_MAX + 1, 2, 9), elsewhere, long];
        assert!(decode_derived(vec![meta(24, 2, 9)]).is_ok());
        let single = ranges.iter().chain(&places);
        single.for_each(|derived| assert!(decode_derived(vec![*derived]).is_err(), "{derived:?}"));
        assert!(decode_derived(vec![meta(24, 2, 9), meta(24, 2, 9)]).is_err(), "one id twice");
        assert!(decode_derived(vec![meta(32, 2, 9), meta(24, 2, 9)]).is_err(), "out of order");
        let many = |count: usize| {
            decode_derived((0..count as u64).map(|i| meta(1000 + i, 1, 2)).collect())
        };
        assert!(many(DERIVED_SEGMENTS_MAX).is_ok());
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        let manifest = Manifest {
            segments: vec![meta(80, 1, 4)],
            derived: vec![meta(24, 2, 9), meta(32, 1, 3)],
        };
        let bytes = manifest.encode();
        (0..bytes.len()).for_each(|len| {
            assert!(Manifest::decode(&bytes[..len], &commit(4)).is_err(), "{len} bytes")
        });
        let changed = |at: usize, to: u32| {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&to.to_le_bytes());
            Manifest::decode(&bytes, &commit(4))
        };
        assert!(changed(0, 2).is_ok());
        for (at, to) in [(0, 1), (0, 3), (4, 0), (4, 2), (88, 1), (88, 3), (88, u32::MAX), (92, 1)]
        {
            assert!(changed(at, to).is_err(), "{to} at {at}");
        }
        assert!(
            Manifest::decode(&[bytes, vec![0; 8]].concat(), &commit(4)).is_err(),
            "bytes after the end"
        );
        let mut too_many = manifest.encode()[..88].to_vec();
        too_many.extend_from_slice(&(DERIVED_SEGMENTS_MAX as u64 + 1).to_le_bytes());
        (0..=DERIVED_SEGMENTS_MAX as u64)
            .for_each(|i| encode_entry(&meta(1000 + i, 1, 2), &mut too_many));
        assert!(Manifest::decode(&too_many, &commit(4)).is_err());
    }
}
