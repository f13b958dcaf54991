//! The product of 8-bit integers with 8-bit integers, for models that make an order and not
//! vectors: more than half as fast again as [`crate::kernel`], and as exact as what such models are
//! rounded to anyway.
//!
//! An activation is a number from 0 to 255, of which another one stands for zero. Four rows of a
//! matrix lie together, `panel[quad][column][row of the quad]`, and four rows of activations:
//! `tile[quad][row][number of the quad]`. Two products are summed in 16 bits, and [`SHORT`] such
//! sums; what would not fit stays at the limit, which happens once in some ten thousands. Every
//! processor does the same.

#![allow(unsafe_code)]

use std::ops::Range;

use crate::kernel::{Activations, COLUMNS, Instructions, Linear};
use crate::math::nearest;

/// Rows of a matrix that lie together.
pub(crate) const QUAD: usize = 4;
/// Quads that are summed in 16 bits.
const SHORT: usize = 2;
/// Rows of activations that are multiplied at once.
const TILE: usize = 4;
/// The largest activation.
const LEVELS: f32 = 255.0;

/// Multiplies a tile of `M` rows of activations with one panel, on any processor.
#[inline(always)]
pub(crate) fn tile_portably<const M: usize>(
    tile: &[u8],
    panel: &[i8],
    out: &mut [[i32; COLUMNS]; M],
) {
    *out = [[0; COLUMNS]; M];
    let tiles = tile.chunks_exact(SHORT * QUAD * M);
    for (quads, weights) in tiles.zip(panel.chunks_exact(SHORT * QUAD * COLUMNS)) {
        for (m, out) in out.iter_mut().enumerate() {
            for (column, sum) in out.iter_mut().enumerate() {
                let mut short = [0i16; 2];
                for at in 0..SHORT {
                    let a = &quads[(at * M + m) * QUAD..][..QUAD];
                    let w = &weights[(at * COLUMNS + column) * QUAD..][..QUAD];
                    for (short, pair) in short.iter_mut().zip([0, 2]) {
                        let product = |at: usize| i32::from(a[at]) * i32::from(w[at]);
                        let both = product(pair) + product(pair + 1);
                        let limits = i32::from(i16::MIN)..=i32::from(i16::MAX);
                        *short =
                            short.saturating_add(both.clamp(*limits.start(), *limits.end()) as i16);
                    }
                }
                *sum += i32::from(short[0]) + i32::from(short[1]);
            }
        }
    }
}

/// The same on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(crate) fn tile_avx2<const M: usize>(tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
    use std::arch::x86_64::*;
    let groups = panel.len() / (SHORT * QUAD * COLUMNS);
    assert!(tile.len() >= groups * SHORT * QUAD * M, "a tile has as many quads as the panel");
    let ones = _mm256_set1_epi16(1);
    let mut sums = [[_mm256_setzero_si256(); 2]; M];
    for group in 0..groups {
        for (m, sums) in sums.iter_mut().enumerate() {
            for (half, sum) in sums.iter_mut().enumerate() {
                let mut short = _mm256_setzero_si256();
                for at in 0..SHORT {
                    let quad = group * SHORT + at;
                    // SAFETY: group < groups, so the quad is within the tile and the panel.
                    let (activations, weights) = unsafe {
                        (
                            tile.as_ptr().add(QUAD * (quad * M + m)).cast::<i32>().read_unaligned(),
                            _mm256_loadu_si256(panel.as_ptr().add((2 * quad + half) * 32).cast()),
                        )
                    };
                    let both = _mm256_maddubs_epi16(_mm256_set1_epi32(activations), weights);
                    short = if at == 0 { both } else { _mm256_adds_epi16(short, both) };
                }
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(short, ones));
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

/// Rows of activations of 8 bits in tiles, each with its factor and what stands for zero.
#[derive(Default)]
pub(crate) struct Coarse {
    values: Vec<u8>,
    scales: Vec<Scale>,
    row: Vec<u8>,
}

/// What the activations of a row stand for.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    factor: f32,
    zero: i32,
}

/// A few rows of activations and a few columns of a matrix.
struct CoarsePlace<'a> {
    tile: &'a [u8],
    scales: &'a [Scale],
    panel: &'a [i8],
    /// The columns.
    range: Range<usize>,
}

