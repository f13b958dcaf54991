//! Why a note, a folder of notes or a run folder could not be read or written, and what a run did
//! not leave behind.

use std::io;
use std::path::{Path, PathBuf};

/// Why a note could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The first line is not `---`.
    #[error("no frontmatter: the first line is not `---`")]
    NoFrontmatter,
    /// The frontmatter begins and no line ends it.
    #[error("unclosed frontmatter: no line `---` ends it")]
    UnclosedFrontmatter,
    /// The frontmatter is no mapping of names, or no YAML within the limits.
    #[error("unreadable frontmatter: {reason}")]
    Frontmatter {
        /// What the reader of YAML says, on one line.
        reason: String,
    },
    /// The note is longer than a note may be.
    #[error("{bytes} bytes; a note has at most {bytes_max}")]
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    NotText {
        /// The first byte that does not belong.
        at: usize,
    },
    /// A value would not be read back as it was set.
    #[error("`{key}` cannot be written as YAML: {reason}")]
    Unwritable {
        /// The key.
        key: String,
        /// What is wrong with its value.
        reason: String,
    },
}

/// Why a folder of notes or of a run could not be read or written.
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
    /// A note cannot be read or written.
    #[error("{}: {source}", path.display())]
    Note {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NoteError,
    },
    /// The path is not that of a note in the memory: it leads elsewhere, or through a link.
    #[error("{} is not a note of the memory in {}", path.display(), root.display())]
    NotOfMemory {
        /// The path.
        path: PathBuf,
        /// The memory's folder.
        root: PathBuf,
    },
    /// Somebody changed the file since it was read.
    #[error("{} changed since it was read; nothing was written", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A to-do step was taken out of order.
    #[error("to-do step `{step}` cannot become {to}: {reason}")]
    OutOfOrder {
        /// The step.
        step: &'static str,
        /// The state that was asked for.
        to: &'static str,
        /// Which step stands in the way.
        reason: String,
    },
    /// A time that no calendar has.
    #[error("{micros} microseconds since 1970 is no date")]
    NoDate {
        /// The time.
        micros: i64,
    },
    /// A path that a report cannot name.
    #[error("{} is {reason}", path.display())]
    OddPath {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Every name that a file could have is taken.
    #[error("no free name for {}", path.display())]
    NoFreeName {
        /// The name that was wanted.
        path: PathBuf,
    },
}

/// Why a run cannot begin, or did not leave behind what it must. What is shown is exactly what
/// other programs compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The trace is not there, or is a folder.
    #[error("trace_path_missing:{}", .0.display())]
    TracePathMissing(PathBuf),
    /// No mode of that name.
    #[error("invalid_run_mode:{0}")]
    InvalidRunMode(String),
    /// A file of the run folder is not there.
    #[error("missing_artifact:{}", .0.display())]
    MissingArtifact(PathBuf),
    /// A file of the run folder is no JSON of its kind.
    #[error("invalid_json_artifact:{}", .0.display())]
    InvalidJsonArtifact(PathBuf),
    /// The report lacks a key, or its figures do not agree.
    #[error("invalid_report_shape:{}", .0.display())]
    InvalidReportShape(PathBuf),
    /// `summary.json` names no summary.
    #[error("missing_summary_path_in_pipeline_output")]
    MissingSummaryPath,
    /// The summary lies elsewhere, or its path leads elsewhere.
    #[error("summary_path_outside_memory_root:{}", .0.display())]
    SummaryPathOutsideMemoryRoot(PathBuf),
    /// The summary is not there.
    #[error("summary_path_not_found:{}", .0.display())]
    SummaryPathNotFound(PathBuf),
    /// The report names a file outside of the memory and the run folder.
    #[error("report_path_outside_allowed_roots:{}", .0.display())]
    ReportPathOutsideAllowedRoots(PathBuf),
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What makes an error of the system one of `action` on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { action, path, source }
    }

    /// What makes an error of a note one of the file at `path`.
    pub(crate) fn note(path: &Path) -> impl FnOnce(NoteError) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Note { path, source }
    }
}
