//! What can go wrong in this crate.

use std::sync::Arc;

/// Why bytes did not pass the checks of whoever owns them, in that one's own terms.
pub type CheckError = Arc<dyn std::error::Error + Send + Sync>;

/// Everything this crate can fail with.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a lexical segment, or not all of one.
    #[error("not a lexical segment: {0}")]
    Malformed(&'static str),
    /// The bytes are a lexical segment of a format this version does not read.
    #[error("lexical segment format {found}, this version reads {expected}")]
    Format {
        /// Format version found in the segment.
        found: u32,
        /// Format version this build reads and writes.
        expected: u32,
    },
    /// The segment was built by another analyser, so its terms would not match a query's.
    #[error("lexical segment built by analyser {found}, this version has analyser {expected}")]
    Analyser {
        /// Analyser id found in the segment.
        found: u32,
        /// Analyser id of this build.
        expected: u32,
    },
    /// The segment passed the format checks, yet reading it failed: its content is damaged.
    #[error("lexical segment is damaged: {0}")]
    Damaged(String),
    /// Whoever checks the segment's bytes found them damaged, or could not read them.
    #[error("{0}")]
    Check(CheckError),
    /// Segments and tail must be given in ascending sequence order, without overlap.
    #[error("sequence {seq} is out of order")]
    Order {
        /// First sequence number that does not follow its predecessor.
        seq: u64,
    },
    /// The segment being built has reached
    /// [`SEGMENT_MEMORY_BYTES_MAX`](crate::SEGMENT_MEMORY_BYTES_MAX)
    /// or [`SEGMENT_DOCUMENTS_MAX`](crate::SEGMENT_DOCUMENTS_MAX).
    #[error("lexical segment is full")]
    SegmentFull,
    /// The query is longer than [`QUERY_BYTES_MAX`](crate::QUERY_BYTES_MAX).
    #[error("query of {bytes} bytes, the limit is {max}")]
    QueryTooLong {
        /// Length of the query.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The search engine underneath failed while writing in memory.
    #[error("building a lexical segment failed: {0}")]
    Build(String),
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
