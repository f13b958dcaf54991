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
/// Longest pause before the event and within it.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What is read of an event; programs put more into it.
#[derive(Debug)]
pub(super) struct Event {
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
        let raw: RawEvent = object()?;
        let traces = [raw.transcript_path, raw.agent_transcript_path];
        Ok(Event {
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
/// the pipe open for as long as the session lasts.
pub(super) fn object<T: DeserializeOwned>() -> Result<T> {
    let input = standard_input()?;
    let input = BufReader::with_capacity(CHUNK_BYTES, Patient(input.lock()));
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

/// Standard input that waits for at most [`PAUSE_MAX`] at once.
struct Patient<R>(R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if sys::is_readable(io::stdin().as_raw_fd(), PAUSE_MAX)? {
            return self.0.read(buffer);
        }
        let reason = format!("nothing came for {} s", PAUSE_MAX.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, reason))
    }
}
