//! Which records of a segment belong to which branch? A table of runs in every segment that holds more than memories on `main`.
//!
//! A *lane* is a branch's memories, or what the capsule itself wrote on the branch: twice the branch's id, plus one for the latter.
//! `lanes   `: number of lanes and of runs (4 bytes each), then for each lane, ascending, its number (8 bytes), its first run and how
//! many (4 bytes each), then the runs: first place and the place after the last (4 bytes each). A segment without the section is
//! all lane 0.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::keys::TableBytes;
use crate::lines::Lines;
use crate::record::BranchId;

const HEAD_BYTES: usize = 8;
const LANE_BYTES: usize = 16;
const RUN_BYTES: usize = 8;

/// A branch's memories, or what the capsule wrote about itself on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(u64);

impl Lane {
    pub(crate) fn new(branch: BranchId, system: bool) -> Lane {
        Lane(branch.0 * 2 + u64::from(system))
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
    fn lanes(self, branch: BranchId) -> impl Iterator<Item = Lane> {
        [false, true].into_iter().filter(move |system| self.holds(*system)).map(move |system| Lane::new(branch, system))
    }

    pub(crate) fn holds(self, system: bool) -> bool {
        match self {
            Class::Both => true,
            Class::Memory => !system,
            Class::System => system,
        }
    }
}

/// Runs of places by lane, of a segment under construction.
#[derive(Debug, Default)]
pub(crate) struct LaneRuns(BTreeMap<Lane, Vec<Range<u32>>>);

impl LaneRuns {
    /// Adds places, which must come in ascending order for each lane.
    pub(crate) fn add(&mut self, lane: Lane, places: Range<u32>) {
        let runs = self.0.entry(lane).or_default();
        match runs.last_mut() {
            Some(last) if last.end == places.start => last.end = places.end,
            _ => runs.push(places),
        }
    }

