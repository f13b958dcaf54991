//! Files of lines of JSON that only grow. Knows nothing of what is in a line.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::Value;

use super::error::{Error, Result};

/// Adds a line; makes the file if it is missing.
pub(crate) fn append(path: &Path, line: &Value) -> Result<()> {
    let mut file = open(path)?;
    // One write, so that lines of several processes do not mix.
    file.write_all(format!("{line}\n").as_bytes()).map_err(Error::io("write", path))
}

/// Opens a log at its end; makes it if it is missing. A link, or anything else that is no file, is
/// refused.
pub(crate) fn open(path: &Path) -> Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Error::io("write", path)(ErrorKind::InvalidInput.into()));
    }
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(Error::io("write", path))
}
