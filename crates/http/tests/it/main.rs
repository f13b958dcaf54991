//! Services as their users meet them: a server in this process that answers by a script.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod embedding;
mod failures;
mod keys;
mod names;
mod protocols;
mod samples;
mod secrets;
