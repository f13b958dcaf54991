//! The records of a benchmark: real paragraphs found on this machine, recombined by a seeded
//! generator.
//!
//! The record at an index depends on the seed, the paragraphs and the index alone, so that a small
//! corpus is the beginning of a large one. Random words would make every list of postings alike;
//! real paragraphs keep the skew of real text.

mod generate;
mod pool;
mod time;

pub use generate::{Generator, Sizes};
pub use pool::{Pool, default_sources};
