//! The product of small integers: the arithmetic that takes the time.
//!
//! Weights are 8-bit, activations 13-bit, sums 32-bit and exact, so that every processor gives the
//! same vector.
//!
//! A *panel* holds [`COLUMNS`] columns of a matrix, two rows at a time: `panel[pair][column][row of
//! the pair]`. Activations lie row by row.

#![allow(unsafe_code)]

use crate::coarse::{self, Columns, Scale};
use crate::math::{self, nearest};

/// Columns in a panel.
pub(crate) const COLUMNS: usize = 16;
/// Largest absolute value of an activation: with [`ROWS_MAX`] rows and weights of at most 127 a sum
/// stays below 2^31.
pub(crate) const ACTIVATION_MAX: f32 = 4095.0;
/// Most rows of a matrix.
pub(crate) const ROWS_MAX: usize = 4096;
/// Rows of activations that are multiplied at once: with their sums, and weights beside them, the
/// registers of every processor here are full.
const TILE: usize = 6;

/// The sums of `M` rows of activations, multiplied with `N` panels.
pub(crate) type Sums<const M: usize, const N: usize> = [[[i32; COLUMNS]; N]; M];

/// The instructions that a processor offers.
pub(crate) trait Instructions: Copy {
    /// Panels that are multiplied at once, 1 or 2.
    const PANELS: usize;

    /// Multiplies `M` rows of activations with `N` panels, which lie one after the other.
    fn tile<const M: usize, const N: usize>(self, rows: &[i16], panels: &[i8]) -> Sums<M, N>;

    /// [`Activations::apply`], compiled for this processor.
    fn apply(self, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]);

    /// Multiplies a tile of `M` rows of activations with one panel in 8 bits, as [`crate::coarse`]
    /// lays them out.
    fn coarse_tile<const M: usize>(self, tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]);

    /// What a row of such sums stands for.
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

/// Rows of activations as integers, for products with matrices.
pub(crate) trait Activations: Default {
    /// Replaces the content with `input`, rows of `width` numbers.
    fn fill(&mut self, input: &[f32], width: usize);

    /// The rows times the matrix plus the bias; `out` has a row of as many numbers as there are
    /// columns for each row.
    fn apply(&self, instructions: impl Instructions, linear: &Linear<'_>, out: &mut [f32]);

    /// The Gaussian error linear unit (Hendrycks and Gimpel, 2016), as exact as these rows are.
    fn gelu(x: f32) -> f32;
}

/// A computation that is compiled for each kind of processor.
pub(crate) trait Job {
    /// Its result, the same on all of them.
    type Out;

    /// Does it. An implementation is `#[inline(always)]`, to be compiled with the instructions.
    fn run(self, instructions: impl Instructions) -> Self::Out;
}

/// The instructions that a computation uses.
#[derive(Clone, Copy)]
pub(crate) enum Processor {
    #[cfg_attr(target_arch = "aarch64", allow(dead_code, reason = "its tests use it"))]
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Processor {
    /// The best that this processor has.
    pub(crate) fn best() -> Processor {
        #[cfg(target_arch = "aarch64")]
        return Processor::Neon;
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::new() {
            return Avx512::new().map_or(Processor::Avx2(avx2), Processor::Avx512);
        }
        #[cfg(not(target_arch = "aarch64"))]
        Processor::Portable
    }

    /// All that this processor has, to compare them.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Processor> {
        let mut all = vec![Processor::Portable];
        #[cfg(target_arch = "x86_64")]
        all.extend(Avx2::new().map(Processor::Avx2));
        #[cfg(target_arch = "x86_64")]
        all.extend(Avx512::new().map(Processor::Avx512));
        #[cfg(target_arch = "aarch64")]
        all.push(Processor::Neon);
        all
    }

