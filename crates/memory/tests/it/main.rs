//! A memory as its users see it: real capsules in a temporary folder.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::new_without_default)]

mod access;
mod contents;
mod converge;
mod damage;
mod export;
mod fixture;
mod hidden;
mod large;
mod meaning;
mod model;
mod model_versions;
mod ranking;
mod renewed;
mod rerank;
mod review;
mod revisions;
mod search;
mod shared;
mod signing;
mod sync;
mod transfer;
mod versions;

pub use fixture::{Fixture, clock, named, uri};
