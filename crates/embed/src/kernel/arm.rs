//! The product on processors of the Arm family with 64 bits, all of which have NEON.

use std::arch::aarch64::*;

use super::{COLUMNS, Instructions, Lanes, Linear, Quantised, Sums, apply, tile_in};
use crate::coarse;

/// A processor with NEON.
#[derive(Clone, Copy)]
pub(crate) struct Neon;

impl Instructions for Neon {
    const PANELS: usize = 1;

    #[inline(always)]
    fn tile<const M: usize, const N: usize>(self, rows: &[i16], panels: &[i8]) -> Sums<M, N> {
        // SAFETY: every processor that this is compiled for has NEON.
        unsafe { tile_in::<[int32x4_t; 4], M, N>(rows, panels) }
    }

    fn apply(self, rows: &Quantised, linear: &Linear<'_>, out: &mut [f32]) {
        apply(self, rows, linear, out);
    }

    #[inline(always)]
    fn coarse_tile<const M: usize>(self, tile: &[u8], panel: &[i8], out: &mut [[i32; COLUMNS]; M]) {
        coarse::tile_portably(tile, panel, out);
    }
}

impl Lanes for [int32x4_t; 4] {
    /// Eight columns of the first row, the other eight, and the same of the second row.
    type Weights = [[int16x8_t; 2]; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the processor has NEON; so in all functions here.
        unsafe { [vdupq_n_s32(0); 4] }
    }

    #[inline(always)]
    unsafe fn load(panel: *const i8) -> Self::Weights {
        // SAFETY: 32 bytes can be read.
        unsafe {
            let int8x16x2_t(first, second) = vld2q_s8(panel);
            [
                [vmovl_s8(vget_low_s8(first)), vmovl_high_s8(first)],
                [vmovl_s8(vget_low_s8(second)), vmovl_high_s8(second)],
            ]
        }
    }

    #[inline(always)]
    unsafe fn add(self, pair: *const i16, weights: Self::Weights) -> Self {
        let mut sums = self;
        // SAFETY: two numbers can be read.
        unsafe {
            for (row, weights) in weights.iter().enumerate() {
                let activation = *pair.add(row);
                for (half, weights) in weights.iter().enumerate() {
                    let (low, high) = (2 * half, 2 * half + 1);
                    sums[low] = vmlal_n_s16(sums[low], vget_low_s16(*weights), activation);
                    sums[high] = vmlal_high_n_s16(sums[high], *weights, activation);
                }
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn store(self, out: &mut [i32; COLUMNS]) {
        for (at, sums) in self.into_iter().enumerate() {
            // SAFETY: `out` has 16 numbers, each register holds 4 of them.
            unsafe { vst1q_s32(out.as_mut_ptr().add(4 * at), sums) };
        }
    }
}
