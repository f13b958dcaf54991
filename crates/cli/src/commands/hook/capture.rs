//! Hooks that keep a session: its trace is queued, and a process of its own reads it.
//!
//! The hook waits for nobody: where another writer holds the capsule, the process that it starts
//! queues the trace.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use kapsa_memory::{CapsuleError, Error as MemoryError};
use kapsa_traces::queue::{JobFile, JobQueue};

use super::deadline::Deadline;
use super::event::Event;
use super::regular::is_regular;
use super::{capsule, nothing};
use crate::app::App;
use crate::error::{CliError, Result};
use crate::trace_config::TraceConfig;
use crate::{moment, sys};

/// `kapsa hook pre-compact`, `stop`, `session-end` and `subagent-stop`.
pub(super) fn run(app: &mut App, deadline: &Deadline) -> Result<()> {
    let event = Event::read()?;
    let traces = event.traces.iter().filter_map(|path| trace(path).transpose());
    let traces: Vec<(PathBuf, JobFile)> = traces.collect::<Result<_>>()?;
    let capsule = if traces.is_empty() { None } else { capsule(app, &event)? };
    let Some(capsule) = capsule.filter(|path| path.exists()) else {
        deadline.answers(|| nothing(app));
        return Ok(());
    };
    if let Some(principal) = app.principal() {
        let (principal, what) = (principal.to_string(), "read session traces");
        return Err(MemoryError::AccessDenied { principal, what }.into());
    }
    if TraceConfig::find()?.writes_memory {
        // First, so that a hook that is ended before it has queued them has started what does.
        start(&capsule, traces.iter().map(|(path, _)| path.as_path()))?;
        deadline.hands_over();
        queue(app, traces)?;
    }
    deadline.answers(|| nothing(app));
    Ok(())
}

/// A trace that an event names; none where there is none yet, as of a session in which nothing was
/// said.
fn trace(path: &Path) -> Result<Option<(PathBuf, JobFile)>> {
    let refused = |why: &str| {
        let message = format!("{} is not read: {why}", path.display());
        Err(CliError::user("invalid_trace", message))
    };
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return refused("a trace has an absolute path without `..`");
    }
    match kapsa_traces::job_file(path) {
        Ok(Some(file)) if is_regular(path) => Ok(Some((path.to_path_buf(), file))),
        Ok(_) => refused("it is not a regular file"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::io(&format!("look at {}", path.display()), &error)),
    }
}

/// Starts the process that reads what is queued.
fn start<'a>(capsule: &Path, traces: impl Iterator<Item = &'a Path>) -> Result<()> {
    let failed = |error: io::Error| CliError::io("start a process that reads the trace", &error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("--capsule").arg(capsule).args(["hook", "drain", "--"]).args(traces);
    sys::spawn_detached(&mut command).map(drop).map_err(failed)
}

/// Queues traces, unless another writer holds the capsule.
fn queue(app: &App, traces: Vec<(PathBuf, JobFile)>) -> Result<()> {
    let location = app.location()?.impatient();
    let now = moment::now();
    let queued = JobQueue::change(&location, |queue| {
        for (_, file) in &traces {
            // May be dropped: what the queue does not take, being full, the process that was
            // started has as an argument, and reads.
            let _ = queue.add(file, now);
        }
    });
    match queued {
        Err(kapsa_traces::Error::Memory(MemoryError::Capsule(CapsuleError::LockedByWriter {
            ..
        }))) => Ok(()),
        queued => Ok(queued?),
    }
}
