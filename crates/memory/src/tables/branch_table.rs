//! Which records of a segment belong to which branch: a table of runs in every segment that holds
//! more than memories on `main`.
//!
//! A *branch key* is a branch's memories, or what the capsule itself wrote on the branch: twice the
//! branch's id, plus one for the latter. `lanes   `: number of branch table and of runs (4 bytes
//! each), then for each branch key, ascending, its number (8 bytes), its first run and how
//! many (4 bytes each), then the runs: first place and the place after the last (4 bytes each). A
//! segment without the section is all branch key 0.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::records::record::BranchId;
use crate::tables::keys::TableBytes;
use crate::tables::lineage::Lineage;

const HEAD_BYTES: usize = 8;
const BRANCH_KEY_BYTES: usize = 16;
const RUN_BYTES: usize = 8;

/// A branch's memories, or what the capsule wrote about itself on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BranchKey(u64);

impl BranchKey {
    pub(crate) fn new(branch: BranchId, system: bool) -> BranchKey {
        BranchKey(branch.0 * 2 + u64::from(system))
    }

    fn is_system(self) -> bool {
        self.0 % 2 == 1
    }
}

/// Which of a branch's records are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Memory,
    System,
    Both,
}

impl Class {
    fn branch_table(self, branch: BranchId) -> impl Iterator<Item = BranchKey> {
        [false, true]
            .into_iter()
            .filter(move |system| self.holds(*system))
            .map(move |system| BranchKey::new(branch, system))
    }

    pub(crate) fn holds(self, system: bool) -> bool {
        match self {
            Class::Both => true,
            Class::Memory => !system,
            Class::System => system,
        }
    }
}

/// Runs of places by branch key, of a segment under construction.
#[derive(Debug, Default)]
pub(crate) struct BranchRuns(BTreeMap<BranchKey, Vec<Range<u32>>>);

impl BranchRuns {
    /// Adds places, which must come in ascending order for each branch key.
    pub(crate) fn add(&mut self, branch_key: BranchKey, places: Range<u32>) {
        let runs = self.0.entry(branch_key).or_default();
        match runs.last_mut() {
            Some(last) if last.end == places.start => last.end = places.end,
            _ => runs.push(places),
        }
    }

    /// The table; none when all is branch key 0.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        if self.0.keys().all(|branch_key| *branch_key == BranchKey::default()) {
            return None;
        }
        let total: usize = self.0.values().map(Vec::len).sum();
        let mut out = [self.0.len() as u32, total as u32].map(u32::to_le_bytes).concat();
        let mut first = 0u32;
        for (branch_key, runs) in &self.0 {
            out.extend_from_slice(&branch_key.0.to_le_bytes());
            out.extend_from_slice(&first.to_le_bytes());
            out.extend_from_slice(&(runs.len() as u32).to_le_bytes());
            first += runs.len() as u32;
        }
        for run in self.0.values().flatten() {
            out.extend_from_slice(&run.start.to_le_bytes());
            out.extend_from_slice(&run.end.to_le_bytes());
        }
        Some(out)
    }
}

/// The branch table of one segment.
#[derive(Clone, Debug)]
pub(crate) struct BranchTable<B = kapsa_capsule::Section> {
    /// None: all is branch key 0.
    bytes: Option<B>,
    branch_table: usize,
    runs: usize,
    first_sequence: u64,
    next_sequence: u64,
}

impl<B: TableBytes> BranchTable<B> {
    pub(crate) fn new(bytes: Option<B>, sequences: Range<u64>) -> Result<BranchTable<B>> {
        let (mut branch_table, mut runs) = (0, 0);
        if let Some(bytes) = &bytes {
            let damaged = Error::DamagedRecord {
                sequence: sequences.start,
                reason: "its segment's table of branches is damaged",
            };
            if bytes.len() < HEAD_BYTES {
                return Err(damaged);
            }
            let head = bytes.read(0..HEAD_BYTES)?;
            (branch_table, runs) = (u32_at(head, 0) as usize, u32_at(head, 4) as usize);
            if bytes.len() != HEAD_BYTES + branch_table * BRANCH_KEY_BYTES + runs * RUN_BYTES {
                return Err(damaged);
            }
        }
        Ok(BranchTable {
            bytes,
            branch_table,
            runs,
            first_sequence: sequences.start,
            next_sequence: sequences.end,
        })
    }

