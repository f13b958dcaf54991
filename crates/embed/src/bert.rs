//! The encoder of BERT (Devlin et al., 2019): token numbers in, one vector out.
//!
//! Matrices are multiplied in integers, the rest is 32-bit floating point in a fixed order and
//! without the system's mathematics library: the same text gives the same vector, to the last bit,
//! on every machine.

use std::ops::Range;
use std::sync::{Barrier, OnceLock};
use std::thread;

use kapsa_model::Pooling;

use crate::kernel::{Activations, Instructions, Job, Processor, Quantised};
use crate::math::exp;
use crate::weights::{Layer, Norm, Shape, Weights};

/// Fewest tokens of a text for which a thread is started.
const TOKENS_PER_THREAD_MIN: usize = 6;

/// The vector of a text whose tokens are `tokens`, of length 1, computed by at most `threads`
/// threads. Their number does not change a bit of it.
pub(crate) fn encode(
    processor: Processor,
    weights: &Weights<'_>,
    tokens: &[u32],
    threads: usize,
) -> Vec<f32> {
    let most = threads.min(tokens.len() / TOKENS_PER_THREAD_MIN).max(1);
    // The work is cut for the threads that the system grants, and handed out once they are known.
    let board = &OnceLock::new();
    let state = thread::scope(|scope| {
        let work =
            |part| move || processor.run(Part { weights, tokens, board: board.wait(), part });
        let others: Vec<_> = (1..most)
            .map_while(|part| thread::Builder::new().spawn_scoped(scope, work(part)).ok())
            .collect();
        let parts = 1 + others.len();
        let board = board.get_or_init(|| Board::new(tokens.len(), parts, weights.layers.len()));
        let mut state = processor.run(Part { weights, tokens, board, part: 0 });
        for other in others {
            state.extend(other.join().expect("arithmetic does not panic"));
        }
        state
    });
    pool(&state, weights.shape.hidden, weights.shape.pooling)
}

/// Keys and values of some tokens, a row for each.
struct Projected {
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// What the threads of one text show each other: each computes the rows of its own tokens, and
/// needs of the others only their keys and values, once a layer.
struct Board {
    /// The tokens of each thread.
    parts: Vec<Range<usize>>,
    /// One for each layer and thread.
    projected: Vec<Vec<OnceLock<Projected>>>,
    barrier: Barrier,
}

impl Board {
    fn new(tokens: usize, threads: usize, layers: usize) -> Board {
        let cut = |part: usize| tokens * part / threads;
        let one_each = || (0..threads).map(|_| OnceLock::new()).collect();
        Board {
            parts: (0..threads).map(|part| cut(part)..cut(part + 1)).collect(),
            projected: (0..layers).map(|_| one_each()).collect(),
            barrier: Barrier::new(threads),
        }
    }

    /// Shows the keys and values of one thread, waits for those of the others, and gives all, in
    /// the order of the tokens.
    fn exchange(&self, layer: usize, part: usize, own: Projected) -> &[OnceLock<Projected>] {
        let shown = self.projected[layer][part].set(own);
        assert!(shown.is_ok(), "a thread comes to each layer once");
        self.barrier.wait();
        &self.projected[layer]
    }
}

/// What one thread does of a text: the last state of its own tokens.
struct Part<'a> {
    weights: &'a Weights<'a>,
    tokens: &'a [u32],
    board: &'a Board,
    part: usize,
}

