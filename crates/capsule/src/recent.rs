//! The blocks of records that were unpacked last, so that a search that looks at many records
//! unpacks each block once. Bounded by bytes and by number.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::format::records::Block;

/// Bytes of records that are kept, but for the block that was used last.
const BYTES_MAX: usize = 1 << 20;
/// Blocks that are kept: few enough to be looked through one by one.
const BLOCKS_MAX: usize = 64;

/// Unpacked blocks, for several threads.
#[derive(Default)]
pub(crate) struct RecentBlocks(Mutex<Recent>);

impl RecentBlocks {
    /// The block whose frame begins at `offset`, if it is here.
    pub(crate) fn get(&self, offset: u64) -> Option<Arc<Block>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(offset)
    }

    /// Keeps a block, and drops those that were not used for longest.
    pub(crate) fn add(&self, offset: u64, block: Arc<Block>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(offset, block);
    }
}

/// Unpacked blocks by the place of their frames, the one that was used last first.
#[derive(Default)]
struct Recent {
    blocks: VecDeque<(u64, Arc<Block>)>,
    bytes: usize,
}

impl Recent {
    fn get(&mut self, offset: u64) -> Option<Arc<Block>> {
        let at = self.blocks.iter().position(|(place, _)| *place == offset)?;
        if at > 0 {
            let used = self.blocks.remove(at).expect("it was found there");
            self.blocks.push_front(used);
        }
        Some(self.blocks[0].1.clone())
    }

    fn add(&mut self, offset: u64, block: Arc<Block>) {
        if self.get(offset).is_some() {
            // Another thread unpacked it as well.
            return;
        }
        self.bytes += block.bytes();
        self.blocks.push_front((offset, block));
        while self.blocks.len() > 1 && (self.bytes > BYTES_MAX || self.blocks.len() > BLOCKS_MAX) {
            let (_, dropped) = self.blocks.pop_back().expect("there are two");
            self.bytes -= dropped.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::records::{Coding, RecordsHead};

    /// A block of one record of so many bytes.
    fn block(bytes: usize) -> Arc<Block> {
        let mut plain = (bytes as u32).to_le_bytes().to_vec();
        plain.resize(4 + bytes, 0);
        let head = RecordsHead {
            first_sequence: 1,
            count: 1,
            coding: Coding::Plain,
            dictionary: 0,
            plain_len: plain.len() as u64,
        };
        Arc::new(Block::decode(&head, plain.into()).expect("whole"))
    }

    fn here(recent: &mut Recent, offsets: std::ops::Range<u64>) -> Vec<u64> {
        offsets.filter(|&offset| recent.get(offset).is_some()).collect()
    }

    #[test]
    fn the_last_used_stay() {
        let mut recent = Recent::default();
        for offset in 0..BLOCKS_MAX as u64 {
            recent.add(offset, block(10));
        }
        assert!(recent.get(0).is_some());
        recent.add(100, block(10));
        recent.add(100, block(10));
        assert_eq!(here(&mut recent, 0..3), [0, 2], "1 was used longest ago");
        assert_eq!(recent.blocks.len(), BLOCKS_MAX);
    }

    #[test]
    fn bytes_are_bounded_but_the_newest_is_kept() {
        let mut recent = Recent::default();
        (0..8).for_each(|offset| recent.add(offset, block(BYTES_MAX / 4)));
        assert_eq!(here(&mut recent, 0..8), [5, 6, 7]);
        recent.add(9, block(3 * BYTES_MAX));
        assert_eq!(here(&mut recent, 0..10), [9]);
        recent.add(10, block(1));
        assert_eq!(here(&mut recent, 0..11), [10]);
        assert_eq!(recent.bytes, recent.blocks[0].1.bytes());
    }
}
