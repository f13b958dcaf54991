//! The layout of a model file, and how it is read without copying.
//!
//! Little-endian, no gaps but those named: `KAPSAMDL`, version (4 bytes), length of the head (4),
//! head (JSON, [`Shape`] and the names), zeros to a multiple of 8; then, with V words, P positions,
//! H hidden and I intermediate numbers:
//! 1. vocabulary: V + 1 offsets (4 bytes each), the bytes of the words, zeros to a multiple of 8;
//! 2. table of slots (4 bytes each, number of the word plus one, 0 empty), a power of two and at
//!    least 2 V of them: a word's slot is its XXH3, low bits, or the next free one;
//! 3. words' vectors: V factors, V × H 8-bit numbers, zeros to a multiple of 8; positions' vectors:
//!    P × H;
//! 4. normalisation (H weights, H biases);
//! 5. each layer: query, key, value, output (H × H), normalisation, up (H × I), down (I × H),
//!    normalisation. A matrix is its columns' factors, biases, and the panels of [`crate::kernel`];
//! 6. of a re-ranker, which has version 2: what a token of the second text has besides (H), pooler
//!    (H × H), weights of the logit (H), its bias (1). Its matrices are their columns' factors,
//!    biases, sums of weights (4-byte integers), and the panels of [`crate::coarse`].

use std::borrow::Cow;

use kapsa_model::{COSINE_FLOOR_MAX, DIMENSION_MAX, EmbedError, Model, Pooling};
use serde::{Deserialize, Serialize};

use crate::coarse::QUAD;
use crate::kernel::{COLUMNS, Linear, ROWS_MAX};

const MAGIC: [u8; 8] = *b"KAPSAMDL";
/// Of a model that makes vectors.
const VERSION: u32 = 1;
/// Of a model that makes logits: programs that know only the other refuse it.
const VERSION_RERANKER: u32 = 2;
const HEAD_BYTES_MAX: usize = 1 << 16;
const VOCABULARY_MAX: usize = 1 << 20;
const POSITIONS_MAX: usize = 1 << 13;
const LAYERS_MAX: usize = 64;

/// The head of a model file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// Its source and licence, for people.
    #[serde(default)]
    pub(crate) origin: String,
    #[serde(default)]
    pub(crate) query_prefix: String,
    #[serde(default)]
    pub(crate) passage_prefix: String,
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) intermediate: usize,
    pub(crate) vocabulary: usize,
    pub(crate) positions: usize,
    pub(crate) epsilon: f32,
    /// `mean` or `first`.
    pub(crate) pooling: String,
    /// Whether words are folded to lower case without accents.
    pub(crate) lower_case: bool,
    /// [`Model::cosine_floor`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) cosine_floor: u8,
    /// Whether it reads two texts and makes a logit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reranker: bool,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// The sizes that the computation needs.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) intermediate: usize,
    pub(crate) epsilon: f32,
    pub(crate) pooling: Pooling,
}

/// Weight and bias of a normalisation.
pub(crate) struct Norm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// One layer.
pub(crate) struct Layer<'a> {
    pub(crate) query: Linear<'a>,
    pub(crate) key: Linear<'a>,
    pub(crate) value: Linear<'a>,
    pub(crate) output: Linear<'a>,
    pub(crate) attention_norm: Norm,
    pub(crate) up: Linear<'a>,
    pub(crate) down: Linear<'a>,
    pub(crate) output_norm: Norm,
}

/// What a re-ranker has behind its last layer, and before its first.
pub(crate) struct Scorer<'a> {
    /// Added to the vector of each token of the second text.
    pub(crate) second: Vec<f32>,
    pub(crate) pooler: Linear<'a>,
    pub(crate) weights: Vec<f32>,
    pub(crate) bias: f32,
}

/// The content of a model file.
pub(crate) struct Weights<'a> {
    pub(crate) model: Model,
    pub(crate) shape: Shape,
    pub(crate) lower_case: bool,
    vocabulary: Vocabulary<'a>,
    word_factors: &'a [u8],
    words: &'a [i8],
    positions: &'a [u8],
    pub(crate) embedding_norm: Norm,
    pub(crate) layers: Vec<Layer<'a>>,
    /// Only of a re-ranker.
    pub(crate) scorer: Option<Scorer<'a>>,
}

