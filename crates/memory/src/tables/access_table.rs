//! Who may know which records of a segment: a table in every segment, so that asking costs a look
//! into a list, whoever asks.
//!
//! Records that the same terms stand for (`access::terms_of`) are a *group*. `access  `: number of
//! groups, bytes of a group's number (0 when there is one group, else 1, 2 or 4), number of terms
//! (4 bytes each), then for each group how many records it has, its first term and how many
//! terms (4 bytes each), then the terms (16 bytes each), then for each record the number of its
//! group. A segment without the section was written before there were levels: its records must be
//! read to know.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::records::access::Term;
use crate::tables::keys::TableBytes;

const HEAD_BYTES: usize = 12;
const GROUP_BYTES: usize = 12;
const TERM_BYTES: usize = 16;
const WORD_BITS: usize = u64::BITS as usize;

/// Groups of a segment under construction.
#[derive(Debug, Default)]
pub(crate) struct AccessGroups {
    numbers: HashMap<Vec<Term>, u32>,
    groups: Vec<(u32, Vec<Term>)>,
    /// Group of each record.
    records: Vec<u32>,
}

impl AccessGroups {
    /// Adds the next record.
    pub(crate) fn add(&mut self, terms: &[Term]) {
        let group = self.group(terms);
        self.records.push(group);
        self.groups[group as usize].0 += 1;
    }

    fn group(&mut self, terms: &[Term]) -> u32 {
        if let Some(&number) = self.numbers.get(terms) {
            return number;
        }
        let number = self.groups.len() as u32;
        self.groups.push((0, terms.to_vec()));
        self.numbers.insert(terms.to_vec(), number);
        number
    }

    /// The table.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let width = width_of(self.groups.len());
        let terms = self.groups.iter().map(|(_, terms)| terms.len() as u32).sum();
        let mut out =
            [self.groups.len() as u32, width as u32, terms].map(u32::to_le_bytes).concat();
        let mut first = 0;
        for (count, terms) in &self.groups {
            out.extend([*count, first, terms.len() as u32].map(u32::to_le_bytes).concat());
            first += terms.len() as u32;
        }
        self.groups
            .iter()
            .flat_map(|(_, terms)| terms)
            .for_each(|term| out.extend_from_slice(term));
        self.records.iter().for_each(|group| out.extend_from_slice(&group.to_le_bytes()[..width]));
        out
    }
}

