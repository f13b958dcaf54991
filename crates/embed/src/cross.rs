//! A cross-encoder (Nogueira and Cho, 2019): a question and a text become one sequence of tokens,
//! which the encoder reads whole, and a head makes one number of the first token's state.
//!
//! Several sequences are multiplied with the weights at once, one after the other without padding.
//! As in [`crate::bert`] every processor and number of threads gives the same bits.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::bert::{Rows, Scratch, add, attend, exp, normalise, rest, sum_of};
use crate::coarse::{Coarse, gelu};
use crate::kernel::{Activations, Instructions, Portable};
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

/// The logit of a pair.
struct Scored {
    /// Which of the pairs.
    place: usize,
    logit: f32,
}

type ForwardBatch = fn(&Weights<'_>, &Scorer<'_>, &[&Pair]) -> Vec<f32>;

/// The logit of each pair, computed by at most `threads` threads.
pub(crate) fn logits(
    weights: &Weights<'_>,
    scorer: &Scorer<'_>,
    pairs: &[Pair],
    threads: usize,
) -> Vec<f32> {
    logits_with(forward_natively, weights, scorer, pairs, threads)
}

/// The same without special instructions, for comparison.
#[cfg(test)]
pub(crate) fn logits_portably(
    weights: &Weights<'_>,
    scorer: &Scorer<'_>,
    pairs: &[Pair],
    threads: usize,
) -> Vec<f32> {
    logits_with(forward_portably, weights, scorer, pairs, threads)
}

fn logits_with(
    forward: ForwardBatch,
    weights: &Weights<'_>,
    scorer: &Scorer<'_>,
    pairs: &[Pair],
    threads: usize,
) -> Vec<f32> {
    let batches = &batches(pairs, threads * BATCHES_PER_THREAD);
    let next = &AtomicUsize::new(0);
    let work = move || {
        let mut scored = Vec::new();
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let own: Vec<&Pair> = batch.iter().map(|&place| &pairs[place]).collect();
            let logits = batch.iter().zip(forward(weights, scorer, &own));
            scored.extend(logits.map(|(&place, logit)| Scored { place, logit }));
        }
        scored
    };
    // What a thread does not do that the system did not grant, the others do.
    let scored = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(batches.len()))
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut scored = work();
        for other in others {
            scored.extend(other.join().expect("arithmetic does not panic"));
        }
        scored
    });
    let mut logits = vec![0.0f32; pairs.len()];
    scored.into_iter().for_each(|Scored { place, logit }| logits[place] = logit);
    logits
}

/// The places of the pairs in at most `most` batches of about as many tokens each, the largest
/// first.
fn batches(pairs: &[Pair], most: usize) -> Vec<Vec<usize>> {
    #[derive(Default)]
    struct Batch {
        tokens: usize,
        places: Vec<usize>,
    }
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(pairs[place].tokens.len()));
    let mut batches: Vec<Batch> = Vec::new();
    batches.resize_with(most.min(pairs.len()), Batch::default);
    for place in order {
        if let Some(batch) = batches.iter_mut().min_by_key(|batch| batch.tokens) {
            batch.tokens += pairs[place].tokens.len();
            batch.places.push(place);
        }
    }
    batches.sort_by_key(|batch| std::cmp::Reverse(batch.tokens));
    batches.into_iter().map(|batch| batch.places).collect()
}

/// The logits of a batch, by the best instructions of this processor.
fn forward_natively(weights: &Weights<'_>, scorer: &Scorer<'_>, batch: &[&Pair]) -> Vec<f32> {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = crate::kernel::Avx2::new() {
        // SAFETY: an `Avx2` exists only where the processor has AVX2.
        #[allow(unsafe_code)]
        return unsafe { forward_avx2(avx2, weights, scorer, batch) };
    }
    forward_portably(weights, scorer, batch)
}

/// The whole computation, compiled for a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn forward_avx2(
    avx2: crate::kernel::Avx2,
    weights: &Weights<'_>,
    scorer: &Scorer<'_>,
    batch: &[&Pair],
) -> Vec<f32> {
    forward(avx2, weights, scorer, batch)
}

fn forward_portably(weights: &Weights<'_>, scorer: &Scorer<'_>, batch: &[&Pair]) -> Vec<f32> {
    forward(Portable, weights, scorer, batch)
}

#[inline(always)]
fn forward(
    instructions: impl Instructions,
    weights: &Weights<'_>,
    scorer: &Scorer<'_>,
    batch: &[&Pair],
) -> Vec<f32> {
    let shape = &weights.shape;
    let width = shape.hidden;
    let sequences = sequences(batch);
    let mut state = embedded(weights, scorer, batch);
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
            attend(&query[own.clone()], rows, sequence.len(), shape, &mut context[own]);
        }
        rest(instructions, layer, shape, &mut state, context, &mut scratch, gelu);
    }
    scratch.quantised.fill(&state, width);
    let pooled = &mut query[..state.len()];
    scratch.quantised.apply(instructions, &scorer.pooler, pooled);
    pooled.chunks_exact_mut(width).map(|row| logit(scorer, row)).collect()
}

/// Where each pair's tokens lie.
fn sequences(batch: &[&Pair]) -> Vec<Range<usize>> {
    let mut end = 0;
    let mut next = |pair: &&Pair| {
        let begin = end;
        end += pair.tokens.len();
        begin..end
    };
    batch.iter().map(&mut next).collect()
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