    /// Whether all records are memories on `main`.
    pub(crate) fn is_plain(&self) -> bool {
        self.bytes.is_none()
    }

    fn branch_key(&self, index: usize) -> Result<(BranchKey, Range<usize>)> {
        let Some(bytes) = &self.bytes else { return Ok((BranchKey::default(), 0..0)) };
        let at = HEAD_BYTES + index * BRANCH_KEY_BYTES;
        let entry = bytes.read(at..at + BRANCH_KEY_BYTES)?;
        let branch_key = BranchKey(u64::from_le_bytes(entry[..8].try_into().expect("eight bytes")));
        let first = (u32_at(entry, 8) as usize).min(self.runs);
        Ok((branch_key, first..(first + u32_at(entry, 12) as usize).min(self.runs)))
    }

    /// Runs of a branch key, by number.
    fn runs_of(&self, branch_key: BranchKey) -> Result<Range<usize>> {
        let (mut low, mut high) = (0, self.branch_table);
        while low < high {
            let middle = usize::midpoint(low, high);
            let (at, runs) = self.branch_key(middle)?;
            match at.cmp(&branch_key) {
                std::cmp::Ordering::Equal => return Ok(runs),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(0..0)
    }

    fn run(&self, index: usize) -> Result<Range<u64>> {
        let Some(bytes) = &self.bytes else { return Ok(0..0) };
        let at = HEAD_BYTES + self.branch_table * BRANCH_KEY_BYTES + index * RUN_BYTES;
        let run = bytes.read(at..at + RUN_BYTES)?;
        let sequence =
            |place: u32| (self.first_sequence + u64::from(place)).min(self.next_sequence);
        Ok(sequence(u32_at(run, 0))..sequence(u32_at(run, 4)))
    }

    /// Whether the record `sequence` of this segment is within `lineage`.
    pub(crate) fn holds(&self, lineage: &Lineage, class: Class, sequence: u64) -> Result<bool> {
        if lineage.is_all() && class == Class::Both {
            return Ok(sequence < lineage.below());
        }
        if self.is_plain() {
            return Ok(class.holds(false) && lineage.hold(BranchId::MAIN, sequence));
        }
        if lineage.is_all() {
            return Ok(self.sequences(lineage, class)?.iter().any(|run| run.contains(&sequence)));
        }
        for ancestor in lineage.iter().filter(|ancestor| sequence < ancestor.below) {
            for branch_key in class.branch_table(ancestor.branch) {
                if self.key_holds(branch_key, sequence)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn key_holds(&self, branch_key: BranchKey, sequence: u64) -> Result<bool> {
        let Range { start: mut low, end: mut high } = self.runs_of(branch_key)?;
        while low < high {
            let middle = usize::midpoint(low, high);
            let run = self.run(middle)?;
            if run.contains(&sequence) {
                return Ok(true);
            }
            if run.end <= sequence {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(false)
    }

    /// Sequences of this segment that are within `lineage`, as ranges in no particular order.
    pub(crate) fn sequences(&self, lineage: &Lineage, class: Class) -> Result<Vec<Range<u64>>> {
        let mut ranges = Vec::new();
        let cut = |range: Range<u64>, below: u64| range.start..range.end.min(below);
        if self.is_plain() {
            if class.holds(false) {
                ranges.push(cut(
                    self.first_sequence..self.next_sequence,
                    lineage.below_on(BranchId::MAIN),
                ));
            }
        } else if lineage.is_all() {
            for (branch_key, runs) in self.all_branch_keys()? {
                if class.holds(branch_key.is_system()) {
                    ranges.extend(runs.into_iter().map(|run| cut(run, lineage.below())));
                }
            }
        } else {
            for ancestor in lineage.iter() {
                for branch_key in class.branch_table(ancestor.branch) {
                    for index in self.runs_of(branch_key)? {
                        ranges.push(cut(self.run(index)?, ancestor.below));
                    }
                }
            }
        }
        ranges.retain(|range| range.start < range.end);
        Ok(ranges)
    }

    /// Every branch key with its runs.
    fn all_branch_keys(&self) -> Result<Vec<(BranchKey, Vec<Range<u64>>)>> {
        if self.is_plain() {
            let whole = std::iter::once(self.first_sequence..self.next_sequence);
            return Ok(vec![(BranchKey::default(), whole.collect())]);
        }
        let runs = |index| {
            let (branch_key, runs) = self.branch_key(index)?;
            Ok((branch_key, runs.map(|run| self.run(run)).collect::<Result<_>>()?))
        };
        (0..self.branch_table).map(runs).collect()
    }

    /// Adds all branch table to those of a segment that begins at `first_sequence`.
    pub(crate) fn add_to(&self, all: &mut BranchRuns, first_sequence: u64) -> Result<()> {
        let place = |sequence: u64| (sequence - first_sequence) as u32;
        for (branch_key, runs) in self.all_branch_keys()? {
            runs.into_iter().for_each(|run| all.add(branch_key, place(run.start)..place(run.end)));
        }
        Ok(())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_tells_what_a_plain_list_of_lanes_tells() {
        let branches = [0u64, 0, 4, 4, 9, 0, 4, 9, 9, 0];
        let system = [false, true, false, false, true, false, true, false, false, false];
        let mut runs = BranchRuns::default();
        for (place, (branch, system)) in branches.into_iter().zip(system).enumerate() {
            runs.add(BranchKey::new(BranchId(branch), system), place as u32..place as u32 + 1);
        }
        let table = BranchTable::new(runs.encode(), 100..110).expect("whole");
        for lineage in [
            Lineage::main(),
            Lineage::all(),
            Lineage::all().before(105),
            Lineage::main().child(BranchId(4), 102),
            Lineage::main().child(BranchId(4), 106).child(BranchId(9), 104),
            Lineage::alone(BranchId(7)),
        ] {
            for class in [Class::Memory, Class::System, Class::Both] {
                let expected: Vec<u64> = (100..110)
                    .filter(|&s| {
                        let at = (s - 100) as usize;
                        lineage.hold(BranchId(branches[at]), s) && class.holds(system[at])
                    })
                    .collect();
                let mut listed: Vec<u64> = table
                    .sequences(&lineage, class)
                    .expect("whole")
                    .into_iter()
                    .flatten()
                    .collect();
                listed.sort_unstable();
                assert_eq!(listed, expected, "{lineage:?} {class:?}");
                let held: Vec<u64> = (100..110)
                    .filter(|&s| table.holds(&lineage, class, s).expect("whole"))
                    .collect();
                assert_eq!(held, expected, "{lineage:?} {class:?}");
            }
        }
        let mut again = BranchRuns::default();
        again.add(BranchKey::default(), 0..100);
        table.add_to(&mut again, 0).expect("whole");
        let again = BranchTable::new(again.encode(), 0..110).expect("whole");
        assert_eq!(
            again.sequences(&Lineage::alone(BranchId(9)), Class::Both).expect("whole"),
            [107..109, 104..105]
        );
    }

    #[test]
    fn only_memories_on_main_need_no_table() {
        let mut runs = BranchRuns::default();
        runs.add(BranchKey::default(), 0..5);
        assert_eq!(runs.encode(), None);
        let plain = BranchTable::<Vec<u8>>::new(None, 3..8).expect("whole");
        let seen = plain.sequences(&Lineage::main().before(6), Class::Memory).expect("whole");
        assert_eq!(seen.into_iter().flatten().collect::<Vec<_>>(), [3, 4, 5]);
        assert!(plain.sequences(&Lineage::main(), Class::System).expect("whole").is_empty());
        assert!(BranchTable::new(Some(vec![1, 0, 0, 0, 0, 0, 0, 0]), 0..1).is_err());
    }
}
