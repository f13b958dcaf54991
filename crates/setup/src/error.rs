//! Why a configuration file is not edited.

use std::io;
use std::path::{Path, PathBuf};

/// Why a text is not edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not what its program would read.
    #[error("{reason}")]
    Unreadable {
        /// Its line, from 1.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// The place is taken by something that setup did not write.
    #[error("it has an entry `kapsa` that setup did not write: {found}")]
    Foreign {
        /// What is there, on one line.
        found: String,
    },
    /// The edit would have changed something else; nothing was written.
    #[error("the edit would change more than its own lines")]
    TooMuch,
}

impl EditError {
    pub(crate) fn at(line: usize, reason: impl Into<String>) -> EditError {
        EditError::Unreadable { line: Some(line), reason: reason.into() }
    }

    pub(crate) fn whole(reason: impl Into<String>) -> EditError {
        EditError::Unreadable { line: None, reason: reason.into() }
    }
}

/// Why files are not set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("failed to {action} {}: {source}", path.display())]
    Io {
        /// What was tried, such as `write`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be edited.
    #[error("{}{}: {source}", path.display(), line_of(source))]
    Edit {
        /// The file.
        path: PathBuf,
        /// Why.
        source: EditError,
    },
    /// A file is nothing that may be written to.
    #[error("{} {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, as the end of a sentence.
        reason: String,
    },
}

impl Error {
    /// A stable name of what is wrong.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io { .. } => "io",
            Error::Edit { source: EditError::Foreign { .. }, .. } => "foreign_entry",
            Error::Edit { source: EditError::TooMuch, .. } => "not_editable",
            Error::Edit { .. } => "unreadable_config",
            Error::Refused { .. } => "refused",
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Error {
        Error::Io { action, path: path.to_path_buf(), source }
    }

    pub(crate) fn refused(path: &Path, reason: impl Into<String>) -> Error {
        Error::Refused { path: path.to_path_buf(), reason: reason.into() }
    }

    pub(crate) fn edit(path: &Path, source: EditError) -> Error {
        Error::Edit { path: path.to_path_buf(), source }
    }
}

fn line_of(error: &EditError) -> String {
    match error {
        EditError::Unreadable { line: Some(line), .. } => format!(":{line}"),
        _ => String::new(),
    }
}

/// The line of a byte, from 1.
pub(crate) fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
