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

mod acts;
mod candidate;
mod extract;
mod patterns;
mod people;
mod prose;
mod runs;
mod summary;
mod tools;
mod types;
mod words;
mod context;

pub use candidate::{
    BODY_CHARS_MAX, Candidate, Extraction, SUMMARY_WORDS_MAX, Summary, TITLE_CHARS_MAX,
};
pub use extract::extract;
pub use summary::summarise;
pub use types::MemoryType;

/// Raised whenever the same session may give other candidates.
pub const EXTRACTOR_VERSION: u32 = 1;

/// TEMPORARY
#[doc(hidden)]
pub fn weighed(session: &kapsa_ingest::Session) -> String {
    let mut out = String::new();
    for m in people::messages(session) {
        for p in &m.paragraphs {
            for (s, w) in p.paragraph.sentences.iter().zip(&p.weights) {
                out += &format!("[{}] {:.1} {:?}\t{s}\n", m.turn.place, w.weight, w.acts);
            }
        }
    }
    out
}