impl Activations for Coarse {
    #[inline(always)]
    fn fill(&mut self, input: &[f32], width: usize) {
        self.values.resize(input.len(), 0);
        self.row.resize(width, 0);
        self.scales.clear();
        let tiles = self.values.chunks_mut(TILE * width);
        for (rows, tile) in input.chunks(TILE * width).zip(tiles) {
            let count = rows.len() / width;
            for (m, row) in rows.chunks_exact(width).enumerate() {
                self.scales.push(quantise(row, &mut self.row));
                let quads = tile.as_chunks_mut::<QUAD>().0.iter_mut().skip(m).step_by(count);
                for (out, quad) in quads.zip(self.row.as_chunks::<QUAD>().0) {
                    *out = *quad;
                }
            }
        }
    }

    #[inline(always)]
    fn apply(&self, instructions: impl Instructions, linear: &Linear<'_>, out: &mut [f32]) {
        let columns = linear.bias.len();
        for (index, panel) in linear.panels.chunks_exact(linear.rows * COLUMNS).enumerate() {
            let range = index * COLUMNS..(index + 1) * COLUMNS;
            let tiles = self.values.chunks(TILE * linear.rows).zip(self.scales.chunks(TILE));
            for ((tile, scales), out) in tiles.zip(out.chunks_mut(TILE * columns)) {
                let place = CoarsePlace { tile, scales, panel, range: range.clone() };
                match scales.len() {
                    4 => multiply::<4>(instructions, linear, &place, out),
                    3 => multiply::<3>(instructions, linear, &place, out),
                    2 => multiply::<2>(instructions, linear, &place, out),
                    _ => multiply::<1>(instructions, linear, &place, out),
                }
            }
        }
    }

    #[inline(always)]
    fn gelu(x: f32) -> f32 {
        gelu(x)
    }
}

#[inline(always)]
fn multiply<const M: usize>(
    instructions: impl Instructions,
    linear: &Linear<'_>,
    place: &CoarsePlace<'_>,
    out: &mut [f32],
) {
    let mut sums = [[0i32; COLUMNS]; M];
    instructions.coarse_tile(place.tile, place.panel, &mut sums);
    let columns = linear.bias.len();
    let range = &place.range;
    let panel = Columns {
        factors: sixteen(&linear.factors[range.clone()]),
        bias: sixteen(&linear.bias[range.clone()]),
        sums: sixteen(&linear.sums[range.clone()]),
    };
    for (m, (sums, scale)) in sums.iter().zip(place.scales).enumerate() {
        let out = &mut out[m * columns + range.start..][..COLUMNS];
        let out = out.try_into().expect("a panel has as many columns");
        instructions.rescale(sums, *scale, &panel, out);
    }
}

/// The numbers of a panel's columns.
#[inline(always)]
fn sixteen<T>(values: &[T]) -> &[T; COLUMNS] {
    values.try_into().expect("a panel has as many columns")
}

/// What belongs to the columns of a panel.
pub(crate) struct Columns<'a> {
    factors: &'a [f32; COLUMNS],
    bias: &'a [f32; COLUMNS],
    sums: &'a [i32; COLUMNS],
}

/// What the sums of products stand for, on any processor.
#[inline(always)]
pub(crate) fn rescale_portably(
    sums: &[i32; COLUMNS],
    scale: Scale,
    columns: &Columns<'_>,
    out: &mut [f32; COLUMNS],
) {
    for (at, out) in out.iter_mut().enumerate() {
        let sum = sums[at] - scale.zero * columns.sums[at];
        *out = sum as f32 * (scale.factor * columns.factors[at]) + columns.bias[at];
    }
}

/// The same on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn rescale_avx2(
    sums: &[i32; COLUMNS],
    scale: Scale,
    columns: &Columns<'_>,
    out: &mut [f32; COLUMNS],
) {
    use std::arch::x86_64::*;
    let (zero, factor) = (_mm256_set1_epi32(scale.zero), _mm256_set1_ps(scale.factor));
    for half in [0, COLUMNS / 2] {
        // SAFETY: each array has 16 numbers, of which 8 follow.
        unsafe {
            let sum = _mm256_loadu_si256(sums.as_ptr().add(half).cast());
            let all = _mm256_loadu_si256(columns.sums.as_ptr().add(half).cast());
            let sum = _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_mullo_epi32(zero, all)));
            let factor = _mm256_mul_ps(factor, _mm256_loadu_ps(columns.factors.as_ptr().add(half)));
            let bias = _mm256_loadu_ps(columns.bias.as_ptr().add(half));
            let value = _mm256_add_ps(_mm256_mul_ps(sum, factor), bias);
            _mm256_storeu_ps(out.as_mut_ptr().add(half), value);
        }
    }
}

