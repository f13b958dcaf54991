//! A segment's payload: named sections, and a sum for each block so that a part can be checked
//! alone.

use std::ops::Range;

use super::primitives::{Damage, SECTIONS_MAX, sum, u32_at, u64_at};

/// Bytes that one entry of the sum table covers. Blocks begin at multiples of this in the *file*,
/// so that checking one reads one page of a mapped file.
pub(crate) const BLOCK_BYTES: u64 = 4096;
const MAGIC: [u8; 8] = *b"KAPSASEG";
pub(crate) const FIXED_BYTES: usize = 24;
const ENTRY_BYTES: usize = 24;
const SUM_BYTES: u64 = 8;

/// Name of a section: eight ASCII bytes, filled with spaces.
pub type Tag = [u8; 8];
/// The capsule's own section: where the records frames of the range lie.
pub(crate) const RECORD_DIRECTORY: Tag = *b"recdir  ";

/// Where a section lies in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionEntry {
    pub(crate) tag: Tag,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// A payload, and what the manifest keeps to check it by.
pub(crate) struct Encoded {
    pub(crate) payload: Vec<u8>,
    /// Sum of the head: everything before the content.
    pub(crate) head_sum: u64,
}

/// Where a payload's parts lie: the head (fixed part, table of sections, sum table), then the
/// content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Offset of the payload in the file.
    payload_offset: u64,
    sections: usize,
    content_len: u64,
}

impl Layout {
    /// Of a payload that lies at `payload_offset` and is `payload_len` bytes long, by its first
    /// bytes.
    pub(crate) fn decode(
        bytes: &[u8],
        payload_offset: u64,
        payload_len: u64,
    ) -> Result<Layout, Damage> {
        if bytes.len() < FIXED_BYTES || bytes[..8] != MAGIC {
            return Err("the segment has no head");
        }
        let layout = Layout {
            payload_offset,
            sections: u32_at(bytes, 16) as usize,
            content_len: u64_at(bytes, 8),
        };
        let fits = layout.sections <= SECTIONS_MAX
            && layout.content_len <= payload_len
            && layout.head_len() + layout.content_len == payload_len;
        if fits { Ok(layout) } else { Err("the segment's head does not fit its length") }
    }

    /// Offset of the payload in the file.
    pub(crate) fn payload_offset(&self) -> u64 {
        self.payload_offset
    }

    /// Length of the head in bytes.
    pub(crate) fn head_len(&self) -> u64 {
        self.sums_offset() + self.sum_count() * SUM_BYTES
    }

    fn sums_offset(&self) -> u64 {
        (FIXED_BYTES + self.sections * ENTRY_BYTES) as u64
    }

    /// Entries of the sum table: as many as a content of this length can touch blocks, wherever it
    /// begins. Those it does not touch are zero.
    fn sum_count(&self) -> u64 {
        self.content_len / BLOCK_BYTES + 2
    }

    /// Number of blocks that the content touches.
    pub(crate) fn blocks(&self) -> u64 {
        let start = self.head_len();
        self.blocks_of(&(start..start + self.content_len)).end
    }

    /// Blocks that `range` of the payload touches, which lies in the content.
    pub(crate) fn blocks_of(&self, range: &Range<u64>) -> Range<u64> {
        let first = (self.payload_offset + self.head_len()) / BLOCK_BYTES;
        let block = |at: u64| (self.payload_offset + at) / BLOCK_BYTES - first;
        let content = self.head_len()..=self.head_len() + self.content_len;
        debug_assert!(
            range.is_empty() || content.contains(&range.start) && content.contains(&range.end),
            "of the content"
        );
        if range.is_empty() { 0..0 } else { block(range.start)..block(range.end - 1) + 1 }
    }

    /// The part of the payload that block `index` covers.
    pub(crate) fn block(&self, index: u64) -> Range<u64> {
        let start = self.payload_offset + self.head_len();
        let end = start + self.content_len;
        let page = (start / BLOCK_BYTES + index) * BLOCK_BYTES;
        assert!(page < end, "the content touches the block");
        page.max(start) - self.payload_offset..(page + BLOCK_BYTES).min(end) - self.payload_offset
    }

    /// What the sum of block `index` should be, by the head.
    pub(crate) fn sum_of(&self, head: &[u8], index: u64) -> u64 {
        debug_assert!(index < self.sum_count(), "the table has a sum for each block");
        u64_at(head, (self.sums_offset() + index * SUM_BYTES) as usize)
    }
}

/// Most bytes that the head of a payload of `payload_len` bytes has when its sections are few.
pub(crate) const fn head_len_about(payload_len: u64) -> u64 {
    payload_len / (BLOCK_BYTES / SUM_BYTES) + 256
}

