//! The quality of a list of results: recall, rank and gain for one question, and means over many.

use std::collections::HashSet;

use crate::collection::Relevant;

/// How deep the list is looked at.
pub(crate) const DEPTHS: [usize; 4] = [1, 5, 10, 20];
/// How deep the list is looked at for gains and ranks.
const GAIN_DEPTH: usize = 10;

/// Measures of one question, or means over many; all between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measures {
    /// Whether at least one relevant item is among the first k, for each of [`DEPTHS`].
    pub(crate) any: [f64; DEPTHS.len()],
    /// Whether every relevant item is.
    pub(crate) all: [f64; DEPTHS.len()],
    /// Share of the relevant items that is.
    pub(crate) share: [f64; DEPTHS.len()],
    /// Discounted gain of the first 10 over that of the best possible list.
    pub(crate) ndcg: f64,
    /// 1 / rank of the first relevant item among the first 10, else 0.
    pub(crate) reciprocal_rank: f64,
}

impl Measures {
    /// Measures `ranked`, items best first, against what is relevant (not empty, each item once).
    /// An item that is ranked again keeps its place in the list but counts only once.
    pub(crate) fn of(ranked: &[usize], relevant: &[Relevant]) -> Measures {
        let mut seen = HashSet::new();
        let gains: Vec<f64> = ranked
            .iter()
            .map(|item| if seen.insert(*item) { gain(*item, relevant) } else { 0.0 })
            .collect();
        let found = DEPTHS.map(|k| gains.iter().take(k).filter(|gain| **gain > 0.0).count());
        let first = gains.iter().take(GAIN_DEPTH).position(|gain| *gain > 0.0);
        let mut best: Vec<f64> = relevant.iter().map(|one| one.gain).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        Measures {
            any: found.map(|count| f64::from(u8::from(count > 0))),
            all: found.map(|count| f64::from(u8::from(count == relevant.len()))),
            share: found.map(|count| count as f64 / relevant.len() as f64),
            ndcg: discounted(&gains) / discounted(&best),
            reciprocal_rank: first.map_or(0.0, |at| 1.0 / (at + 1) as f64),
        }
    }

    /// The mean of many; none when there are none.
    pub(crate) fn mean<'a>(many: impl IntoIterator<Item = &'a Measures>) -> Option<Measures> {
        let (mut sum, mut count) = (Measures::default(), 0usize);
        for one in many {
            for k in 0..DEPTHS.len() {
                sum.any[k] += one.any[k];
                sum.all[k] += one.all[k];
                sum.share[k] += one.share[k];
            }
            sum.ndcg += one.ndcg;
            sum.reciprocal_rank += one.reciprocal_rank;
            count += 1;
        }
        let mean = |value: f64| value / count as f64;
        (count > 0).then(|| Measures {
            any: sum.any.map(mean),
            all: sum.all.map(mean),
            share: sum.share.map(mean),
            ndcg: mean(sum.ndcg),
            reciprocal_rank: mean(sum.reciprocal_rank),
        })
    }
}

fn gain(item: usize, relevant: &[Relevant]) -> f64 {
    relevant.iter().find(|one| one.item == item).map_or(0.0, |one| one.gain)
}

/// Gain of the first 10, each divided by the binary logarithm of its rank plus one.
fn discounted(gains: &[f64]) -> f64 {
    gains
        .iter()
        .take(GAIN_DEPTH)
        .enumerate()
        .map(|(at, gain)| gain / ((at + 2) as f64).log2())
        .sum()
}

/// The groups of a list of documents, each where its first document stands.
pub(crate) fn ranked_groups(ranked: &[usize], groups: &[usize]) -> Vec<usize> {
    let mut seen = HashSet::new();
    ranked.iter().map(|&document| groups[document]).filter(|group| seen.insert(*group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relevant(items: &[(usize, f64)]) -> Vec<Relevant> {
        items.iter().map(|&(item, gain)| Relevant { item, gain }).collect()
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    }

    /// Two relevant items at ranks 2 and 7, a third is missing.
    #[test]
    fn a_list_worked_by_hand() {
        let ranked = [50, 1, 51, 52, 53, 54, 2, 55];
        let found = Measures::of(&ranked, &relevant(&[(1, 1.0), (2, 1.0), (3, 1.0)]));
        assert_eq!(found.any, [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(found.all, [0.0; 4]);
        assert_eq!(found.share, [0.0, 1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]);
        assert_eq!(found.reciprocal_rank, 0.5);
        // 1/log2(3) + 1/log2(8) = 0.630930 + 0.333333; the best: 1 + 0.630930 + 0.5 = 2.130930.
        close(found.ndcg, 0.964_263 / 2.130_930);
    }

    #[test]
    fn everything_in_front_is_one() {
        let found = Measures::of(&[4, 9], &relevant(&[(9, 1.0), (4, 1.0)]));
        assert_eq!(found.any, [1.0; 4]);
        assert_eq!(found.all, [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(found.share, [0.5, 1.0, 1.0, 1.0]);
        assert_eq!((found.ndcg, found.reciprocal_rank), (1.0, 1.0));
    }

    /// Rank 11 is too deep for gains and ranks, but within 20.
    #[test]
    fn ranks_end_at_ten() {
        let ranked: Vec<usize> = (0..30).collect();
        let found = Measures::of(&ranked, &relevant(&[(10, 1.0)]));
        assert_eq!(found.any, [0.0, 0.0, 0.0, 1.0]);
        assert_eq!((found.ndcg, found.reciprocal_rank), (0.0, 0.0));
        assert_eq!(Measures::of(&[], &relevant(&[(10, 1.0)])), Measures::default());
    }

    #[test]
    fn gains_are_graded() {
        let found = Measures::of(&[1, 2, 3], &relevant(&[(1, 1.0), (3, 2.0)]));
        // 1 + 2/log2(4) = 2; the best: 2 + 1/log2(3) = 2.630930.
        close(found.ndcg, 2.0 / 2.630_930);
        assert_eq!(found.reciprocal_rank, 1.0);
    }

    #[test]
    fn more_relevant_items_than_ranks_can_still_be_perfect() {
        let items: Vec<(usize, f64)> = (0..12).map(|item| (item, 1.0)).collect();
        let found = Measures::of(&(0..12).collect::<Vec<_>>(), &relevant(&items));
        close(found.ndcg, 1.0);
        assert_eq!(found.all, [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn an_item_counts_once() {
        let found = Measures::of(&[1, 1, 2], &relevant(&[(1, 1.0), (2, 1.0)]));
        assert_eq!(found.share, [0.5, 1.0, 1.0, 1.0]);
        // 1 + 0 + 1/log2(4) = 1.5; the best: 1 + 0.630930.
        close(found.ndcg, 1.5 / 1.630_930);
    }

    #[test]
    fn groups_stand_where_their_first_document_stands() {
        assert_eq!(ranked_groups(&[3, 0, 2, 1], &[7, 7, 8, 8]), [8, 7]);
    }

    #[test]
    fn means() {
        let one = Measures::of(&[1], &relevant(&[(1, 1.0)]));
        let mean = Measures::mean([&one, &Measures::default()]).expect("there are two");
        assert_eq!((mean.any, mean.ndcg, mean.reciprocal_rank), ([0.5; 4], 0.5, 0.5));
        assert_eq!(Measures::mean([]), None);
    }
}
