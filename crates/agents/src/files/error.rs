//! What can go wrong with a path; each error carries the path.

use std::fmt;

use kapsa_memory::Error;

/// A failure of the file system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Text that is not a path.
    #[error("`{path}` is not a path: {fault}")]
    InvalidPath {
        /// What was given, cut when it is too long.
        path: String,
        /// Which rule it breaks.
        fault: PathFault,
    },
    /// There is no such file.
    #[error("there is no file `{path}`")]
    NoSuchFile {
        /// The path asked for.
        path: String,
    },
    /// There is no such folder.
    #[error("there is no folder `{path}`")]
    NoSuchFolder {
        /// The path asked for.
        path: String,
    },
    /// A folder where a file is needed.
    #[error("`{path}` is a folder")]
    IsFolder {
        /// The folder.
        path: String,
    },
    /// A file where a folder is needed.
    #[error("`{path}` is a file")]
    IsFile {
        /// The file.
        path: String,
    },
    /// A write to what agents do not write.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The path asked for.
        path: String,
    },
    /// An experience that would be of another day than that on which it is written.
    #[error("`{path}` is not in the folder of today, {today}")]
    OtherDay {
        /// The path asked for.
        path: String,
        /// The day of the clock, UTC.
        today: String,
    },
    /// Something else has the id.
    #[error("`{path}` cannot be written: {by} has this id")]
    Taken {
        /// The path asked for.
        path: String,
        /// The path of what has it.
        by: String,
    },
    /// The memory.
    #[error(transparent)]
    Memory(#[from] Error),
}

/// Which rule of paths is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFault {
    /// It is longer than [`super::PATH_BYTES_MAX`].
    TooLong,
    /// It has more parts than [`super::PATH_PARTS_MAX`], or than its folder has levels.
    TooDeep,
    /// `.` or `..` is a part of it.
    Traversal,
    /// It holds a NUL.
    Nul,
    /// It holds a control, bidi or zero-width character.
    Unseen,
    /// It holds a backslash.
    Backslash,
    /// A `%` that begins no escape, or one that is not needed.
    Escape,
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathFault::TooLong => "it is longer than 16 KiB",
            PathFault::TooDeep => "it has too many parts",
            PathFault::Traversal => "`.` and `..` are not allowed as parts",
            PathFault::Nul => "it holds a NUL",
            PathFault::Unseen => "control, bidi and zero-width characters are not allowed",
            PathFault::Backslash => "a backslash is not allowed",
            PathFault::Escape => "a `%` stands before two digits of a character that a name cannot hold, such as %25 for `%`",
        })
    }
}