    /// Does a job with these instructions.
    pub(crate) fn run<J: Job>(self, job: J) -> J::Out {
        match self {
            Processor::Portable => job.run(Portable),
            #[cfg(target_arch = "x86_64")]
            Processor::Avx2(avx2) => avx2.run(job),
            #[cfg(target_arch = "x86_64")]
            Processor::Avx512(avx512) => avx512.run(job),
            #[cfg(target_arch = "aarch64")]
            Processor::Neon => job.run(Neon),
        }
    }
}

/// Any processor.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Instructions for Portable {
    const PANELS: usize = 1;

    #[inline(always)]
    fn tile<const M: usize, const N: usize>(self, rows: &[i16], panels: &[i8]) -> Sums<M, N> {
        let len = panels.len() / (N * COLUMNS);
        let mut sums = [[[0; COLUMNS]; N]; M];
        for (row, sums) in rows.chunks_exact(len).zip(&mut sums) {
            for (panel, sums) in panels.chunks_exact(len * COLUMNS).zip(sums) {
                for (pair, weights) in row.chunks_exact(2).zip(panel.chunks_exact(2 * COLUMNS)) {
                    let (a, b) = (i32::from(pair[0]), i32::from(pair[1]));
                    for (sum, weight) in sums.iter_mut().zip(weights.chunks_exact(2)) {
                        *sum += a * i32::from(weight[0]) + b * i32::from(weight[1]);
                    }
                }
            }
        }
        sums
    }

    fn apply(self, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
        apply(self, rows, linear, out);
    }

    #[inline(always)]
    fn coarse_tile<const M: usize>(self, tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        coarse::tile_portably(tile, panel, out);
    }
}

/// Registers with a sum for each column of a panel.
trait Lanes: Copy {
    /// The weights of two rows of a panel.
    type Weights: Copy;

    /// # Safety
    /// The processor has the instructions, as for all functions here.
    unsafe fn zero() -> Self;

    /// # Safety
    /// 2 * [`COLUMNS`] numbers can be read at `panel`.
    unsafe fn load(panel: *const i8) -> Self::Weights;

    /// Adds the products of two activations with the weights.
    ///
    /// # Safety
    /// Two numbers can be read at `pair`.
    unsafe fn add(self, pair: *const i16, weights: Self::Weights) -> Self;

    /// # Safety
    /// As for all.
    unsafe fn store(self, out: &mut [i32; COLUMNS]);
}

/// [`Instructions::tile`] with such registers.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn tile_in<L: Lanes, const M: usize, const N: usize>(
    rows: &[i16],
    panels: &[i8],
) -> Sums<M, N> {
    let len = panels.len() / (N * COLUMNS);
    assert!(len.is_multiple_of(2) && rows.len() >= M * len, "a row is as long as the panel");
    let mut out = [[[0; COLUMNS]; N]; M];
    let mut starts = [rows.as_ptr(); M];
    for (m, start) in starts.iter_mut().enumerate() {
        *start = start.wrapping_add(m * len);
    }
    // SAFETY: `at + 1 < len`, so a pair of each row and two rows of each panel can be read.
    unsafe {
        let mut sums = [[L::zero(); N]; M];
        let mut at = 0;
        while at < len {
            let mut weights = [L::load(panels.as_ptr().wrapping_add(at * COLUMNS)); N];
            for (n, weights) in weights.iter_mut().enumerate().skip(1) {
                *weights = L::load(panels.as_ptr().wrapping_add((n * len + at) * COLUMNS));
            }
            for (start, sums) in starts.iter().zip(&mut sums) {
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = sum.add(start.wrapping_add(at), weights);
                }
            }
            at += 2;
        }
        for (sums, out) in sums.iter().flatten().zip(out.as_flattened_mut()) {
            sums.store(out);
        }
    }
    out
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

/// Rows of activations as integers, each with its factor.
#[derive(Default)]
pub(crate) struct Quantised {
    values: Vec<i16>,
    factors: Vec<f32>,
}

