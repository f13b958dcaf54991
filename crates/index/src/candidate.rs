//! What a caller is asked about before a document enters a result.

use tantivy::DocId;

use crate::error::Result;
use crate::reader::Reader;
use crate::tail::TailDoc;

/// A document about to enter a result. Its columns are read only when asked for.
#[derive(Clone, Copy)]
pub struct Candidate<'a>(pub(crate) Origin<'a>);

#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    Segment(&'a Reader, DocId),
    Tail(&'a TailDoc),
}

impl Candidate<'_> {
    /// Sequence number.
    pub fn seq(&self) -> u64 {
        match self.0 {
            Origin::Segment(reader, doc) => reader.seq(doc),
            Origin::Tail(doc) => doc.seq(),
        }
    }

    /// Hash of the record's URI.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn key_hash(&self) -> Result<u64> {
        match self.0 {
            Origin::Segment(reader, doc) => reader.key_hash(doc),
            Origin::Tail(doc) => Ok(doc.key_hash()),
        }
    }

    /// Microseconds since the Unix epoch.
    ///
    /// # Errors
    /// `Damaged`.
    pub fn time_us(&self) -> Result<i64> {
        match self.0 {
            Origin::Segment(reader, doc) => reader.time_us(doc),
            Origin::Tail(doc) => Ok(doc.time_us()),
        }
    }
}
