//! Numbers that look random and come back the same for the same seed.

/// xorshift64*, by S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
/// scrambled" (2016).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for `seed`; every seed is a valid one.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }
}
