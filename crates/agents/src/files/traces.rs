//! What was done with a file system, for whoever observes it. Only the newest are kept.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::types::RetrievalTrace;

/// Most traces that are kept; the oldest go first.
pub const TRACES_MAX: usize = 1000;

/// Traces, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Traces(Mutex<VecDeque<RetrievalTrace>>);

impl Traces {
    pub(super) fn add(&self, trace: RetrievalTrace) {
        let mut all = self.lock();
        if all.len() >= TRACES_MAX {
            all.pop_front();
        }
        all.push_back(trace);
    }

    pub(super) fn copy(&self) -> Vec<RetrievalTrace> {
        self.lock().iter().cloned().collect()
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// What a thread that panicked left behind is whole.
    fn lock(&self) -> MutexGuard<'_, VecDeque<RetrievalTrace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
