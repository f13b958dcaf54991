//! Progress of a run: a line on standard error every few seconds.

use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_secs(3);

/// Reports the state of a run, but not too often.
pub(crate) struct Progress(Instant);

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress(Instant::now())
    }

    /// Prints the line when the last one is old enough.
    pub(crate) fn show(&mut self, line: impl FnOnce() -> String) {
        if self.0.elapsed() >= PAUSE {
            eprintln!("{}", line());
            self.0 = Instant::now();
        }
    }
}
