//! Computes roughly how alike a question and many vectors are: whole numbers of 8 bits times whole
//! numbers of 4 bits, summed up.
//!
//! A row of numbers from 0 to 15 is kept in chunks of [`CHUNK`] numbers, 32 bytes each: byte `i`
//! has number `i` in its low half and number `i + 32` in its high half.

#![allow(unsafe_code)]

/// Numbers in a chunk.
pub(crate) const CHUNK: usize = 64;
/// Bytes of a chunk.
pub(crate) const CHUNK_BYTES: usize = CHUNK / 2;
/// Chunks whose sums of pairs fit into 16 bits: 8 × 2 × 15 × 127 = 30,480.
#[cfg(target_arch = "x86_64")]
const CHUNKS_IN_16_BITS: usize = 8;

/// Writes the product of `query` with each row of `rows` to `out`. A row has `query.len()` numbers,
/// a multiple of [`CHUNK`].
pub(crate) fn products(query: &[i8], rows: &[u8], out: &mut [i32]) {
    assert!(!query.is_empty() && query.len().is_multiple_of(CHUNK), "whole chunks");
    assert_eq!(rows.len(), out.len() * query.len() / 2, "a row for each product");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { products_avx2(query, rows, out) };
    }
    products_portably(query, rows, out);
}

fn products_portably(query: &[i8], rows: &[u8], out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(query.len() / 2).zip(out) {
        *out = 0;
        for (query, bytes) in query.chunks_exact(CHUNK).zip(row.chunks_exact(CHUNK_BYTES)) {
            let (low, high) = query.split_at(CHUNK_BYTES);
            for ((&byte, &low), &high) in bytes.iter().zip(low).zip(high) {
                *out +=
                    i32::from(byte & 15) * i32::from(low) + i32::from(byte >> 4) * i32::from(high);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn products_avx2(query: &[i8], rows: &[u8], out: &mut [i32]) {
    use std::arch::x86_64::*;
    let chunks = query.len() / CHUNK;
    let (mask, ones) = (_mm256_set1_epi8(15), _mm256_set1_epi16(1));
    for (row, out) in rows.chunks_exact(query.len() / 2).zip(out) {
        let mut sum = _mm256_setzero_si256();
        let mut chunk = 0;
        while chunk < chunks {
            let end = (chunk + CHUNKS_IN_16_BITS).min(chunks);
            let (mut lows, mut highs) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            while chunk < end {
                // SAFETY: chunk < chunks, so that 64 bytes of the query and 32 of the row follow.
                let (bytes, low, high) = unsafe {
                    let at = query.as_ptr().add(chunk * CHUNK);
                    (
                        _mm256_loadu_si256(row.as_ptr().add(chunk * CHUNK_BYTES).cast()),
                        _mm256_loadu_si256(at.cast()),
                        _mm256_loadu_si256(at.add(CHUNK_BYTES).cast()),
                    )
                };
                let (first, second) = (
                    _mm256_and_si256(bytes, mask),
                    _mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask),
                );
                lows = _mm256_add_epi16(lows, _mm256_maddubs_epi16(first, low));
                highs = _mm256_add_epi16(highs, _mm256_maddubs_epi16(second, high));
                chunk += 1;
            }
            let both =
                _mm256_add_epi32(_mm256_madd_epi16(lows, ones), _mm256_madd_epi16(highs, ones));
            sum = _mm256_add_epi32(sum, both);
        }
        let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        let half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0b01_00_11_10));
        let half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0b10_11_00_01));
        *out = _mm_cvtsi128_si32(half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_gives_the_same_sums() {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        for width in [64, 384, 512, 640, 1536] {
            let query: Vec<i8> = (0..width).map(|_| (next() as i8).max(-127)).collect();
            let rows: Vec<u8> = (0..width / 2 * 9).map(|_| next()).collect();
            let (mut fast, mut plain) = (vec![0; 9], vec![0; 9]);
            products(&query, &rows, &mut fast);
            products_portably(&query, &rows, &mut plain);
            assert_eq!(fast, plain, "{width}");
        }
        // The largest there can be: nothing overflows.
        let mut out = [0];
        products(&[127; 4096], &[0xff; 2048], &mut out);
        assert_eq!(out, [4096 * 127 * 15]);
    }
}
