//! Functions of a real number, without the system's mathematics library: the same bits on every
//! machine.

/// The nearest integer, ties to even, for values below 2^22: what remains in the last bits after
/// adding 1.5 * 2^23.
#[inline(always)]
pub(crate) fn nearest(x: f32) -> (f32, i32) {
    const SHIFT: f32 = 12_582_912.0;
    let shifted = x + SHIFT;
    (shifted - SHIFT, shifted.to_bits() as i32 - SHIFT.to_bits() as i32)
}

/// e to the power of `x`, for `x` of at most 88: 2^n times a polynomial for 2^f (Cephes, `expf`);
/// error below 1e-7 of the value.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let x = if x < -87.0 { -87.0 } else { x };
    let (n, power) = nearest(x * std::f32::consts::LOG2_E);
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let mut p = 1.987_569_2e-4f32;
    for c in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p * r + c;
    }
    let value = p * r * r + r + 1.0;
    value * f32::from_bits(((power + 127) << 23) as u32)
}

/// x times the share of a normal distribution below x; the error function by Abramowitz and Stegun,
/// 7.1.26 (error below 1.5e-7).
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let mut p = 1.061_405_4f32;
    for c in [-1.453_152, 1.421_413_8, -0.284_496_74, 0.254_829_6] {
        p = p * t + c;
    }
    let erf = 1.0 - p * t * exp(-z * z);
    let erf = if x < 0.0 { -erf } else { erf };
    0.5 * x * (1.0 + erf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_gelu_are_what_they_should_be() {
        for x in [-80.0f32, -20.5, -3.0, -0.1, 0.0, 0.3, 1.0, 7.7] {
            let right = f64::from(x).exp();
            assert!((f64::from(exp(x)) - right).abs() <= right * 3e-7, "{x}");
        }
        // Values of the error function from Abramowitz and Stegun, table 7.1.
        let erf = [(0.5f32, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3)];
        for (z, right) in erf {
            let x = z * std::f32::consts::SQRT_2;
            assert!((gelu(x) - 0.5 * x * (1.0 + right)).abs() < 1e-6, "{z}");
            assert!((gelu(-x) + 0.5 * x * (1.0 - right)).abs() < 1e-6, "-{z}");
        }
    }
}