/// Numbers of words.
struct Vocabulary<'a> {
    offsets: &'a [u8],
    bytes: &'a [u8],
    slots: &'a [u8],
}

fn damaged(what: &str) -> EmbedError {
    EmbedError {
        message: format!("the model file is damaged: {what}"),
        hint: Some("make it again with `kapsa model add`".into()),
    }
}

impl<'a> Weights<'a> {
    /// Reads a model file; copies nothing large.
    ///
    /// # Errors
    /// When the bytes are not a model file, or exceed a limit.
    pub(crate) fn read(bytes: &'a [u8], hash: [u8; 32]) -> Result<Weights<'a>, EmbedError> {
        let (head, at) = head(bytes)?;
        let mut cursor = Cursor { bytes, at, has_sums: head.reranker };
        let vocabulary = cursor.vocabulary(head.vocabulary)?;
        let word_factors = cursor.take(head.vocabulary * 4)?;
        let words = signed(cursor.take(head.vocabulary * head.hidden)?);
        cursor.align();
        let positions = cursor.take(head.positions * head.hidden * 4)?;
        let embedding_norm = cursor.norm(head.hidden)?;
        let mut layers = Vec::with_capacity(head.layers);
        for _ in 0..head.layers {
            let [query, key, value, output] = [
                cursor.linear(head.hidden, head.hidden)?,
                cursor.linear(head.hidden, head.hidden)?,
                cursor.linear(head.hidden, head.hidden)?,
                cursor.linear(head.hidden, head.hidden)?,
            ];
            let attention_norm = cursor.norm(head.hidden)?;
            let up = cursor.linear(head.hidden, head.intermediate)?;
            let down = cursor.linear(head.intermediate, head.hidden)?;
            let output_norm = cursor.norm(head.hidden)?;
            layers.push(Layer { query, key, value, output, attention_norm, up, down, output_norm });
        }
        let scorer = if head.reranker { Some(cursor.scorer(head.hidden)?) } else { None };
        if cursor.at != bytes.len() {
            return Err(damaged("it is longer than its head says"));
        }
        let pooling = if head.pooling == "first" { Pooling::First } else { Pooling::Mean };
        let model = Model {
            name: head.name,
            hash,
            dimension: if head.reranker { 1 } else { head.hidden as u32 },
            pooling,
            query_prefix: head.query_prefix,
            passage_prefix: head.passage_prefix,
            tokens_max: head.positions as u32,
            cosine_floor: head.cosine_floor,
        };
        let shape = Shape {
            hidden: head.hidden,
            heads: head.heads,
            intermediate: head.intermediate,
            epsilon: head.epsilon,
            pooling,
        };
        Ok(Weights {
            model,
            shape,
            lower_case: head.lower_case,
            vocabulary,
            word_factors,
            words,
            positions,
            embedding_norm,
            layers,
            scorer,
        })
    }

    /// The number of a word or of a part of one.
    pub(crate) fn word(&self, word: &[u8]) -> Option<u32> {
        self.vocabulary.find(word)
    }

    /// Writes the sum of the vectors of a word and of its position into `row`.
    #[inline(always)]
    pub(crate) fn embed(&self, word: u32, place: usize, row: &mut [f32]) {
        let (word, width) = (word as usize, row.len());
        let factor = f32_at(self.word_factors, word);
        let values = &self.words[word * width..(word + 1) * width];
        let places = &self.positions[place * width * 4..(place + 1) * width * 4];
        for ((out, &value), place) in row.iter_mut().zip(values).zip(places.as_chunks::<4>().0) {
            *out = f32::from(value) * factor + f32::from_le_bytes(*place);
        }
    }
}

/// Whether a file that begins with these bytes, 16 or more, is a re-ranker rather than a model for
/// vectors.
#[must_use]
pub fn is_reranker(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) && u32_at(bytes, 2) == VERSION_RERANKER
}

