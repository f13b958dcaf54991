//! Answers a question by words and meaning over one view. Knows nothing of writing.

pub(crate) mod any;
pub(crate) mod around;
mod by_words;
pub(crate) mod contents;
pub(crate) mod find;
mod fusion;
mod groups;
pub(crate) mod listing;
pub(crate) mod lookup;
pub(crate) mod near_values;
mod newer;
mod points;
pub(crate) mod principal;
pub mod query;
mod question;
pub(crate) mod reader;
pub(crate) mod rerank;
pub(crate) mod sources;
pub(crate) mod standing;
mod strength;
pub(crate) mod trusted;
