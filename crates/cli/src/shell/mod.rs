//! `shell`: one process in which every verb is typed without `kapsa` before it, on a terminal or as
//! a script.
//!
//! A line goes the way a call goes: the same tree of arguments, the same commands, the same errors.
//! A failing line never ends the shell.

mod complete;
mod editor;
mod history;
mod line;
mod names;
mod script;

use std::io::{self, IsTerminal};

use crate::app::{App, Status};
use crate::args::ShellArgs;
use crate::commands::take_standard_input;
use crate::error::Result;

pub(crate) use names::{CapsuleNames, NameKind, Names};

/// Words that end the shell.
const ENDINGS: [&str; 2] = ["exit", "quit"];

/// `kapsa shell`.
pub(crate) fn run(app: &mut App, args: &ShellArgs) -> Result<Status> {
    take_standard_input();
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        editor::run(app)
    } else {
        script::run(app, args.stop)
    }
}
