//! Reads what agents left behind: session traces of many programs in one normal form. Knows no
//! capsule, memory, model, network, terminal or environment, and is the only crate that reads
//! traces.
//!
//! A file goes in, sessions come out one after the other ([`sessions`]); [`walk`] reads a folder
//! and takes each record once, however often it was replayed. The format is found by content
//! ([`detect`]), never by the name of a file. Every turn says where it stands in its file, and what
//! could not be used is counted by kind and reason ([`Skipped`]), never dropped silently.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod adapters;
mod detect;
mod document;
mod draft;
mod error;
mod injected;
mod json;
mod limits;
mod outcome;
mod output;
mod peek;
mod persisted;
mod read;
mod rewinds;
mod session;
mod skipped;
mod source;
mod text;
mod time;
mod walk;

pub use detect::{Format, Shape, detect};
pub use error::Error;
pub use limits::*;
pub use output::{Reading, Seen};
pub use read::{looks_like_trace, sessions, sessions_in, sessions_once};
pub use session::{Agent, Call, Outcome, Place, Session, Speaker, ToolResult, Turn, TurnKind};
pub use skipped::{Reason, Skipped};
pub use walk::{Walk, files, walk};
