//! Unpacks streams, and counts what that takes.

use lopdf::{DecompressError, Error, Stream};

use crate::error::ReadError;
use crate::limits::expect_at_most;

/// How many times as large as what it is given Deflate may make it: two bits stand for at most 258
/// bytes (RFC 1951).
const INFLATED_PER_BYTE_MAX: usize = 1032;

/// What came of a stream.
pub(super) enum Unpacked {
    /// Its content.
    Content(Vec<u8>),
    /// It is damaged, or packed in an unknown way.
    Damaged,
    /// It unpacks to more than was wanted.
    TooLarge,
}

/// Bytes that streams may still unpack to, all together. What was unpacked for nothing counts too:
/// it takes as long as what is of use.
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    pub(super) fn new(left: usize) -> Self {
        Budget { left }
    }

    /// Unpacks a stream to at most `limit` bytes.
    ///
    /// # Errors
    /// [`ReadError::TooLarge`]: nothing is left.
    pub(super) fn unpack(&mut self, stream: &Stream, limit: usize) -> Result<Unpacked, ReadError> {
        let (between, last) = work(stream, limit);
        self.charge(between)?;
        match stream.decompressed_content_with_limit(limit) {
            Ok(content) => {
                self.charge(content.len())?;
                Ok(Unpacked::Content(content))
            }
            Err(error) => {
                // What follows is refused where nothing is left; this alone is only missing.
                self.left = self.left.saturating_sub(last);
                let is_large =
                    matches!(error, Error::Decompress(DecompressError::MemoryLimitExceeded { .. }));
                Ok(if is_large { Unpacked::TooLarge } else { Unpacked::Damaged })
            }
        }
    }

    fn charge(&mut self, bytes: usize) -> Result<(), ReadError> {
        expect_at_most(bytes, self.left, "bytes that its pages unpack to")?;
        self.left -= bytes;
        Ok(())
    }
}

/// The most bytes that go through the filters of a stream, where each gives at most `limit`: those
/// that it has and that stand between two filters, and those that the last filter may give.
fn work(stream: &Stream, limit: usize) -> (usize, usize) {
    let filters = stream.filters().unwrap_or_default();
    let (mut between, mut given) = (0_usize, stream.content.len());
    for filter in &filters {
        between = between.saturating_add(given);
        given = match *filter {
            b"ASCII85Decode" | b"ASCIIHexDecode" => given,
            b"FlateDecode" => given.saturating_mul(INFLATED_PER_BYTE_MAX).min(limit),
            _ => limit,
        };
    }
    // Without a filter nothing is unpacked.
    if filters.is_empty() { (0, 0) } else { (between, given) }
}

#[cfg(test)]
mod tests {
    use lopdf::{Object, dictionary};

    use super::*;

    fn stream(filters: &[&str], content: &[u8]) -> Stream {
        let names = filters.iter().map(|name| Object::Name(name.as_bytes().to_vec())).collect();
        let mut stream = Stream::new(dictionary! {}, content.to_vec());
        if !filters.is_empty() {
            stream.dict.set("Filter", Object::Array(names));
        }
        stream
    }

    #[test]
    fn what_goes_through_filters_counts_whatever_comes_out() {
        for (filters, want) in [
            (&[][..], (0, 0)),
            (&["FlateDecode"], (10, 1000)),
            (&["ASCII85Decode", "FlateDecode"], (20, 1000)),
            (&["FlateDecode", "ASCIIHexDecode"], (1010, 1000)),
        ] {
            assert_eq!(work(&stream(filters, &[b' '; 10]), 1000), want, "{filters:?}");
        }
        // White space is nothing in hexadecimal digits.
        let blank = stream(&["ASCIIHexDecode"], &[b' '; 60]);
        let mut budget = Budget::new(100);
        assert!(matches!(budget.unpack(&blank, 1000), Ok(Unpacked::Content(it)) if it.is_empty()));
        assert!(budget.unpack(&blank, 1000).is_err());
    }

    #[test]
    fn what_fails_counts_as_well() {
        let mut budget = Budget::new(1000);
        let damaged = stream(&["FlateDecode"], b"no zlib at all");
        assert!(!matches!(budget.unpack(&damaged, 900), Ok(Unpacked::TooLarge)));
        assert!(budget.left <= 1000 - 14, "{}", budget.left);
    }
}
