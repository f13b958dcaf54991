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

/// `word` and `stem` are zero-padded; `stem_len` 0 marks an empty slot.
#[derive(Clone, Copy, Default)]
struct Slot {
    word: u128,
    stem: [u8; CACHED_BYTES_MAX],
    stem_len: u8,
}

impl StemCache {
    pub(crate) fn new() -> Self {
        StemCache {
            slots: vec![Slot::default(); SLOTS],
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
        if self.slots[slot].word != key || self.slots[slot].stem_len == 0 {
            self.stem_uncached(word);
            if self.uncached.len() > CACHED_BYTES_MAX {
                return &self.uncached;
            }
            self.slots[slot] = Slot::holding(key, &self.uncached);
        }
        self.slots[slot].stem()
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

impl Slot {
    fn holding(key: u128, stem: &str) -> Slot {
        assert!(
            (1..=CACHED_BYTES_MAX).contains(&stem.len()),
            "a stem in a slot fits, and no length marks an empty one"
        );
        let mut slot = Slot::default();
        slot.stem[..stem.len()].copy_from_slice(stem.as_bytes());
        slot.word = key;
        slot.stem_len = stem.len() as u8;
        slot
    }

    fn stem(&self) -> &str {
        std::str::from_utf8(&self.stem[..usize::from(self.stem_len)]).expect("a stem is a str")
    }
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
