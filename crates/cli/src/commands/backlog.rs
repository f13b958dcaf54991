//! Bounds the input that was parsed and waits to be stored.

use std::sync::{Condvar, Mutex, PoisonError};

/// Most bytes that may wait; whoever parses waits while there are more.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// The bytes of input that wait to be stored.
#[derive(Default)]
pub(super) struct Backlog {
    waiting: Mutex<usize>,
    stored: Condvar,
}

impl Backlog {
    pub(super) fn add(&self, bytes: usize) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
    }

    pub(super) fn remove(&self, bytes: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = waiting.saturating_sub(bytes);
        self.stored.notify_one();
    }

    /// Returns once so little waits that more may be parsed.
    pub(super) fn wait_for_room(&self) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let too_much = |waiting: &mut usize| *waiting > WAITING_BYTES_MAX;
        drop(self.stored.wait_while(waiting, too_much).unwrap_or_else(PoisonError::into_inner));
    }
}
