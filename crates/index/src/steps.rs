//! Counts what analysis does, so that tests can tell how its work grows with a text.

/// Notes that about `steps` bytes, characters or terms were visited.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn note(_steps: usize) {}

#[cfg(test)]
pub(crate) use counted::{note, of};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Notes that about `steps` bytes, characters or terms were visited.
    pub(crate) fn note(steps: usize) {
        STEPS.set(STEPS.get() + steps);
    }

    /// How many steps `task` takes on this thread.
    pub(crate) fn of(task: impl FnOnce()) -> usize {
        let before = STEPS.get();
        task();
        STEPS.get() - before
    }
}
