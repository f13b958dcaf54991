//! The header: what file this is, whose it is, and whether this build may touch it.

use super::primitives::{Damage, all_zero, seeded_sum, sum, u32_at, u64_at};
use crate::seeded::{Seeded, holds};

/// Bytes of the header page.
pub(crate) const HEADER_BYTES: usize = 4096;
/// First bytes of every capsule.
pub(crate) const MAGIC: [u8; 8] = *b"\x89KAPSA\r\n";
/// The version that this build reads and writes.
pub const FORMAT_VERSION: u32 = 1;
/// Reader feature bits that this build knows.
pub const READER_FEATURES: u64 = SMALL_COMMITS;
/// Reader feature: transactions may be written as small commits.
pub(crate) const SMALL_COMMITS: u64 = 1;
/// Writer feature bits that this build knows.
pub const WRITER_FEATURES: u64 = 0;

/// The header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) reader_features: u64,
    pub(crate) writer_features: u64,
    pub(crate) capsule_id: [u8; 16],
    pub(crate) created_us: i64,
    pub(crate) generation: u64,
}

impl Header {
    pub(crate) fn new(capsule_id: [u8; 16], created_us: i64, generation: u64) -> Header {
        Header {
            version: FORMAT_VERSION,
            reader_features: READER_FEATURES,
            writer_features: WRITER_FEATURES,
            capsule_id,
            created_us,
            generation,
        }
    }

    /// Start value of the sums in this file: frames of another capsule or generation do not match.
    pub(crate) fn seed(&self) -> u64 {
        u64_at(&self.capsule_id, 0).wrapping_add(self.generation)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(HEADER_BYTES);
        page.extend_from_slice(&MAGIC);
        page.extend_from_slice(&self.version.to_le_bytes());
        page.extend_from_slice(&[0; 4]);
        page.extend_from_slice(&self.reader_features.to_le_bytes());
        page.extend_from_slice(&self.writer_features.to_le_bytes());
        page.extend_from_slice(&self.capsule_id);
        page.extend_from_slice(&self.created_us.to_le_bytes());
        page.extend_from_slice(&self.generation.to_le_bytes());
        page.resize(HEADER_BYTES - 8, 0);
        let sum = sum(&page);
        page.extend_from_slice(&sum.to_le_bytes());
        assert_eq!(page.len(), HEADER_BYTES, "the header fills its page");
        debug_assert_eq!(
            Header::decode(&page),
            Ok(*self),
            "whoever opens the file reads the header that was written"
        );
        page
    }

    /// The version that a header names, if there is one.
    pub(crate) fn version(page: &[u8]) -> Option<u32> {
        page.get(8..12).map(|_| u32_at(page, 8))
    }

    /// Reads a header whose magic and version were seen. Features are the caller's to judge.
    pub(crate) fn decode(page: &[u8]) -> Result<Header, Damage> {
        if page.len() < HEADER_BYTES {
            return Err("the header is cut short");
        }
        let summed = sum(&page[..HEADER_BYTES - 8]) == u64_at(page, HEADER_BYTES - 8);
        if !holds(Seeded::HeaderSumUnchecked, summed) {
            return Err("the header's checksum does not match");
        }
        let header = Header::decode_unchecked(page);
        if !(all_zero(&page[12..16]) && all_zero(&page[64..HEADER_BYTES - 8])) {
            return Err("the header holds bytes where zeros belong");
        }
        Ok(header)
    }

    /// The fields of a page of [`HEADER_BYTES`], right or wrong.
    pub(crate) fn decode_unchecked(page: &[u8]) -> Header {
        Header {
            version: u32_at(page, 8),
            reader_features: u64_at(page, 16),
            writer_features: u64_at(page, 24),
            capsule_id: page[32..48].try_into().expect("sixteen bytes"),
            created_us: u64_at(page, 48) as i64,
            generation: u64_at(page, 56),
        }
    }
}

/// The sum of a structure's bytes with the capsule's seed, as eight bytes.
pub(crate) fn sealed(bytes: &[u8], seed: u64) -> [u8; 8] {
    seeded_sum(bytes, seed).to_le_bytes()
}