fn width_of(groups: usize) -> usize {
    match groups {
        0 | 1 => 0,
        2..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

/// The groups of one segment.
#[derive(Clone, Debug)]
pub(crate) struct AccessTable<B = kapsa_capsule::Section> {
    bytes: B,
    groups: usize,
    width: usize,
    /// Where the numbers of the groups begin.
    numbers: usize,
}

impl<B: TableBytes> AccessTable<B> {
    /// The table of a segment that begins with the record `first_sequence` and holds so many.
    pub(crate) fn new(bytes: B, first_sequence: u64, records: u64) -> Result<AccessTable<B>> {
        let damaged = || Error::DamagedRecord {
            sequence: first_sequence,
            reason: "its segment's table of levels is damaged",
        };
        if bytes.len() < HEAD_BYTES {
            return Err(damaged());
        }
        let head = bytes.read(0..HEAD_BYTES)?;
        let [groups, width, terms] = [0, 4, 8].map(|at| u64::from(u32_at(head, at)));
        let numbers = HEAD_BYTES as u64 + groups * GROUP_BYTES as u64 + terms * TERM_BYTES as u64;
        let end = records.checked_mul(width).and_then(|len| numbers.checked_add(len));
        let (groups, width) = (groups as usize, width as usize);
        if end != Some(bytes.len() as u64)
            || width != width_of(groups)
            || records > 0 && groups == 0
        {
            return Err(damaged());
        }
        Ok(AccessTable { bytes, groups, width, numbers: numbers as usize })
    }

    /// How many records a group has, and its terms.
    fn group(&self, group: usize) -> Result<(u32, Vec<Term>)> {
        let at = HEAD_BYTES + group * GROUP_BYTES;
        let entry = self.bytes.read(at..at + GROUP_BYTES)?;
        let (count, first, terms) =
            (u32_at(entry, 0), u32_at(entry, 4) as usize, u32_at(entry, 8) as usize);
        let start = HEAD_BYTES + self.groups * GROUP_BYTES;
        let all = (self.numbers - start) / TERM_BYTES;
        let first = first.min(all);
        let range =
            start + first * TERM_BYTES..start + (first + terms.min(all - first)) * TERM_BYTES;
        let terms = self.bytes.read(range)?.chunks_exact(TERM_BYTES);
        Ok((count, terms.map(|term| term.try_into().expect("sixteen bytes")).collect()))
    }

    /// The group of the record at a place. A number that no group has is taken for that of nobody's
    /// records.
    pub(crate) fn group_of(&self, place: usize) -> Result<usize> {
        let at = self.numbers + place * self.width;
        let mut number = [0; 4];
        number[..self.width].copy_from_slice(self.bytes.read(at..at + self.width)?);
        Ok(u32::from_le_bytes(number) as usize)
    }

    /// Which groups have one of `known`, which is sorted.
    pub(crate) fn allowed(&self, known: &[Term]) -> Result<Allowed> {
        let mut allowed = Allowed { groups: Vec::with_capacity(self.groups), records: 0 };
        for group in 0..self.groups {
            let (count, terms) = self.group(group)?;
            let is_known = terms.iter().any(|term| known.binary_search(term).is_ok());
            allowed.groups.push(is_known);
            allowed.records += if is_known { u64::from(count) } else { 0 };
        }
        Ok(allowed)
    }

    /// A bit for each of the first `records`: whether its group is allowed.
    pub(crate) fn bits_of(&self, allowed: &Allowed, records: usize) -> Result<Vec<u64>> {
        let mut bits = vec![0u64; records.div_ceil(WORD_BITS)];
        let is_allowed = |group: usize| allowed.groups.get(group).copied().unwrap_or(false);
        if self.width == 0 {
            debug_assert!(!is_allowed(0), "whoever may know all needs no bits");
            return Ok(bits);
        }
        let of_byte: [u64; 256] = std::array::from_fn(|group| u64::from(is_allowed(group)));
        let of_each = |number: &[u8]| match number {
            [byte] => of_byte[usize::from(*byte)],
            wider => {
                let mut bytes = [0; 4];
                bytes[..wider.len()].copy_from_slice(wider);
                u64::from(is_allowed(u32::from_le_bytes(bytes) as usize))
            }
        };
        let numbers = self.bytes.read(self.numbers..self.numbers + records * self.width)?;
        for (word, numbers) in bits.iter_mut().zip(numbers.chunks(WORD_BITS * self.width)) {
            let each = numbers.chunks_exact(self.width).map(of_each);
            *word = each.enumerate().fold(0, |word, (bit, is)| word | is << bit);
        }
        Ok(bits)
    }

    /// Adds all records to those of a longer segment.
    pub(crate) fn add_to(&self, all: &mut AccessGroups, records: usize) -> Result<()> {
        let numbers: Result<Vec<u32>> =
            (0..self.groups).map(|group| Ok(all.group(&self.group(group)?.1))).collect();
        let numbers = numbers?;
        let nobody = all.group(&[]);
        for place in 0..records {
            let group = numbers.get(self.group_of(place)?).copied().unwrap_or(nobody);
            all.records.push(group);
            all.groups[group as usize].0 += 1;
        }
        Ok(())
    }
}

/// What somebody may know of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Whether each group is among it.
    pub(crate) groups: Vec<bool>,
    /// How many records that are.
    pub(crate) records: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(n: usize) -> Term {
        let mut term = [0; 16];
        term[..8].copy_from_slice(&(n as u64).to_le_bytes());
        term
    }

    /// Terms of the record at a place: none, one of `kinds`, or two.
    fn terms(place: usize, kinds: usize) -> Vec<Term> {
        match place % kinds {
            0 if kinds > 1 => Vec::new(),
            1 => vec![term(1), term(2)],
            kind => vec![term(kind)],
        }
    }

    fn table(places: std::ops::Range<usize>, kinds: usize) -> AccessTable<Vec<u8>> {
        let mut groups = AccessGroups::default();
        places.clone().for_each(|place| groups.add(&terms(place, kinds)));
        AccessTable::new(groups.encode(), 1, places.len() as u64).expect("whole")
    }

    #[test]
    fn a_table_tells_what_a_list_of_terms_tells() {
        for (records, kinds) in [(0, 1), (3, 1), (10, 4), (300, 300), (70_000, 66_000)] {
            let table = table(0..records, kinds);
            for known in [
                vec![],
                vec![term(0)],
                vec![term(2)],
                vec![term(1), term(3)],
                vec![term(kinds - 1)],
            ] {
                let mut known = known;
                known.sort_unstable();
                let allowed = table.allowed(&known).expect("whole");
                let mut count = 0;
                for place in 0..records {
                    let want = terms(place, kinds).iter().any(|term| known.contains(term));
                    assert_eq!(
                        allowed.groups[table.group_of(place).expect("whole")],
                        want,
                        "{records} {kinds} {place}"
                    );
                    count += u64::from(want);
                }
                assert_eq!(allowed.records, count);
            }
        }
    }

    #[test]
    fn tables_are_put_together() {
        let mut both = AccessGroups::default();
        table(0..7, 3).add_to(&mut both, 7).expect("whole");
        table(7..20, 5).add_to(&mut both, 13).expect("whole");
        let both = AccessTable::new(both.encode(), 1, 20).expect("whole");
        let allowed = both.allowed(&[term(2)]).expect("whole");
        for place in 0..20 {
            let want = terms(place, if place < 7 { 3 } else { 5 }).contains(&term(2));
            assert_eq!(allowed.groups[both.group_of(place).expect("whole")], want, "{place}");
        }
    }

    #[test]
    fn damaged_tables_are_refused_or_tell_nothing() {
        let whole = {
            let mut groups = AccessGroups::default();
            (0..10).for_each(|place| groups.add(&terms(place, 4)));
            groups.encode()
        };
        for cut in 0..whole.len() {
            assert!(AccessTable::new(whole[..cut].to_vec(), 1, 10).is_err(), "{cut}");
        }
        assert!(AccessTable::new(whole.clone(), 1, u64::MAX).is_err());
        for at in 0..whole.len() {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 0xff;
            let Ok(table) = AccessTable::new(spoilt, 1, 10) else { continue };
            let allowed = table.allowed(&[term(2)]).expect("read");
            assert_eq!(allowed.groups.len(), table.groups);
            assert!((0..10).all(|place| table.group_of(place).is_ok()));
        }
    }
}
