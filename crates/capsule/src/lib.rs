//! One append-only, crash-safe file of records.
mod error;
mod lock;
pub use error::{Error, Result};
pub use lock::Holder;
