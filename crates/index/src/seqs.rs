//! The sequence numbers that a search may return.

use std::ops::Range;
use std::sync::Arc;

/// A set of sequence numbers, kept as ascending, disjoint, non-empty ranges. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sequences(Arc<[Range<u64>]>);

impl Sequences {
    /// The union of `ranges`, in any order.
    #[must_use]
    pub fn new(mut ranges: Vec<Range<u64>>) -> Sequences {
        ranges.retain(|range| range.start < range.end);
        ranges.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        debug_assert!(
            joined.is_sorted_by(|one, other| one.end < other.start),
            "ranges that touch were joined"
        );
        Sequences(joined.into())
    }

    /// The ranges, ascending.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// Whether `seq` is in the set.
    #[must_use]
    pub fn contains(&self, seq: u64) -> bool {
        let at = self.0.partition_point(|range| range.end <= seq);
        self.0.get(at).is_some_and(|range| range.start <= seq)
    }

    /// First number that is greater than all in the set; 0 for none.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |range| range.end)
    }

    /// The parts of the set inside `span`, ascending.
    pub fn within(&self, span: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let from = self.0.partition_point(|range| range.end <= span.start);
        let inside = self.0[from..].iter().take_while(move |range| range.start < span.end);
        inside.map(move |range| range.start.max(span.start)..range.end.min(span.end))
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Sequences) -> Sequences {
        let (few, many) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        let both =
            Sequences::new(few.0.iter().flat_map(|range| many.within(range.clone())).collect());
        debug_assert!(both.end() <= self.end().min(other.end()), "what is in both is in each");
        both
    }

    /// What is in this set and not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Sequences) -> Sequences {
        let mut left = Vec::new();
        for range in self.0.iter() {
            let mut start = range.start;
            for taken in other.within(range.clone()) {
                debug_assert!(
                    start <= taken.start && taken.end <= range.end,
                    "what is taken lies in the range"
                );
                left.push(start..taken.start);
                start = taken.end;
            }
            left.push(start..range.end);
        }
        Sequences::new(left)
    }
}

impl From<Range<u64>> for Sequences {
    fn from(range: Range<u64>) -> Sequences {
        Sequences::new(std::iter::once(range).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[Range<u64>]) -> Sequences {
        Sequences::new(ranges.to_vec())
    }

    #[test]
    fn ranges_are_joined_and_found() {
        let s = set(&[7..9, 1..3, 3..4, 5..5, 8..12]);
        assert_eq!(s.ranges(), [1..4, 7..12]);
        let inside: Vec<u64> = (0..20).filter(|&n| s.contains(n)).collect();
        assert_eq!(inside, [1, 2, 3, 7, 8, 9, 10, 11]);
        assert_eq!((s.end(), Sequences::default().end()), (12, 0));
        assert_eq!(s.within(3..8).collect::<Vec<_>>(), [3..4, 7..8]);
    }

    /// Against plain sets of numbers below 64, in every pair of eight patterns.
    #[test]
    fn intersection_and_difference_are_those_of_sets() {
        let patterns =
            [0u64, u64::MAX, 0xff00, 0x00f0_f0f0, 0xaaaa_5555, 1, 1 << 63, 0x8000_0000_0000_0001];
        let of = |bits: u64| {
            Sequences::new((0..64).filter(|n| bits >> n & 1 == 1).map(|n| n..n + 1).collect())
        };
        for a in patterns {
            for b in patterns {
                assert_eq!(of(a).intersection(&of(b)), of(a & b), "{a:x} {b:x}");
                assert_eq!(of(a).difference(&of(b)), of(a & !b), "{a:x} {b:x}");
            }
        }
    }
}
