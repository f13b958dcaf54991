//! Reads files within limits: no link is followed, nothing but a regular file is opened.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Error;

/// Largest file that is read as one text, in bytes.
pub const FILE_BYTES_MAX: u64 = 16 << 20;
/// Largest source in one file, in bytes.
pub const SOURCE_BYTES_MAX: u64 = 512 << 20;
/// Longest line, in bytes.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// Most files of a folder.
pub const FILES_MAX: usize = 100_000;
/// Said of what must not be opened: a pipe would be waited for.
pub(crate) const NO_FILE: &str = "it is not a file";
/// How deep folders may lie in each other.
pub const DEPTH_MAX: usize = 32;

pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { path, source }
}

pub(crate) fn foreign(path: &Path, reason: impl Into<String>) -> Error {
    Error::Foreign { path: path.to_path_buf(), reason: reason.into() }
}

/// The bytes of a file of at most so many.
pub(crate) fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    if !fs::metadata(path).map_err(io(path))?.is_file() {
        return Err(foreign(path, NO_FILE));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io(path))?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(io(path))?;
    if bytes.len() as u64 > limit {
        return Err(Error::TooLarge { path: path.to_path_buf(), limit, of: "bytes" });
    }
    Ok(bytes)
}

/// A file of JSON.
pub(crate) fn json(path: &Path) -> Result<Value, Error> {
    let bytes = bytes(path, SOURCE_BYTES_MAX)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    serde_json::from_slice(text).map_err(|error| foreign(path, format!("it is not JSON: {error}")))
}

/// Lines of JSON with their numbers, from 1; why one is not. Empty lines are passed over.
pub(crate) type JsonLines = Vec<(usize, Result<Value, String>)>;

pub(crate) fn json_lines(path: &Path) -> Result<JsonLines, Error> {
    let bytes = bytes(path, SOURCE_BYTES_MAX)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    let filled = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = |line: &[u8]| {
        if line.len() > LINE_BYTES_MAX {
            return Err(format!("the line is longer than {LINE_BYTES_MAX} bytes"));
        }
        serde_json::from_slice(line).map_err(|error| format!("the line is not JSON: {error}"))
    };
    Ok(filled.map(|(index, line)| (index + 1, read(line))).collect())
}

/// The file of a name in a folder, or the file itself.
pub(crate) fn file_in(path: &Path, names: &[&str]) -> Result<PathBuf, Error> {
    if !fs::metadata(path).map_err(io(path))?.is_dir() {
        return Ok(path.to_path_buf());
    }
    let found = names.iter().map(|name| path.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| foreign(path, format!("there is no {} in it", names.join(" or "))))
}

/// The Markdown files below a folder, in the order of their paths, or the file itself. Folders that
/// begin with a dot are passed over.
pub(crate) fn markdown_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let found = fs::metadata(path).map_err(io(path))?;
    if !found.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    gather(path, 0, &mut files)?;
    files.sort();
    Ok(files)
}

fn gather(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let too_many =
        |limit: usize, of| Error::TooLarge { path: folder.to_path_buf(), limit: limit as u64, of };
    if depth > DEPTH_MAX {
        return Err(too_many(DEPTH_MAX, "folders in each other"));
    }
    for entry in fs::read_dir(folder).map_err(io(folder))? {
        let entry = entry.map_err(io(folder))?;
        let kind = entry.file_type().map_err(io(folder))?;
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if kind.is_dir() && !is_hidden {
            gather(&path, depth + 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            return Err(too_many(FILES_MAX, "files"));
        }
    }
    Ok(())
}

/// A member that is a text; empty when it is missing or nothing.
pub(crate) fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
}

/// Members as they are, but for these and for nothing.
pub(crate) fn others(value: &Value, taken: &[&str]) -> serde_json::Map<String, Value> {
    let members = value.as_object().into_iter().flatten();
    members
        .filter(|(name, value)| !taken.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
