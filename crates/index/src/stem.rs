//! The stem of an English word, fast.

use tantivy::tokenizer::{RawTokenizer, Stemmer, TokenFilter, TokenStream, Tokenizer};

use crate::steps;

/// Longest word the cache holds; longer ones are stemmed each time.
const CACHED_BYTES_MAX: usize = 16;
/// Slots of the direct-mapped cache, a power of two.
const SLOTS: usize = 16_384;
const _: () = assert!(SLOTS.is_power_of_two(), "a slot is the upper bits of a product");

type StemFilter = <Stemmer as TokenFilter>::Tokenizer<RawTokenizer>;

/// English (Snowball) stemmer that remembers what it stemmed.
#[derive(Clone)]
pub(crate) struct StemCache {
    slots: Vec<Slot>,
    stemmer: StemFilter,
    /// Stem of the word before, if that was not in a slot.
    uncached: String,
}

/// The word and its stem, each padded with zeros, and the length of the stem, which is 0 in an
/// empty slot.
///
/// Bytes, so that empty slots come from the system as zeros and cost nothing before they are used:
/// a process that stems ten words touches at most ten of the 192 pages.
type Slot = [u8; 3 * CACHED_BYTES_MAX];
const STEM: usize = CACHED_BYTES_MAX;
const STEM_LEN: usize = 2 * CACHED_BYTES_MAX;

impl StemCache {
    pub(crate) fn new() -> Self {
        StemCache {
            slots: vec![[0; size_of::<Slot>()]; SLOTS],
            stemmer: Stemmer::default().transform(RawTokenizer::default()),
            uncached: String::new(),
        }
    }

    /// The stem of `word` (lower-case ASCII letters), in time that grows with the square of its
    /// length.
    pub(crate) fn stem(&mut self, word: &str) -> &str {
        if word.len() > CACHED_BYTES_MAX {
            self.stem_uncached(word);
            return &self.uncached;
        }
        let key = padded(word.as_bytes());
        let slot = slot_of(key);
        let held = &self.slots[slot];
        if held[..STEM] != key.to_le_bytes() || held[STEM_LEN] == 0 {
            self.stem_uncached(word);
            if self.uncached.len() > CACHED_BYTES_MAX {
                return &self.uncached;
            }
            self.slots[slot] = holding(key, &self.uncached);
        }
        stem_in(&self.slots[slot])
    }

    fn stem_uncached(&mut self, word: &str) {
        steps::note(word.len() * word.len());
        self.uncached.clear();
        let stem = &mut self.uncached;
        self.stemmer.token_stream(word).process(&mut |token| stem.push_str(&token.text));
        if stem.is_empty() {
            stem.push_str(word);
        }
    }
}

fn holding(key: u128, stem: &str) -> Slot {
    assert!(!stem.is_empty(), "no length marks an empty slot");
    let mut slot = [0; size_of::<Slot>()];
    slot[..STEM].copy_from_slice(&key.to_le_bytes());
    slot[STEM..][..stem.len()].copy_from_slice(stem.as_bytes());
    slot[STEM_LEN] = stem.len() as u8;
    slot
}

fn stem_in(slot: &Slot) -> &str {
    let stem = &slot[STEM..][..usize::from(slot[STEM_LEN])];
    std::str::from_utf8(stem).expect("a stem is a str")
}

fn padded(word: &[u8]) -> u128 {
    assert!(word.len() <= CACHED_BYTES_MAX, "longer words have no slot");
    let mut bytes = [0; CACHED_BYTES_MAX];
    bytes[..word.len()].copy_from_slice(word);
    u128::from_le_bytes(bytes)
}

fn slot_of(key: u128) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let low = (key as u64).wrapping_mul(MIX);
    let high = ((key >> 64) as u64).wrapping_add(low.rotate_left(29));
    (high.wrapping_mul(MIX) >> (64 - SLOTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_alike_with_and_without_the_cache() {
        let mut stems = StemCache::new();
        for _ in 0..2 {
            for (word, expected) in [
                ("running", "run"),
                ("relational", "relat"),
                ("hoping", "hope"),
                ("a", "a"),
                ("internationalizations", "internation"),
            ] {
                assert_eq!(stems.stem(word), expected);
            }
        }
    }
}
