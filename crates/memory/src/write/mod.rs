//! How does a record reach the disk, and how does the capsule stay fast? Checked, named, encoded, indexed, published.

pub(crate) mod embedding;
mod index_batch;
pub(crate) mod maintain;
pub(crate) mod pending;
pub(crate) mod shared;
pub(crate) mod write_set;
pub(crate) mod writer;
