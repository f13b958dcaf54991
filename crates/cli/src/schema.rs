//! The description of the JSON that verbs print, for tests and for `cargo xtask schema`. Not for
//! others: nothing here is stable.

pub use crate::wire::schema::{files, schemas, verbs};
