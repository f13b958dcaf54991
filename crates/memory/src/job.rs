//! Work for a thread of its own, where the system grants one: where it does not, whoever waits for
//! the work does it.

use std::panic::resume_unwind;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// A piece of work that was begun, or is left to whoever waits for it.
#[derive(Debug)]
pub struct Job<'scope, I, O, F> {
    thread: Option<ScopedJoinHandle<'scope, O>>,
    input: I,
    task: F,
}

impl<'scope, I, O, F> Job<'scope, I, O, F>
where
    I: Copy + Send + 'scope,
    O: Send + 'scope,
    F: Fn(I) -> O + Copy + Send + 'scope,
{
    /// Begins it.
    pub fn begin(scope: &'scope Scope<'scope, '_>, input: I, task: F) -> Job<'scope, I, O, F> {
        // May be dropped: without a thread the work is done where its end is waited for.
        let thread = Builder::new().spawn_scoped(scope, move || task(input)).ok();
        Job { thread, input, task }
    }

    /// What came of it. A panic of the work goes on here.
    pub fn end(self) -> O {
        match self.thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => (self.task)(self.input),
        }
    }
}
