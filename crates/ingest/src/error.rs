//! Why a file could not be read at all. Knows nothing of formats: what is wrong inside of a file is
//! skipped and counted, not an error.

use std::io;
use std::path::PathBuf;

/// Why a file or a folder could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was being read.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The program that owns the database is writing to it.
    #[error("{}: in use by another program; try again when it is idle", path.display())]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// Its queries take more than is allowed: no program leaves such a database.
    #[error("{}: reading this database takes more than {what}", path.display())]
    Limit {
        /// The database.
        path: PathBuf,
        /// The limit.
        what: &'static str,
    },
    /// SQLite cannot read it.
    #[error("{}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}
