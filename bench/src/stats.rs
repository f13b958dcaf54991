//! Medians and tails of many timings; a mean would follow the noise of a shared machine.

/// Timings of one row, in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds one timing.
    pub fn push(&mut self, ms: f64) {
        self.0.push(ms);
    }

    /// The number of timings.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when nothing was timed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All timings together, in milliseconds.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The timings in the order they were taken.
    pub fn in_order(&self) -> &[f64] {
        &self.0
    }

    /// The smallest timing that at least `fraction` of all do not exceed (nearest rank); NaN when
    /// there is none.
    pub fn quantile(&self, fraction: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (fraction * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
    }

    /// The median.
    pub fn p50(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The 90th percentile.
    pub fn p90(&self) -> f64 {
        self.quantile(0.9)
    }

    /// The 99th percentile.
    pub fn p99(&self) -> f64 {
        self.quantile(0.99)
    }

    /// The largest timing.
    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(timings: I) -> Self {
        Self(timings.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let samples: Samples = (1..=10).rev().map(f64::from).collect();
        assert_eq!(
            (samples.p50(), samples.p90(), samples.p99(), samples.max()),
            (5.0, 9.0, 10.0, 10.0)
        );
        assert!(Samples::default().p50().is_nan());
    }
}
