//! Branches, checkpoints, events and merges, which read and write the one log over views and the
//! writer, as records like any other. Knows nothing of other capsules.

pub mod branch;
pub mod checkpoint;
pub mod event;
pub mod graph;
pub mod history;
pub mod merge;
pub mod policy;
pub mod replay;
pub mod review;
pub(crate) mod stats;
