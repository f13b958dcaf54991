//! What programs of agents say on standard input when they call a hook. Knows no capsule.

use std::io::{self, BufReader, Read};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::commands::text::standard_input;
use crate::error::{CliError, Result};
use crate::sys;

/// Longest event, in bytes: it holds all that a tool writes.
const EVENT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longest pause before an event and within it, of hooks that fail open. A program writes its event
/// at once, so a pause is that of a program that ended or hangs, or of a machine that is busy; what
/// follows must have time left before the hook's own end (900 ms where it queues a trace).
const PAUSE_MAX: Duration = Duration::from_millis(400);
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What is read of an event; programs put more into it.
#[derive(Debug)]
pub(super) struct Event {
    /// The session, as its program names it.
    pub(super) session: Option<String>,
    /// What began it, such as `startup` or `compact`.
    pub(super) source: String,
    /// Where the session works.
    pub(super) cwd: Option<PathBuf>,
    /// What the person typed.
    pub(super) prompt: String,
    /// The session's trace, and that of its sub-agent.
    pub(super) traces: Vec<PathBuf>,
    /// The tool that is about to be used, and its input.
    pub(super) tool_name: String,
    pub(super) tool_input: Value,
}

/// An event as it comes. What one event lacks another has, and what is there may be null.
#[derive(Deserialize)]
struct RawEvent {
    #[serde(default)]
    session_id: Value,
    #[serde(default)]
    source: Value,
    cwd: Option<PathBuf>,
    prompt: Option<String>,
    user_prompt: Option<String>,
    transcript_path: Option<PathBuf>,
    agent_transcript_path: Option<PathBuf>,
    tool_name: Option<String>,
    #[serde(default)]
    tool_input: Value,
}

impl Event {
    /// Reads one from standard input.
    pub(super) fn read() -> Result<Event> {
        let raw: RawEvent = object(PAUSE_MAX)?;
        let traces = [raw.transcript_path, raw.agent_transcript_path];
        let session = raw.session_id.as_str().filter(|id| !id.is_empty());
        Ok(Event {
            session: session.map(str::to_string),
            source: raw.source.as_str().unwrap_or_default().to_string(),
            cwd: raw.cwd,
            prompt: raw.prompt.or(raw.user_prompt).unwrap_or_default(),
            traces: traces
                .into_iter()
                .flatten()
                .filter(|path| !path.as_os_str().is_empty())
                .collect(),
            tool_name: raw.tool_name.unwrap_or_default(),
            tool_input: raw.tool_input,
        })
    }
}

/// One JSON object from standard input. Reads no further than to its end: whoever calls may keep
/// the pipe open for as long as the session lasts. Goes on after a pause of `patience`.
pub(super) fn object<T: DeserializeOwned>(patience: Duration) -> Result<T> {
    let input = standard_input()?;
    let input = Patient { input: input.lock(), patience };
    let input = BufReader::with_capacity(CHUNK_BYTES, input);
    let mut values = serde_json::Deserializer::from_reader(input.take(EVENT_BYTES_MAX)).into_iter();
    match values.next() {
        Some(Ok(event)) => Ok(event),
        Some(Err(error)) if error.is_eof() => {
            Err(malformed(&format!("it ends too early, or is longer than 64 MiB: {error}")))
        }
        Some(Err(error)) => Err(malformed(&error.to_string())),
        None => Err(malformed("it is empty")),
    }
}

pub(super) fn malformed(reason: &str) -> CliError {
    let message = format!("the event on standard input cannot be read: {reason}");
    CliError::system("invalid_event", message).hint(
        "an event is one JSON object, such as of PreToolUse with tool_name, tool_input and cwd",
    )
}

/// Standard input that waits for so long at once, and no longer.
struct Patient<R> {
    input: R,
    patience: Duration,
}

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if sys::is_readable(io::stdin().as_raw_fd(), self.patience)? {
            return self.input.read(buffer);
        }
        let reason = format!("nothing came for {} ms", self.patience.as_millis());
        Err(io::Error::new(io::ErrorKind::TimedOut, reason))
    }
}
