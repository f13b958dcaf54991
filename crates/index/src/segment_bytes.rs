//! The bytes of a segment, checked against what was written by whoever owns them, part by part,
//! before anything here reads them.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{CheckError, Error, Result};
use crate::guard;

/// Knows what the bytes of one segment should be.
pub trait Checks: Debug + Send + Sync {
    /// Checks `range` of the segment's bytes. It is asked before each read, so a second time must
    /// be cheap.
    ///
    /// # Errors
    /// What is wrong with them.
    fn check(&self, range: Range<usize>) -> Result<(), CheckError>;

    /// Says that `range` is about to be read; `true` when that made somebody fetch it. Only a hint.
    fn will_read(&self, range: Range<usize>) -> bool {
        let _no_hint_is_needed = range;
        false
    }
}

/// A segment's bytes, or a part of them, and who checks them.
///
/// Bytes made from a [`Bytes`] or a `Vec` are believed as they are: damage in them may give wrong
/// hits, fail with [`Error::Damaged`] or, rarely, never end. [`verify`](crate::verify) checks such
/// bytes as a whole.
#[derive(Debug, Clone)]
pub struct SegmentBytes {
    bytes: Bytes,
    /// Where they begin in the segment.
    offset: usize,
    checks: Option<Arc<dyn Checks>>,
}

impl From<Bytes> for SegmentBytes {
    fn from(bytes: Bytes) -> SegmentBytes {
        SegmentBytes { bytes, offset: 0, checks: None }
    }
}

impl From<Vec<u8>> for SegmentBytes {
    fn from(bytes: Vec<u8>) -> SegmentBytes {
        Bytes::from(bytes).into()
    }
}

impl SegmentBytes {
    /// All bytes of a segment, nothing of which is read before `checks` has passed it.
    pub fn checked_by(checks: Arc<dyn Checks>, bytes: Bytes) -> SegmentBytes {
        SegmentBytes { bytes, offset: 0, checks: Some(checks) }
    }

    /// The bytes as they are, unchecked.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// A part of them; `range` must be inside.
    pub(crate) fn part(&self, range: Range<usize>) -> SegmentBytes {
        assert!(
            range.start <= range.end && range.end <= self.len(),
            "a part of the bytes is asked for"
        );
        let offset = self.offset + range.start;
        SegmentBytes { bytes: self.bytes.slice(range), offset, checks: self.checks.clone() }
    }

    /// Checks `range`, which must be inside.
    pub(crate) fn check(&self, range: Range<usize>) -> Result<()> {
        assert!(
            range.start <= range.end && range.end <= self.len(),
            "a part of the bytes is asked for"
        );
        let checked = self
            .checks
            .as_ref()
            .map(|checks| checks.check(self.offset + range.start..self.offset + range.end));
        checked.unwrap_or(Ok(())).map_err(|cause| guard::failed(Error::Check(cause)))
    }

    /// `range`, checked; it must be inside.
    pub(crate) fn read(&self, range: Range<usize>) -> Result<&[u8]> {
        self.check(range.clone())?;
        Ok(&self.bytes[range])
    }

    /// All of them, checked.
    pub(crate) fn read_all(&self) -> Result<&[u8]> {
        self.read(0..self.len())
    }

    /// As [`Checks::will_read`].
    pub(crate) fn will_read(&self, range: Range<usize>) -> bool {
        let inside = range.start <= range.end && range.end <= self.len();
        let checks = self.checks.as_ref().filter(|_| inside);
        checks.is_some_and(|checks| {
            checks.will_read(self.offset + range.start..self.offset + range.end)
        })
    }
}
