//! Reads a part of a capsule, to find a disk that fails before a search does.

use std::ops::Range;

use crate::error::Result;
use crate::snapshot::Snapshot;

/// Reads and checks so many records at most, spread over all, and so many blocks of each segment,
/// index and derived. Returns how many of both were read.
///
/// # Errors
/// `Corrupt` or `Unreadable` for the first that does not check out.
pub fn sample(snapshot: &Snapshot, records: u64, blocks: u64) -> Result<(u64, u64)> {
    let blocks = snapshot.payloads().map(|payload| payload?.sample(blocks)).sum::<Result<u64>>()?;
    let mut read = 0;
    for sequence in spread(1..snapshot.commit().next_sequence, records) {
        snapshot.record(sequence)?;
        read += 1;
    }
    Ok((read, blocks))
}

/// At most `count` numbers of a range, ascending and evenly spread, its ends among them.
pub(crate) fn spread(range: Range<u64>, count: u64) -> impl Iterator<Item = u64> {
    let len = range.end.saturating_sub(range.start);
    let count = count.min(len);
    let place = move |n: u64| u128::from(n) * u128::from(len - 1) / u128::from(count.max(2) - 1);
    (0..count).map(move |n| range.start + place(n) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_both_ends_and_no_number_twice() {
        for (range, count) in [(1..2, 5), (3..10, 7), (1..1_000_000, 64), (0..7, 3), (5..5, 4)] {
            let found: Vec<u64> = spread(range.clone(), count).collect();
            assert_eq!(found.len() as u64, count.min(range.end - range.start), "{range:?}");
            assert!(found.is_sorted_by(|a, b| a < b), "{range:?}: {found:?}");
            if found.len() > 1 {
                assert_eq!((found[0], found[found.len() - 1]), (range.start, range.end - 1));
            }
        }
    }
}
