//! Finds the passages most like a question: blocks of quantised vectors, and an exhaustive scan
//! over them.
//!
//! A scan reads half a byte for each number and looks the best up with the other half. It needs no
//! building, so that a block is appended as it is, and a filter costs nothing.

mod block;
mod kernel;
mod packed;
mod scan;
#[cfg(test)]
mod tests;

pub use block::{DIMENSION_MAX, Entry, LABEL_BYTES_MAX, VECTORS_MAX, Vectors, VectorsBuilder};
pub use scan::{Near, nearest, similarity};