/// The head of a model file, checked, and where the rest begins.
fn head(bytes: &[u8]) -> Result<(Head, usize), EmbedError> {
    if bytes.len() < 16 || bytes[..8] != MAGIC {
        return Err(damaged("it is not a model file"));
    }
    let version = u32_at(bytes, 2);
    if ![VERSION, VERSION_RERANKER].contains(&version) {
        return Err(damaged("its version is unknown"));
    }
    let len = u32_at(bytes, 3) as usize;
    let text = (len <= HEAD_BYTES_MAX)
        .then(|| bytes.get(16..16 + len))
        .flatten()
        .ok_or_else(|| damaged("its head is cut short"))?;
    let head: Head =
        serde_json::from_slice(text).map_err(|error| damaged(&format!("its head: {error}")))?;
    if head.reranker != (version == VERSION_RERANKER) {
        return Err(damaged("its head does not fit its version"));
    }
    head.check()?;
    Ok((head, (16 + len).next_multiple_of(8)))
}

impl Head {
    /// Refuses what this crate cannot compute.
    pub(crate) fn check(&self) -> Result<(), EmbedError> {
        let fits = |what: &str, value: usize, most: usize| {
            let message = format!("the model's {what} is {value}; it must be from 1 to {most}");
            if (1..=most).contains(&value) {
                Ok(())
            } else {
                Err(EmbedError { message, hint: None })
            }
        };
        fits("hidden size", self.hidden, (DIMENSION_MAX as usize).min(ROWS_MAX))?;
        fits("intermediate size", self.intermediate, ROWS_MAX)?;
        fits("number of heads", self.heads, self.hidden)?;
        fits("number of layers", self.layers, LAYERS_MAX)?;
        fits("number of words", self.vocabulary, VOCABULARY_MAX)?;
        fits("number of positions", self.positions, POSITIONS_MAX)?;
        // First, last and, between two texts, one more.
        if self.positions < if self.reranker { 3 } else { 2 } {
            let message = "the model has no room for its special tokens".into();
            return Err(EmbedError { message, hint: None });
        }
        let even = self.hidden.is_multiple_of(COLUMNS) && self.intermediate.is_multiple_of(COLUMNS);
        if !(even
            && self.hidden.is_multiple_of(self.heads)
            && self.epsilon > 0.0
            && self.epsilon < 1.0)
        {
            let message = format!(
                "the model's sizes do not fit each other, or are not multiples of {COLUMNS}"
            );
            return Err(EmbedError { message, hint: None });
        }
        if self.cosine_floor > COSINE_FLOOR_MAX {
            let message = format!("the model's cosine floor is above 0.{COSINE_FLOOR_MAX}");
            return Err(EmbedError { message, hint: None });
        }
        if !["mean", "first"].contains(&self.pooling.as_str()) {
            return Err(EmbedError {
                message: "the model's pooling is neither `mean` nor `first`".into(),
                hint: None,
            });
        }
        Ok(())
    }
}

