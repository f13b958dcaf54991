//! The product of small integers: the arithmetic that takes the time.
//!
//! Weights are 8-bit, activations 13-bit, sums 32-bit and exact, so that every processor gives the
//! same vector.
//!
//! A *panel* holds [`COLUMNS`] columns of a matrix, two rows at a time: `panel[pair][column][row of
//! the pair]`. Activations lie in the same way: six rows at a time, `tile[pair][row][number of the
//! pair]`.

#![allow(unsafe_code)]

use crate::coarse::{self, Columns, Scale};

/// Columns in a panel.
pub(crate) const COLUMNS: usize = 16;
/// Largest absolute value of an activation: with [`ROWS_MAX`] rows and weights of at most 127 a sum
/// stays below 2^31.
pub(crate) const ACTIVATION_MAX: f32 = 4095.0;
/// Most rows of a matrix.
pub(crate) const ROWS_MAX: usize = 4096;
/// Rows of activations that are multiplied at once.
const TILE: usize = 6;

/// The instructions that a processor offers.
pub(crate) trait Instructions: Copy {
    /// Multiplies a tile of `M` rows of activations with one panel.
    fn tile<const M: usize>(self, tile: &[i16], panel: &[i8], out: &mut [[i32; COLUMNS]; M]);

    /// The same in 8 bits, as [`crate::coarse`] lays them out.
    fn coarse_tile<const M: usize>(self, tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]);

    /// What a row of such sums stands for.
    fn rescale(
        self,
        sums: &[i32; COLUMNS],
        scale: Scale,
        columns: &Columns<'_>,
        out: &mut [f32; COLUMNS],
    );
}

/// Rows of activations as integers, for products with matrices.
pub(crate) trait Activations: Default {
    /// Replaces the content with `input`, rows of `width` numbers.
    fn fill(&mut self, input: &[f32], width: usize);

    /// The rows times the matrix plus the bias; `out` has a row of as many numbers as there are
    /// columns for each row.
    fn apply(&self, instructions: impl Instructions, linear: &Linear<'_>, out: &mut [f32]);
}

/// Any processor.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn tile<const M: usize>(self, tile: &[i16], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        *out = [[0; COLUMNS]; M];
        for (pairs, weights) in tile.chunks_exact(2 * M).zip(panel.chunks_exact(2 * COLUMNS)) {
            for (pair, out) in pairs.chunks_exact(2).zip(out.iter_mut()) {
                let (a, b) = (i32::from(pair[0]), i32::from(pair[1]));
                for (sum, weight) in out.iter_mut().zip(weights.chunks_exact(2)) {
                    *sum += a * i32::from(weight[0]) + b * i32::from(weight[1]);
                }
            }
        }
    }

    #[inline(always)]
    fn coarse_tile<const M: usize>(self, tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        coarse::tile_portably(tile, panel, out);
    }

    #[inline(always)]
    fn rescale(
        self,
        sums: &[i32; COLUMNS],
        scale: Scale,
        columns: &Columns<'_>,
        out: &mut [f32; COLUMNS],
    ) {
        coarse::rescale_portably(sums, scale, columns, out);
    }
}

/// A processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// Some if this processor has AVX2.
    pub(crate) fn new() -> Option<Avx2> {
        is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    #[inline(always)]
    fn tile<const M: usize>(self, tile: &[i16], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        // SAFETY: an `Avx2` exists only where the processor has AVX2.
        unsafe { tile_avx2(tile, panel, out) }
    }

    #[inline(always)]
    fn coarse_tile<const M: usize>(self, tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        // SAFETY: as above.
        unsafe { coarse::tile_avx2(tile, panel, out) }
    }

    #[inline(always)]
    fn rescale(
        self,
        sums: &[i32; COLUMNS],
        scale: Scale,
        columns: &Columns<'_>,
        out: &mut [f32; COLUMNS],
    ) {
        // SAFETY: as above.
        unsafe { coarse::rescale_avx2(sums, scale, columns, out) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_avx2<const M: usize>(tile: &[i16], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
    use std::arch::x86_64::*;
    let pairs = panel.len() / (2 * COLUMNS);
    assert!(tile.len() >= 2 * M * pairs, "a tile has as many pairs as the panel");
    let mut sums = [[_mm256_setzero_si256(); 2]; M];
    for pair in 0..pairs {
        // SAFETY: pair < pairs, so 32 bytes of the panel follow.
        let weights = unsafe {
            let at = panel.as_ptr().add(pair * 2 * COLUMNS);
            [_mm_loadu_si128(at.cast()), _mm_loadu_si128(at.add(COLUMNS).cast())]
        };
        let weights = [_mm256_cvtepi8_epi16(weights[0]), _mm256_cvtepi8_epi16(weights[1])];
        for (m, sums) in sums.iter_mut().enumerate() {
            // SAFETY: pair < pairs and m < M, so two numbers follow.
            let two =
                unsafe { tile.as_ptr().add(2 * (pair * M + m)).cast::<i32>().read_unaligned() };
            let two = _mm256_set1_epi32(two);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(two, weights));
            }
        }
    }
    for (sums, out) in sums.iter().zip(out) {
        for (half, sum) in sums.iter().enumerate() {
            // SAFETY: `out` has 16 numbers, each half is 8 of them.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(8 * half).cast(), *sum) };
        }
    }
}

/// A matrix of 8-bit weights with a factor and a bias for each column.
pub(crate) struct Linear<'a> {
    pub(crate) rows: usize,
    pub(crate) factors: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    /// The sum of each column's weights; none where nothing needs it.
    pub(crate) sums: Vec<i32>,
    pub(crate) panels: &'a [i8],
}

