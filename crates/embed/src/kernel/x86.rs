//! The product on processors of the x86 family.

use std::arch::x86_64::*;

use super::{COLUMNS, Instructions, Job, Lanes, Linear, Quantised, Sums, apply, tile_in};
use crate::coarse::{self, Columns, Scale};

/// A processor with AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// Some if this processor has AVX2.
    pub(crate) fn new() -> Option<Avx2> {
        is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }

    /// Does a job, compiled for this processor.
    pub(super) fn run<J: Job>(self, job: J) -> J::Out {
        // SAFETY: an `Avx2` exists only where the processor has AVX2.
        unsafe { run_avx2(self, job) }
    }
}

impl Instructions for Avx2 {
    const PANELS: usize = 1;

    #[inline(always)]
    fn tile<const M: usize, const N: usize>(self, rows: &[i16], panels: &[i8]) -> Sums<M, N> {
        // SAFETY: an `Avx2` exists only where the processor has AVX2.
        unsafe { tile_avx2(rows, panels) }
    }

    fn apply(self, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
        // SAFETY: as above.
        unsafe { apply_avx2(self, rows, linear, out) }
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

#[target_feature(enable = "avx2")]
fn run_avx2<J: Job>(avx2: Avx2, job: J) -> J::Out {
    job.run(avx2)
}

#[target_feature(enable = "avx2")]
fn apply_avx2(avx2: Avx2, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
    apply(avx2, rows, linear, out);
}

#[target_feature(enable = "avx2")]
#[inline]
fn tile_avx2<const M: usize, const N: usize>(rows: &[i16], panels: &[i8]) -> Sums<M, N> {
    // SAFETY: this is compiled for AVX2.
    unsafe { tile_in::<[__m256i; 2], M, N>(rows, panels) }
}

impl Lanes for [__m256i; 2] {
    type Weights = [__m256i; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's processor has AVX2; so in all functions here.
        unsafe { [_mm256_setzero_si256(); 2] }
    }

    #[inline(always)]
    unsafe fn load(panel: *const i8) -> Self::Weights {
        // SAFETY: 32 bytes can be read.
        unsafe {
            [
                _mm256_cvtepi8_epi16(_mm_loadu_si128(panel.cast())),
                _mm256_cvtepi8_epi16(_mm_loadu_si128(panel.add(COLUMNS).cast())),
            ]
        }
    }

    #[inline(always)]
    unsafe fn add(self, pair: *const i16, weights: Self::Weights) -> Self {
        // SAFETY: two numbers can be read.
        unsafe {
            let pair = _mm256_set1_epi32(pair.cast::<i32>().read_unaligned());
            [
                _mm256_add_epi32(self[0], _mm256_madd_epi16(pair, weights[0])),
                _mm256_add_epi32(self[1], _mm256_madd_epi16(pair, weights[1])),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store(self, out: &mut [i32; COLUMNS]) {
        // SAFETY: `out` has 16 numbers, each half is 8 of them.
        unsafe {
            _mm256_storeu_si256(out.as_mut_ptr().cast(), self[0]);
            _mm256_storeu_si256(out.as_mut_ptr().add(8).cast(), self[1]);
        }
    }
}

/// A processor with AVX-512 and its instructions for neural networks (VNNI).
#[derive(Clone, Copy)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    /// Some if this processor has them.
    pub(crate) fn new() -> Option<Avx512> {
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni");
        Avx2::new().filter(|_| has_all).map(Avx512)
    }

    /// Does a job, compiled for this processor.
    pub(super) fn run<J: Job>(self, job: J) -> J::Out {
        // SAFETY: an `Avx512` exists only where the processor has these instructions.
        unsafe { run_avx512(self, job) }
    }
}

impl Instructions for Avx512 {
    const PANELS: usize = 2;

    #[inline(always)]
    fn tile<const M: usize, const N: usize>(self, rows: &[i16], panels: &[i8]) -> Sums<M, N> {
        // SAFETY: an `Avx512` exists only where the processor has these instructions.
        unsafe { tile_avx512(rows, panels) }
    }

    fn apply(self, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
        // SAFETY: as above.
        unsafe { apply_avx512(self, rows, linear, out) }
    }

    #[inline(always)]
    fn coarse_tile<const M: usize>(self, tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        self.0.coarse_tile(tile, panel, out);
    }

    #[inline(always)]
    fn rescale(
        self,
        sums: &[i32; COLUMNS],
        scale: Scale,
        columns: &Columns<'_>,
        out: &mut [f32; COLUMNS],
    ) {
        self.0.rescale(sums, scale, columns, out);
    }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn run_avx512<J: Job>(avx512: Avx512, job: J) -> J::Out {
    job.run(avx512)
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn apply_avx512(avx512: Avx512, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
    apply(avx512, rows, linear, out);
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
#[inline]
fn tile_avx512<const M: usize, const N: usize>(rows: &[i16], panels: &[i8]) -> Sums<M, N> {
    // SAFETY: this is compiled for these instructions.
    unsafe { tile_in::<__m512i, M, N>(rows, panels) }
}

impl Lanes for __m512i {
    type Weights = __m512i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's processor has these instructions; so in all functions here.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn load(panel: *const i8) -> __m512i {
        // SAFETY: 32 bytes can be read.
        unsafe { _mm512_cvtepi8_epi16(_mm256_loadu_si256(panel.cast())) }
    }

    #[inline(always)]
    unsafe fn add(self, pair: *const i16, weights: __m512i) -> Self {
        // SAFETY: two numbers can be read.
        unsafe {
            let pair = _mm512_set1_epi32(pair.cast::<i32>().read_unaligned());
            _mm512_dpwssd_epi32(self, pair, weights)
        }
    }

    #[inline(always)]
    unsafe fn store(self, out: &mut [i32; COLUMNS]) {
        // SAFETY: `out` has 16 numbers.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), self) };
    }
}
