//! What passes between a capsule and another, or a file of another kind: sync, export, import,
//! checks, audits and salvage.

pub mod audit;
pub mod check;
pub mod export;
pub(crate) mod fetch;
pub(crate) mod parcel;
pub(crate) mod peer;
pub(crate) mod pipe;
pub(crate) mod push;
pub mod remote;
pub(crate) mod salvage;
pub mod sync;
pub mod transfer;
