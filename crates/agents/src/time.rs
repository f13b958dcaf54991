//! Where the time comes from: any function, so that tests and replays can hold it.

use std::fmt;
use std::sync::Arc;

use kapsa_memory::record::Micros;

/// Gives the time now, in microseconds since the Unix epoch.
#[derive(Clone)]
pub struct TimeSource(Arc<dyn Fn() -> Micros + Send + Sync>);

impl TimeSource {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> Micros {
        (self.0)()
    }
}

impl<F: Fn() -> Micros + Send + Sync + 'static> From<F> for TimeSource {
    fn from(clock: F) -> TimeSource {
        TimeSource(Arc::new(clock))
    }
}

impl fmt::Debug for TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TimeSource")
    }
}
