//! Checks whether a capsule is whole, and what mends it if not.

use std::path::{Path, PathBuf};

use kapsa_capsule::{
    Error as CapsuleError, FileSystem, Holder, LockState, Snapshot, Volume, lock_path, lock_state,
};

use crate::error::Result;
use crate::records::request::{Diagnosis, LIMIT_NONE, Level, VerifyReport};
use crate::tables::segments::CONTENT_TERM;
use crate::view::{View, blobs};
use crate::write::maintain::SEGMENTS_MANY;
use crate::write::options::Progress;

/// Records that `doctor` reads, and blocks of each segment, of 4 KiB each.
const SAMPLE_RECORDS: u64 = 64;
const SAMPLE_BLOCKS: u64 = 16;

/// Reads every byte, recomputes every checksum and the chain. Damage is reported, not returned as
/// an error.
///
/// # Errors
/// When there is nothing to check: `NotFound`, `NotACapsule`, `VersionMismatch`, or what the system
/// says.
pub fn verify(path: &Path, progress: Progress<'_>) -> Result<VerifyReport> {
    Ok(kapsa_capsule::verify(path, &mut |done, total| progress(done, Some(total)))?)
}

/// A file of which a part is missing, as a salvage leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostFile {
    /// Its URI, as people write it.
    pub uri: String,
    /// The revision that names the content.
    pub sequence: u64,
}

/// Every revision whose file is not there as a whole, in order; reads no content. The capsule at
/// `path` is one that [`verify`] found no damage in.
///
/// # Errors
/// As when it is opened.
pub fn lost_files(path: &Path) -> Result<Vec<LostFile>> {
    let view = View::new(Snapshot::open(path)?);
    let store = view.store();
    let filter = kapsa_index::Filter {
        all: vec![vec![CONTENT_TERM.to_string()]],
        ..kapsa_index::Filter::default()
    };
    let mut lost = Vec::new();
    for sequence in store.searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)? {
        let record = store.record(sequence)?;
        if let Some(content) = &record.content
            && !blobs::has_all(store, content)?
        {
            lost.push(LostFile { uri: record.uri.short().to_string(), sequence });
        }
    }
    Ok(lost)
}

/// Looks at a path and says what is the matter with it. Never fails, never writes; does not read
/// the whole file.
#[must_use]
pub fn doctor(path: &Path) -> Vec<Diagnosis> {
    // What lies beside a capsule lies beside the file that a link leads to.
    let path = &FileSystem.resolve(path).unwrap_or_else(|_| path.to_path_buf());
    let mut found = vec![];
    match Snapshot::open(path) {
        Err(error) => found.push(diagnose(&error)),
        Ok(snapshot) => {
            found.extend(advise(&snapshot));
            found.push(sample(&snapshot));
        }
    }
    found.extend(diagnose_lock(path));
    found.extend(diagnose_leftovers(path));
    if found.iter().all(|d| d.level == Level::Info) {
        let message = "the capsule opens, and its newest commit is valid".to_string();
        found.insert(0, Diagnosis { level: Level::Info, code: "ok", message, hint: None });
    }
    found
}

fn diagnosis(level: Level, code: &'static str, message: String, hint: &str) -> Diagnosis {
    Diagnosis { level, code, message, hint: Some(hint.to_string()) }
}

fn diagnose(error: &CapsuleError) -> Diagnosis {
    let (code, hint) = match error {
        CapsuleError::NotFound { .. } => {
            ("missing", "create one with `kapsa init`, or name the right file with --capsule")
        }
        CapsuleError::NotACapsule { .. } => {
            ("foreign", "name a capsule with --capsule; this file was not touched")
        }
        CapsuleError::VersionMismatch { .. } => {
            ("version_mismatch", "update Kapsa; this file was not touched")
        }
        CapsuleError::Truncated { .. } => (
            "truncated",
            "restore the file from a copy, or `kapsa salvage NEW` to copy what can be read",
        ),
        CapsuleError::Unreadable { .. } => (
            "bad_sector",
            "`kapsa verify` lists what is damaged, `kapsa salvage NEW` copies what can be read",
        ),
        CapsuleError::Corrupt { .. } => (
            "corrupt",
            "`kapsa verify` shows all damage; restore the file from a copy, or `kapsa salvage NEW` to copy what can be read",
        ),
        _ => ("unreadable", "check the path and its permissions"),
    };
    diagnosis(Level::Error, code, error.to_string(), hint)
}

