//! Benchmarks of Kapsa: the measuring side, used by the `bench` command.
//!
//! Every figure of a cold process is the wall time of a whole process, measured from its parent.
//! Peers are programs of their own (`src/bin`, packages in `peers`), so that each links only what
//! it needs.

pub mod corpus;
pub mod dataset;
pub mod engine;
#[cfg(feature = "library")]
pub mod facts;
pub mod find;
pub mod load;
pub mod open;
pub mod process;
pub mod put;
pub mod queries;
pub mod readers;
pub mod rng;
pub mod runs;
pub mod scale;
pub mod space;
pub mod stats;
pub mod syncs;
pub mod table;
#[cfg(feature = "library")]
pub mod warm;
pub mod writers;
