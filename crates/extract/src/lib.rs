//! Finds in sessions what a later session needs. Knows no capsule, memory, network, terminal,
//! environment or clock.
//!
//! A [`Session`] goes in, [`Candidate`]s come out ([`extract`]), each with the lines that hold it.
//! Whether one is kept, and what becomes of what was known, is decided elsewhere. The same session
//! gives the same candidates.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod candidate;
mod types;

pub use candidate::{
    BODY_CHARS_MAX, Candidate, Extraction, SUMMARY_WORDS_MAX, Summary, TITLE_CHARS_MAX,
};
pub use types::MemoryType;

use kapsa_ingest::Session;

/// Raised whenever the same session may give other candidates.
pub const EXTRACTOR_VERSION: u32 = 1;

/// What of a session a later one needs, without a model.
#[must_use]
pub fn extract(session: &Session) -> Extraction {
    let _ = session;
    Extraction::default()
}

/// A session in short, without a model.
#[must_use]
pub fn summarise(session: &Session) -> Summary {
    let _ = session;
    Summary::default()
}
