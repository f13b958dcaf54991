//! Which records carry which URI, and which are no longer the newest: two small tables in every
//! segment.
//!
//! `uris    `: the hashes of the segment's URIs, ascending (8 bytes each), then for each the
//! record's place in the segment (4 bytes each). `replaced`: pairs of sequences (8 bytes each),
//! ascending: a record that is not the newest revision any more, and the revision that took its
//! place. It may have been replaced once on each branch that saw it; a view heeds the replacements
//! that it sees. A tombstone, an alias, a purged or an erased record is its own replacement.

use std::ops::Range;

use kapsa_capsule::Section;

use crate::error::Result;

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

/// Bytes of a table, each part checked before it is read.
pub(crate) trait TableBytes {
    fn len(&self) -> usize;

    fn read(&self, range: Range<usize>) -> Result<&[u8]>;
}

impl TableBytes for Section {
    fn len(&self) -> usize {
        Section::len(self)
    }

    fn read(&self, range: Range<usize>) -> Result<&[u8]> {
        Ok(Section::read(self, range)?)
    }
}

/// The URI table of one segment.
#[derive(Clone, Debug)]
pub(crate) struct KeyTable<B = Section> {
    bytes: B,
    count: usize,
}

impl<B: TableBytes> KeyTable<B> {
    pub(crate) fn new(bytes: B) -> KeyTable<B> {
        let count = bytes.len() / KEY_BYTES;
        KeyTable { bytes, count }
    }

    /// How many records it has.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    fn hash(&self, index: usize) -> Result<u64> {
        Ok(u64_at(self.bytes.read(index * 8..index * 8 + 8)?, 0))
    }

    fn place(&self, index: usize) -> Result<u32> {
        let at = self.count * 8 + index * 4;
        Ok(u32::from_le_bytes(self.bytes.read(at..at + 4)?.try_into().expect("four bytes")))
    }

    /// Places of the records whose URI has this hash, ascending.
    pub(crate) fn find(&self, hash: u64) -> Result<Vec<u32>> {
        let mut places = Vec::new();
        let mut index = self.lower_bound(hash)?;
        while index < self.count && self.hash(index)? == hash {
            places.push(self.place(index)?);
            index += 1;
        }
        Ok(places)
    }

    /// First index whose hash is not below `hash`. Hashes are spread evenly, so two guesses come
    /// close; from there the steps grow until the place lies between two of them, which makes
    /// any spread of hashes right.
    fn lower_bound(&self, hash: u64) -> Result<usize> {
        if self.count == 0 {
            return Ok(0);
        }
        let first = scaled(hash, self.count);
        let found = self.hash(first)?;
        let guess = if found < hash {
            (first + scaled(hash - found, self.count)).min(self.count - 1)
        } else {
            first - scaled(found - hash, self.count).min(first)
        };
        let (mut low, mut high) = self.bracket(hash, guess)?;
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.hash(middle)? < hash {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// A range around `guess` that ends where the place is: all before it are below `hash`, all
    /// from its end on are not.
    fn bracket(&self, hash: u64, guess: usize) -> Result<(usize, usize)> {
        let mut step = FIRST_STEP;
        if self.hash(guess)? < hash {
            let mut low = guess + 1;
            while low + step < self.count && self.hash(low + step)? < hash {
                low += step + 1;
                step *= STEP_GROWTH;
            }
            return Ok((low, (low + step).min(self.count)));
        }
        let mut high = guess;
        while high > step && self.hash(high - step)? >= hash {
            high -= step;
            step *= STEP_GROWTH;
        }
        Ok((high.saturating_sub(step), high))
    }

    /// All keys, by hash.
    pub(crate) fn keys(&self) -> Result<impl Iterator<Item = Key> + '_> {
        let bytes = self.bytes.read(0..self.bytes.len())?;
        let (hashes, places) = bytes.split_at(self.count * 8);
        let place = |place: &[u8]| u32::from_le_bytes(place.try_into().expect("four bytes"));
        let keys = hashes.chunks_exact(8).zip(places.chunks_exact(4));
        Ok(keys.map(move |(hash, bytes)| Key { hash: u64_at(hash, 0), place: place(bytes) }))
    }
}

