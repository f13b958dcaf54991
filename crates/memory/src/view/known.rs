//! The records that a principal may know, as bits, so that the statistics of its searches are of
//! those alone: what it is not cleared for moves no hit.

use std::ops::Range;

use kapsa_index::{Scope, Sequences};

const WORD_BITS: usize = u64::BITS as usize;

/// The records that one principal may know, of a whole store.
#[derive(Debug, Default)]
pub(crate) struct KnownRecords {
    /// Segments and the tail, ascending.
    parts: Vec<KnownPart>,
}

/// Those of consecutive records.
#[derive(Debug)]
struct KnownPart {
    first_sequence: u64,
    records: u64,
    /// How many known ones come before.
    before: u64,
    /// A bit for each record; none where all are known.
    bits: Option<Vec<u64>>,
}

impl KnownRecords {
    /// Adds the records that follow: a bit for each that is known, or all of them, but for some
    /// sequences.
    pub(super) fn add_without(
        &mut self,
        sequences: Range<u64>,
        bits: Option<Vec<u64>>,
        dropped: &Sequences,
    ) {
        let records = sequences.end - sequences.start;
        let mut bits = bits;
        for sequence in dropped.within(sequences.clone()).flatten() {
            let words = records.div_ceil(u64::from(u64::BITS)) as usize;
            let bits = bits.get_or_insert_with(|| vec![u64::MAX; words]);
            let at = (sequence - sequences.start) as usize;
            bits[at / WORD_BITS] &= !(1 << (at % WORD_BITS));
        }
        self.add(sequences.start, records, bits);
    }

    /// Adds the last records, each known or not.
    pub(super) fn add_each(&mut self, first_sequence: u64, known: impl Iterator<Item = bool>) {
        let (mut bits, mut records) = (Vec::new(), 0);
        for is_known in known {
            if records % WORD_BITS == 0 {
                bits.push(0);
            }
            bits[records / WORD_BITS] |= u64::from(is_known) << (records % WORD_BITS);
            records += 1;
        }
        self.add(first_sequence, records as u64, Some(bits));
    }

    fn add(&mut self, first_sequence: u64, records: u64, bits: Option<Vec<u64>>) {
        let before = self.parts.last().map_or(0, |last| last.before + last.count(last.records));
        self.parts.push(KnownPart { first_sequence, records, before, bits });
    }

    /// As what the index counts by.
    pub(crate) fn as_scope(&self) -> &dyn Scope {
        self
    }

    /// The known record that has so many before it.
    pub(super) fn at(&self, place: u64) -> Option<u64> {
        let part = self.parts.partition_point(|part| part.before <= place).checked_sub(1)?;
        self.parts[part].at(place - self.parts[part].before)
    }

    /// The part that a record is in, or that ends before it.
    fn part(&self, sequence: u64) -> Option<&KnownPart> {
        let at = self.parts.partition_point(|part| part.first_sequence <= sequence);
        at.checked_sub(1).map(|at| &self.parts[at])
    }
}

impl KnownPart {
    /// How many of its first `records` are known.
    fn count(&self, records: u64) -> u64 {
        let Some(bits) = &self.bits else { return records };
        let (whole, rest) = (records as usize / WORD_BITS, records as usize % WORD_BITS);
        let ones = |word: &u64| u64::from(word.count_ones());
        let begun = bits.get(whole).map_or(0, |word| ones(&(word & ((1 << rest) - 1))));
        bits[..whole].iter().map(ones).sum::<u64>() + begun
    }

    /// The known record that has so many before it in the part.
    fn at(&self, place: u64) -> Option<u64> {
        let Some(bits) = &self.bits else {
            return (place < self.records).then(|| self.first_sequence + place);
        };
        let mut left = place;
        for (word, first) in bits.iter().zip((0..).step_by(WORD_BITS)) {
            let ones = u64::from(word.count_ones());
            if left < ones {
                let mut rest = *word;
                (0..left).for_each(|_| rest &= rest - 1);
                return Some(self.first_sequence + first + u64::from(rest.trailing_zeros()));
            }
            left -= ones;
        }
        None
    }
}

impl Scope for KnownRecords {
    fn counts(&self, sequence: u64) -> bool {
        let Some(part) = self.part(sequence) else { return false };
        let at = sequence - part.first_sequence;
        let is_set =
            |bits: &Vec<u64>| bits[at as usize / WORD_BITS] >> (at % u64::from(u64::BITS)) & 1 == 1;
        at < part.records && part.bits.as_ref().is_none_or(is_set)
    }

    fn before(&self, sequence: u64) -> u64 {
        let Some(part) = self.part(sequence) else { return 0 };
        part.before + part.count((sequence - part.first_sequence).min(part.records))
    }
}

/// Where a record stands among those that somebody may know, all if `known` is none: hidden ones
/// take no place.
pub(crate) fn place(known: Option<&KnownRecords>, sequence: u64) -> u64 {
    known.map_or(sequence, |known| known.before(sequence))
}

/// The records at most `count` places before a record, and those after it.
pub(crate) fn beside(known: Option<&KnownRecords>, sequence: u64, count: u64) -> Vec<u64> {
    let place = place(known, sequence);
    let places = place.saturating_sub(count)..=place + count;
    match known {
        None => places.filter(|&sequence| sequence > 0).collect(),
        Some(known) => places.filter_map(|place| known.at(place)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_over_parts() {
        let mut known = KnownRecords::default();
        let system = Sequences::new(vec![4..7, 75..76]);
        known.add_without(1..71, Some(vec![0b1000101, 1 << 2]), &system);
        known.add_without(71..81, None, &system);
        known.add_each(81, [false, false, true].into_iter());
        let counting: Vec<u64> = (0..90).filter(|&sequence| known.counts(sequence)).collect();
        let expected: Vec<u64> =
            [1, 3, 7, 67].into_iter().chain(71..75).chain(76..81).chain([83]).collect();
        assert_eq!(counting, expected);
        for (place, &sequence) in expected.iter().enumerate() {
            assert_eq!(known.at(place as u64), Some(sequence), "at {place}");
        }
        assert_eq!(known.at(expected.len() as u64), None);
        for sequence in (0..90).chain([u64::MAX]) {
            let before = expected.iter().filter(|&&known| known < sequence).count() as u64;
            assert_eq!(known.before(sequence), before, "before {sequence}");
        }
    }
}
