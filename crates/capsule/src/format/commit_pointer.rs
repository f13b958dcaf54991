//! The two commit pointer slots: where the newest commit known to be on disk starts.

use super::header::{Header, sealed};
use super::primitives::{Hash, LOG_START, hash_at, u64_at};
use crate::seeded::{Seeded, holds};

/// Offset of slot A and slot B.
pub(crate) const SLOTS: [u64; 2] = [4096, 8192];
/// Bytes of a slot that are used.
pub(crate) const POINTER_BYTES: usize = 128;
const MAGIC: [u8; 8] = *b"KAPSHINT";

/// The place of a commit whose sync has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommitPointer {
    pub(crate) serial: u64,
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) digest: Hash,
    /// Whether the file's name is known to be on disk as well.
    pub(crate) named: bool,
}

impl CommitPointer {
    /// Offset of the slot that this commit pointer goes to.
    pub(crate) fn slot(&self) -> u64 {
        SLOTS[(self.serial % 2) as usize]
    }

    pub(crate) fn encode(&self, header: &Header) -> [u8; POINTER_BYTES] {
        assert!(
            self.serial > 0 && self.offset >= LOG_START && self.end > self.offset,
            "a commit lies in the log"
        );
        let mut out = [0; POINTER_BYTES];
        out[..8].copy_from_slice(&MAGIC);
        out[8..16].copy_from_slice(&self.serial.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..32].copy_from_slice(&self.end.to_le_bytes());
        out[32..64].copy_from_slice(&self.digest);
        out[64..72].copy_from_slice(&header.generation.to_le_bytes());
        out[72..88].copy_from_slice(&header.capsule_id);
        out[88] = u8::from(self.named);
        let sum = sealed(&out[..120], header.seed());
        out[120..].copy_from_slice(&sum);
        debug_assert_eq!(
            CommitPointer::decode(&out, self.slot(), header),
            Some(*self),
            "whoever opens the file reads the pointer that was written"
        );
        out
    }

    /// Reads the slot at offset `slot`; an unwritten, torn, misplaced or foreign one is none.
    pub(crate) fn decode(bytes: &[u8], slot: u64, header: &Header) -> Option<CommitPointer> {
        let bytes = bytes.get(..POINTER_BYTES)?;
        let summed = holds(
            Seeded::PointerSumUnchecked,
            bytes[120..] == sealed(&bytes[..120], header.seed()),
        );
        let ours = u64_at(bytes, 64) == header.generation && bytes[72..88] == header.capsule_id;
        let valid = bytes[..8] == MAGIC && summed && ours;
        let (serial, offset, end) = (u64_at(bytes, 8), u64_at(bytes, 16), u64_at(bytes, 24));
        let pointer = CommitPointer {
            serial,
            offset,
            end,
            digest: hash_at(bytes, 32),
            named: bytes[88] == 1,
        };
        (valid && pointer.slot() == slot).then_some(pointer)
    }

    /// Whose capsule a slot says that it belongs to, for a file whose header is damaged.
    pub(crate) fn owner(bytes: &[u8]) -> Option<Header> {
        let bytes = bytes.get(..POINTER_BYTES)?;
        let header =
            Header::new(bytes[72..88].try_into().expect("sixteen bytes"), 0, u64_at(bytes, 64));
        (bytes[..8] == MAGIC && bytes[120..] == sealed(&bytes[..120], header.seed()))
            .then_some(header)
    }

    /// The newer valid commit pointer among the pages before the log.
    pub(crate) fn newest(prefix: &[u8], header: &Header) -> Option<CommitPointer> {
        SLOTS
            .iter()
            .filter_map(|&slot| CommitPointer::decode(prefix.get(slot as usize..)?, slot, header))
            .max_by_key(|pointer| pointer.serial)
    }
}
