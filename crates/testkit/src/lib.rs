//! A simulated disk: what may be left of a run of writes when the power fails at any point.
//!
//! A [`Disk`] stands in for the file system and notes every operation. [`crashes`] lists what a
//! real disk may hold after a crash: for each prefix of the operations, everything that was synced,
//! and of the rest any subset of its [`SECTOR`]-byte pieces, with the file's length grown or not,
//! and any prefix of the renames since the folder's sync. The model is the one that SQLite states
//! for its own tests (atomic commit, "powersafe overwrite"): bytes outside of what is being written
//! are safe, a write may be torn at sector edges, and writes between two syncs reach the disk in
//! any order.

mod crash;
mod disk;
mod random;
pub mod stub;

pub use crash::{Crash, SUBSET_BITS_MAX, SUBSETS_SAMPLED, crashes, one_crash};
pub use disk::{Disk, Failure, Fault, Lie, Operation};
pub use random::Random;

/// Bytes that reach the disk together or not at all.
pub const SECTOR: u64 = 512;