/// x times the share of a normal distribution below x, as the logistic function gives it nearly
/// (Hendrycks and Gimpel, 2016): within 4e-4, less than the rounding after it.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let square = if x * x < 400.0 { x * x } else { 400.0 };
    let power = x * (-2.302_208_2 - 0.102_943_24 * square);
    let power = if power < 120.0 { power } else { 120.0 };
    let power = if power > -120.0 { power } else { -120.0 };
    let (whole, exponent) = nearest(power);
    let f = power - whole;
    let mut p = 9.618_129e-3f32;
    for c in [5.550_411e-2, 0.240_226_5, std::f32::consts::LN_2, 1.0] {
        p = p * f + c;
    }
    x / (1.0 + p * f32::from_bits(((exponent + 127) << 23) as u32))
}

/// Rounds a row to [`LEVELS`] steps between its least and its largest number.
#[inline(always)]
fn quantise(row: &[f32], out: &mut [u8]) -> Scale {
    let (mut low, mut high) = ([0.0f32; 8], [0.0f32; 8]);
    for chunk in row.as_chunks::<8>().0 {
        for ((low, high), &value) in low.iter_mut().zip(&mut high).zip(chunk) {
            *low = if value < *low { value } else { *low };
            *high = if value > *high { value } else { *high };
        }
    }
    let low = low.iter().fold(0.0f32, |a, &b| if b < a { b } else { a });
    let high = high.iter().fold(0.0f32, |a, &b| if b > a { b } else { a });
    let span = (high - low).max(1e-12);
    let factor = LEVELS / span;
    let zero = nearest(-low * factor).1;
    for (out, value) in out.iter_mut().zip(row) {
        *out = (nearest(value * factor).1 + zero).clamp(0, LEVELS as i32) as u8;
    }
    Scale { factor: span / LEVELS, zero }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Portable;

    /// Numbers that look like nothing.
    fn numbers(count: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..count).map(next).collect()
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_processor_sums_alike_also_at_the_limit() {
        let Some(avx2) = crate::kernel::Avx2::new() else { return };
        let largest = (vec![255u8; 64 * 3], vec![127i8; 64 * COLUMNS]);
        let random = |seed| {
            let weights = numbers(64 * COLUMNS, seed + 1).into_iter().map(|x| x as i8).collect();
            (numbers(64 * 3, seed), weights)
        };
        for (tile, panel) in [largest, random(1), random(2), random(3)] {
            let (mut one, mut other) = ([[0; COLUMNS]; 3], [[0; COLUMNS]; 3]);
            Portable.coarse_tile(&tile, &panel, &mut one);
            avx2.coarse_tile(&tile, &panel, &mut other);
            assert_eq!(one, other);
        }
    }

    #[test]
    fn gelu_is_what_it_should_be_nearly() {
        // Values of x times the normal distribution function.
        let right =
            [(-30.0f32, 0.0), (-1.0, -0.158_655), (0.0, 0.0), (0.5, 0.345_731), (2.0, 1.954_5)];
        for (x, y) in right {
            assert!((gelu(x) - y).abs() < 5e-4, "{x}: {}", gelu(x));
        }
        assert_eq!(gelu(1e6), 1e6);
    }

    #[test]
    fn a_row_is_rounded_between_its_ends() {
        let row = [-1.0f32, 0.0, 0.5, 4.0, 3.99, 0.0, 0.0, 0.0];
        let mut out = [0u8; 8];
        let scale = quantise(&row, &mut out);
        assert_eq!((out[0], out[3], i32::from(out[1])), (0, 255, scale.zero));
        for (value, &rounded) in row.iter().zip(&out) {
            let back = (i32::from(rounded) - scale.zero) as f32 * scale.factor;
            assert!((value - back).abs() <= 0.51 * scale.factor, "{value}: {back}");
        }
        assert_eq!(quantise(&[0.0; 8], &mut out).zero, 0);
        assert_eq!(out, [0; 8]);
    }
}