impl Vocabulary<'_> {
    fn find(&self, word: &[u8]) -> Option<u32> {
        let count = self.slots.len() / 4;
        let mut slot = xxhash_rust::xxh3::xxh3_64(word) as usize & (count - 1);
        for _ in 0..count {
            let number = u32_at(self.slots, slot).checked_sub(1)?;
            if self.bytes_of(number) == Some(word) {
                return Some(number);
            }
            slot = (slot + 1) & (count - 1);
        }
        None
    }

    fn bytes_of(&self, number: u32) -> Option<&[u8]> {
        let number = number as usize;
        (number + 1 < self.offsets.len() / 4)
            .then(|| {
                u32_at(self.offsets, number) as usize..u32_at(self.offsets, number + 1) as usize
            })
            .and_then(|range| self.bytes.get(range))
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether matrices have the sums of their columns.
    has_sums: bool,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], EmbedError> {
        let taken = self
            .at
            .checked_add(len)
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| damaged("it is cut short"))?;
        self.at += len;
        Ok(taken)
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }

    fn floats(&mut self, count: usize) -> Result<Vec<f32>, EmbedError> {
        Ok(self
            .take(count * 4)?
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect())
    }

    fn integers(&mut self, count: usize) -> Result<Vec<i32>, EmbedError> {
        let bytes = self.take(count * 4)?.as_chunks::<4>().0;
        Ok(bytes.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
    }

    fn norm(&mut self, width: usize) -> Result<Norm, EmbedError> {
        Ok(Norm { weight: self.floats(width)?, bias: self.floats(width)? })
    }

    fn linear(&mut self, rows: usize, columns: usize) -> Result<Linear<'a>, EmbedError> {
        Ok(Linear {
            rows,
            factors: self.floats(columns)?,
            bias: self.floats(columns)?,
            sums: if self.has_sums { self.integers(columns)? } else { Vec::new() },
            panels: signed(self.take(rows * columns)?),
        })
    }

    fn scorer(&mut self, width: usize) -> Result<Scorer<'a>, EmbedError> {
        Ok(Scorer {
            second: self.floats(width)?,
            pooler: self.linear(width, width)?,
            weights: self.floats(width)?,
            bias: self.floats(1)?[0],
        })
    }

    fn vocabulary(&mut self, count: usize) -> Result<Vocabulary<'a>, EmbedError> {
        let offsets = self.take((count + 1) * 4)?;
        let bytes = self.take(u32_at(offsets, count) as usize)?;
        self.align();
        let slots = self.take((2 * count).next_power_of_two() * 4)?;
        Ok(Vocabulary { offsets, bytes, slots })
    }
}

fn u32_at(bytes: &[u8], index: usize) -> u32 {
    bytes.as_chunks::<4>().0.get(index).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn f32_at(bytes: &[u8], index: usize) -> f32 {
    f32::from_bits(u32_at(bytes, index))
}

/// The same bytes as signed numbers.
fn signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: u8 and i8 have the same size and alignment, and every bit pattern is one of each.
    #[allow(unsafe_code)]
    unsafe {
        std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len())
    }
}

/// A matrix as another program stores it: `values[row * columns + column]`.
pub(crate) struct Matrix<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Cow<'a, [f32]>,
    /// What all values are multiples of, if they were rounded before.
    pub(crate) step: Option<f32>,
}

/// What stands behind the layers of a re-ranker; see [`Scorer`].
pub(crate) struct FullScorer<'a> {
    pub(crate) second: Vec<f32>,
    pub(crate) pooler: (Matrix<'a>, Vec<f32>),
    pub(crate) weights: Vec<f32>,
    pub(crate) bias: f32,
}

/// A model as other programs store it, before it becomes a model file.
pub(crate) struct Full<'a> {
    pub(crate) head: Head,
    /// The words, in order of their numbers.
    pub(crate) vocabulary: Vec<String>,
    /// V × H.
    pub(crate) words: Matrix<'a>,
    /// P × H, the vector of token type 0 added.
    pub(crate) positions: Vec<f32>,
    pub(crate) embedding_norm: Norm,
    pub(crate) layers: Vec<FullLayer<'a>>,
    pub(crate) scorer: Option<FullScorer<'a>>,
}

