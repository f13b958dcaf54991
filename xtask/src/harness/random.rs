//! Random choices, made from a seed so that a run can be repeated.

/// A SplitMix64 generator: small, fast, and good enough to choose moments and words.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of a part of a run; parts with different names are independent.
    pub(crate) fn new(seed: u64, part: &str) -> Random {
        // FNV-1a.
        let hash = part.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut random = Random(seed ^ hash);
        random.next();
        random
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`, which must not be 0. The bias is below 2^-40 for the limits used
    /// here.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// An index of something with `len` elements, none when it is empty.
    pub(crate) fn index(&mut self, len: usize) -> Option<usize> {
        let limit = u64::try_from(len).ok().filter(|limit| *limit > 0)?;
        usize::try_from(self.below(limit)).ok()
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A moment from now until `longest`.
    pub(crate) fn moment(&mut self, longest: std::time::Duration) -> std::time::Duration {
        let nanos = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX - 1);
        std::time::Duration::from_nanos(self.below(nanos + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_parts_differ() {
        let numbers = |seed, part| {
            let mut random = Random::new(seed, part);
            [random.next(), random.next(), random.below(10)]
        };
        assert_eq!(numbers(1, "a"), numbers(1, "a"));
        assert_ne!(numbers(1, "a"), numbers(1, "b"));
        assert_ne!(numbers(1, "a"), numbers(2, "a"));
    }

    #[test]
    fn percentages_are_met() {
        let mut random = Random::new(1, "percent");
        let hits = (0..10_000).filter(|_| random.percent(20)).count();
        assert!((1_700..2_300).contains(&hits), "{hits}");
    }
}
