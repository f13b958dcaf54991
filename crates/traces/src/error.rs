//! Why a sync could not go on at all. What is wrong with one file is reported, and the others are
//! read.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a sync ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The capsule could not be read or written.
    #[error(transparent)]
    Memory(#[from] kapsa_memory::Error),
    /// What was asked for is not there.
    #[error("{}: no such file or folder", path.display())]
    Missing {
        /// What was asked for.
        path: PathBuf,
    },
    /// A folder of notes or of a run could not be read or written.
    #[error(transparent)]
    Notes(#[from] kapsa_notes::Error),
    /// A run cannot begin, or left behind what it must not.
    #[error(transparent)]
    Contract(#[from] kapsa_notes::ContractError),
    /// A pipeline was given what is no file.
    #[error("session_file_missing:{}", path.display())]
    SessionFileMissing {
        /// What it was given.
        path: PathBuf,
    },
    /// A pipeline was given a file of no known format.
    #[error("{} holds no session trace", path.display())]
    NoTrace {
        /// The file.
        path: PathBuf,
    },
    /// A run over a trace in which nothing was said.
    #[error("session_trace_empty")]
    EmptyTrace,
    /// A file that was named, and of which nothing could be read.
    #[error(transparent)]
    Trace(#[from] kapsa_ingest::Error),
}