fn advise(snapshot: &Snapshot) -> Vec<Diagnosis> {
    let mut found = vec![];
    let file = snapshot.file();
    let torn = file.file_bytes - file.committed_bytes;
    if torn > 0 {
        let message = format!(
            "{torn} bytes after the newest commit were left by an interrupted write; nothing acknowledged is in them"
        );
        found.push(diagnosis(Level::Warning, "torn_tail", message, "the next put cuts them off"));
    }
    let segments = snapshot.segments().len();
    if segments >= SEGMENTS_MANY {
        let message = format!("the index is in {segments} segments");
        found.push(diagnosis(
            Level::Info,
            "unoptimized",
            message,
            "run `kapsa optimize` for faster searches",
        ));
    }
    found
}

/// Reads a part of what is there, to find a disk that fails before a search does.
fn sample(snapshot: &Snapshot) -> Diagnosis {
    match kapsa_capsule::sample(snapshot, SAMPLE_RECORDS, SAMPLE_BLOCKS) {
        Ok((records, blocks)) => {
            let message = format!(
                "a sample can be read ({records} records, {blocks} index blocks); kapsa verify reads everything"
            );
            Diagnosis { level: Level::Info, code: "sample", message, hint: None }
        }
        Err(error) => diagnose(&error),
    }
}

/// A process that was killed leaves the file that it was making.
fn diagnose_leftovers(path: &Path) -> Vec<Diagnosis> {
    // A folder that cannot be listed keeps its leftovers, and harms nobody.
    let leftovers = FileSystem.leftovers(path).unwrap_or_default();
    let describe = |leftover: &PathBuf| {
        let bytes = leftover.symlink_metadata().map_or(0, |found| found.len());
        let message = format!(
            "{} ({bytes} bytes) was left by a process that did not end",
            leftover.display()
        );
        let hint = "the next `kapsa compact` removes it, and so may you";
        diagnosis(Level::Info, "leftover", message, hint)
    };
    leftovers.iter().map(describe).collect()
}

fn diagnose_lock(path: &Path) -> Option<Diagnosis> {
    let lock = lock_path(path);
    let who = |h: &Holder| {
        let of = |name: &str, value: &Option<String>| {
            value.as_ref().map(|v| format!(", {name} {v}")).unwrap_or_default()
        };
        format!(
            "pid {} of {} on {}, since {}{}{}",
            h.pid,
            h.user,
            h.host,
            h.started_at,
            of("spec", &h.spec_id),
            of("run", &h.run_id)
        )
    };
    match lock_state(path) {
        Ok(LockState::Free) => None,
        Ok(LockState::Held(holder)) => {
            let message = format!("a writer holds the lock: {}", who(&holder));
            Some(diagnosis(
                Level::Error,
                "locked",
                message,
                "wait for it or stop that process; readers are not affected",
            ))
        }
        Ok(LockState::Stale(holder)) => {
            let message =
                format!("the last writer ended without releasing the lock: {}", who(&holder));
            Some(diagnosis(
                Level::Warning,
                "stale_lock",
                message,
                "nothing to do: the lock itself is free, the next put takes it",
            ))
        }
        // Whoever may only read has no need of the lock.
        Err(CapsuleError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            None
        }
        Err(error) => {
            let is_foreign = matches!(error, CapsuleError::ForeignLock { .. });
            let code = if is_foreign { "foreign_lock" } else { "unreadable" };
            let hint = format!("move {} away: nobody can write beside it", lock.display());
            Some(diagnosis(Level::Error, code, error.to_string(), &hint))
        }
    }
}
