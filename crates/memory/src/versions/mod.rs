//! Branches, checkpoints, events and merges, which read and write the one log over views and the
//! writer, as records like any other. Knows nothing of other capsules.

pub(crate) mod ancestry;
pub mod branch;
pub mod checkpoint;
pub mod event;
pub(crate) mod follow;
pub mod graph;
pub mod history;
pub(crate) mod join;
pub mod merge;
pub mod policy;
pub mod replay;
pub mod review;
pub(crate) mod stats;
