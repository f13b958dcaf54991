//! Checks the parts of a segment, index or derived, against what was written. Each block is checked
//! once, when it is first needed.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::format::segment::{
    BLOCK_BYTES, FIXED_BYTES, Layout, SectionEntry, Tag, decode_sections,
};
use crate::format::{SegmentMeta, sum};
use crate::log::corrupt;
use crate::map;
use crate::sample::spread;
use crate::seeded::{Seeded, holds};
use crate::storage::Storage;

/// A segment's payload, its head checked, and which blocks of its content have been.
pub(crate) struct Payload {
    bytes: Bytes,
    layout: Layout,
    /// Page of the file in which the first block lies.
    first_page: u64,
    sections: Vec<SectionEntry>,
    /// One bit for each block.
    checked: Vec<AtomicU64>,
    /// What to read ahead from; none when the bytes lie in memory, as far as is known.
    on_disk: Option<Arc<dyn Storage>>,
    path: PathBuf,
    frame_offset: u64,
}

/// A section of a segment, index or derived. Its bytes may be damaged until [`Section::check`] has
/// said otherwise of the part in question.
#[derive(Clone)]
pub struct Section {
    payload: Arc<Payload>,
    /// Within the payload.
    range: Range<usize>,
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("segment", &self.payload.frame_offset)
            .field("range", &self.range)
            .finish()
    }
}

impl Section {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether it holds no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// All its bytes, as they are on the disk: nothing of them may be believed before it was
    /// checked.
    #[must_use]
    pub fn unchecked(&self) -> Bytes {
        self.payload.bytes.slice(self.range.clone())
    }

    /// Checks `range` of the section against its sums.
    ///
    /// # Errors
    /// `Corrupt` when a block does not match its sum.
    ///
    /// # Panics
    /// When the range reaches past the section.
    #[inline]
    pub fn check(&self, range: Range<usize>) -> Result<()> {
        self.payload.check(&self.within(range))
    }

    /// `range` of the section, checked.
    ///
    /// # Errors
    /// `Corrupt` when a block does not match its sum.
    ///
    /// # Panics
    /// When the range reaches past the section.
    #[inline]
    pub fn read(&self, range: Range<usize>) -> Result<&[u8]> {
        self.check(range.clone())?;
        let range = self.within(range);
        Ok(&self.payload.bytes[range.start as usize..range.end as usize])
    }

    /// The whole section, checked.
    ///
    /// # Errors
    /// `Corrupt` when a block does not match its sum.
    pub fn read_all(&self) -> Result<Bytes> {
        self.check(0..self.len())?;
        Ok(self.unchecked())
    }

    /// Says that `range` is about to be read; `true` when that made somebody fetch it. Only a hint.
    pub fn will_read(&self, range: Range<usize>) -> bool {
        self.payload.will_read(&self.within(range))
    }

    fn within(&self, range: Range<usize>) -> Range<u64> {
        assert!(
            range.start <= range.end && range.end <= self.len(),
            "a part of the section is asked for"
        );
        (self.range.start + range.start) as u64..(self.range.start + range.end) as u64
    }
}

/// Has a mapped part of the file at `offset` in memory, or the reason why not.
fn fetch(part: &[u8], offset: u64, path: &Path) -> Result<()> {
    map::populate(part).map_err(Error::unreadable(path, offset))
}

impl Payload {
    /// Checks the head of a segment's payload; `bytes` is all of it, `on_disk` where they come from
    /// if not from memory.
    pub(crate) fn open(
        bytes: Bytes,
        payload_offset: u64,
        meta: &SegmentMeta,
        on_disk: Option<Arc<dyn Storage>>,
        path: PathBuf,
    ) -> Result<Payload> {
        assert_eq!(bytes.len() as u64, meta.payload_len, "all bytes of the payload are given");
        let damaged = |what: &str| corrupt(&path, meta.frame_offset, what);
        let fetch_first = |len: usize| fetch(&bytes[..len.min(bytes.len())], payload_offset, &path);
        fetch_first(FIXED_BYTES)?;
        let layout = Layout::decode(&bytes, payload_offset, meta.payload_len).map_err(damaged)?;
        fetch_first(layout.head_len() as usize)?;
        let head = &bytes[..layout.head_len() as usize];
        if sum(head) != meta.head_sum {
            return Err(damaged("the head of a segment, index or derived, does not match its sum"));
        }
        let sections = decode_sections(head, &layout, meta.payload_len).map_err(damaged)?;
        let mut checked = Vec::new();
        checked.resize_with(layout.blocks().div_ceil(64) as usize, AtomicU64::default);
        let first_page = (payload_offset + layout.head_len()) / BLOCK_BYTES;
        Ok(Payload {
            bytes,
            layout,
            first_page,
            sections,
            checked,
            on_disk,
            path,
            frame_offset: meta.frame_offset,
        })
    }

