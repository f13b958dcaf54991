//! A folder of traces: every file below it, each record taken once. Knows no format.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::limits::{FILES_MAX, FOLDERS_DEEP_MAX};
use crate::output::{Reading, Seen};
use crate::read::sessions_once;
use crate::session::Session;
use crate::skipped::{Reason, Skipped};

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walk {
    /// Files that hold traces.
    pub traces: u64,
    /// Files that do not.
    pub others: u64,
    /// Sessions.
    pub sessions: u64,
    /// What was skipped in traces.
    pub skipped: Skipped,
    /// Traces whose last record is still being written.
    pub waiting: Vec<PathBuf>,
    /// What could not be read.
    pub failed: Vec<Error>,
    /// Files beyond [`FILES_MAX`], which were not looked at.
    pub over: u64,
}

/// Folders that hold no sessions.
const LEFT_OUT: [&str; 4] = [".git", "node_modules", "target", "tool-results"];
/// How compressed traces are named beside their originals.
const PACKED: &str = ".zst";

/// Reads all traces below a folder in the order of their paths: a session before its sub-agents.
/// Forks and replays give only what is new in them. Links are not followed.
pub fn walk(
    folder: &Path,
    each: &mut dyn FnMut(&Path, Session) -> ControlFlow<()>,
) -> Result<Walk, Error> {
    let (files, mut walk) = files(folder)?;
    let mut seen = Seen::new();
    for file in &files {
        let read = sessions_once(file, &mut seen, &mut |session| each(file, session));
        if walk.took(file, read) {
            break;
        }
    }
    Ok(walk)
}

/// The files below a folder that may be traces, in the order of their paths, with what a walk
/// could not look at. Reads none of them, and follows no links.
///
/// # Errors
/// The folder itself cannot be listed.
pub fn files(folder: &Path) -> Result<(Vec<PathBuf>, Walk), Error> {
    let mut walk = Walk::default();
    let mut files = Vec::new();
    gather(folder, 0, &mut files, &mut walk)?;
    files.retain(|file| !is_packed_twin(file));
    // By bytes: `a.jsonl` comes before what is in the folder `a`.
    files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok((files, walk))
}

impl Walk {
    /// Counts a file; says whether to stop.
    fn took(&mut self, file: &Path, read: Result<Reading, Error>) -> bool {
        let reading = match read {
            Ok(reading) => reading,
            Err(error) => {
                self.failed.push(error);
                return false;
            }
        };
        if reading.format.is_none() {
            self.others += 1;
            return false;
        }
        self.traces += 1;
        self.sessions += reading.sessions;
        self.skipped.merge(&reading.skipped);
        if reading.waiting.is_some() {
            self.waiting.push(file.to_owned());
        }
        reading.stopped
    }
}

/// Whether the file is the compressed twin of one that is there as well.
fn is_packed_twin(file: &Path) -> bool {
    let name = file.to_string_lossy();
    name.strip_suffix(PACKED).is_some_and(|plain| Path::new(plain).is_file())
}

fn gather(
    folder: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    walk: &mut Walk,
) -> Result<(), Error> {
    let failed = |source| Error::Io { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_file() && files.len() < FILES_MAX {
            files.push(entry.path());
        } else if kind.is_file() {
            walk.over += 1;
        } else if kind.is_dir() && !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            if depth == FOLDERS_DEEP_MAX {
                walk.skipped.count(Reason::OverLimit, "folder");
            } else if let Err(error) = gather(&entry.path(), depth + 1, files, walk) {
                // One closed folder does not hide the others.
                walk.failed.push(error);
            }
        }
    }
    Ok(())
}
