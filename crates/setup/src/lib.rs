//! Which programs of agents there are, and how their configuration files come to know a memory.
//! Knows no capsule, memory, network, environment, clock or terminal: the home folder, values of
//! the environment and the path of the program are passed in.
//!
//! [`CLIENTS`] is the table of programs: where their files are, and what an entry looks like.
//! [`Content`] is what one file shall hold; [`Content::add`] and [`Content::remove`] are functions
//! from text to text, which check that nothing else of the document changed. [`plan()`] reads the
//! files of a client and computes what would be written, [`apply()`] writes it and keeps a
//! [`Ledger`], [`plan_undo`] and [`undo()`] bring the files back.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod apply;
mod clients;
mod content;
mod diff;
mod error;
mod evidence;
mod hooks;
mod json;
mod ledger;
mod passage;
mod plan;
mod plugin;
mod read;
mod recover;
mod server;
mod tables;
mod undo;
mod write;

pub use apply::{Applied, apply};
pub use clients::{CLIENTS, Client, Places, Scope, System, client};
pub use content::{Content, Edited, Prune};
pub use diff::unified;
pub use error::{EditError, Error};
pub use hooks::{EVENTS, Event, Hook, hook_command, hooks_of, is_own_hook};
pub use ledger::{Kept, Ledger, Swap};
pub use passage::{PASSAGE, PASSAGE_BEGIN, PASSAGE_END};
pub use plan::{FilePlan, Program, plan};
pub use plugin::{PluginFile, plugin_files};
pub use read::{CONFIG_BYTES_MAX, Doors, doors, expect_inside};
pub use server::{Form, SERVER_NAME, Server};
pub use undo::{UndoPlan, Undone, plan_undo, undo};
