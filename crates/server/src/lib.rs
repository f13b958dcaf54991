//! The memory behind a protocol: what agents that speak MCP are offered, over pipes and over HTTP.
//! Knows no terminal, environment, wall clock or home folder, and starts no process.
//!
//! One server, many doors. [`Memory`] is what tools do, and knows no protocol; [`Door`] speaks MCP
//! for it to one client; [`serve_pipes`] and [`http::serve`] are the doors' hinges. Each process
//! is bound to one principal, or to the owner: who that is, where the capsule lies and what time it
//! is comes from a [`Host`].
//!
//! What a tool returns is data. Texts that somebody stored stand in JSON strings, with a notice
//! before them and trust and source beside them; what acts on a terminal or is drawn as nothing is
//! shown as an escape.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod arguments;
mod branches;
mod completions;
mod context;
mod cursor;
mod door;
mod fit;
mod host;
pub mod http;
mod lines;
mod memory;
mod pipes;
mod prompts;
mod proposals;
mod reading;
mod resources;
mod searching;
mod shown;
mod strangers;
mod tools;
mod wire;
mod writing;

pub use door::Door;
pub use fit::ANSWER_TOKENS_MAX;
pub use host::{Host, Problem};
pub use memory::{Memory, Progress, Session, Step};
pub use pipes::serve_pipes;
pub use searching::{HITS_DEFAULT, HITS_MAX};
