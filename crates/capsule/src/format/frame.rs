//! The frame header: what comes next in the log, how long it is, and the sums that show whether it
//! is what was written.

use super::header::{Header, sealed};
use super::primitives::{
    Damage, Hash, PAYLOAD_BYTES_MAX, aligned, all_zero, hash, hash_at, u64_at,
};
use crate::seeded::{Seeded, holds};

/// Bytes of a frame header.
pub(crate) const FRAME_HEADER_BYTES: u64 = 72;
/// First bytes of every frame.
pub(crate) const MAGIC: [u8; 4] = *b"KFRM";

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    Records = 1,
    Segment = 2,
    Manifest = 3,
    Dictionary = 4,
    Commit = 5,
    History = 6,
    SmallCommit = 7,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        [
            Kind::Records,
            Kind::Segment,
            Kind::Manifest,
            Kind::Dictionary,
            Kind::Commit,
            Kind::History,
            Kind::SmallCommit,
        ]
        .into_iter()
        .find(|&kind| kind as u8 == byte)
    }

    /// Whether a transaction ends with such a frame.
    pub(crate) fn makes_commit(self) -> bool {
        matches!(self, Kind::Commit | Kind::SmallCommit)
    }

    /// Name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Records => "records",
            Kind::Segment => "segment",
            Kind::Manifest => "manifest",
            Kind::Dictionary => "dictionary",
            Kind::Commit => "commit",
            Kind::History => "history",
            Kind::SmallCommit => "small commit",
        }
    }
}

/// A frame header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) payload_len: u64,
    pub(crate) offset: u64,
    pub(crate) serial: u64,
    pub(crate) digest: Hash,
}

impl Frame {
    /// Offset of the payload.
    pub(crate) fn payload_offset(&self) -> u64 {
        self.offset + FRAME_HEADER_BYTES
    }

    /// Offset past the frame, filling included.
    pub(crate) fn end(&self) -> u64 {
        self.payload_offset() + aligned(self.payload_len)
    }

    fn encode(&self, header: &Header) -> [u8; FRAME_HEADER_BYTES as usize] {
        let mut out = [0; FRAME_HEADER_BYTES as usize];
        out[..4].copy_from_slice(&MAGIC);
        out[4] = self.kind as u8;
        out[8..16].copy_from_slice(&self.payload_len.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..32].copy_from_slice(&self.serial.to_le_bytes());
        out[32..64].copy_from_slice(&self.digest);
        let sum = sealed(&out[..64], header.seed());
        out[64..].copy_from_slice(&sum);
        out
    }

    /// Reads the frame header that is expected at `offset`.
    pub(crate) fn decode(bytes: &[u8], offset: u64, header: &Header) -> Result<Frame, Damage> {
        let Some(bytes) = bytes.get(..FRAME_HEADER_BYTES as usize) else {
            return Err("a frame header is cut short");
        };
        if bytes[..4] != MAGIC {
            return Err("no frame begins here");
        }
        if !holds(Seeded::FrameSumUnchecked, bytes[64..] == sealed(&bytes[..64], header.seed())) {
            return Err("the frame header's checksum does not match");
        }
        let kind = Kind::from_byte(bytes[4]).ok_or("the frame is of an unknown kind")?;
        let frame = Frame {
            kind,
            payload_len: u64_at(bytes, 8),
            offset: u64_at(bytes, 16),
            serial: u64_at(bytes, 24),
            digest: hash_at(bytes, 32),
        };
        if frame.offset != offset || !offset.is_multiple_of(8) {
            return Err("the frame belongs to another place");
        }
        if frame.payload_len > PAYLOAD_BYTES_MAX || !all_zero(&bytes[5..8]) {
            return Err("the frame header breaks a limit");
        }
        Ok(frame)
    }
}

/// Appends a whole frame to `out`, whose first byte will lie at file offset `base`.
pub(crate) fn push_frame(
    out: &mut Vec<u8>,
    base: u64,
    kind: Kind,
    serial: u64,
    header: &Header,
    payload: &[u8],
) -> Frame {
    let offset = base + out.len() as u64;
    assert!(offset.is_multiple_of(8), "frames start at multiples of eight");
    assert!(
        payload.len() as u64 <= PAYLOAD_BYTES_MAX,
        "whoever reads the frame accepts its length"
    );
    let start = out.len();
    out.resize(start + FRAME_HEADER_BYTES as usize, 0);
    out.extend_from_slice(payload);
    out.resize(out.len().next_multiple_of(8), 0);
    let body = start + FRAME_HEADER_BYTES as usize;
    let frame = Frame {
        kind,
        payload_len: payload.len() as u64,
        offset,
        serial,
        digest: hash(&out[body..]),
    };
    let bytes = frame.encode(header);
    out[start..body].copy_from_slice(&bytes);
    debug_assert_eq!(
        Frame::decode(&out[start..], offset, header),
        Ok(frame),
        "whoever reads the frame finds what was written"
    );
    assert_eq!(base + out.len() as u64, frame.end(), "a frame is as long as its header says");
    frame
}

/// The bytes of a frame header as they lie in the file, for hashing.
pub(crate) fn header_bytes(frame: &Frame, header: &Header) -> [u8; FRAME_HEADER_BYTES as usize] {
    frame.encode(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file forged with every sum right made the next writer panic at its own first frame.
    #[test]
    fn a_frame_lies_at_a_multiple_of_eight() {
        let header = Header::new([1; 16], 0, 1);
        for (offset, expected) in [(12_288, true), (12_296, true), (12_292, false), (12_289, false)]
        {
            let frame =
                Frame { kind: Kind::Commit, payload_len: 0, offset, serial: 1, digest: hash(&[]) };
            let read = Frame::decode(&frame.encode(&header), offset, &header);
            assert_eq!(read.is_ok(), expected, "{offset}: {read:?}");
        }
    }
}
