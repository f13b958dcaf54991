//! A cross-encoder (Nogueira and Cho, 2019): a question and a text become one sequence of tokens,
//! which the encoder reads whole, and a head makes one number of the first token's state.
//!
//! Several sequences are multiplied with the weights at once, one after the other without padding.
//! As in [`crate::bert`] every processor and number of threads gives the same bits.

use std::ops::Range;

use crate::bert::{Rows, Scratch, add, attend, normalise, rest, sum_of};
use crate::bulk::ranges;
use crate::coarse::Coarse;
use crate::kernel::{Activations, Instructions, Job, Processor};
use crate::math::exp;
use crate::share::share;
use crate::weights::{Scorer, Weights};

/// Batches for each thread: more make the threads end together, fewer read the weights less often.
const BATCHES_PER_THREAD: usize = 2;

/// A question and a text as one sequence.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) tokens: Vec<u32>,
    /// Where the text begins.
    pub(crate) second: usize,
}

/// The logit of each pair, computed by at most `threads` threads.
pub(crate) fn logits(
    processor: Processor,
    weights: &Weights<'_>,
    scorer: &Scorer<'_>,
    pairs: &[Pair],
    threads: usize,
) -> Vec<f32> {
    let batches = batches(pairs, threads * BATCHES_PER_THREAD);
    let score = |(): &mut (), batch: &Vec<usize>| {
        let own: Vec<&Pair> = batch.iter().map(|&place| &pairs[place]).collect();
        processor.run(PairBatch { weights, scorer, pairs: &own })
    };
    let scored = share(&batches, threads, || (), score);
    let mut logits = vec![0.0f32; pairs.len()];
    for (&place, logit) in batches.iter().flatten().zip(scored.into_iter().flatten()) {
        logits[place] = logit;
    }
    logits
}

/// The places of the pairs in at most `most` batches of about as many tokens each, the largest
/// first.
fn batches(pairs: &[Pair], most: usize) -> Vec<Vec<usize>> {
    #[derive(Default)]
    struct Places {
        tokens: usize,
        places: Vec<usize>,
    }
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(pairs[place].tokens.len()));
    let mut batches: Vec<Places> = Vec::new();
    batches.resize_with(most.min(pairs.len()), Places::default);
    for place in order {
        if let Some(batch) = batches.iter_mut().min_by_key(|batch| batch.tokens) {
            batch.tokens += pairs[place].tokens.len();
            batch.places.push(place);
        }
    }
    batches.sort_by_key(|batch| std::cmp::Reverse(batch.tokens));
    batches.into_iter().map(|batch| batch.places).collect()
}

/// The logits of a few pairs.
struct PairBatch<'a> {
    weights: &'a Weights<'a>,
    scorer: &'a Scorer<'a>,
    pairs: &'a [&'a Pair],
}

impl Job for PairBatch<'_> {
    type Out = Vec<f32>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Vec<f32> {
        let PairBatch { weights, scorer, pairs } = self;
        let shape = &weights.shape;
        let width = shape.hidden;
        let sequences = ranges(pairs.iter().map(|pair| pair.tokens.len()));
        let mut state = embedded(weights, scorer, pairs);
        let mut scratch = Scratch::<Coarse>::default();
        let [mut query, mut keys, mut values, mut context] =
            std::array::from_fn(|_| vec![0.0f32; state.len()]);
        for (index, layer) in weights.layers.iter().enumerate() {
            let quantised = &mut scratch.quantised;
            quantised.fill(&state, width);
            quantised.apply(instructions, &layer.key, &mut keys);
            quantised.apply(instructions, &layer.value, &mut values);
            // Of the last layer nothing but the first tokens' states counts.
            let is_last = index + 1 == weights.layers.len();
            if is_last {
                state = first_rows(&state, &sequences, width);
                quantised.fill(&state, width);
            }
            let (query, context) = (&mut query[..state.len()], &mut context[..state.len()]);
            quantised.apply(instructions, &layer.query, query);
            for (at, sequence) in sequences.iter().enumerate() {
                let all = sequence.start * width..sequence.end * width;
                let own = if is_last { at * width..(at + 1) * width } else { all.clone() };
                let rows = Rows { keys: &keys[all.clone()], values: &values[all] };
                let rows = std::iter::once(rows);
                let (query, context) = (&query[own.clone()], &mut context[own]);
                attend(query, rows, sequence.len(), shape, &mut scratch.heads, context);
            }
            rest(instructions, layer, shape, &mut state, context, &mut scratch);
        }
        scratch.quantised.fill(&state, width);
        let pooled = &mut query[..state.len()];
        scratch.quantised.apply(instructions, &scorer.pooler, pooled);
        pooled.chunks_exact_mut(width).map(|row| logit(scorer, row)).collect()
    }
}

/// What the first layer is given.
#[inline(always)]
fn embedded(weights: &Weights<'_>, scorer: &Scorer<'_>, batch: &[&Pair]) -> Vec<f32> {
    let width = weights.shape.hidden;
    let count: usize = batch.iter().map(|pair| pair.tokens.len()).sum();
    let mut state = vec![0.0f32; count * width];
    let mut rows = state.chunks_exact_mut(width);
    for pair in batch {
        for ((place, &token), row) in pair.tokens.iter().enumerate().zip(&mut rows) {
            weights.embed(token, place, row);
            if place >= pair.second {
                add(row, &scorer.second);
            }
        }
    }
    normalise(&mut state, &weights.embedding_norm, weights.shape.epsilon);
    state
}

fn first_rows(state: &[f32], sequences: &[Range<usize>], width: usize) -> Vec<f32> {
    let row = |sequence: &Range<usize>| &state[sequence.start * width..][..width];
    sequences.iter().flat_map(row).copied().collect()
}

#[inline(always)]
fn logit(scorer: &Scorer<'_>, row: &mut [f32]) -> f32 {
    for (x, weight) in row.iter_mut().zip(&scorer.weights) {
        *x = tanh(*x) * weight;
    }
    sum_of(row, |x| x) + scorer.bias
}

/// The hyperbolic tangent, to about 1e-7.
#[inline(always)]
fn tanh(x: f32) -> f32 {
    let e = exp(-2.0 * x.abs());
    let value = (1.0 - e) / (1.0 + e);
    if x < 0.0 { -value } else { value }
}
