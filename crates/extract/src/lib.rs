//! Finds in sessions what a later session needs. Knows no capsule, memory, network, terminal,
//! environment or clock.
//!
//! A [`Session`](kapsa_ingest::Session) goes in, [`Candidate`]s come out ([`extract`]), each with
//! the lines that hold it. Whether one is kept, and what becomes of what was known, is decided
//! elsewhere. The same session gives the same candidates.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod acts;
mod candidate;
mod concessions;
mod context;
mod extract;
mod legible;
mod patterns;
mod people;
mod prose;
mod runs;
mod statements;
mod summary;
mod tools;
mod types;
mod with_model;
mod words;

pub use acts::Act;
pub use candidate::{
    BODY_CHARS_MAX, Candidate, Extraction, SUMMARY_WORDS_MAX, Summary, TITLE_CHARS_MAX,
};
pub use extract::{CANDIDATES_MAX, extract};
pub use legible::legible;
pub use people::{Explained, explain};
pub use summary::summarise;
pub use tools::LESSONS_MAX;
pub use types::MemoryType;
pub use with_model::{Budget, EXTRACTION_MARK, WINDOW_BYTES_MAX, extract_with};

/// Raised whenever the same session may give other candidates.
pub const EXTRACTOR_VERSION: u32 = 3;
