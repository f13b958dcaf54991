//! The read path, from a request to records, as a table of contents.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::record::Record;
use crate::request::{FindRequest, Found, Stats, TimelineRequest};
use crate::uri::Uri;

/// A consistent view of a capsule at one moment. Takes no lock, waits for nobody.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
}

impl Reader {
    /// Opens a capsule for reading. Never creates or changes a file.
    pub fn open(path: &Path) -> Result<Reader> {
        let _ = path;
        Err(not_yet())
    }
    /// The newest revision of a URI.
    pub fn get(&self, uri: &Uri) -> Result<Record> {
        let _ = (uri, &self.path);
        Err(not_yet())
    }
    /// One revision by its sequence.
    pub fn record(&self, sequence: u64) -> Result<Record> {
        let _ = sequence;
        Err(not_yet())
    }
    /// Every revision of a URI, oldest first, tombstones included.
    pub fn history(&self, uri: &Uri) -> Result<Vec<Record>> {
        let _ = uri;
        Err(not_yet())
    }
    /// Searches.
    pub fn find(&self, request: &FindRequest) -> Result<Found> {
        let _ = request;
        Err(not_yet())
    }
    /// Lists live records by sequence.
    pub fn timeline(&self, request: &TimelineRequest) -> Result<Vec<Record>> {
        let _ = request;
        Err(not_yet())
    }
    /// Sizes and counts; `count_uris` reads the whole index.
    pub fn stats(&self, count_uris: bool) -> Result<Stats> {
        let _ = count_uris;
        Err(not_yet())
    }
}

fn not_yet() -> Error {
    Error::InvalidOperation { reason: "not built yet".to_string() }
}
