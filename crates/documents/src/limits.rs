//! How much a document may cost.

use crate::error::ReadError;

/// How much a document may cost to read. Every limit is of counted work or size, so that the same
/// bytes give the same answer on every machine.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Files in an archive.
    pub entries: usize,
    /// Bytes that compressed parts expand to, all together.
    pub expanded_bytes: usize,
    /// How many times as large as the file its parts may expand to; the first megabytes are free.
    pub expansion: usize,
    /// Bytes of text that come out.
    pub text_bytes: usize,
    /// Sections that come out.
    pub sections: usize,
    /// Pages, slides, sheets or messages.
    pub pages: usize,
    /// Bytes of source code that a parser is given.
    pub code_bytes: usize,
    /// Steps of a parser of source code between two looks at the limit, which is this many looks.
    pub code_steps: usize,
}

/// What parts may always expand to, however small the file is.
const EXPANDED_FREE_BYTES: usize = 8 << 20;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 64 << 20,
            entries: 10_000,
            expanded_bytes: 256 << 20,
            expansion: 400,
            text_bytes: 32 << 20,
            sections: 1 << 15,
            pages: 10_000,
            code_bytes: 512 << 10,
            code_steps: 1 << 13,
        }
    }
}

impl Limits {
    /// What the parts of a file of so many bytes may expand to.
    pub(crate) fn expanded_from(&self, bytes: usize) -> usize {
        let ratio = bytes.saturating_mul(self.expansion).max(EXPANDED_FREE_BYTES);
        ratio.min(self.expanded_bytes)
    }
}

/// Refuses more than a limit.
pub(crate) fn expect_at_most(
    count: usize,
    limit: usize,
    of: &'static str,
) -> Result<(), ReadError> {
    if count > limit { Err(ReadError::TooLarge { limit, of }) } else { Ok(()) }
}