/// Rows of activations as integers in tiles, each with its factor.
#[derive(Default)]
pub(crate) struct Quantised {
    values: Vec<i16>,
    factors: Vec<f32>,
    row: Vec<i16>,
}

/// The nearest integer, ties to even, for values below 2^22: what remains in the last bits after
/// adding 1.5 * 2^23.
#[inline(always)]
pub(crate) fn nearest(x: f32) -> (f32, i32) {
    const SHIFT: f32 = 12_582_912.0;
    let shifted = x + SHIFT;
    (shifted - SHIFT, shifted.to_bits() as i32 - SHIFT.to_bits() as i32)
}

impl Activations for Quantised {
    #[inline(always)]
    fn fill(&mut self, input: &[f32], width: usize) {
        self.values.resize(input.len(), 0);
        self.row.resize(width, 0);
        self.factors.clear();
        let tiles = self.values.chunks_mut(TILE * width);
        for (rows, tile) in input.chunks(TILE * width).zip(tiles) {
            let count = rows.len() / width;
            for (m, row) in rows.chunks_exact(width).enumerate() {
                let largest = largest_of(row);
                let factor = ACTIVATION_MAX / largest;
                for (out, value) in self.row.iter_mut().zip(row) {
                    *out = nearest(value * factor).1 as i16;
                }
                let pairs = tile.as_chunks_mut::<2>().0.iter_mut().skip(m).step_by(count);
                for (out, pair) in pairs.zip(self.row.as_chunks::<2>().0) {
                    *out = *pair;
                }
                self.factors.push(largest / ACTIVATION_MAX);
            }
        }
    }

    #[inline(always)]
    fn apply(&self, instructions: impl Instructions, linear: &Linear<'_>, out: &mut [f32]) {
        let columns = linear.bias.len();
        for (index, panel) in linear.panels.chunks_exact(linear.rows * COLUMNS).enumerate() {
            let range = index * COLUMNS..(index + 1) * COLUMNS;
            let tiles = self.values.chunks(TILE * linear.rows).zip(self.factors.chunks(TILE));
            for ((tile, factors), out) in tiles.zip(out.chunks_mut(TILE * columns)) {
                let place = Place { tile, factors, panel, range: range.clone() };
                match factors.len() {
                    6 => multiply::<6>(instructions, linear, &place, out),
                    5 => multiply::<5>(instructions, linear, &place, out),
                    4 => multiply::<4>(instructions, linear, &place, out),
                    3 => multiply::<3>(instructions, linear, &place, out),
                    2 => multiply::<2>(instructions, linear, &place, out),
                    _ => multiply::<1>(instructions, linear, &place, out),
                }
            }
        }
    }
}

/// The largest absolute value, or a little where all are 0.
#[inline(always)]
fn largest_of(row: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for chunk in row.as_chunks::<8>().0 {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = if value.abs() > *lane { value.abs() } else { *lane };
        }
    }
    lanes.iter().fold(1e-12f32, |a, &b| if b > a { b } else { a })
}

#[inline(always)]
fn multiply<const M: usize>(
    instructions: impl Instructions,
    linear: &Linear<'_>,
    place: &Place<'_>,
    out: &mut [f32],
) {
    let mut sums = [[0i32; COLUMNS]; M];
    instructions.tile(place.tile, place.panel, &mut sums);
    let range = &place.range;
    let (weights, bias) = (&linear.factors[range.clone()], &linear.bias[range.clone()]);
    let rows = out.chunks_exact_mut(linear.bias.len());
    for ((sums, factor), out) in sums.iter().zip(place.factors).zip(rows) {
        let out = &mut out[range.clone()];
        for (((out, &sum), weight), bias) in out.iter_mut().zip(sums).zip(weights).zip(bias) {
            *out = sum as f32 * (factor * weight) + bias;
        }
    }
}

/// A few rows of activations and a few columns of a matrix.
struct Place<'a> {
    tile: &'a [i16],
    factors: &'a [f32],
    panel: &'a [i8],
    /// The columns.
    range: std::ops::Range<usize>,
}