impl Job for Part<'_> {
    type Out = Vec<f32>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Vec<f32> {
        let Part { weights, tokens, board, part } = self;
        let shape = &weights.shape;
        let own = board.parts[part].clone();
        let (count, width) = (own.len(), shape.hidden);
        let mut state = vec![0.0f32; count * width];
        for (place, row) in own.zip(state.chunks_exact_mut(width)) {
            weights.embed(tokens[place], place, row);
        }
        normalise(&mut state, &weights.embedding_norm, shape.epsilon);

        let mut scratch = Scratch::<Quantised>::default();
        let mut query = vec![0.0f32; count * width];
        let mut context = vec![0.0f32; count * width];
        for (index, layer) in weights.layers.iter().enumerate() {
            let quantised = &mut scratch.quantised;
            quantised.fill(&state, width);
            quantised.apply(instructions, &layer.query, &mut query);
            let [mut keys, mut values] = std::array::from_fn(|_| vec![0.0f32; count * width]);
            quantised.apply(instructions, &layer.key, &mut keys);
            quantised.apply(instructions, &layer.value, &mut values);
            let all = board.exchange(index, part, Projected { keys, values });
            let all = all.iter().filter_map(OnceLock::get);
            let all = all.map(|part| Rows { keys: &part.keys, values: &part.values });
            attend(&query, all, tokens.len(), shape, &mut scratch.heads, &mut context);
            rest(instructions, layer, shape, &mut state, &context, &mut scratch);
        }
        state
    }
}

/// What a layer keeps between its steps.
#[derive(Default)]
pub(crate) struct Scratch<A> {
    pub(crate) quantised: A,
    pub(crate) heads: Heads,
    narrow: Vec<f32>,
    wide: Vec<f32>,
}

/// A layer from the output of the attention on.
#[inline(always)]
pub(crate) fn rest<A: Activations>(
    instructions: impl Instructions,
    layer: &Layer<'_>,
    shape: &Shape,
    state: &mut [f32],
    context: &[f32],
    scratch: &mut Scratch<A>,
) {
    let Scratch { quantised, narrow, wide, .. } = scratch;
    let count = state.len() / shape.hidden;
    narrow.resize(state.len(), 0.0);
    wide.resize(count * shape.intermediate, 0.0);
    quantised.fill(context, shape.hidden);
    quantised.apply(instructions, &layer.output, narrow);
    add(state, narrow);
    normalise(state, &layer.attention_norm, shape.epsilon);

    quantised.fill(state, shape.hidden);
    quantised.apply(instructions, &layer.up, wide);
    for x in wide.iter_mut() {
        *x = A::gelu(*x);
    }
    quantised.fill(wide, shape.intermediate);
    quantised.apply(instructions, &layer.down, narrow);
    add(state, narrow);
    normalise(state, &layer.output_norm, shape.epsilon);
}

pub(crate) fn pool(state: &[f32], width: usize, pooling: Pooling) -> Vec<f32> {
    let mut vector = vec![0.0f32; width];
    let rows = if pooling == Pooling::First { 1 } else { usize::MAX };
    state.chunks_exact(width).take(rows).for_each(|row| add(&mut vector, row));
    let length = sum_of(&vector, |x| x * x).sqrt().max(1e-12);
    for x in &mut vector {
        *x /= length;
    }
    vector
}

#[inline(always)]
pub(crate) fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// Sum in eight lanes, whatever the processor.
#[inline(always)]
pub(crate) fn sum_of(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 8];
    let chunks = values.chunks_exact(8);
    for (lane, value) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = term(*value);
    }
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    lanes.iter().sum()
}

/// Layer normalisation (Ba et al., 2016) of each row.
#[inline(always)]
pub(crate) fn normalise(state: &mut [f32], norm: &Norm, epsilon: f32) {
    let width = norm.weight.len();
    for row in state.chunks_exact_mut(width) {
        let mean = sum_of(row, |x| x) / width as f32;
        let variance = sum_of(row, |x| (x - mean) * (x - mean)) / width as f32;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for ((x, weight), bias) in row.iter_mut().zip(&norm.weight).zip(&norm.bias) {
            *x = (*x - mean) * factor * weight + bias;
        }
    }
}

/// Numbers that are summed at once, in registers.
const BLOCK: usize = 32;
/// Rows of queries that are summed at once.
const QUERIES: usize = 2;

/// Keys and values of some tokens, a row for each.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) keys: &'a [f32],
    pub(crate) values: &'a [f32],
}

