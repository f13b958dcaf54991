//! What there is to say about steps beside their answers.

use std::sync::{Mutex, PoisonError};

use kapsa_memory::{Error, Result};

use super::steps::MergedInto;

/// Notes about steps that nobody has asked for yet.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Failures beside steps that were done.
    pub(super) warnings: Mutex<Vec<Error>>,
    /// What was stored, each in a few words.
    pub(super) stored: Mutex<Vec<String>>,
}

/// Takes what was noted.
pub(super) fn taken<T>(notes: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Notes {
    pub(super) fn stored(&self, what: String) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// Notes what a merge has stored.
    pub(super) fn merged(&self, merged: MergedInto) -> MergedInto {
        let MergedInto { from, to, written, conflicts } = &merged;
        if *written > 0 && conflicts.is_empty() {
            self.stored(format!("merged {written} of {from} into {to}"));
        }
        merged
    }

    pub(super) fn warn_if_failed(&self, published: Result<()>) {
        if let Err(error) = published {
            self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(error);
        }
    }
}
