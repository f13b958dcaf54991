//! The files that a sync is to read: found, looked at from outside, and put in order. Knows no
//! format and no capsule.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use kapsa_memory::Micros;

use crate::error::{Error, Result};
use crate::queue::JobFile;
use crate::report::{FailedFile, Report};

/// Days after which agents delete their transcripts.
pub const PURGED_AFTER_DAYS: i64 = 30;
/// Age in microseconds from which on a file is taken over before the others: 25 days.
pub const EXPIRES_SOON_US: Micros = 25 * 24 * 3600 * 1_000_000;

const HASH_DIGITS: usize = 32;
const CHUNK_BYTES: usize = 256 * 1024;
/// What SQLite keeps beside a database: what was written last.
const LOG_ENDINGS: [&str; 1] = ["-wal"];

/// A file as it looks from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    /// When it was changed last.
    pub(crate) changed: Micros,
    /// Whether it was named itself.
    pub(crate) is_named: bool,
}

impl Found {
    pub(crate) fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// The file as a job names it.
    pub(crate) fn job(&self) -> JobFile {
        JobFile { path: self.name(), size: self.size, changed: self.changed }
    }

    /// Whether its program is about to delete it.
    pub(crate) fn expires_soon(&self, now: Micros) -> bool {
        now.saturating_sub(self.changed) > EXPIRES_SOON_US
    }

    /// A hash of what it holds.
    pub(crate) fn hash(&self) -> std::io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        let beside = LOG_ENDINGS.iter().map(|ending| beside(&self.path, ending));
        for path in std::iter::once(self.path.clone()).chain(beside) {
            let mut file = match File::open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && path != self.path => {
                    continue;
                }
                opened => opened?,
            };
            loop {
                match file.read(&mut chunk)? {
                    0 => break,
                    read => hasher.update(&chunk[..read]),
                };
            }
        }
        Ok(hasher.finalize().to_hex()[..HASH_DIGITS].to_string())
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A file as a job names it; none where it is no regular file itself.
///
/// # Errors
/// What the file system reports.
pub fn job_file(path: &Path) -> std::io::Result<Option<JobFile>> {
    let about = fs::symlink_metadata(path)?;
    Ok(about.is_file().then(|| looked_at(path.to_path_buf(), &about, true).job()))
}

/// The files that are named, and those below the folders that are, each once, in the order in which
/// they are to be read: what is near its end first, oldest first, then by path; with `newest_first`
/// the rest begins with the newest.
pub(crate) fn found(
    paths: &[PathBuf],
    now: Micros,
    newest_first: bool,
    report: &mut Report,
) -> Result<Vec<Found>> {
    let mut all: Vec<Found> = Vec::new();
    for path in paths {
        let about = fs::metadata(path).map_err(|_| Error::Missing { path: path.clone() })?;
        if !about.is_dir() && !about.is_file() {
            let message = format!("{}: not a regular file", path.display());
            report.failed.push(FailedFile { path: path.clone(), message });
            continue;
        }
        if !about.is_dir() {
            all.push(looked_at(path.clone(), &about, true));
            continue;
        }
        let (files, walk) = kapsa_ingest::files(path)?;
        report.over += walk.over;
        report.skipped.merge(&walk.skipped);
        report.failed.extend(
            walk.failed
                .iter()
                .map(|error| FailedFile { path: path.clone(), message: error.to_string() }),
        );
        for file in files {
            // One that is gone by now is no trace.
            if let Ok(about) = fs::metadata(&file)
                && !is_log(&file)
            {
                all.push(looked_at(file, &about, false));
            }
        }
    }
    all.sort_by(|a, b| {
        a.path.as_os_str().cmp(b.path.as_os_str()).then(b.is_named.cmp(&a.is_named))
    });
    all.dedup_by(|later, first| later.path == first.path);
    all.sort_by_key(|file| match file.expires_soon(now) {
        true => (false, file.changed),
        false => (true, if newest_first { -file.changed } else { 0 }),
    });
    Ok(all)
}

fn is_log(path: &Path) -> bool {
    let name = path.as_os_str().to_string_lossy();
    name.ends_with("-wal") || name.ends_with("-shm")
}

fn looked_at(path: PathBuf, about: &Metadata, is_named: bool) -> Found {
    let (mut size, mut changed) = (about.len(), changed(about));
    for ending in LOG_ENDINGS {
        if let Ok(log) = fs::metadata(beside(&path, ending)) {
            size += log.len();
            changed = changed.max(self::changed(&log));
        }
    }
    Found { path, size, changed, is_named }
}

fn changed(about: &Metadata) -> Micros {
    let Ok(at) = about.modified() else { return 0 };
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
    }
}
