//! How does a capsule meet another, or a file of another kind? Sync, export, import, checks and salvage.

pub mod check;
pub mod export;
pub(crate) mod salvage;
pub mod sync;
pub mod transfer;