impl Activations for Quantised {
    #[inline(always)]
    fn fill(&mut self, input: &[f32], width: usize) {
        self.values.resize(input.len(), 0);
        self.factors.clear();
        for (row, out) in input.chunks_exact(width).zip(self.values.chunks_exact_mut(width)) {
            let largest = largest_of(row);
            let factor = ACTIVATION_MAX / largest;
            for (out, value) in out.iter_mut().zip(row) {
                *out = nearest(value * factor).1 as i16;
            }
            self.factors.push(largest / ACTIVATION_MAX);
        }
    }

    #[inline(always)]
    fn apply(&self, instructions: impl Instructions, linear: &Linear<'_>, out: &mut [f32]) {
        instructions.apply(self, linear, out);
    }

    #[inline(always)]
    fn gelu(x: f32) -> f32 {
        math::gelu(x)
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
fn apply<I: Instructions>(instructions: I, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
    let size = linear.rows * COLUMNS;
    let several = linear.panels.len() / (I::PANELS * size) * I::PANELS;
    let (front, back) = linear.panels.split_at(several * size);
    for (index, panels) in front.chunks_exact(I::PANELS * size).enumerate() {
        let strip = Strip { linear, panels, first: index * I::PANELS * COLUMNS };
        match I::PANELS {
            2 => strip.multiply::<I, 2>(instructions, rows, out),
            _ => strip.multiply::<I, 1>(instructions, rows, out),
        }
    }
    for (index, panels) in back.chunks_exact(size).enumerate() {
        let strip = Strip { linear, panels, first: (several + index) * COLUMNS };
        strip.multiply::<I, 1>(instructions, rows, out);
    }
}

/// A few columns of a matrix.
struct Strip<'a> {
    linear: &'a Linear<'a>,
    panels: &'a [i8],
    /// The first of the columns.
    first: usize,
}

impl Strip<'_> {
    #[inline(always)]
    fn multiply<I: Instructions, const N: usize>(
        &self,
        instructions: I,
        rows: &Quantised,
        out: &mut [f32],
    ) {
        let tiles = rows.values.chunks(TILE * self.linear.rows).zip(rows.factors.chunks(TILE));
        for ((tile, factors), out) in tiles.zip(out.chunks_mut(TILE * self.linear.bias.len())) {
            match factors.len() {
                6 => self.tile::<I, 6, N>(instructions, tile, factors, out),
                5 => self.tile::<I, 5, N>(instructions, tile, factors, out),
                4 => self.tile::<I, 4, N>(instructions, tile, factors, out),
                3 => self.tile::<I, 3, N>(instructions, tile, factors, out),
                2 => self.tile::<I, 2, N>(instructions, tile, factors, out),
                _ => self.tile::<I, 1, N>(instructions, tile, factors, out),
            }
        }
    }

