//! The records that a principal may know, as bits, so that the statistics of its searches are of
//! those alone: what it is not cleared for moves no hit.

use kapsa_capsule::SegmentMeta;
use kapsa_index::{Scope, Sequences};

use super::store::Store;
use crate::error::Result;
use crate::tables::access_table::Allowed;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

const WORD_BITS: usize = u64::BITS as usize;

/// The records that one principal may know, of a whole store.
#[derive(Debug)]
pub(crate) struct Known {
    /// Segments and the tail, ascending.
    parts: Vec<Part>,
}

/// Those of consecutive records.
#[derive(Debug)]
struct Part {
    first_sequence: u64,
    records: u64,
    /// How many known ones come before.
    before: u64,
    /// A bit for each record; none where all are known.
    bits: Option<Vec<u64>>,
}

impl Known {
    /// Reads who may know what. A segment that does not say was written before there were levels:
    /// its records are everybody's. What the capsule writes about itself is the owner's.
    pub(super) fn of<'a>(
        store: &Store,
        allowed: impl Fn(usize) -> Result<Option<&'a Allowed>>,
        may_know_tail: impl Fn(usize) -> Result<bool>,
    ) -> Result<Known> {
        let system = match store.is_plain()? {
            true => Sequences::new(Vec::new()),
            false => store.sequences(&Lineage::all(), Class::System)?,
        };
        let mut known = Known { parts: Vec::new() };
        for (index, meta) in store.snapshot().segments().iter().enumerate() {
            let records = meta.next_sequence - meta.first_sequence;
            let bits = match (allowed(index)?, store.tables().access_table(index)?) {
                (Some(allowed), Some(table)) if allowed.records < records => {
                    Some(table.bits_of(allowed, records as usize)?)
                }
                _ => None,
            };
            known.add(meta.first_sequence, records, without(bits, meta, &system));
        }
        let tail = store.tail()?;
        let mut bits = vec![0; tail.bodies.len().div_ceil(WORD_BITS)];
        for at in 0..tail.bodies.len() {
            bits[at / WORD_BITS] |= u64::from(may_know_tail(at)?) << (at % WORD_BITS);
        }
        known.add(tail.first_sequence, tail.bodies.len() as u64, Some(bits));
        Ok(known)
    }

    fn add(&mut self, first_sequence: u64, records: u64, bits: Option<Vec<u64>>) {
        let before = self.parts.last().map_or(0, |last| last.before + last.count(last.records));
        self.parts.push(Part { first_sequence, records, before, bits });
    }

    /// The known record that has so many before it.
    pub(super) fn at(&self, place: u64) -> Option<u64> {
        let part = self.parts.partition_point(|part| part.before <= place).checked_sub(1)?;
        self.parts[part].at(place - self.parts[part].before)
    }

    /// The part that a record is in, or that ends before it.
    fn part(&self, sequence: u64) -> Option<&Part> {
        let at = self.parts.partition_point(|part| part.first_sequence <= sequence);
        at.checked_sub(1).map(|at| &self.parts[at])
    }
}

/// The bits of a segment without those of some sequences.
fn without(bits: Option<Vec<u64>>, meta: &SegmentMeta, dropped: &Sequences) -> Option<Vec<u64>> {
    let span = meta.first_sequence..meta.next_sequence;
    let mut dropped = dropped.within(span.clone()).flatten().peekable();
    if dropped.peek().is_none() {
        return bits;
    }
    let words = (span.end - span.start).div_ceil(u64::from(u64::BITS)) as usize;
    let mut bits = bits.unwrap_or_else(|| vec![u64::MAX; words]);
    for sequence in dropped {
        let at = (sequence - span.start) as usize;
        bits[at / WORD_BITS] &= !(1 << (at % WORD_BITS));
    }
    Some(bits)
}

impl Part {
    /// How many of its first `records` are known.
    fn count(&self, records: u64) -> u64 {
        let Some(bits) = &self.bits else { return records };
        let (whole, rest) = (records as usize / WORD_BITS, records as usize % WORD_BITS);
        let ones = |word: &u64| u64::from(word.count_ones());
        let begun = bits.get(whole).map_or(0, |word| ones(&(word & ((1 << rest) - 1))));
        bits[..whole].iter().map(ones).sum::<u64>() + begun
    }
}

impl Part {
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

impl Scope for Known {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_over_parts() {
        let mut known = Known { parts: Vec::new() };
        known.add(1, 70, Some(vec![0b101, 1 << 2]));
        known.add(71, 10, None);
        known.add(81, 3, Some(vec![0b100]));
        let counting: Vec<u64> = (0..90).filter(|&sequence| known.counts(sequence)).collect();
        let expected: Vec<u64> = [1, 3, 67].into_iter().chain(71..81).chain([83]).collect();
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