/// One head at a time: keys and values of all tokens, the scores of some, and the sums of values.
#[derive(Default)]
pub(crate) struct Heads {
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
    sums: Vec<f32>,
}

/// Scaled dot-product attention (Vaswani et al., 2017), head by head: of the `query` rows to all
/// `count` rows.
#[inline(always)]
pub(crate) fn attend<'a>(
    query: &[f32],
    all: impl Iterator<Item = Rows<'a>> + Clone,
    count: usize,
    shape: &Shape,
    heads: &mut Heads,
    context: &mut [f32],
) {
    let width = shape.hidden;
    let size = width / shape.heads;
    let (places, parts) = (count.next_multiple_of(BLOCK), size.next_multiple_of(BLOCK));
    let scale = 1.0 / (size as f32).sqrt();
    // Keys have a row for each number, values one for each position; both are padded to whole
    // blocks, with anything.
    let Heads { keys, values, scores, sums } = heads;
    keys.resize(size * places, 0.0);
    values.resize(count * parts, 0.0);
    scores.resize(QUERIES * places, 0.0);
    sums.resize(QUERIES * parts, 0.0);
    for head in 0..shape.heads {
        let part = head * size..(head + 1) * size;
        let rows = all.clone().flat_map(|Rows { keys, values }| {
            keys.chunks_exact(width).zip(values.chunks_exact(width))
        });
        for (place, (key, value)) in rows.enumerate() {
            for (d, &x) in key[part.clone()].iter().enumerate() {
                keys[d * places + place] = x * scale;
            }
            values[place * parts..place * parts + size].copy_from_slice(&value[part.clone()]);
        }
        let queries = query.chunks(QUERIES * width);
        for (query, context) in queries.zip(context.chunks_mut(QUERIES * width)) {
            let rows = query.len() / width;
            // Where there are fewer, the last one is computed again.
            let own = |row: usize| &query[row.min(rows - 1) * width..][part.clone()];
            weigh(std::array::from_fn(own), keys, scores);
            for scores in scores.chunks_exact_mut(places) {
                softmax(&mut scores[..count]);
            }
            let weights = |row: usize| &scores[row * places..][..count];
            weigh(std::array::from_fn(weights), values, sums);
            for (sums, context) in sums.chunks_exact(parts).zip(context.chunks_exact_mut(width)) {
                context[part.clone()].copy_from_slice(&sums[..size]);
            }
        }
    }
}

/// The sums of the rows, weighted in [`QUERIES`] ways, one after the other.
#[inline(always)]
fn weigh(weights: [&[f32]; QUERIES], rows: &[f32], out: &mut [f32]) {
    let width = out.len() / QUERIES;
    let (first, second) = out.split_at_mut(width);
    let blocks = first.as_chunks_mut::<BLOCK>().0.iter_mut();
    for (block, (first, second)) in blocks.zip(second.as_chunks_mut::<BLOCK>().0).enumerate() {
        // Two arrays, not an array of two: the compiler keeps them in registers.
        let (mut one, mut other) = ([0.0f32; BLOCK], [0.0f32; BLOCK]);
        let weights = weights[0].iter().zip(weights[1]);
        for ((&a, &b), row) in weights.zip(rows.chunks_exact(width)) {
            let row = &row.as_chunks::<BLOCK>().0[block];
            for (at, x) in row.iter().enumerate() {
                one[at] += a * x;
                other[at] += b * x;
            }
        }
        (*first, *second) = (one, other);
    }
}

#[inline(always)]
fn softmax(scores: &mut [f32]) {
    let mut lanes = [f32::MIN; 8];
    let (chunks, others) = scores.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &score) in lanes.iter_mut().zip(chunk) {
            *lane = if score > *lane { score } else { *lane };
        }
    }
    let largest = lanes.iter().chain(others).fold(f32::MIN, |a, &b| if b > a { b } else { a });
    for score in scores.iter_mut() {
        *score = exp(*score - largest);
    }
    let total = sum_of(scores, |x| x);
    for score in scores {
        *score /= total;
    }
}
