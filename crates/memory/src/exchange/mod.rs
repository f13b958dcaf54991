//! What passes between a capsule and another, or a file of another kind: sync, export, import,
//! checks, audits and salvage.

pub mod audit;
pub mod check;
pub(crate) mod contents;
pub mod export;
pub(crate) mod fetch;
pub(crate) mod parcel;
pub(crate) mod peer;
pub(crate) mod pipe;
pub(crate) mod push;
pub(crate) mod references;
pub mod remote;
pub(crate) mod salvage;
pub mod sync;
pub mod transfer;