/// Query, key, value and output with their biases, and so on.
pub(crate) struct FullLayer<'a> {
    pub(crate) attention: [(Matrix<'a>, Vec<f32>); 4],
    pub(crate) attention_norm: Norm,
    pub(crate) up: (Matrix<'a>, Vec<f32>),
    pub(crate) down: (Matrix<'a>, Vec<f32>),
    pub(crate) output_norm: Norm,
}

impl Full<'_> {
    /// The bytes of a model file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let head = serde_json::to_vec(&self.head).expect("plain data");
        let mut out = MAGIC.to_vec();
        let version = if self.head.reranker { VERSION_RERANKER } else { VERSION };
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&(head.len() as u32).to_le_bytes());
        out.extend_from_slice(&head);
        align(&mut out);
        push_vocabulary(&self.vocabulary, &mut out);
        push_words(&self.words, &mut out);
        push_floats(&self.positions, &mut out);
        push_norm(&self.embedding_norm, &mut out);
        let is_coarse = self.head.reranker;
        for layer in &self.layers {
            layer.attention.iter().for_each(|linear| push_linear(linear, is_coarse, &mut out));
            push_norm(&layer.attention_norm, &mut out);
            push_linear(&layer.up, is_coarse, &mut out);
            push_linear(&layer.down, is_coarse, &mut out);
            push_norm(&layer.output_norm, &mut out);
        }
        if let Some(scorer) = &self.scorer {
            push_floats(&scorer.second, &mut out);
            push_linear(&scorer.pooler, is_coarse, &mut out);
            push_floats(&scorer.weights, &mut out);
            push_floats(&[scorer.bias], &mut out);
        }
        out
    }
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

fn push_floats(values: &[f32], out: &mut Vec<u8>) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn push_norm(norm: &Norm, out: &mut Vec<u8>) {
    push_floats(&norm.weight, out);
    push_floats(&norm.bias, out);
}

fn push_vocabulary(words: &[String], out: &mut Vec<u8>) {
    let mut offset = 0u32;
    out.extend_from_slice(&offset.to_le_bytes());
    for word in words {
        offset += word.len() as u32;
        out.extend_from_slice(&offset.to_le_bytes());
    }
    words.iter().for_each(|word| out.extend_from_slice(word.as_bytes()));
    align(out);
    let count = (2 * words.len()).next_power_of_two();
    let mut slots = vec![0u32; count];
    for (number, word) in words.iter().enumerate() {
        let mut slot = xxhash_rust::xxh3::xxh3_64(word.as_bytes()) as usize & (count - 1);
        while slots[slot] != 0 {
            slot = (slot + 1) & (count - 1);
        }
        slots[slot] = number as u32 + 1;
    }
    slots.iter().for_each(|slot| out.extend_from_slice(&slot.to_le_bytes()));
}

fn push_words(words: &Matrix<'_>, out: &mut Vec<u8>) {
    let rows = || words.values.chunks_exact(words.columns);
    let factors: Vec<f32> = rows().map(|row| factor_of(row.iter().copied(), words.step)).collect();
    push_floats(&factors, out);
    for (row, factor) in rows().zip(&factors) {
        out.extend(row.iter().map(|value| rounded(*value, *factor)));
    }
    align(out);
}

fn push_linear((matrix, bias): &(Matrix<'_>, Vec<f32>), is_coarse: bool, out: &mut Vec<u8>) {
    let Matrix { rows, columns, values, step } = matrix;
    let column = |column: usize| (0..*rows).map(move |row| values[row * columns + column]);
    let factors: Vec<f32> = (0..*columns).map(|at| factor_of(column(at), *step)).collect();
    push_floats(&factors, out);
    push_floats(bias, out);
    let weight = |row: usize, at: usize| rounded(values[row * columns + at], factors[at]);
    if is_coarse {
        for at in 0..*columns {
            let sum: i32 = (0..*rows).map(|row| i32::from(weight(row, at) as i8)).sum();
            out.extend_from_slice(&sum.to_le_bytes());
        }
    }
    // Rows that lie together.
    let group = if is_coarse { QUAD } else { 2 };
    for panel in 0..columns / COLUMNS {
        for first in (0..*rows).step_by(group) {
            for at in panel * COLUMNS..(panel + 1) * COLUMNS {
                out.extend((first..first + group).map(|row| weight(row, at)));
            }
        }
    }
}

/// What 127 stands for, divided by 127. Values that were rounded before are left as they are where
/// they fit.
fn factor_of(values: impl Iterator<Item = f32>, step: Option<f32>) -> f32 {
    let factor = values.fold(1e-12, |largest: f32, value| largest.max(value.abs())) / 127.0;
    step.filter(|step| factor < step * 1.000_1).unwrap_or(factor)
}

fn rounded(value: f32, factor: f32) -> u8 {
    (value / factor).round().clamp(-127.0, 127.0) as i8 as u8
}
