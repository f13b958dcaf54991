//! How is a question answered? By words and meaning over one view. Knows nothing of writing.

pub mod fusion;
mod groups;
pub mod query;
pub(crate) mod reader;
