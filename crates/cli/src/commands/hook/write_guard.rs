//! `hook write-guard`: whether an agent that works on a memory as files may use a tool.
//!
//! Knows no capsule. Whatever goes wrong ends with the exit code that keeps the tool from being
//! used, since those programs go on after any other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kapsa_notes::{Denial, Roots, Stamp, Verdict, decide, log_denied};
use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::args::WriteGuard;
use crate::error::{CliError, Kind, Result};
use crate::moment;
use crate::wire::hook::PreToolUseOut;

use super::event::{malformed, object};
use super::full;

/// Longest pause before an event and within it. A guard that goes on too early blocks a tool that
/// it should let pass.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// What is read of an event; programs put more into it.
#[derive(Debug, Deserialize)]
struct ToolEvent {
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    cwd: Option<PathBuf>,
}

/// `kapsa hook write-guard`.
pub(super) fn run(app: &mut App, args: &WriteGuard) -> Result<()> {
    let guarded = catch_unwind(AssertUnwindSafe(|| write_guard(app, args)));
    let guarded = guarded.unwrap_or_else(|_panic| {
        Err(CliError::system("internal", "the guard itself failed; the tool is not used"))
    });
    // A caller that does not read the answer has not been told.
    guarded.map_err(|error| CliError { kind: Kind::System, ..error })
}

fn write_guard(app: &mut App, args: &WriteGuard) -> Result<()> {
    let event: ToolEvent = object(PAUSE_MAX)?;
    let roots = Roots { memory: full(&args.memory_root)?, run: full(&args.run_folder)? };
    if !roots.run.is_dir() {
        let message = format!("there is no run folder {}", args.run_folder.display());
        return Err(CliError::system("no_folder", message).hint("name it with --run-folder DIR"));
    }
    let cwd = match &event.cwd {
        Some(cwd) if cwd.is_absolute() => cwd.clone(),
        Some(_) => return Err(malformed("cwd is not an absolute path")),
        None => full(Path::new("."))?,
    };
    match decide(&event.tool_name, &event.tool_input, &roots, &cwd) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(denial) => {
            deny(app, &denial)?;
            log(&roots.run, &event.tool_name, &denial)
        }
    }
}

/// Answers that the tool may not be used.
fn deny(app: &mut App, denial: &Denial) -> Result<()> {
    app.out.json(&PreToolUseOut::deny(denial.to_string()))?;
    app.out.flush()
}

fn log(run: &Path, tool_name: &str, denial: &Denial) -> Result<()> {
    let logged =
        Stamp::from_micros(moment::now()).and_then(|now| log_denied(run, tool_name, denial, &now));
    logged.map_err(|error| CliError::system("io", format!("{denial}, and {error}")))
}