/// A payload made of `sections`, which will lie at `payload_offset` in the file.
pub(crate) fn encode(sections: &[(Tag, &[u8])], payload_offset: u64) -> Encoded {
    assert!(sections.len() <= SECTIONS_MAX, "sections are few and named by us");
    let content_len =
        sections.iter().map(|(_, bytes)| (bytes.len() as u64).next_multiple_of(8)).sum();
    let layout = Layout { payload_offset, sections: sections.len(), content_len };
    let head_len = layout.head_len() as usize;
    let mut out = Vec::with_capacity(head_len + content_len as usize);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&content_len.to_le_bytes());
    out.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    let mut offset = head_len;
    for (tag, bytes) in sections {
        out.extend_from_slice(tag);
        out.extend_from_slice(&(offset as u64).to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        offset = (offset + bytes.len()).next_multiple_of(8);
    }
    out.resize(head_len, 0);
    for (_, bytes) in sections {
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    for index in 0..layout.blocks() {
        let block = layout.block(index);
        let at = (layout.sums_offset() + index * SUM_BYTES) as usize;
        let sum = sum(&out[block.start as usize..block.end as usize]);
        out[at..at + SUM_BYTES as usize].copy_from_slice(&sum.to_le_bytes());
    }
    assert_eq!(
        out.len() as u64,
        layout.head_len() + content_len,
        "a payload is as long as its head says"
    );
    debug_assert_eq!(
        Layout::decode(&out, payload_offset, out.len() as u64),
        Ok(layout),
        "whoever reads it finds the same parts"
    );
    let head_sum = sum(&out[..head_len]);
    Encoded { payload: out, head_sum }
}

/// Reads the table of sections of a whole head.
pub(crate) fn decode_sections(
    head: &[u8],
    layout: &Layout,
    payload_len: u64,
) -> Result<Vec<SectionEntry>, Damage> {
    let table = &head[FIXED_BYTES..FIXED_BYTES + layout.sections * ENTRY_BYTES];
    let sections: Vec<SectionEntry> = table
        .chunks_exact(ENTRY_BYTES)
        .map(|entry| SectionEntry {
            tag: entry[..8].try_into().expect("eight bytes"),
            offset: u64_at(entry, 8),
            len: u64_at(entry, 16),
        })
        .collect();
    let inside = |s: &SectionEntry| {
        s.offset.is_multiple_of(8)
            && s.offset >= layout.head_len()
            && s.offset.checked_add(s.len).is_some_and(|end| end <= payload_len)
    };
    if sections.iter().all(inside) {
        Ok(sections)
    } else {
        Err("the segment's table of sections breaks a limit")
    }
}

/// One entry of the record directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordsPlace {
    pub(crate) first_sequence: u64,
    pub(crate) frame_offset: u64,
}

pub(crate) const PLACE_BYTES: usize = 16;

pub(crate) fn encode_directory(places: &[RecordsPlace]) -> Vec<u8> {
    places
        .iter()
        .flat_map(|place| [place.first_sequence.to_le_bytes(), place.frame_offset.to_le_bytes()])
        .flatten()
        .collect()
}

/// Reads one entry.
pub(crate) fn decode_place(entry: &[u8]) -> RecordsPlace {
    assert_eq!(entry.len(), PLACE_BYTES, "one entry is given");
    RecordsPlace { first_sequence: u64_at(entry, 0), frame_offset: u64_at(entry, 8) }
}

/// Index of the last place whose first sequence is not above `sequence`; `first_sequence` reads
/// that of a place.
pub(crate) fn find_place<E>(
    count: usize,
    sequence: u64,
    mut first_sequence: impl FnMut(usize) -> Result<u64, E>,
) -> Result<Option<usize>, E> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if first_sequence(middle)? <= sequence {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_the_content_lies_in_one_block_wherever_the_payload_begins() {
        for payload_offset in [72, 4000, 4096, 4096 - 24, 12_288 + 72, 8184] {
            for len in [0usize, 1, 8, 4000, 4096, 4104, 20_000] {
                let content = vec![7; len];
                let Encoded { payload, head_sum } =
                    encode(&[(*b"test    ", &content)], payload_offset);
                let payload_len = payload.len() as u64;
                let layout = Layout::decode(&payload, payload_offset, payload_len)
                    .expect("what was encoded");
                let head = &payload[..layout.head_len() as usize];
                assert_eq!(sum(head), head_sum);
                let section = decode_sections(head, &layout, payload_len).expect("inside")[0];
                assert_eq!(&payload[section.offset as usize..][..len], content);
                let mut at = layout.head_len();
                for index in 0..layout.blocks() {
                    let block = layout.block(index);
                    assert_eq!(block.start, at, "{payload_offset} {len}");
                    assert_eq!(layout.blocks_of(&block), index..index + 1);
                    assert_eq!(
                        layout.sum_of(head, index),
                        sum(&payload[block.start as usize..block.end as usize])
                    );
                    assert!(
                        (payload_offset + block.end).is_multiple_of(BLOCK_BYTES)
                            || block.end == payload_len
                    );
                    at = block.end;
                }
                assert_eq!(at, payload_len);
            }
        }
    }
}
