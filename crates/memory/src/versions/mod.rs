//! How do branches, checkpoints, events and merges read and write the one log? Over views and the writer, as records like any other.

pub mod branch;
pub mod checkpoint;
pub mod event;
pub mod graph;
pub(crate) mod history;
pub mod merge;
pub mod policy;
pub(crate) mod replay;
