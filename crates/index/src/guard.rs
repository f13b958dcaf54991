//! Turns a panic that damaged bytes cause inside tantivy into an error.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::error::{Error, Result};

/// Runs `task`, which reads segments; a panic inside becomes [`Error::Damaged`].
///
/// tantivy trusts its files. Whatever `task` was building is dropped with the panic, so nothing
/// half-done is seen afterwards.
pub(crate) fn guard<T>(task: impl FnOnce() -> Result<T>) -> Result<T> {
    guard_unless(&Cell::new(false), task)
}

/// As [`guard`], but a panic while `foreign` is set goes on to the caller, whose code it was.
pub(crate) fn guard_unless<T>(foreign: &Cell<bool>, task: impl FnOnce() -> Result<T>) -> Result<T> {
    FAILED.take();
    let done = catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(|panic| {
        if foreign.get() {
            resume_unwind(panic);
        }
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::Damaged(text.unwrap_or("panic").to_owned()))
    });
    match done {
        Err(Error::Damaged(what)) => Err(FAILED.take().unwrap_or(Error::Damaged(what))),
        done => done,
    }
}

thread_local! {
    /// The check that failed last. On its way through tantivy an error becomes text, or a panic.
    static FAILED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Notes why a check failed, for the end of the task.
pub(crate) fn failed(error: Error) -> Error {
    FAILED.replace(Some(error.clone()));
    error
}
