//! Random choices: a small seeded generator (SplitMix64), the same on every machine.

/// A seeded generator. Cheap enough to make one per record, which keeps a record independent of the
/// ones before it.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator for item `index` of the stream `seed`.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut rng = Self(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ index.wrapping_mul(0xD1B5_4A32_D192_ED03),
        );
        rng.next();
        rng
    }

    /// The next 64 random bits (Steele, Lea and Flood, "Fast splittable pseudorandom number
    /// generators", 2014).
    #[allow(
        clippy::should_implement_trait,
        reason = "an endless stream; an Option would only be unwrapped"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        assert!(end > 0, "nothing to choose from");
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A log-normal number: `median * exp(sigma * z)` with `z` standard normal (Box-Muller).
    pub fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let z = radius * (std::f64::consts::TAU * self.unit()).cos();
        median * (sigma * z).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_stream() {
        let stream = |seed| (0..5).map(|i| Rng::new(seed, i).next()).collect::<Vec<_>>();
        assert_eq!(stream(1), stream(1));
        assert_ne!(stream(1), stream(2));
    }

    #[test]
    fn log_normal_has_its_median_and_mean() {
        let mut rng = Rng::new(7, 0);
        let mut drawn: Vec<f64> = (0..20_000).map(|_| rng.log_normal(700.0, 0.845)).collect();
        drawn.sort_by(f64::total_cmp);
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!((670.0..730.0).contains(&drawn[10_000]), "median {}", drawn[10_000]);
        assert!((950.0..1_050.0).contains(&mean), "mean {mean}");
    }
}
