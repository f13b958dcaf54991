//! The manifest: which segments are in force?

use super::{COUNT_MAX, Damage, Hash, PAYLOAD_BYTES_MAX, SEGMENTS_MAX, hash_at, u32_at, u64_at};

const VERSION: u32 = 1;
const ENTRY_BYTES: usize = 80;

/// One segment in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentMeta {
    /// Number of the segment, unique in its file.
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

pub(crate) fn encode(segments: &[SegmentMeta]) -> Vec<u8> {
    assert!(segments.len() <= SEGMENTS_MAX, "the writer keeps the manifest small");
    let mut out = Vec::with_capacity(8 + segments.len() * ENTRY_BYTES);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(segments.len() as u32).to_le_bytes());
    for segment in segments {
        for word in [segment.id, segment.first_sequence, segment.next_sequence, segment.frame_offset, segment.payload_len] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&segment.digest);
        out.extend_from_slice(&segment.head_sum.to_le_bytes());
    }
    out
}

pub(crate) fn decode(payload: &[u8], indexed: u64) -> Result<Vec<SegmentMeta>, Damage> {
    if payload.len() < 8 || u32_at(payload, 0) != VERSION {
        return Err("the manifest is cut short or of an unknown version");
    }
    let count = u32_at(payload, 4) as usize;
    if count > SEGMENTS_MAX || payload.len() != 8 + count * ENTRY_BYTES {
        return Err("the manifest's length does not fit its count");
    }
    let segments: Vec<SegmentMeta> = payload[8..].chunks_exact(ENTRY_BYTES).map(decode_entry).collect();
    let mut next = 1;
    for segment in &segments {
        if segment.first_sequence != next || segment.next_sequence <= next {
            return Err("the manifest's segments leave a gap or overlap");
        }
        if segment.frame_offset > COUNT_MAX || segment.payload_len > PAYLOAD_BYTES_MAX {
            return Err("the manifest names a segment that breaks a limit");
        }
        next = segment.next_sequence;
    }
    if next == indexed { Ok(segments) } else { Err("the manifest does not reach as far as the commit says") }
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
