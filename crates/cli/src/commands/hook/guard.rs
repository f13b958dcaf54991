//! `hook pre-tool-use`: keeps tools from writing into capsules, which only this program writes.

use std::path::PathBuf;

use kapsa_notes::{Verdict, decide_reserved};

use super::deadline::Deadline;
use super::event::{Event, malformed};
use super::full;
use crate::app::App;
use crate::error::Result;
use crate::wire::hook::PreToolUseOut;

/// What the model is told beside the reason.
const INSTEAD: &str = "change the memory with the kapsa command";

/// `kapsa hook pre-tool-use`.
pub(super) fn run(app: &mut App, deadline: &Deadline) -> Result<()> {
    let event = Event::read()?;
    let cwd = match event.cwd {
        Some(cwd) if cwd.is_absolute() => cwd,
        Some(_) => return Err(malformed("cwd is not an absolute path")),
        None => full(&PathBuf::from("."))?,
    };
    match decide_reserved(&event.tool_name, &event.tool_input, &cwd) {
        Verdict::Allow => {
            deadline.answers(|| ());
            Ok(())
        }
        Verdict::Deny(denial) => {
            let denied = PreToolUseOut::deny(format!("{denial} ({INSTEAD})"));
            let answered =
                deadline.answers(|| app.out.json(&denied).and_then(|()| app.out.flush()));
            answered.unwrap_or(Ok(()))
        }
    }
}
