//! Is this capsule whole, and if not, what mends it?

use std::path::Path;

use kapsa_capsule::{
    Error as CapsuleError, Holder, LockState, Snapshot, lock_path, lock_state, temporary_path,
};

use crate::error::Result;
use crate::records::request::{Diagnosis, Level, Problem, VerifyReport};
use crate::write::maintain::SEGMENTS_MANY;
use crate::write::options::Progress;

/// Reads every byte, recomputes every checksum and the chain. Damage is reported, not returned as an error.
///
/// # Errors
/// When there is nothing to check: `NotFound`, `NotACapsule`, `VersionMismatch`, or what the system says.
pub fn verify(path: &Path, progress: Progress<'_>) -> Result<VerifyReport> {
    let report = kapsa_capsule::verify(path, &mut |done, total| progress(done, Some(total)))?;
    let problem =
        |p: kapsa_capsule::Problem| Problem { offset: p.offset, frame: p.frame, message: p.what };
    Ok(VerifyReport {
        frames: report.frames,
        bytes: report.bytes,
        records: report.records,
        commits: report.commits,
        torn_bytes: report.torn_bytes,
        problems: report.problems.into_iter().map(problem).collect(),
    })
}

/// Looks at a path and says what is the matter with it. Never fails, never writes; does not read the whole file.
#[must_use]
pub fn doctor(path: &Path) -> Vec<Diagnosis> {
    let mut found = vec![];
    match Snapshot::open(path) {
        Err(error) => found.push(diagnose(&error)),
        Ok(snapshot) => found.extend(advise(&snapshot)),
    }
    found.extend(diagnose_lock(path));
    found.extend(diagnose_leftover(path));
    if found.iter().all(|d| d.level == Level::Info) {
        let message = "the capsule opens, its newest commit checks out".to_string();
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
            ("missing", "make one with `kapsa init`, or name the right file with --capsule")
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

/// A compaction that was killed leaves the file that it was writing.
fn diagnose_leftover(path: &Path) -> Option<Diagnosis> {
    let leftover = temporary_path(path);
    let bytes = leftover.symlink_metadata().ok()?.len();
    if matches!(lock_state(path), Ok(LockState::Held(_))) {
        return None;
    }
    let message =
        format!("{} ({bytes} bytes) was left by a compaction that did not end", leftover.display());
    Some(diagnosis(
        Level::Info,
        "leftover",
        message,
        "the next `kapsa compact` removes it, and so may you",
    ))
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
                format!("the last writer ended without giving the lock back: {}", who(&holder));
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
            let hint = format!("remove or repair {}", lock.display());
            Some(diagnosis(Level::Error, "unreadable", error.to_string(), &hint))
        }
    }
}
