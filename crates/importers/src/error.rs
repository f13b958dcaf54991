//! Why a source cannot be read at all.

use std::io;
use std::path::PathBuf;

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk says so.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not what the product writes.
    #[error("{}: {reason}", path.display())]
    Foreign {
        /// What was to be read.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It is beyond a limit.
    #[error("{}: more than {limit} {of}", path.display())]
    TooLarge {
        /// What was to be read.
        path: PathBuf,
        /// The limit.
        limit: u64,
        /// Of what.
        of: &'static str,
    },
}

impl Error {
    /// The same without the path.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Error::Io { source, .. } => source.to_string(),
            Error::Foreign { reason, .. } => reason.clone(),
            Error::TooLarge { limit, of, .. } => format!("more than {limit} {of}"),
        }
    }

    /// Its name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io { .. } => "io",
            Error::Foreign { .. } => "foreign_source",
            Error::TooLarge { .. } => "source_too_large",
        }
    }
}
