//! What a transaction adds besides records: index segments and derived segments.

use std::ops::Range;

use super::{Draft, select};
use crate::error::{Error, Result};
use crate::format::frame::{FRAME_HEADER_BYTES, Kind};
use crate::format::segment::{
    Encoded, RECORD_DIRECTORY, RecordsPlace, Tag, encode, encode_directory,
};
use crate::format::{DERIVED_SEGMENTS_MAX, SECTIONS_MAX, SegmentMeta};

/// A new index segment, to be appended by a transaction.
#[derive(Clone, Debug)]
pub struct SegmentDraft {
    /// First record it covers.
    pub first_sequence: u64,
    /// Sequence after the last record it covers.
    pub next_sequence: u64,
    /// Its sections; the record directory is added by the capsule.
    pub sections: Vec<(Tag, Vec<u8>)>,
}

/// A new derived segment, to be appended by a transaction: data derived from a range of records,
/// which other derived segments may cover too.
#[derive(Clone, Debug)]
pub struct DerivedDraft {
    /// First record it covers.
    pub first_sequence: u64,
    /// Sequence after the last record it covers.
    pub next_sequence: u64,
    /// Its sections.
    pub sections: Vec<(Tag, Vec<u8>)>,
}

/// Adds a segment. `committed` are the places of its records that earlier transactions wrote,
/// ascending.
pub(crate) fn add_segment(
    draft: &mut Draft,
    segment: SegmentDraft,
    committed: Vec<RecordsPlace>,
) -> Result<()> {
    draft.expect_usable()?;
    let range = segment.first_sequence..segment.next_sequence;
    let misuse = |reason| Error::Misuse { reason };
    if range.is_empty() || range.end > draft.next_sequence {
        return Err(misuse("a segment covers records that do not exist"));
    }
    // The record directory is one more.
    expect_few_sections(&segment.sections, SECTIONS_MAX - 1)?;
    let replaced = draft.manifest.replaced(&range).map_err(misuse)?;
    let mut places = committed;
    places.extend_from_slice(&draft.places);
    let directory = encode_directory(select(&places, range.start, range.end));
    let mut sections: Vec<(Tag, &[u8])> =
        segment.sections.iter().map(|(tag, bytes)| (*tag, bytes.as_slice())).collect();
    sections.push((RECORD_DIRECTORY, &directory));
    let meta = push_segment(draft, range, &sections);
    draft.manifest.segments.splice(replaced, [meta]);
    draft.manifest_changed = true;
    assert!(draft.manifest.indexed() <= draft.next_sequence, "segments cover records that exist");
    Ok(())
}

/// Adds a derived segment in place of those named by `replaces`.
pub(crate) fn add_derived(
    draft: &mut Draft,
    segment: DerivedDraft,
    replaces: &[u64],
) -> Result<()> {
    draft.expect_usable()?;
    let misuse = |reason| Err(Error::Misuse { reason });
    let range = segment.first_sequence..segment.next_sequence;
    if range.is_empty() || range.start == 0 || range.end > draft.next_sequence {
        return misuse("a derived segment covers records that do not exist");
    }
    expect_few_sections(&segment.sections, SECTIONS_MAX)?;
    let mut derived =
        draft.manifest.derived_without(replaces).map_err(|reason| Error::Misuse { reason })?;
    if derived.len() >= DERIVED_SEGMENTS_MAX {
        return misuse("there are too many derived segments");
    }
    let sections: Vec<(Tag, &[u8])> =
        segment.sections.iter().map(|(tag, bytes)| (*tag, bytes.as_slice())).collect();
    derived.push(push_segment(draft, range, &sections));
    debug_assert!(
        derived.is_sorted_by(|one, other| one.id < other.id),
        "the newest derived segment has the highest id"
    );
    draft.manifest.derived = derived;
    draft.manifest_changed = true;
    Ok(())
}

/// Takes the derived segments with these ids out of force.
pub(crate) fn drop_derived(draft: &mut Draft, ids: &[u64]) -> Result<()> {
    draft.expect_usable()?;
    draft.manifest.derived =
        draft.manifest.derived_without(ids).map_err(|reason| Error::Misuse { reason })?;
    draft.manifest_changed |= !ids.is_empty();
    Ok(())
}

/// Appends the frame of a segment, index or derived, whose id is the frame's offset.
fn push_segment(draft: &mut Draft, range: Range<u64>, sections: &[(Tag, &[u8])]) -> SegmentMeta {
    let payload_offset = draft.buffer_offset + draft.buffer.len() as u64 + FRAME_HEADER_BYTES;
    let Encoded { payload, head_sum } = encode(sections, payload_offset);
    let frame = draft.push(Kind::Segment, &payload);
    assert_eq!(
        frame.payload_offset(),
        payload_offset,
        "the blocks of a segment are laid out for one place in the file"
    );
    SegmentMeta {
        id: frame.offset,
        first_sequence: range.start,
        next_sequence: range.end,
        frame_offset: frame.offset,
        payload_len: frame.payload_len,
        digest: frame.digest,
        head_sum,
    }
}

/// Refuses too many sections, and one in the place of the capsule's own.
fn expect_few_sections(sections: &[(Tag, Vec<u8>)], most: usize) -> Result<()> {
    if sections.len() > most {
        return Err(Error::Misuse { reason: "a segment has too many sections" });
    }
    if sections.iter().any(|(tag, _)| *tag == RECORD_DIRECTORY) {
        return Err(Error::Misuse { reason: "a segment has a section that is the capsule's own" });
    }
    Ok(())
}