    #[inline(always)]
    fn tile<I: Instructions, const M: usize, const N: usize>(
        &self,
        instructions: I,
        tile: &[i16],
        factors: &[f32],
        out: &mut [f32],
    ) {
        let sums = instructions.tile::<M, N>(tile, self.panels);
        let range = self.first..self.first + N * COLUMNS;
        let weights = &self.linear.factors[range.clone()];
        let bias = &self.linear.bias[range.clone()];
        let rows = out.chunks_exact_mut(self.linear.bias.len());
        for ((sums, factor), out) in sums.iter().zip(factors).zip(rows) {
            let columns = out[range.clone()].iter_mut().zip(sums.as_flattened());
            for (((out, &sum), weight), bias) in columns.zip(weights).zip(bias) {
                *out = sum as f32 * (factor * weight) + bias;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "aarch64")]
pub(crate) use arm::Neon;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums in no special registers, two panels at a time.
    #[derive(Clone, Copy)]
    struct Plain;

    impl Instructions for Plain {
        const PANELS: usize = 2;

        fn tile<const M: usize, const N: usize>(self, rows: &[i16], panels: &[i8]) -> Sums<M, N> {
            // SAFETY: no instructions are needed.
            unsafe { tile_in::<[i32; COLUMNS], M, N>(rows, panels) }
        }

        fn apply(self, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
            apply(self, rows, linear, out);
        }

        fn coarse_tile<const M: usize>(self, _: &[u8], _: &[i8], _: &mut [[i32; COLUMNS]; M]) {
            unreachable!("nothing here is coarse")
        }
    }

    impl Lanes for [i32; COLUMNS] {
        type Weights = [i8; 2 * COLUMNS];

        unsafe fn zero() -> Self {
            [0; COLUMNS]
        }

        unsafe fn load(panel: *const i8) -> Self::Weights {
            // SAFETY: so many numbers can be read.
            unsafe { panel.cast::<Self::Weights>().read() }
        }

        unsafe fn add(mut self, pair: *const i16, weights: Self::Weights) -> Self {
            // SAFETY: two numbers can be read.
            let [a, b] = unsafe { pair.cast::<[i16; 2]>().read() }.map(i32::from);
            for (sum, weights) in self.iter_mut().zip(weights.as_chunks::<2>().0) {
                *sum += a * i32::from(weights[0]) + b * i32::from(weights[1]);
            }
            self
        }

        unsafe fn store(self, out: &mut [i32; COLUMNS]) {
            *out = self;
        }
    }

    /// A job that multiplies.
    struct Apply<'a>(&'a Quantised, &'a Linear<'a>, usize);

    impl Job for Apply<'_> {
        type Out = Vec<f32>;

        #[inline(always)]
        fn run(self, instructions: impl Instructions) -> Vec<f32> {
            let mut out = vec![0.0; self.2];
            self.0.apply(instructions, self.1, &mut out);
            out
        }
    }

    /// What the layout says, number by number.
    fn slowly(rows: &Quantised, linear: &Linear<'_>) -> Vec<f32> {
        let mut out = Vec::new();
        for (row, factor) in rows.values.chunks_exact(linear.rows).zip(&rows.factors) {
            for column in 0..linear.bias.len() {
                let panel = &linear.panels[column / COLUMNS * linear.rows * COLUMNS..];
                let weight = |at: usize| panel[(at / 2 * COLUMNS + column % COLUMNS) * 2 + at % 2];
                let products = row.iter().enumerate();
                let products = products.map(|(at, &x)| i64::from(x) * i64::from(weight(at)));
                let sum = i32::try_from(products.sum::<i64>()).expect("no sum overflows");
                out.push(sum as f32 * (factor * linear.factors[column]) + linear.bias[column]);
            }
        }
        out
    }

    #[test]
    fn every_processor_multiplies_any_number_of_rows_and_panels() {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        };
        // As long as a row may be, so that the largest sums are there, and a short one.
        for (len, is_largest) in [(ROWS_MAX, true), (48, false)] {
            for panels in 1..5 {
                let columns = panels * COLUMNS;
                let mut weight = || if is_largest { -127 } else { (next() >> 24) as i8 };
                let weights: Vec<i8> = (0..columns * len).map(|_| weight()).collect();
                let linear = Linear {
                    rows: len,
                    factors: (0..columns).map(|at| 0.5 + at as f32).collect(),
                    bias: (0..columns).map(|at| at as f32 - 3.0).collect(),
                    sums: Vec::new(),
                    panels: &weights,
                };
                for count in [1, 2, 3, 4, 5, 6, 7, 13] {
                    let mut value = || if is_largest { 1.0 } else { next() as f32 - 2e9 };
                    let input: Vec<f32> = (0..count * len).map(|_| value()).collect();
                    let mut rows = Quantised::default();
                    rows.fill(&input, len);
                    let right = slowly(&rows, &linear);
                    let job = || Apply(&rows, &linear, count * columns);
                    assert_eq!(job().run(Plain), right, "{count} rows, {panels} panels");
                    for processor in Processor::all() {
                        assert_eq!(processor.run(job()), right, "{count} rows, {panels} panels");
                    }
                }
            }
        }
    }
}