    /// The section with this tag.
    pub(crate) fn section(self: &Arc<Self>, tag: Tag) -> Option<Section> {
        let entry = self.sections.iter().find(|s| s.tag == tag)?;
        let range = entry.offset as usize..(entry.offset + entry.len) as usize;
        assert!(range.end <= self.bytes.len(), "sections were checked to lie in the payload");
        Some(Section { payload: self.clone(), range })
    }

    /// Checks at most so many blocks, spread over all. Returns how many.
    pub(crate) fn sample(&self, count: u64) -> Result<u64> {
        let mut checked = 0;
        for block in spread(0..self.layout.blocks(), count) {
            self.check_blocks(block..block + 1)?;
            checked += 1;
        }
        Ok(checked)
    }

    /// Most reads are of a few bytes in a block that was checked before: that way is short.
    #[inline]
    fn check(&self, range: &Range<u64>) -> Result<()> {
        let block = |at: u64| (self.layout.payload_offset() + at) / BLOCK_BYTES - self.first_page;
        if !range.is_empty()
            && block(range.start) == block(range.end - 1)
            && self.is_checked(block(range.start))
        {
            return Ok(());
        }
        self.check_blocks(self.layout.blocks_of(range))
    }

    fn check_blocks(&self, blocks: Range<u64>) -> Result<()> {
        let Some(first) = self.first_unchecked(&blocks) else { return Ok(()) };
        if blocks.end - first > 1 {
            self.read_ahead(first..blocks.end);
        }
        self.fetch(self.layout.block(first).start..self.layout.block(blocks.end - 1).end)?;
        (first..blocks.end)
            .filter(|&block| !self.is_checked(block))
            .try_for_each(|block| self.check_block(block))?;
        debug_assert_eq!(
            self.first_unchecked(&blocks),
            None,
            "a part that was checked is known to be"
        );
        Ok(())
    }

    /// Whether something was asked for that is yet to be checked.
    fn will_read(&self, range: &Range<u64>) -> bool {
        if self.on_disk.is_none() {
            return false;
        }
        let blocks = self.layout.blocks_of(range);
        self.first_unchecked(&blocks).is_some_and(|first| self.read_ahead(first..blocks.end))
    }

    /// Asks for many pages at once, unless they are in memory: without it each is a page fault that
    /// waits for the disk.
    fn read_ahead(&self, blocks: Range<u64>) -> bool {
        let Some(storage) = &self.on_disk else { return false };
        debug_assert!(
            !blocks.is_empty() && blocks.end <= self.layout.blocks(),
            "there are such blocks"
        );
        let range = self.layout.block(blocks.start).start..self.layout.block(blocks.end - 1).end;
        storage.will_read(self.layout.payload_offset() + range.start, range.end - range.start);
        true
    }

    /// Has a part of the payload in memory, or the reason why not.
    fn fetch(&self, part: Range<u64>) -> Result<()> {
        let bytes = &self.bytes[part.start as usize..part.end as usize];
        fetch(bytes, self.layout.payload_offset() + part.start, &self.path)
    }

    fn first_unchecked(&self, blocks: &Range<u64>) -> Option<u64> {
        blocks.clone().find(|&block| !self.is_checked(block))
    }

    fn is_checked(&self, block: u64) -> bool {
        // Nothing depends on the order: the bytes never change, and checking one twice is only
        // slower.
        self.checked[(block / 64) as usize].load(Ordering::Relaxed) & (1 << (block % 64)) != 0
    }

    fn check_block(&self, index: u64) -> Result<()> {
        let block = self.layout.block(index);
        let sum = sum(&self.bytes[block.start as usize..block.end as usize]);
        if !holds(Seeded::SegmentUnchecked, sum == self.layout.sum_of(&self.bytes, index)) {
            let offset = self.layout.payload_offset() + block.start;
            return Err(corrupt(
                &self.path,
                offset,
                "a block of a segment, index or derived, does not match its sum",
            ));
        }
        self.checked[(index / 64) as usize].fetch_or(1 << (index % 64), Ordering::Relaxed);
        Ok(())
    }
}
