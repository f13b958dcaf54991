//! The product of small integers: the arithmetic that takes the time.
//!
//! Weights are 8-bit, activations 13-bit, sums 32-bit and exact, so that every processor gives the
//! same vector.
//!
//! A *panel* holds [`COLUMNS`] columns of a matrix, two rows at a time: `panel[pair][column][row of
//! the pair]`.

#![allow(unsafe_code)]

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
    /// Multiplies `M` rows of `pairs` pairs of activations with one panel.
    fn tile<const M: usize>(self, rows: [&[i16]; M], panel: &[i8], out: &mut [[i32; COLUMNS]; M]);
}

/// Any processor.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn tile<const M: usize>(self, rows: [&[i16]; M], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        *out = [[0; COLUMNS]; M];
        for (row, out) in rows.iter().zip(out) {
            for (pair, weights) in row.chunks_exact(2).zip(panel.chunks_exact(2 * COLUMNS)) {
                let (a, b) = (i32::from(pair[0]), i32::from(pair[1]));
                for (sum, weight) in out.iter_mut().zip(weights.chunks_exact(2)) {
                    *sum += a * i32::from(weight[0]) + b * i32::from(weight[1]);
                }
            }
        }
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
    fn tile<const M: usize>(self, rows: [&[i16]; M], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        // SAFETY: an `Avx2` exists only where the processor has AVX2.
        unsafe { tile_avx2(rows, panel, out) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_avx2<const M: usize>(rows: [&[i16]; M], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
    use std::arch::x86_64::*;
    let pairs = panel.len() / (2 * COLUMNS);
    assert!(
        rows.iter().all(|row| row.len() >= 2 * pairs),
        "a row has as many activations as the matrix has rows"
    );
    let mut sums = [[_mm256_setzero_si256(); 2]; M];
    for pair in 0..pairs {
        // SAFETY: pair < pairs, so 32 bytes of the panel follow, and two numbers of each row.
        let weights = unsafe {
            let at = panel.as_ptr().add(pair * 2 * COLUMNS);
            [_mm_loadu_si128(at.cast()), _mm_loadu_si128(at.add(COLUMNS).cast())]
        };
        let weights = [_mm256_cvtepi8_epi16(weights[0]), _mm256_cvtepi8_epi16(weights[1])];
        for m in 0..M {
            // SAFETY: as above.
            let two = unsafe { rows[m].as_ptr().add(2 * pair).cast::<i32>().read_unaligned() };
            let two = _mm256_set1_epi32(two);
            for half in 0..2 {
                sums[m][half] =
                    _mm256_add_epi32(sums[m][half], _mm256_madd_epi16(two, weights[half]));
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
    pub(crate) panels: &'a [i8],
}

/// Rows of activations as integers, each with its factor.
#[derive(Default)]
pub(crate) struct Quantised {
    values: Vec<i16>,
    factors: Vec<f32>,
}

/// The nearest integer, ties to even, for values below 2^22: what remains in the last bits after
/// adding 1.5 * 2^23.
#[inline(always)]
pub(crate) fn nearest(x: f32) -> (f32, i32) {
    const SHIFT: f32 = 12_582_912.0;
    let shifted = x + SHIFT;
    (shifted - SHIFT, shifted.to_bits() as i32 - SHIFT.to_bits() as i32)
}

impl Quantised {
    /// Replaces the content with `input`, rows of `width` numbers.
    #[inline(always)]
    pub(crate) fn fill(&mut self, input: &[f32], width: usize) {
        self.values.resize(input.len(), 0);
        self.factors.clear();
        for (row, out) in input.chunks_exact(width).zip(self.values.chunks_exact_mut(width)) {
            let mut lanes = [0.0f32; 8];
            for chunk in row.chunks_exact(8) {
                for (lane, value) in lanes.iter_mut().zip(chunk) {
                    *lane = if value.abs() > *lane { value.abs() } else { *lane };
                }
            }
            let largest = lanes.iter().fold(1e-12f32, |a, &b| if b > a { b } else { a });
            let factor = ACTIVATION_MAX / largest;
            for (out, value) in out.iter_mut().zip(row) {
                *out = nearest(value * factor).1 as i16;
            }
            self.factors.push(largest / ACTIVATION_MAX);
        }
    }
}

impl Linear<'_> {
    /// `input` times the matrix plus the bias; `out` has a row of as many numbers as there are
    /// columns for each row of `input`.
    #[inline(always)]
    pub(crate) fn apply(
        &self,
        instructions: impl Instructions,
        input: &Quantised,
        out: &mut [f32],
    ) {
        let columns = self.bias.len();
        let count = input.factors.len();
        for (index, panel) in self.panels.chunks_exact(self.rows * COLUMNS).enumerate() {
            let mut row = 0;
            while row < count {
                let tile = (count - row).min(TILE);
                match tile {
                    6 => self.tile::<6>(instructions, input, row, index, panel, columns, out),
                    5 => self.tile::<5>(instructions, input, row, index, panel, columns, out),
                    4 => self.tile::<4>(instructions, input, row, index, panel, columns, out),
                    3 => self.tile::<3>(instructions, input, row, index, panel, columns, out),
                    2 => self.tile::<2>(instructions, input, row, index, panel, columns, out),
                    _ => self.tile::<1>(instructions, input, row, index, panel, columns, out),
                }
                row += tile;
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the inside of one loop")]
    fn tile<const M: usize>(
        &self,
        instructions: impl Instructions,
        input: &Quantised,
        row: usize,
        index: usize,
        panel: &[i8],
        columns: usize,
        out: &mut [f32],
    ) {
        let mut sums = [[0i32; COLUMNS]; M];
        let rows: [&[i16]; M] = std::array::from_fn(|m| {
            &input.values[(row + m) * self.rows..(row + m + 1) * self.rows]
        });
        instructions.tile(rows, panel, &mut sums);
        let range = index * COLUMNS..(index + 1) * COLUMNS;
        let (factors, bias) = (&self.factors[range.clone()], &self.bias[range.clone()]);
        for (m, sums) in sums.iter().enumerate() {
            let factor = input.factors[row + m];
            let out = &mut out[(row + m) * columns..][range.clone()];
            for (((out, &sum), weight), bias) in out.iter_mut().zip(sums).zip(factors).zip(bias) {
                *out = sum as f32 * (factor * weight) + bias;
            }
        }
    }
}