/// Bytes of one URI in the table.
const KEY_BYTES: usize = 12;
/// Bytes of one replacement.
const PAIR_BYTES: usize = 16;
/// First step from a guess, and by how much each is longer than the one before.
const FIRST_STEP: usize = 4;
const STEP_GROWTH: usize = 4;

/// How many of `count` evenly spread hashes lie in a span of `width`.
fn scaled(width: u64, count: usize) -> usize {
    ((u128::from(width) * count as u128) >> 64) as usize
}

/// The replacements of one segment.
#[derive(Clone, Debug)]
pub(crate) struct ReplacedTable<B = Section>(B);

impl<B: TableBytes> ReplacedTable<B> {
    pub(crate) fn new(bytes: B) -> ReplacedTable<B> {
        ReplacedTable(bytes)
    }

    fn pair(&self, index: usize) -> Result<Replacement> {
        Ok(decode_pair(self.0.read(index * PAIR_BYTES..(index + 1) * PAIR_BYTES)?))
    }

    /// What took the place of `old` on any branch, ascending.
    pub(crate) fn replacements(&self, old: u64) -> Result<impl Iterator<Item = Result<u64>> + '_> {
        let (mut low, mut high) = (0, self.0.len() / PAIR_BYTES);
        let end = high;
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.pair(middle)?.old < old {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let listed =
            move |pair: &Result<Replacement>| pair.as_ref().map_or(true, |pair| pair.old == old);
        Ok((low..end).map(|index| self.pair(index)).take_while(listed).map(|pair| Ok(pair?.new)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() < PAIR_BYTES
    }

    /// All of them, by the old sequence.
    pub(crate) fn pairs(&self) -> Result<impl Iterator<Item = Replacement> + '_> {
        Ok(self.0.read(0..self.0.len())?.chunks_exact(PAIR_BYTES).map(decode_pair))
    }
}

fn decode_pair(pair: &[u8]) -> Replacement {
    Replacement { old: u64_at(pair, 0), new: u64_at(pair, 8) }
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl TableBytes for Vec<u8> {
        fn len(&self) -> usize {
            Vec::len(self)
        }

        fn read(&self, range: Range<usize>) -> Result<&[u8]> {
            Ok(&self[range])
        }
    }

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
                let keys: Vec<Key> =
                    (0..count).map(|i| Key { hash: hash(i), place: i as u32 }).collect();
                let table = KeyTable::new(encode_keys(keys.clone()));
                for key in &keys {
                    assert!(
                        table.find(key.hash).expect("whole").contains(&key.place),
                        "{count} {shape} {key:?}"
                    );
                }
                assert_eq!(
                    table.find(hash(count) ^ 0x5555).expect("whole").len(),
                    keys.iter().filter(|k| k.hash == hash(count) ^ 0x5555).count()
                );
                assert_eq!(table.keys().expect("whole").count(), keys.len());
            }
        }
    }

    #[test]
    fn replacements_are_found_by_the_old_sequence() {
        let pairs = (1..500).map(|i| Replacement { old: i * 3, new: i * 3 + 1 }).collect();
        let table = ReplacedTable::new(encode_replacements(pairs));
        let replacement = |old| {
            table
                .replacements(old)
                .expect("whole")
                .map(|new| new.expect("whole"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (replacement(3), replacement(4), replacement(1497)),
            (vec![4], vec![], vec![1498])
        );
        assert_eq!((replacement(0), replacement(u64::MAX)), (vec![], vec![]));
        let several =
            [(5, 9), (5, 5), (4, 6), (5, 700), (6, 6)].map(|(old, new)| Replacement { old, new });
        let table = ReplacedTable::new(encode_replacements(several.to_vec()));
        let news: Vec<u64> =
            table.replacements(5).expect("whole").map(|new| new.expect("whole")).collect();
        assert_eq!(news, [5, 9, 700]);
        assert!(ReplacedTable::new(Vec::new()).is_empty());
    }
}
