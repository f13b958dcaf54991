//! Which records carry which URI, and which are no longer the newest? Two small tables in every segment.
//!
//! `uris    `: the hashes of the segment's URIs, ascending (8 bytes each), then for each the record's place in the
//! segment (4 bytes each). `replaced`: pairs of sequences (8 bytes each), ascending: a record that is not the newest
//! revision any more, and the revision that took its place; a tombstone or an erased record is its own replacement.

use bytes::Bytes;

/// One URI of a segment under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) hash: u64,
    pub(crate) place: u32,
}

/// A revision and what took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Replacement {
    pub(crate) old: u64,
    pub(crate) new: u64,
}

pub(crate) fn encode_keys(mut keys: Vec<Key>) -> Vec<u8> {
    keys.sort_unstable();
    let hashes = keys.iter().flat_map(|k| k.hash.to_le_bytes());
    let places = keys.iter().flat_map(|k| k.place.to_le_bytes());
    hashes.chain(places).collect()
}

pub(crate) fn encode_replacements(mut pairs: Vec<Replacement>) -> Vec<u8> {
    pairs.sort_unstable();
    pairs.iter().flat_map(|p| [p.old.to_le_bytes(), p.new.to_le_bytes()]).flatten().collect()
}

/// The URI table of one segment.
#[derive(Clone, Debug)]
pub(crate) struct KeyTable {
    bytes: Bytes,
    count: usize,
}

impl KeyTable {
    pub(crate) fn new(bytes: Bytes) -> KeyTable {
        let count = bytes.len() / 12;
        KeyTable { bytes, count }
    }

    fn hash(&self, index: usize) -> u64 {
        u64_at(&self.bytes, index * 8)
    }

    fn place(&self, index: usize) -> u32 {
        let at = self.count * 8 + index * 4;
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// Places of the records whose URI has this hash, ascending.
    pub(crate) fn find(&self, hash: u64) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let start = self.lower_bound(hash);
        let mut end = start;
        while end < self.count && self.hash(end) == hash {
            end += 1;
        }
        (start..end).map(|index| self.place(index))
    }

    /// First index whose hash is not below `hash`. Hashes are spread evenly, so two guesses come close; from there the
    /// steps grow until the place lies between two of them, which makes any spread of hashes right.
    fn lower_bound(&self, hash: u64) -> usize {
        if self.count == 0 {
            return 0;
        }
        let first = scaled(hash, self.count);
        let found = self.hash(first);
        let guess = if found < hash {
            (first + scaled(hash - found, self.count)).min(self.count - 1)
        } else {
            first - scaled(found - hash, self.count).min(first)
        };
        let (mut low, mut high) = self.bracket(hash, guess);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.hash(middle) < hash {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// A range around `guess` that ends where the place is: all before it are below `hash`, all from its end on are not.
    fn bracket(&self, hash: u64, guess: usize) -> (usize, usize) {
        let mut step = FIRST_STEP;
        if self.hash(guess) < hash {
            let mut low = guess + 1;
            while low + step < self.count && self.hash(low + step) < hash {
                low += step + 1;
                step *= STEP_GROWTH;
            }
            return (low, (low + step).min(self.count));
        }
        let mut high = guess;
        while high > step && self.hash(high - step) >= hash {
            high -= step;
            step *= STEP_GROWTH;
        }
        (high.saturating_sub(step), high)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        (0..self.count).map(|index| Key { hash: self.hash(index), place: self.place(index) })
    }
}

/// First step from a guess, and by how much each is longer than the one before.
const FIRST_STEP: usize = 4;
const STEP_GROWTH: usize = 4;

/// How many of `count` evenly spread hashes lie in a span of `width`.
fn scaled(width: u64, count: usize) -> usize {
    ((u128::from(width) * count as u128) >> 64) as usize
}

/// The replacements of one segment.
#[derive(Clone, Debug)]
pub(crate) struct ReplacedTable(Bytes);

impl ReplacedTable {
    pub(crate) fn new(bytes: Bytes) -> ReplacedTable {
        ReplacedTable(bytes)
    }

    /// What took the place of `old`, if it is listed here.
    pub(crate) fn replacement(&self, old: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.0.len() / 16);
        let end = high;
        while low < high {
            let middle = usize::midpoint(low, high);
            if u64_at(&self.0, middle * 16) < old {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < end && u64_at(&self.0, low * 16) == old).then(|| u64_at(&self.0, low * 16 + 8))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() < 16
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = Replacement> + '_ {
        self.0.chunks_exact(16).map(|pair| Replacement { old: u64_at(pair, 0), new: u64_at(pair, 8) })
    }
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_in_tables_of_any_size_and_shape() {
        for count in [0u64, 1, 2, 7, 63, 64, 65, 200, 5000] {
            for shape in 0..4 {
                let hash = |i: u64| match shape {
                    0 => i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                    1 => i,
                    2 => u64::MAX - i,
                    _ => (i / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                };
                let keys: Vec<Key> = (0..count).map(|i| Key { hash: hash(i), place: i as u32 }).collect();
                let table = KeyTable::new(encode_keys(keys.clone()).into());
                for key in &keys {
                    assert!(table.find(key.hash).any(|place| place == key.place), "{count} {shape} {key:?}");
                }
                assert_eq!(
                    table.find(hash(count) ^ 0x5555).count(),
                    keys.iter().filter(|k| k.hash == hash(count) ^ 0x5555).count()
                );
                assert_eq!(table.keys().count(), keys.len());
            }
        }
    }

    #[test]
    fn replacements_are_found_by_the_old_sequence() {
        let pairs = (1..500).map(|i| Replacement { old: i * 3, new: i * 3 + 1 }).collect();
        let table = ReplacedTable::new(encode_replacements(pairs).into());
        assert_eq!((table.replacement(3), table.replacement(4), table.replacement(1497)), (Some(4), None, Some(1498)));
        assert_eq!((table.replacement(0), table.replacement(u64::MAX)), (None, None));
        assert!(ReplacedTable::new(Bytes::new()).is_empty());
    }
}
