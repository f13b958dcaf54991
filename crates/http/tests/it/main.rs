//! Services as their users meet them: a server in this process that answers by a script.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod embedding;
mod failures;
mod keys;
mod names;
mod protocols;
mod samples;
mod secrets;
