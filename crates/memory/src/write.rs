//! The write path, from a new record to the disk, as a table of contents.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kapsa_capsule::Holder;

use crate::error::{Error, Result};
use crate::record::{Micros, NewRecord};
use crate::request::{MaintenanceReport, Put, SourceReport};
use crate::uri::Uri;

/// How a capsule is opened for writing. The clock and the holder's name are passed in: this crate reads neither.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The time now, for commits and for records that bring none.
    pub clock: fn() -> Micros,
    /// How long to wait for another writer; default not at all.
    pub lock_timeout: Duration,
    /// Who writes, for the message that another writer sees.
    pub holder: Holder,
}

/// Progress of long work: items or bytes done, and the total where it is known.
pub type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Whether [`create`] made the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// A new, empty capsule.
    New,
    /// A capsule was there already and opens.
    Existing,
}

/// Makes an empty capsule at `path`, or finds one there.
///
/// # Errors
/// `NotACapsule` when something else is there (it is not touched), or what the disk says.
pub fn create(path: &Path, options: &WriteOptions) -> Result<Created> {
    let (_, _) = (path, options);
    Err(not_yet())
}

/// The one writer of a capsule. Holds the lock until dropped.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
}

impl Writer {
    /// Opens a capsule for writing, waiting for another writer up to the timeout.
    pub fn open(path: &Path, options: WriteOptions) -> Result<Writer> {
        let (_, _) = (path, options);
        Err(not_yet())
    }
    /// Puts one record: one commit, durable when this returns.
    pub fn put(&mut self, record: NewRecord) -> Result<Put> {
        let _ = (record, &self.path);
        Err(not_yet())
    }
    /// Puts many records in one commit: all or none.
    pub fn put_many(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        let _ = records;
        Err(not_yet())
    }
    /// Puts the passages of one document (made by [`crate::document::cut`]): unchanged passages are skipped, vanished ones forgotten.
    pub fn put_source(&mut self, source: &str, passages: Vec<NewRecord>) -> Result<SourceReport> {
        let _ = (source, passages);
        Err(not_yet())
    }
    /// Forgets a URI: a tombstone; history stays.
    pub fn forget(&mut self, uri: &Uri) -> Result<Put> {
        let _ = uri;
        Err(not_yet())
    }
    /// Marks every revision of a URI for true erasure at the next compaction, and forgets it. Returns how many revisions.
    pub fn purge(&mut self, uri: &Uri) -> Result<u64> {
        let _ = uri;
        Err(not_yet())
    }
    /// Indexes the tail and merges all index segments into few.
    pub fn optimize(&mut self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        let _ = progress;
        Err(not_yet())
    }
    /// Writes a new, packed file and renames it into place.
    pub fn compact(self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        let _ = progress;
        Err(not_yet())
    }
}

fn not_yet() -> Error {
    Error::InvalidOperation { reason: "not built yet".to_string() }
}
