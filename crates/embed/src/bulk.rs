//! Many texts at once: each is computed by one thread, and several are multiplied with the weights
//! together, one after the other without padding. A text's vector is the same, to the last bit, as
//! by [`crate::bert::encode`].

use std::ops::Range;

use crate::bert::{Rows, Scratch, attend, normalise, pool, rest};
use crate::kernel::{Activations, Instructions, Job, Processor, Quantised};
use crate::share::share;
use crate::weights::Weights;

/// Tokens of a batch, unless a single text has more: more read the weights less often, fewer stay
/// in the processor's second cache.
const BATCH_TOKENS: usize = 192;
/// Batches for each thread, at least: more make the threads end together.
const BATCHES_PER_THREAD: usize = 2;

/// The vectors of texts, given as their tokens, of length 1, computed by at most `threads` threads.
pub(crate) fn encode_all(
    processor: Processor,
    weights: &Weights<'_>,
    texts: &[Vec<u32>],
    threads: usize,
) -> Vec<Vec<f32>> {
    let vectors =
        |room: &mut Room, texts: &&[Vec<u32>]| processor.run(TextBatch { weights, texts, room });
    share(&batches(texts, threads), threads, Room::default, vectors).into_iter().flatten().collect()
}

/// Neighbouring texts, together.
fn batches(texts: &[Vec<u32>], threads: usize) -> Vec<&[Vec<u32>]> {
    let all: usize = texts.iter().map(Vec::len).sum();
    let most = BATCH_TOKENS.min(all.div_ceil(threads * BATCHES_PER_THREAD));
    let (mut batches, mut rest) = (Vec::new(), texts);
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = rest.iter().take_while(|text| {
            tokens += text.len();
            tokens <= most
        });
        let (batch, others) = rest.split_at(fits.count().max(1));
        batches.push(batch);
        rest = others;
    }
    batches
}

/// What a thread computes in, from batch to batch.
#[derive(Default)]
struct Room {
    scratch: Scratch<Quantised>,
    state: Vec<f32>,
    query: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    context: Vec<f32>,
}

/// The vectors of a few texts.
struct TextBatch<'a> {
    weights: &'a Weights<'a>,
    texts: &'a [Vec<u32>],
    room: &'a mut Room,
}

impl Job for TextBatch<'_> {
    type Out = Vec<Vec<f32>>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Vec<Vec<f32>> {
        let TextBatch { weights, texts, room } = self;
        let Room { scratch, state, query, keys, values, context } = room;
        let shape = &weights.shape;
        let width = shape.hidden;
        let texts_at = ranges(texts.iter().map(Vec::len));
        let count = texts_at.last().map_or(0, |last| last.end);
        for buffer in [&mut *state, &mut *query, &mut *keys, &mut *values, &mut *context] {
            buffer.resize(count * width, 0.0);
        }
        let tokens = texts.iter().flat_map(|text| text.iter().enumerate());
        for ((place, &token), row) in tokens.zip(state.chunks_exact_mut(width)) {
            weights.embed(token, place, row);
        }
        normalise(state, &weights.embedding_norm, shape.epsilon);
        for layer in &weights.layers {
            scratch.quantised.fill(state, width);
            scratch.quantised.apply(instructions, &layer.query, query);
            scratch.quantised.apply(instructions, &layer.key, keys);
            scratch.quantised.apply(instructions, &layer.value, values);
            for text in &texts_at {
                let own = text.start * width..text.end * width;
                let rows = Rows { keys: &keys[own.clone()], values: &values[own.clone()] };
                let rows = std::iter::once(rows);
                let (query, context) = (&query[own.clone()], &mut context[own]);
                attend(query, rows, text.len(), shape, &mut scratch.heads, context);
            }
            rest(instructions, layer, shape, state, context, scratch);
        }
        let state_of = |text: &Range<usize>| &state[text.start * width..text.end * width];
        texts_at.iter().map(|text| pool(state_of(text), width, shape.pooling)).collect()
    }
}

/// Ranges of these lengths, one behind the other.
pub(crate) fn ranges(lengths: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0;
    let next = |len: usize| {
        end += len;
        end - len..end
    };
    lengths.map(next).collect()
}
