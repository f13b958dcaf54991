//! A few vectors in few bytes: what is attached to the records of a small commit. Says neither of
//! which model they are nor which records it covers.

use super::block::{Entry, VectorsBuilder, padded};
use crate::error::{Error, Result};

/// Bytes of a packed entry: record after the first (2), begin and end of the passage (2 each),
/// hash of its text (8), factor (4); the planes follow.
const ENTRY_BYTES: usize = 18;

impl VectorsBuilder {
    /// The vectors, all of records from `first` on, in the fewest bytes; none when a record or a
    /// passage lies too far off for that: beyond 65,535.
    #[must_use]
    pub fn pack(&self, first: u64) -> Option<Vec<u8>> {
        let row = padded(self.dimension) / 2;
        let mut out = Vec::with_capacity(self.entries.len() * (ENTRY_BYTES + 2 * row));
        for (index, entry) in self.entries.iter().enumerate() {
            let offset = entry.seq.checked_sub(first).and_then(|n| u16::try_from(n).ok())?;
            let passage = [entry.passage.start, entry.passage.end];
            out.extend_from_slice(&offset.to_le_bytes());
            for end in passage {
                out.extend_from_slice(&u16::try_from(end).ok()?.to_le_bytes());
            }
            out.extend_from_slice(&entry.hash.to_le_bytes());
            out.extend_from_slice(&self.factors[index].to_le_bytes());
            out.extend_from_slice(&self.upper[index * row..(index + 1) * row]);
            out.extend_from_slice(&self.lower[index * row..(index + 1) * row]);
        }
        debug_assert_eq!(
            out.len(),
            self.entries.len() * (ENTRY_BYTES + 2 * row),
            "each vector takes the same bytes"
        );
        Some(out)
    }

    /// Adds the vectors that [`VectorsBuilder::pack`] wrote for records from `first` on.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn append_packed(&mut self, first: u64, packed: &[u8]) -> Result<()> {
        let row = padded(self.dimension) / 2;
        let items = packed.chunks_exact(ENTRY_BYTES + 2 * row);
        if !items.remainder().is_empty() {
            return Err(Error::Damaged("attached vectors: a length that does not fit".into()));
        }
        for item in items {
            let short = |at: usize| u16::from_le_bytes([item[at], item[at + 1]]);
            let seq = first + u64::from(short(0));
            let hash = u64::from_le_bytes(item[6..14].try_into().expect("8 bytes"));
            let factor = f32::from_le_bytes(item[14..18].try_into().expect("4 bytes"));
            let passage = u32::from(short(2))..u32::from(short(4));
            self.entries.push(Entry { seq, passage, hash });
            self.factors.push(factor);
            self.upper.extend_from_slice(&item[ENTRY_BYTES..ENTRY_BYTES + row]);
            self.lower.extend_from_slice(&item[ENTRY_BYTES + row..]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Vectors;
    use super::*;

    fn builder() -> VectorsBuilder {
        VectorsBuilder::new(b"model", 70, 3)
    }

    fn entry(seq: u64, passage: std::ops::Range<u32>) -> Entry {
        Entry { seq, passage, hash: seq * 11 }
    }

    fn vector(seed: f32) -> Vec<f32> {
        (0..70).map(|i| (i as f32 * seed).sin()).collect()
    }

    #[test]
    fn packed_vectors_are_the_same_as_those_that_were_not() {
        let mut original = builder();
        original.add(entry(900, 0..10), &vector(0.3));
        original.add(entry(900, 10..65_535), &vector(0.7));
        original.add(entry(903, 0..5), &vector(1.1));
        let packed = original.pack(900).expect("near");
        let mut copy = builder();
        copy.append_packed(900, &packed).expect("whole");
        original.cover(900..904);
        copy.cover(900..904);
        let (original, copy) = (original.finish(), copy.finish());
        assert_eq!(original, copy);
        assert_eq!(Vectors::open(copy.into()).expect("opens").len(), 3);
        for cut in [1, 17, packed.len() - 1] {
            assert!(builder().append_packed(900, &packed[..cut]).is_err(), "{cut} bytes");
        }
    }

    #[test]
    fn what_lies_too_far_off_is_not_packed() {
        for far in [entry(899, 0..1), entry(900 + 65_536, 0..1), entry(900, 0..65_536)] {
            let mut one = builder();
            one.add(far.clone(), &vector(0.3));
            assert!(one.pack(900).is_none(), "{far:?}");
        }
    }
}
