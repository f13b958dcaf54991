//! The scan: roughly over all, exactly over the best.

use std::ops::Range;

use super::block::{OFFSET, Vectors};
use super::kernel::{CHUNK, products};
use crate::error::Result;
use crate::seqs::Sequences;

/// Rows whose products are computed at once.
const ROWS: usize = 256;
/// For each hit that is wanted so many rough ones are looked up exactly, but never fewer than
/// [`ROUGH_MIN`].
const ROUGH_PER_HIT: usize = 8;
const ROUGH_MIN: usize = 200;

/// A record that is like the question.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// Its sequence.
    pub seq: u64,
    /// The bytes of its passage that is most like it.
    pub passage: Range<u32>,
    /// Cosine of the angle between the two vectors, as far as they are kept.
    pub score: f32,
}

/// A question, exactly and in whole numbers, whose factor no order depends on.
struct Question<'a> {
    exact: &'a [f32],
    rough: Vec<i8>,
    sum: i32,
}

impl Question<'_> {
    fn new(exact: &[f32]) -> Question<'_> {
        let largest = exact.iter().fold(1e-12f32, |largest, x| largest.max(x.abs()));
        let factor = largest / 127.0;
        let mut rough: Vec<i8> = exact.iter().map(|x| (x / factor).round() as i8).collect();
        rough.resize(exact.len().next_multiple_of(CHUNK), 0);
        debug_assert!(
            rough.len().is_multiple_of(CHUNK) && rough.len() >= exact.len(),
            "the kernel works on whole chunks"
        );
        let sum = rough.iter().map(|&x| i32::from(x)).sum();
        Question { exact, rough, sum }
    }
}

/// Of what was seen so far, the best, and how good one must be to be among them.
struct Best {
    wanted: usize,
    threshold: f32,
    /// Score, block, index.
    found: Vec<(f32, usize, usize)>,
}

impl Best {
    fn push(&mut self, score: f32, block: usize, index: usize) {
        self.found.push((score, block, index));
        if self.found.len() >= 2 * self.wanted {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.found.len() > self.wanted {
            self.found.select_nth_unstable_by(self.wanted - 1, |a, b| b.0.total_cmp(&a.0));
            self.found.truncate(self.wanted);
            self.threshold = self.found[self.wanted - 1].0;
        }
        debug_assert!(self.found.len() <= self.wanted, "no more are kept than are wanted");
    }
}

/// The `k` records most like `question`, a vector of length 1 and of the blocks' dimension: best
/// first, each once, with its best passage. Only those in `seqs`, if that is given, and that
/// `accept` lets pass: it is asked only about those that may be among the best.
///
/// # Errors
/// [`crate::Error::Damaged`].
pub fn nearest(
    blocks: &[&Vectors],
    question: &[f32],
    k: usize,
    seqs: Option<&Sequences>,
    accept: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Near>> {
    assert!(
        blocks.iter().all(|block| block.dimension() == question.len()),
        "a question is compared with vectors of its dimension"
    );
    let question = Question::new(question);
    let total: usize = blocks.iter().map(|block| block.len()).sum();
    let mut wanted = (k * ROUGH_PER_HIT).max(ROUGH_MIN);
    loop {
        let mut best = Best { wanted, threshold: f32::NEG_INFINITY, found: Vec::new() };
        for (number, block) in blocks.iter().enumerate() {
            scan(block, number, &question, seqs, &mut best, accept)?;
        }
        best.shrink();
        let all = best.found.len() < wanted || wanted >= total;
        let near = exactly(blocks, &question, best.found)?;
        // One record may have taken many places; then more are looked up.
        if k == 0 || near.len() >= k || all {
            return Ok(near.into_iter().take(k).collect());
        }
        wanted *= 8;
    }
}

/// How like `question` the record `seq` is: its best passage; none when it has no vector.
///
/// # Errors
/// [`crate::Error::Damaged`].
pub fn similarity(blocks: &[&Vectors], question: &[f32], seq: u64) -> Result<Option<Near>> {
    let question = Question::new(question);
    let mut found = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let mut index = skip(block, 0, seq)?;
        while index < block.len() && block.entry(index)?.seq == seq {
            found.push((0.0, number, index));
            index += 1;
        }
    }
    Ok(exactly(blocks, &question, found)?.into_iter().next())
}

fn scan(
    block: &Vectors,
    number: usize,
    question: &Question<'_>,
    seqs: Option<&Sequences>,
    best: &mut Best,
    accept: &mut dyn FnMut(u64) -> bool,
) -> Result<()> {
    let Some(seqs) = seqs else {
        return scan_range(block, number, question, 0..block.len(), best, accept);
    };
    let mut next = 0;
    for range in seqs.ranges() {
        if next >= block.len() || range.end <= block.entry(next)?.seq {
            continue;
        }
        // Many ranges are usually close to one another: look near before looking everywhere.
        let start = next + skip(block, next, range.start)?;
        let end = start + skip(block, start, range.end)?;
        scan_range(block, number, question, start..end, best, accept)?;
        next = end;
    }
    Ok(())
}

/// How many entries from `from` on are of records before `seq`.
fn skip(block: &Vectors, from: usize, seq: u64) -> Result<usize> {
    let mut step = 1;
    while from + step <= block.len() && block.entry(from + step - 1)?.seq < seq {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2, step.min(block.len() - from + 1) - 1);
    high = high.max(low);
    while low < high {
        let middle = low.midpoint(high);
        if block.entry(from + middle)?.seq < seq { low = middle + 1 } else { high = middle }
    }
    assert!(from + low <= block.len(), "nobody skips beyond the last entry");
    Ok(low)
}

fn scan_range(
    block: &Vectors,
    number: usize,
    question: &Question<'_>,
    range: Range<usize>,
    best: &mut Best,
    accept: &mut dyn FnMut(u64) -> bool,
) -> Result<()> {
    let mut sums = [0i32; ROWS];
    // The upper half of a number stands for the middle of what it may be.
    let middle = (OFFSET as f32 - 7.5) * question.sum as f32;
    for start in range.clone().step_by(ROWS) {
        let rows = start..(start + ROWS).min(range.end);
        let sums = &mut sums[..rows.len()];
        products(&question.rough, block.plane(&block.upper, rows.clone())?, sums);
        let factors = block.factors(rows)?;
        for (at, (sum, factor)) in sums.iter().zip(factors).enumerate() {
            let score = (16.0 * *sum as f32 - middle) * factor;
            if score > best.threshold && accept(block.entry(start + at)?.seq) {
                best.push(score, number, start + at);
            }
        }
    }
    Ok(())
}

/// The exact scores, best first, each record once; of equals the newest first.
fn exactly(
    blocks: &[&Vectors],
    question: &Question<'_>,
    found: Vec<(f32, usize, usize)>,
) -> Result<Vec<Near>> {
    let mut near = Vec::with_capacity(found.len());
    for (_, number, index) in found {
        let block = blocks[number];
        let vector = block.vector(index)?;
        let score = vector.iter().zip(question.exact).map(|(a, b)| a * b).sum();
        let entry = block.entry(index)?;
        near.push(Near { seq: entry.seq, passage: entry.passage, score });
    }
    near.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.seq.cmp(&a.seq))
            .then(a.passage.start.cmp(&b.passage.start))
    });
    let mut seen = std::collections::HashSet::new();
    near.retain(|near| seen.insert(near.seq));
    Ok(near)
}