    /// The table; none when all is lane 0.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        if self.0.keys().all(|lane| *lane == Lane::default()) {
            return None;
        }
        let total: usize = self.0.values().map(Vec::len).sum();
        let mut out = [self.0.len() as u32, total as u32].map(u32::to_le_bytes).concat();
        let mut first = 0u32;
        for (lane, runs) in &self.0 {
            out.extend_from_slice(&lane.0.to_le_bytes());
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

/// The lanes of one segment.
#[derive(Clone, Debug)]
pub(crate) struct LaneTable<B = kapsa_capsule::Section> {
    /// None: all is lane 0.
    bytes: Option<B>,
    lanes: usize,
    runs: usize,
    first_sequence: u64,
    next_sequence: u64,
}

impl<B: TableBytes> LaneTable<B> {
    pub(crate) fn new(bytes: Option<B>, sequences: Range<u64>) -> Result<LaneTable<B>> {
        let (mut lanes, mut runs) = (0, 0);
        if let Some(bytes) = &bytes {
            let damaged =
                Error::DamagedRecord { sequence: sequences.start, reason: "its segment's table of branches is damaged" };
            if bytes.len() < HEAD_BYTES {
                return Err(damaged);
            }
            let head = bytes.read(0..HEAD_BYTES)?;
            (lanes, runs) = (u32_at(head, 0) as usize, u32_at(head, 4) as usize);
            if bytes.len() != HEAD_BYTES + lanes * LANE_BYTES + runs * RUN_BYTES {
                return Err(damaged);
            }
        }
        Ok(LaneTable { bytes, lanes, runs, first_sequence: sequences.start, next_sequence: sequences.end })
    }

    /// Whether all records are memories on `main`.
    pub(crate) fn is_plain(&self) -> bool {
        self.bytes.is_none()
    }

    fn lane(&self, index: usize) -> Result<(Lane, Range<usize>)> {
        let Some(bytes) = &self.bytes else { return Ok((Lane::default(), 0..0)) };
        let at = HEAD_BYTES + index * LANE_BYTES;
        let entry = bytes.read(at..at + LANE_BYTES)?;
        let lane = Lane(u64::from_le_bytes(entry[..8].try_into().expect("eight bytes")));
        let first = (u32_at(entry, 8) as usize).min(self.runs);
        Ok((lane, first..(first + u32_at(entry, 12) as usize).min(self.runs)))
    }

    /// Runs of a lane, by number.
    fn runs_of(&self, lane: Lane) -> Result<Range<usize>> {
        let (mut low, mut high) = (0, self.lanes);
        while low < high {
            let middle = usize::midpoint(low, high);
            let (at, runs) = self.lane(middle)?;
            match at.cmp(&lane) {
                std::cmp::Ordering::Equal => return Ok(runs),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(0..0)
    }

    fn run(&self, index: usize) -> Result<Range<u64>> {
        let Some(bytes) = &self.bytes else { return Ok(0..0) };
        let at = HEAD_BYTES + self.lanes * LANE_BYTES + index * RUN_BYTES;
        let run = bytes.read(at..at + RUN_BYTES)?;
        let sequence = |place: u32| (self.first_sequence + u64::from(place)).min(self.next_sequence);
        Ok(sequence(u32_at(run, 0))..sequence(u32_at(run, 4)))
    }

    /// Whether the record `sequence` of this segment is within `lines`.
    pub(crate) fn holds(&self, lines: &Lines, class: Class, sequence: u64) -> Result<bool> {
        if lines.is_all() && class == Class::Both {
            return Ok(sequence < lines.below());
        }
        if self.is_plain() {
            return Ok(class.holds(false) && lines.hold(BranchId::MAIN, sequence));
        }
        if lines.is_all() {
            return Ok(self.sequences(lines, class)?.iter().any(|run| run.contains(&sequence)));
        }
        for line in lines.iter().filter(|line| sequence < line.below) {
            for lane in class.lanes(line.branch) {
                if self.lane_holds(lane, sequence)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn lane_holds(&self, lane: Lane, sequence: u64) -> Result<bool> {
        let Range { start: mut low, end: mut high } = self.runs_of(lane)?;
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

    /// Sequences of this segment that are within `lines`, as ranges in no particular order.
    pub(crate) fn sequences(&self, lines: &Lines, class: Class) -> Result<Vec<Range<u64>>> {
        let mut ranges = Vec::new();
        let cut = |range: Range<u64>, below: u64| range.start..range.end.min(below);
        if self.is_plain() {
            if class.holds(false) {
                ranges.push(cut(self.first_sequence..self.next_sequence, lines.below_on(BranchId::MAIN)));
            }
        } else if lines.is_all() {
            for (lane, runs) in self.all_lanes()? {
                if class.holds(lane.is_system()) {
                    ranges.extend(runs.into_iter().map(|run| cut(run, lines.below())));
                }
            }
        } else {
            for line in lines.iter() {
                for lane in class.lanes(line.branch) {
                    for index in self.runs_of(lane)? {
                        ranges.push(cut(self.run(index)?, line.below));
                    }
                }
            }
        }
        ranges.retain(|range| range.start < range.end);
        Ok(ranges)
    }

    /// Every lane with its runs.
    fn all_lanes(&self) -> Result<Vec<(Lane, Vec<Range<u64>>)>> {
        if self.is_plain() {
            let whole = std::iter::once(self.first_sequence..self.next_sequence);
            return Ok(vec![(Lane::default(), whole.collect())]);
        }
        let runs = |index| {
            let (lane, runs) = self.lane(index)?;
            Ok((lane, runs.map(|run| self.run(run)).collect::<Result<_>>()?))
        };
        (0..self.lanes).map(runs).collect()
    }

    /// Adds all lanes to those of a segment that begins at `first_sequence`.
    pub(crate) fn add_to(&self, all: &mut LaneRuns, first_sequence: u64) -> Result<()> {
        let place = |sequence: u64| (sequence - first_sequence) as u32;
        for (lane, runs) in self.all_lanes()? {
            runs.into_iter().for_each(|run| all.add(lane, place(run.start)..place(run.end)));
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
        let mut runs = LaneRuns::default();
        for (place, (branch, system)) in branches.into_iter().zip(system).enumerate() {
            runs.add(Lane::new(BranchId(branch), system), place as u32..place as u32 + 1);
        }
        let table = LaneTable::new(runs.encode(), 100..110).expect("whole");
        for lines in [
            Lines::main(),
            Lines::all(),
            Lines::all().before(105),
            Lines::main().child(BranchId(4), 102),
            Lines::main().child(BranchId(4), 106).child(BranchId(9), 104),
            Lines::alone(BranchId(7)),
        ] {
            for class in [Class::Memory, Class::System, Class::Both] {
                let expected: Vec<u64> = (100..110)
                    .filter(|&s| {
                        let at = (s - 100) as usize;
                        lines.hold(BranchId(branches[at]), s) && class.holds(system[at])
                    })
                    .collect();
                let mut listed: Vec<u64> = table.sequences(&lines, class).expect("whole").into_iter().flatten().collect();
                listed.sort_unstable();
                assert_eq!(listed, expected, "{lines:?} {class:?}");
                let held: Vec<u64> = (100..110).filter(|&s| table.holds(&lines, class, s).expect("whole")).collect();
                assert_eq!(held, expected, "{lines:?} {class:?}");
            }
        }
        let mut again = LaneRuns::default();
        again.add(Lane::default(), 0..100);
        table.add_to(&mut again, 0).expect("whole");
        let again = LaneTable::new(again.encode(), 0..110).expect("whole");
        assert_eq!(again.sequences(&Lines::alone(BranchId(9)), Class::Both).expect("whole"), [107..109, 104..105]);
    }

    #[test]
    fn only_memories_on_main_need_no_table() {
        let mut runs = LaneRuns::default();
        runs.add(Lane::default(), 0..5);
        assert_eq!(runs.encode(), None);
        let plain = LaneTable::<Vec<u8>>::new(None, 3..8).expect("whole");
        let seen = plain.sequences(&Lines::main().before(6), Class::Memory).expect("whole");
        assert_eq!(seen.into_iter().flatten().collect::<Vec<_>>(), [3, 4, 5]);
        assert!(plain.sequences(&Lines::main(), Class::System).expect("whole").is_empty());
        assert!(LaneTable::new(Some(vec![1, 0, 0, 0, 0, 0, 0, 0]), 0..1).is_err());
    }
}
