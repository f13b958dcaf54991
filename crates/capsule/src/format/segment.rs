//! A segment's payload: named sections, and a sum for each block so that a part can be checked alone.

use super::{Damage, SECTIONS_MAX, sum, u32_at, u64_at};

/// Bytes that one entry of the sum table covers.
pub(crate) const BLOCK_BYTES: usize = 65_536;
const MAGIC: [u8; 8] = *b"KAPSASEG";
const HEAD_BYTES: usize = 24;
const ENTRY_BYTES: usize = 24;

/// Name of a section: eight ASCII bytes, filled with spaces.
pub type Tag = [u8; 8];
/// The capsule's own section: where the records frames of the range lie.
pub(crate) const RECORD_DIRECTORY: Tag = *b"recdir  ";

/// Where a section lies in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) tag: Tag,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// A payload, and what the manifest keeps to check parts of it by.
pub(crate) struct Encoded {
    pub(crate) payload: Vec<u8>,
    /// Sum of the sum table.
    pub(crate) table_sum: u64,
    /// Sum of the head and the table of sections.
    pub(crate) head_sum: u64,
}

/// A payload made of `sections`.
pub(crate) fn encode(sections: &[(Tag, &[u8])]) -> Encoded {
    assert!(sections.len() <= SECTIONS_MAX, "sections are few and named by us");
    let mut offset = HEAD_BYTES + sections.len() * ENTRY_BYTES;
    let mut table = Vec::new();
    for (tag, bytes) in sections {
        table.extend_from_slice(tag);
        table.extend_from_slice(&(offset as u64).to_le_bytes());
        table.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        offset = (offset + bytes.len()).next_multiple_of(8);
    }
    let mut out = Vec::with_capacity(offset + offset / BLOCK_BYTES * 8 + 16);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(offset as u64).to_le_bytes());
    out.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&table);
    for (_, bytes) in sections {
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    assert_eq!(out.len(), offset, "sections end where the sum table begins");
    let sums: Vec<u8> = out.chunks(BLOCK_BYTES).flat_map(|block| sum(block).to_le_bytes()).collect();
    let head_sum = sum(&out[..head_len(sections.len())]);
    out.extend_from_slice(&sums);
    Encoded { payload: out, table_sum: sum(&sums), head_sum }
}

/// Bytes of the head and a table of `sections` sections.
const fn head_len(sections: usize) -> usize {
    HEAD_BYTES + sections * ENTRY_BYTES
}

/// The sum of a payload's head and table of sections; none when they do not fit.
pub(crate) fn head_sum(payload: &[u8]) -> Option<u64> {
    let count = payload.get(16..20).map(|_| u32_at(payload, 16) as usize)?;
    payload.get(..head_len(count.min(SECTIONS_MAX))).map(sum)
}

/// Where the sum table of a payload of `payload_len` bytes begins, by its first 24 bytes.
pub(crate) fn table_offset(head: &[u8], payload_len: u64) -> Result<u64, Damage> {
    if head.len() < HEAD_BYTES || head[..8] != MAGIC {
        return Err("the segment has no head");
    }
    let offset = u64_at(head, 8);
    let fits =
        offset >= HEAD_BYTES as u64 && offset <= payload_len && payload_len - offset == offset.div_ceil(BLOCK_BYTES as u64) * 8;
    if fits { Ok(offset) } else { Err("the segment's sum table does not fit its length") }
}

/// Reads the table of sections.
pub(crate) fn decode_sections(payload: &[u8], table_offset: u64) -> Result<Vec<Section>, Damage> {
    const DAMAGE: Damage = "the segment's table of sections breaks a limit";
    let count = u32_at(payload, 16) as usize;
    let table = payload.get(HEAD_BYTES..HEAD_BYTES + count.min(SECTIONS_MAX + 1) * ENTRY_BYTES).ok_or(DAMAGE)?;
    if count > SECTIONS_MAX {
        return Err(DAMAGE);
    }
    let sections: Vec<Section> = table
        .chunks_exact(ENTRY_BYTES)
        .map(|entry| Section {
            tag: entry[..8].try_into().expect("eight bytes"),
            offset: u64_at(entry, 8),
            len: u64_at(entry, 16),
        })
        .collect();
    let inside = |s: &Section| s.offset.is_multiple_of(8) && s.offset.checked_add(s.len).is_some_and(|end| end <= table_offset);
    if sections.iter().all(inside) { Ok(sections) } else { Err(DAMAGE) }
}

/// One entry of the record directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordsPlace {
    pub(crate) first_sequence: u64,
    pub(crate) frame_offset: u64,
}

pub(crate) const PLACE_BYTES: usize = 16;

pub(crate) fn encode_directory(places: &[RecordsPlace]) -> Vec<u8> {
    places.iter().flat_map(|place| [place.first_sequence.to_le_bytes(), place.frame_offset.to_le_bytes()]).flatten().collect()
}

pub(crate) fn place_at(directory: &[u8], index: usize) -> RecordsPlace {
    RecordsPlace {
        first_sequence: u64_at(directory, index * PLACE_BYTES),
        frame_offset: u64_at(directory, index * PLACE_BYTES + 8),
    }
}

/// The last place of `directory` whose first sequence is not above `sequence`.
pub(crate) fn find_place(directory: &[u8], sequence: u64) -> Option<RecordsPlace> {
    let (mut low, mut high) = (0, directory.len() / PLACE_BYTES);
    while low < high {
        let middle = (low + high) / 2;
        if place_at(directory, middle).first_sequence <= sequence {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low.checked_sub(1).map(|index| place_at(directory, index))
}
