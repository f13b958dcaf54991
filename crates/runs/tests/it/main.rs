//! Run memory as its users see it, in both layouts.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod meaning;
mod runs;
