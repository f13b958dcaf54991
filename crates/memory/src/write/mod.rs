//! Writes records and keeps the capsule fast. A record is checked, named, encoded, indexed,
//! published.

pub(crate) mod ahead;
pub(crate) mod any;
pub(crate) mod batch;
pub(crate) mod carry;
pub(crate) mod contents;
mod counting;
pub(crate) mod embedding;
mod gather;
mod index_batch;
pub(crate) mod later;
pub(crate) mod maintain;
pub(crate) mod options;
pub(crate) mod pending;
mod permit;
pub(crate) mod principal;
pub(crate) mod purge;
pub(crate) mod screen;
pub(crate) mod shared;
pub(crate) mod source;
pub(crate) mod texts;
pub(crate) mod transaction;
pub(crate) mod unlocked;
pub(crate) mod upkeep;
pub(crate) mod whole;
pub(crate) mod writer;
