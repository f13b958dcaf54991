//! The folder in which OpenCode kept its sessions before it had a database: a file for each
//! session, message and part. Knows the names of these files and no other folder.
//!
//! `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
//! `storage/part/<message>/<part>.json`. Ids rise with time, and so do names.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::opencode;
use crate::draft::{Draft, Spot};
use crate::json::Object;
use crate::limits::{ELEMENTS_MAX, RECORD_BYTES_MAX};
use crate::output::Output;
use crate::session::{Agent, Place};
use crate::skipped::Reason;

/// How the names of records end.
const ENDING: &str = "json";

/// Reads the session whose record is in the file at `path`.
pub(crate) fn read(path: &Path, output: &mut Output<'_>) -> io::Result<()> {
    let id = path.file_stem().unwrap_or_default();
    let mut draft = Draft::new(Agent::OpenCode, &id.to_string_lossy());
    let Some(text) = text_of(path, "session", output)? else { return Ok(()) };
    let Some(info) = Object::parse(&text) else {
        output.skip(Reason::Cut, "session");
        output.reading.waiting = Some(0);
        return Ok(());
    };
    opencode::about(&mut draft, &info);
    let storage = path.ancestors().nth(3);
    let messages = storage.map(|storage| storage.join("message").join(id)).unwrap_or_default();
    for (index, path) in records(&messages, output)?.iter().enumerate() {
        let Some(text) = text_of(path, "message", output)? else { continue };
        let Some(message) = Object::parse(&text) else {
            output.skip(Reason::NotJson, "message");
            continue;
        };
        let spot = Spot { at: None, place: Place::Message(index as u64) };
        let role = opencode::role(&mut draft, &message, spot);
        let id = path.file_stem().unwrap_or_default();
        let parts = storage.map(|storage| storage.join("part").join(id)).unwrap_or_default();
        for path in records(&parts, output)? {
            let Some(text) = text_of(&path, "part", output)? else { continue };
            match Object::parse(&text) {
                Some(part) => opencode::part(&mut draft, &part, role, output),
                None => output.skip(Reason::NotJson, "part"),
            }
        }
    }
    draft.finish(output);
    Ok(())
}

/// The records in a folder, in the order of their names. None where there is no such folder; links
/// are not followed.
fn records(folder: &Path, output: &mut Output<'_>) -> io::Result<Vec<PathBuf>> {
    let mut records = Vec::new();
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(records),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(records),
        Err(error) => return Err(error),
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type()?.is_file() || path.extension().is_none_or(|found| found != ENDING) {
            continue;
        }
        if records.len() == ELEMENTS_MAX {
            output.skip(Reason::OverLimit, "file");
        } else {
            records.push(path);
        }
    }
    records.sort();
    Ok(records)
}

/// What is in a file; nothing if that is too long.
fn text_of(path: &Path, kind: &str, output: &mut Output<'_>) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(RECORD_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > RECORD_BYTES_MAX {
        output.skip(Reason::TooLong, kind);
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        output.skip(Reason::NotUtf8, kind);
    }
    Ok(Some(text.into_owned()))
}
