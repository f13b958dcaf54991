//! What serves when the capsule or a file of Memvid cannot be opened, where that is allowed:
//! local-memory, if it is well. That it did is an event, which is kept in a file beside the capsule
//! until the capsule can take it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kapsa_memory::{EventType, NewEvent, Reader, Writer, event};
use serde_json::{Value, json};

use super::local_memory::LocalMemory;
use super::{Backend, capsule_meant};
use crate::app::App;
use crate::backend_kind::BackendKind;
use crate::error::{CliError, Result};
use crate::{locate, moment};

/// What the name of the file of events ends with, behind that of the capsule.
const EVENTS_ENDING: &str = ".fallback.jsonl";
/// What its name ends with while its events are taken into the capsule.
const TAKEN_ENDING: &str = ".taken";
/// Largest file of events, in bytes: none is added to a larger one, and none is taken of it.
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
    let recorded = events_file(app).map_err(|error| error.message).and_then(|file| {
        record(&file, from, operation, &error.message).map_err(|error| error.to_string())
    });
    let kept = recorded.err().map_or_else(String::new, |why| format!("; not recorded: {why}"));
    let name = BackendKind::LocalMemory.name();
    let message = format!("{}: {name} serves {operation}{kept}", error.message);
    app.out.warn("fallback_activated", &message);
    Ok(Box::new(memory))
}

/// The file of events beside the capsule that is meant.
fn events_file(app: &App) -> Result<PathBuf> {
    let mut name = capsule_meant(app)?.into_os_string();
    name.push(EVENTS_ENDING);
    let file = PathBuf::from(name);
    locate::expect_beside(&file)?;
    Ok(file)
}

/// Opens a file of events, with how large it is. No link is followed, no pipe waited for, and
/// nothing but a regular file is read or written: the folder may come from anybody.
fn open(file: &Path, options: &mut OpenOptions) -> io::Result<(File, u64)> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = options.custom_flags(flags).open(file)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((file, found.len()))
}

fn too_large() -> io::Error {
    io::Error::other(format!("it has more than {EVENTS_BYTES_MAX} bytes"))
}

/// Adds an event to the file.
fn record(file: &Path, from: BackendKind, operation: &str, reason: &str) -> io::Result<()> {
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
    let line = format!("{line}\n");
    let (mut file, size) = open(file, OpenOptions::new().append(true).create(true))?;
    if size + line.len() as u64 > EVENTS_BYTES_MAX {
        return Err(too_large());
    }
    file.write_all(line.as_bytes())
}

/// Takes the events of the file into the capsule, which can be opened again.
fn hand_over(app: &mut App, capsule: &Path) {
    let file = match events_file(app) {
        Ok(file) => file,
        Err(error) => return app.out.warn("event_not_recorded", &error.message),
    };
    let taken = taken_file(&file);
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    if ![&file, &taken].into_iter().any(is_there) {
        return;
    }
    if let Err(error) = handed_over(app, capsule, &file, &taken) {
        let message = format!("events of a fallback stay in {}: {error}", file.display());
        app.out.warn("event_not_recorded", &message);
    }
}

fn taken_file(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(TAKEN_ENDING);
    name.into()
}

fn handed_over(
    app: &App,
    capsule: &Path,
    file: &Path,
    taken: &Path,
) -> std::result::Result<(), String> {
    let mut options = app.write_options(None);
    options.lock_timeout = options.lock_timeout.min(EVENT_PATIENCE);
    // Who holds the lock of the capsule is the only one that takes events.
    let mut writer = Writer::open(capsule, options).map_err(|error| error.to_string())?;
    // What another process had taken when it was killed comes first.
    for _ in 0..2 {
        let Some(text) = take_text(file, taken).map_err(|error| error.to_string())? else { break };
        event::emit(&mut writer, events(&text)).map_err(|error| error.to_string())?;
        fs::remove_file(taken).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What is in the file of events, under the name by which nobody adds to it any more; none where
/// there is no event.
fn take_text(file: &Path, taken: &Path) -> io::Result<Option<String>> {
    let mut options = OpenOptions::new();
    let options = options.read(true);
    let (found, size) = match open(taken, options) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let found = match open(file, options) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                found => found?,
            };
            if found.1 > EVENTS_BYTES_MAX {
                return Err(too_large());
            }
            fs::rename(file, taken)?;
            found
        }
        found => found?,
    };
    let mut text = String::new();
    if size <= EVENTS_BYTES_MAX {
        found.take(EVENTS_BYTES_MAX + 1).read_to_string(&mut text)?;
    }
    let is_large = size.max(text.len() as u64) > EVENTS_BYTES_MAX;
    if is_large { Err(too_large()) } else { Ok(Some(text)) }
}

fn events(text: &str) -> Vec<NewEvent> {
    let events = text.lines().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        let Value::Object(payload) = line.get_mut("payload")?.take() else { return None };
        Some(NewEvent { payload, ..NewEvent::new(EventType::FallbackActivated) })
    });
    events.collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn added(file: &Path) -> io::Result<()> {
        record(file, BackendKind::Capsule, "put", "it is damaged")
    }

    #[test]
    fn events_are_taken_once_and_those_that_come_meanwhile_stay() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let file = root.path().join("events");
        let taken = taken_file(&file);
        let count = || take_text(&file, &taken).expect("read").map(|text| events(&text).len());
        assert_eq!(count(), None);
        added(&file).expect("added");
        added(&file).expect("added");
        assert_eq!(count(), Some(2));
        added(&file).expect("added");
        // Killed before it was removed: it comes first.
        assert_eq!(count(), Some(2));
        fs::remove_file(&taken).expect("removed");
        assert_eq!(count(), Some(1));
    }

    #[test]
    fn neither_a_link_nor_a_pipe_nor_a_large_file_is_read_or_written() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let file = root.path().join("events");
        let victim = root.path().join("victim");
        fs::write(&victim, "as it was").expect("written");
        let link = |to: &Path| std::os::unix::fs::symlink(to, &file).expect("linked");
        let refuses = |what: &str| {
            assert!(added(&file).is_err(), "{what}");
            assert!(take_text(&file, &taken_file(&file)).is_err(), "{what}");
            fs::remove_file(&file).expect("it is still there");
        };
        link(&victim);
        refuses("a link");
        assert_eq!(fs::read_to_string(&victim).expect("read"), "as it was");
        link(Path::new("/dev/zero"));
        refuses("a device");
        let made = Command::new("mkfifo").arg(&file).status().expect("mkfifo runs");
        assert!(made.success());
        refuses("a pipe");
        File::create(&file).and_then(|file| file.set_len(EVENTS_BYTES_MAX + 1)).expect("long");
        refuses("a large file");
    }
}
