//! What serves when the capsule or a file of Memvid cannot be opened, where that is allowed:
//! local-memory, if it is well. That it did is an event, which is kept in a file beside the capsule
//! until the capsule can take it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kapsa_memory::{EventType, NewEvent, Reader, Writer, event};
use serde_json::{Value, json};

use super::Backend;
use super::local_memory::LocalMemory;
use crate::app::App;
use crate::backend_kind::BackendKind;
use crate::error::{CliError, Result};
use crate::moment;

/// What the name of the file of events ends with, behind that of the capsule.
const EVENTS_ENDING: &str = ".fallback.jsonl";
/// Largest file of events that is taken into the capsule, in bytes.
const EVENTS_BYTES_MAX: u64 = 1 << 20;
/// How long events may wait for another writer.
const EVENT_PATIENCE: Duration = Duration::from_secs(1);
/// Codes of errors of a store that is there and only busy, or of a call that is wrong.
const NOT_BROKEN: [&str; 3] = ["locked_by_writer", "capsule_elsewhere", "usage"];

/// local-memory, where the capsule cannot be opened and local-memory is well; none where the
/// capsule serves.
pub(super) fn take(app: &mut App, operation: &'static str) -> Result<Option<Box<dyn Backend>>> {
    let opened = app.capsule().and_then(|path| Ok(Reader::open(&path).map(|_| path)?));
    let error = match opened {
        Ok(capsule) => {
            hand_over(app, &capsule);
            return Ok(None);
        }
        // A principal is never served by a store that knows none.
        Err(error) if app.principal().is_some() || NOT_BROKEN.contains(&error.code) => {
            return Err(error);
        }
        Err(error) => error,
    };
    serve(app, BackendKind::Capsule, operation, error).map(Some)
}

/// local-memory in place of a store that cannot be opened, if it is well; else why that store
/// cannot.
pub(super) fn serve(
    app: &mut App,
    from: BackendKind,
    operation: &'static str,
    error: CliError,
) -> Result<Box<dyn Backend>> {
    if NOT_BROKEN.contains(&error.code) {
        return Err(error);
    }
    let memory = LocalMemory::of_environment();
    if let Err(unwell) = memory.health() {
        let message = format!("{}; {}", error.message, unwell.message);
        return Err(CliError { message, ..error });
    }
    let recorded = record(&events_file(app), from, operation, &error.message);
    let kept = recorded.err().map_or_else(String::new, |why| format!("; not recorded: {why}"));
    let name = BackendKind::LocalMemory.name();
    let message = format!("{}: {name} serves {operation}{kept}", error.message);
    app.out.warn("fallback_activated", &message);
    Ok(Box::new(memory))
}

/// The file of events beside the capsule that is meant.
fn events_file(app: &App) -> PathBuf {
    let mut name = app.capsule().unwrap_or_else(|_| crate::locate::workspace()).into_os_string();
    name.push(EVENTS_ENDING);
    name.into()
}

/// Adds an event to the file.
fn record(file: &Path, from: BackendKind, operation: &str, reason: &str) -> std::io::Result<()> {
    let payload = json!({
        "from_backend": from.name(),
        "to_backend": BackendKind::LocalMemory.name(),
        "reason": reason,
        "operation": operation,
    });
    let at = moment::rfc3339(moment::now());
    let line = json!({
        "event_type": EventType::FallbackActivated.name(), "timestamp": at, "payload": payload,
    });
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Takes the events of the file into the capsule, which can be opened again.
fn hand_over(app: &mut App, capsule: &Path) {
    let file = events_file(app);
    let Ok(found) = fs::metadata(&file) else { return };
    let done = match found.len() > EVENTS_BYTES_MAX {
        true => Err("they are more than are read at once".to_string()),
        false => handed_over(app, capsule, &file),
    };
    if let Err(error) = done {
        let message = format!("events of a fallback stay in {}: {error}", file.display());
        app.out.warn("event_not_recorded", &message);
    }
}

fn handed_over(app: &App, capsule: &Path, file: &Path) -> std::result::Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let events = text.lines().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        let Value::Object(payload) = line.get_mut("payload")?.take() else { return None };
        Some(NewEvent { payload, ..NewEvent::new(EventType::FallbackActivated) })
    });
    let events: Vec<NewEvent> = events.collect();
    let mut options = app.write_options(None);
    options.lock_timeout = options.lock_timeout.min(EVENT_PATIENCE);
    Writer::open(capsule, options)
        .and_then(|mut writer| event::emit(&mut writer, events))
        .map_err(|error| error.to_string())?;
    fs::remove_file(file).map_err(|error| error.to_string())
}
