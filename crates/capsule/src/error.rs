//! The errors of this crate, each with the path, the offset and the operation at fault.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::format::commit::Commit;
use crate::format::{TAIL_BYTES_MAX, TAIL_RECORDS_MAX};
use crate::holder::Holder;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of a capsule operation. Nothing that was acknowledged is changed by any of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file at the path.
    #[error("no capsule at {}", path.display())]
    NotFound {
        /// Path looked at.
        path: PathBuf,
    },
    /// A file or folder of another kind; it was not touched.
    #[error("{} is not a Kapsa capsule: {found}", path.display())]
    NotACapsule {
        /// Path looked at.
        path: PathBuf,
        /// What was found instead.
        found: String,
    },
    /// A capsule of a format that this build cannot read or write.
    #[error("{} needs a newer Kapsa: {found}", path.display())]
    VersionMismatch {
        /// Path of the capsule.
        path: PathBuf,
        /// What it asks for and what this build offers.
        found: String,
    },
    /// Another writer holds the lock.
    #[error("{} is locked by another writer{}", path.display(), describe(holder.as_deref()))]
    LockedByWriter {
        /// Path of the capsule.
        path: PathBuf,
        /// Who says it holds the lock; only for the message.
        holder: Option<Box<Holder>>,
        /// How long was waited for it.
        waited: Duration,
    },
    /// Something else lies where the lock file belongs; it was not touched.
    #[error("{} is in the place of a lock file: {found}", path.display())]
    ForeignLock {
        /// Path of the lock file.
        path: PathBuf,
        /// What lies there.
        found: &'static str,
    },
    /// The file ends before its newest commit known to be on disk: it was cut or replaced.
    #[error("{} is truncated: it ends at byte {len}, its newest known commit at {expected}", path.display())]
    Truncated {
        /// Path of the capsule.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// End of the newest commit that was on disk.
        expected: u64,
    },
    /// Bytes that do not match their checksum or break a rule of the format.
    #[error("{} is damaged at byte {offset}: {what}", path.display())]
    Corrupt {
        /// Path of the capsule.
        path: PathBuf,
        /// Offset of the damaged structure.
        offset: u64,
        /// What was being read and what is wrong with it.
        what: String,
    },
    /// The system gave no memory for what was to be unpacked.
    #[error("no memory for {bytes} bytes at byte {offset} of {}", path.display())]
    NoMemory {
        /// Path of the capsule.
        path: PathBuf,
        /// Offset of what was to be unpacked.
        offset: u64,
        /// What it takes, unpacked.
        bytes: u64,
    },
    /// Bytes that the disk does not give back, or that are gone from the file since it was opened.
    #[error("cannot read {} at byte {offset}: {source}", path.display())]
    Unreadable {
        /// Path of the capsule.
        path: PathBuf,
        /// Offset of what was to be read.
        offset: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// A record number outside the snapshot.
    #[error("no record {sequence}")]
    NoSuchRecord {
        /// The sequence asked for.
        sequence: u64,
    },
    /// Something to be written exceeds a named limit.
    #[error("{what} exceeds {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The path names another file than the one that was opened: somebody moved or replaced it.
    #[error("{} was moved or replaced while it was open", path.display())]
    Replaced {
        /// Path of the capsule.
        path: PathBuf,
    },
    /// A commit that was to repeat one of another capsule would not be the same; it was not made.
    #[error(
        "commit {number} would differ from the one that it repeats: in its records, its time or its history"
    )]
    ChainMismatch {
        /// Number it would have.
        number: u64,
    },
    /// A call that breaks the order of operations, such as a segment that does not join the others.
    #[error("misuse: {reason}")]
    Misuse {
        /// What rule was broken.
        reason: &'static str,
    },
    /// A write failed and could not be taken back either, so that nobody knows whether it is on
    /// disk; open the capsule anew.
    #[error("a write to {} failed and could not be undone: it is unknown whether it was stored; the next writer finds out", path.display())]
    Poisoned {
        /// Path of the capsule.
        path: PathBuf,
    },
    /// The operating system refused an operation.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried, such as "write".
        operation: &'static str,
        /// On which path.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { operation, path, source }
    }

    pub(crate) fn unreadable(path: &Path, offset: u64) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Unreadable { path, offset, source }
    }

    /// Whether the cause is a full disk or an exhausted quota.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Error::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}

/// Refuses a commit that leaves more records without an index than readers hold in memory.
pub(crate) fn expect_readable_tail(commit: &Commit) -> Result<()> {
    let over = |what, limit| Err(Error::TooLarge { what, limit });
    if commit.tail_bytes > TAIL_BYTES_MAX {
        return over("the bytes of records without an index", TAIL_BYTES_MAX);
    }
    match commit.next_sequence - commit.indexed {
        0..=TAIL_RECORDS_MAX => Ok(()),
        _ => over("the number of records without an index", TAIL_RECORDS_MAX),
    }
}

fn describe(holder: Option<&Holder>) -> String {
    let Some(holder) = holder else { return String::new() };
    let of = |name: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!(", {name} {value}")).unwrap_or_default()
    };
    format!(
        " (pid {} of {} on {}, since {}{}{}{})",
        holder.pid,
        holder.user,
        holder.host,
        holder.started_at,
        of("spec", &holder.spec_id),
        of("run", &holder.run_id),
        of("branch", &holder.branch)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_may_reach_its_limits_and_not_go_beyond_them() {
        let tail = |records: u64, tail_bytes: u64| {
            let indexed = 8;
            let next_sequence = indexed + records;
            expect_readable_tail(&Commit {
                indexed,
                next_sequence,
                tail_bytes,
                ..Commit::default()
            })
        };
        assert!(tail(TAIL_RECORDS_MAX, TAIL_BYTES_MAX).is_ok());
        for (records, bytes) in [(TAIL_RECORDS_MAX + 1, 0), (0, TAIL_BYTES_MAX + 1)] {
            let refused = tail(records, bytes);
            assert!(matches!(refused, Err(Error::TooLarge { .. })), "{records}, {bytes} bytes");
        }
    }
}
