//! Run memory as its users see it, in both layouts.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod meaning;
mod runs;
