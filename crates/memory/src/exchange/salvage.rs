//! What can still be read of a damaged capsule goes into a new one, every record under the sequence
//! that it had.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use kapsa_capsule::{FileSystem, Salvage, Salvaged, Stored, Volume};

use crate::error::{Error, Result};
use crate::records::codec;
use crate::records::request::SalvageReport;
use crate::tables::revision_map::Kept;
use crate::tables::revision_map::RevisionMap;
use crate::write::maintain::index;
use crate::write::options::{Progress, WriteOptions, create_unlocked};
use crate::write::writer::{BATCH_BYTES_MAX, BATCH_RECORDS_MAX};

/// Most ranges of lost records that a report lists.
const LOST_RANGES_MAX: usize = 1000;
/// Stands for the hash of a record that is gone for good.
const UNKNOWN_HASH: [u8; 32] = [0; 32];

/// Copies every readable record of the capsule at `from` into a new capsule at `to`, commit by
/// commit. A record that is lost leaves an erased one in its place, so that sequences keep their
/// meaning. `from` is not touched.
///
/// # Errors
/// `InvalidOperation` when something is at `to`; when `from` is not a capsule at all; what the disk
/// says. Then nothing is left at `to`.
pub fn salvage(
    from: &Path,
    to: &Path,
    options: &WriteOptions,
    progress: Progress<'_>,
) -> Result<SalvageReport> {
    let found =
        Salvage::open_in(&FileSystem, from, &mut |done, total| progress(done / 2, Some(total)))?;
    if to.symlink_metadata().is_ok() {
        return Err(taken(to));
    }
    FileSystem.sweep(to).map_err(|source| unplaced(to, source))?;
    let temporary = FileSystem.temporary(to);
    let copied = copy(&found, &temporary, options).and_then(|report| {
        // A new name for the file, not a rename: that would take the place of whatever has come to
        // `to` meanwhile.
        match std::fs::hard_link(&temporary, to) {
            Ok(()) => Ok(report),
            Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => Err(taken(to)),
            // Some file systems know one name for a file only.
            Err(_) if to.symlink_metadata().is_ok() => Err(taken(to)),
            Err(_) => FileSystem
                .rename(&temporary, to)
                .map(|()| report)
                .map_err(|source| unplaced(to, source)),
        }
    });
    let _a_leftover_is_swept_by_the_next_one = FileSystem.remove(&temporary);
    let report = copied?;
    FileSystem.sync_folder(to).map_err(|source| unplaced(to, source))?;
    Ok(report)
}

fn taken(to: &Path) -> Error {
    Error::InvalidOperation {
        reason: format!("{} exists; salvage makes a new capsule", to.display()),
    }
}

fn unplaced(path: &Path, source: std::io::Error) -> Error {
    Error::Capsule(kapsa_capsule::Error::Io {
        operation: "put in place",
        path: path.to_path_buf(),
        source,
    })
}

fn copy(found: &Salvage, temporary: &Path, options: &WriteOptions) -> Result<SalvageReport> {
    create_unlocked(&FileSystem, temporary, options)?;
    // Locked, it is not a leftover.
    let held = File::open(temporary).and_then(|file| file.lock().map(|()| file));
    let _until_the_end = held.map_err(|source| unplaced(temporary, source))?;
    let mut writer = kapsa_capsule::Writer::open_unlocked(Arc::new(FileSystem), temporary)?;
    // Nobody knows of this file before it is whole: one sync at the end will do.
    writer.defer_syncs();
    let mut copy = Copy {
        writer,
        pending: Vec::new(),
        pending_bytes: 0,
        last_time: 0,
        batch: SalvageBatch::default(),
        report: SalvageReport::default(),
    };
    found.each::<Error>(&mut |met| copy.take(met))?;
    copy.commit(copy.last_time, true)?;
    copy.writer.sync()?;
    let mut report = copy.report;
    report.unfinished = found.unfinished();
    report.incomplete = found.misses_newest();
    report.problems = found.problems().to_vec();
    Ok(report)
}

/// The new capsule in the making.
struct Copy {
    writer: kapsa_capsule::Writer,
    /// Records of the commit that is being copied.
    pending: Vec<Kept>,
    pending_bytes: usize,
    last_time: i64,
    /// Records since the last segment.
    batch: SalvageBatch,
    report: SalvageReport,
}

#[derive(Default)]
struct SalvageBatch {
    first: u64,
    records: Vec<Kept>,
    bytes: usize,
    /// Every revision so far.
    revision_map: RevisionMap,
}

impl Copy {
    fn take(&mut self, met: Salvaged<'_>) -> Result<()> {
        match met {
            Salvaged::Record { sequence, stored } => self.record(sequence, stored)?,
            Salvaged::Lost(range) => {
                for _ in range.clone() {
                    self.keep(Kept::Erased { hash: UNKNOWN_HASH, newly: true })?;
                }
                self.lose(range.start, range.end);
            }
            Salvaged::Commit { time_us } => {
                self.last_time = time_us;
                self.commit(time_us, false)?;
            }
        }
        Ok(())
    }

    fn record(&mut self, sequence: u64, stored: Stored<'_>) -> Result<()> {
        let kept = match stored {
            Stored::Purged(hash) => Kept::Erased { hash: *hash, newly: false },
            Stored::Body(bytes) => match codec::decode(sequence, bytes) {
                Ok(body) => {
                    self.report.records += 1;
                    Kept::Record { bytes: bytes.to_vec(), body: Box::new(body) }
                }
                Err(_) => {
                    self.lose(sequence, sequence + 1);
                    Kept::Erased { hash: UNKNOWN_HASH, newly: true }
                }
            },
        };
        self.keep(kept)
    }

    /// Adds a record to the commit that is being copied, which is cut in two when it outgrows what
    /// one may hold.
    fn keep(&mut self, kept: Kept) -> Result<()> {
        self.pending_bytes += kept.len();
        self.pending.push(kept);
        let full = self.pending.len() >= BATCH_RECORDS_MAX || self.pending_bytes >= BATCH_BYTES_MAX;
        if full { self.commit(self.last_time, false) } else { Ok(()) }
    }

    fn lose(&mut self, from: u64, until: u64) {
        self.report.lost_records += until - from;
        let ranges = &mut self.report.lost;
        if let Some(last) = ranges.last_mut().filter(|last| last.end == from) {
            last.end = until;
        } else if ranges.len() < LOST_RANGES_MAX {
            ranges.push(from..until);
        }
    }

    /// Commits what is pending; with a segment over everything since the last one when that is
    /// much, or when this is the end.
    fn commit(&mut self, time_us: i64, last: bool) -> Result<()> {
        if self.pending.is_empty() && self.batch.records.is_empty() {
            return Ok(());
        }
        let mut transaction = self.writer.begin()?;
        if self.batch.records.is_empty() {
            self.batch.first = transaction.next_sequence();
        }
        self.pending_bytes = 0;
        for kept in self.pending.drain(..) {
            transaction.append_stored(kept.stored())?;
            self.batch.bytes += kept.len();
            self.batch.records.push(kept);
        }
        let full =
            self.batch.records.len() >= BATCH_RECORDS_MAX || self.batch.bytes >= BATCH_BYTES_MAX;
        if (full || last) && !self.batch.records.is_empty() {
            let first = self.batch.first;
            let records = std::mem::take(&mut self.batch.records);
            self.batch.bytes = 0;
            let replaced = self.batch.revision_map.replacements(&records, first);
            transaction.add_segment(index(first, &records, &replaced)?)?;
        }
        transaction.commit(time_us)?;
        Ok(())
    }
}
