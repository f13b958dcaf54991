//! The best `k` so far, and what another must reach to be among them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// One document found, with its rank value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Sequence number of the record.
    pub seq: u64,
    /// BM25 score, 0 if the query has nothing to rank by.
    pub score: f32,
}

/// Orders by score, then newer first; the greatest is the best.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranked(Hit);

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.0.score.total_cmp(&other.0.score);
        by_score.then(self.0.seq.cmp(&other.0.seq))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best `k` hits; `k` is at least 1.
pub(crate) struct Top {
    k: usize,
    heap: BinaryHeap<Reverse<Ranked>>,
}

impl Top {
    pub(crate) fn new(k: usize) -> Top {
        assert!(k > 0, "a search for nothing is answered earlier");
        Top { k, heap: BinaryHeap::new() }
    }

    /// A score below this cannot enter; one equal to it can, if it is newer.
    pub(crate) fn threshold(&self) -> f32 {
        self.worst().map_or(f32::MIN, |worst| worst.0.score)
    }

    pub(crate) fn would_enter(&self, hit: Hit) -> bool {
        self.worst().is_none_or(|worst| Ranked(hit) > worst)
    }

    pub(crate) fn push(&mut self, hit: Hit) {
        debug_assert!(self.would_enter(hit), "whoever adds a hit asked first");
        if self.heap.len() == self.k {
            self.heap.pop();
        }
        self.heap.push(Reverse(Ranked(hit)));
        assert!(self.heap.len() <= self.k, "no more are kept than were asked for");
    }

    /// Best first.
    pub(crate) fn into_sorted(self) -> Vec<Hit> {
        let hits: Vec<Hit> =
            self.heap.into_sorted_vec().into_iter().map(|Reverse(Ranked(hit))| hit).collect();
        debug_assert!(
            hits.is_sorted_by(|one, other| Ranked(*one) >= Ranked(*other)),
            "the best comes first"
        );
        hits
    }

    fn worst(&self) -> Option<Ranked> {
        let full = self.heap.len() == self.k;
        self.heap.peek().filter(|_| full).map(|Reverse(worst)| *worst)
    }
}
