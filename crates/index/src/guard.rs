//! What becomes of a panic that damaged bytes cause inside tantivy?

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Error, Result};

/// Runs `task`, which reads segments; a panic inside becomes [`Error::Damaged`].
///
/// tantivy trusts its files. Whatever `task` was building is dropped with the panic, so nothing
/// half-done is seen afterwards.
pub(crate) fn guard<T>(task: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::Damaged(text.unwrap_or("panic").to_owned()))
    })
}
