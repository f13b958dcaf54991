//! A small commit: a whole transaction of a few records in one frame, where the frames and the
//! commit of a large one would take more bytes than the records themselves.

use bytes::Bytes;

use super::commit::Commit;
use super::frame::{Frame, Kind};
use super::primitives::{
    COUNT_MAX, Damage, SMALL_COMMIT_BYTES_MAX, hash, hash_at, push_leb128, take_leb128, u64_at,
};
use super::records::{Coding, Packed, RecordsHead};

/// Bytes of the fields with a fixed length: time, chain, hash of the previous commit.
const FIXED_BYTES: usize = 8 + 32 + 32;
const LENGTH: Damage = "the small commit's lengths do not add up";
const CONTRADICTION: Damage = "the small commit's fields contradict each other";

/// What a small commit's frame holds.
#[derive(Clone, Debug)]
pub(crate) struct SmallCommit {
    /// Its fields; that of the previous chain is not stored, the previous commit's hash covers it.
    pub(crate) commit: Commit,
    pub(crate) records: Packed,
    /// What the layer above derived from the records; may be empty.
    pub(crate) attachment: Bytes,
}

impl SmallCommit {
    /// The payload of its frame, which will lie where the transaction begins.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Commit { begin: offset, .. } = self.commit;
        let commit = &self.commit;
        assert!(
            commit.next_sequence - commit.first_sequence == u64::from(self.records.head.count),
            "the records of a small commit are its own"
        );
        let mut out = Vec::with_capacity(160 + self.records.body.len() + self.attachment.len());
        out.extend_from_slice(&commit.time_us.to_le_bytes());
        out.extend_from_slice(&commit.chain);
        out.extend_from_slice(&commit.prev_digest);
        for number in [
            commit.number,
            offset - commit.prev_offset,
            commit.first_sequence,
            u64::from(self.records.head.count),
            commit.manifest_offset,
            offset - commit.tail_offset,
            commit.next_sequence - commit.indexed,
            commit.tail_bytes,
            commit.history_offset,
            commit.dictionary_offset,
            u64::from(self.records.head.coding == Coding::Zstd),
            self.records.head.dictionary,
            self.records.head.plain_len,
            self.records.body.len() as u64,
            self.attachment.len() as u64,
        ] {
            push_leb128(&mut out, number);
        }
        out.extend_from_slice(&self.records.body);
        out.extend_from_slice(&self.attachment);
        out
    }

    /// Reads the payload of `frame`.
    pub(crate) fn decode(frame: &Frame, payload: &Bytes) -> Result<SmallCommit, Damage> {
        if !(FIXED_BYTES..=SMALL_COMMIT_BYTES_MAX).contains(&payload.len()) {
            return Err(LENGTH);
        }
        let mut rest = &payload[FIXED_BYTES..];
        let mut next = || take_leb128(&mut rest).filter(|&n| n <= COUNT_MAX).ok_or(LENGTH);
        let offset = frame.offset;
        let back = |distance: u64| offset.checked_sub(distance).ok_or(CONTRADICTION);
        let number = next()?;
        let prev_offset = back(next()?)?;
        let (first_sequence, count) = (next()?, next()?);
        let manifest_offset = next()?;
        let tail_offset = back(next()?)?;
        let next_sequence = first_sequence + count;
        let indexed = next_sequence.checked_sub(next()?).ok_or(CONTRADICTION)?;
        let (tail_bytes, history_offset, dictionary_offset) = (next()?, next()?, next()?);
        let coding = match next()? {
            0 => Coding::Plain,
            1 => Coding::Zstd,
            _ => return Err("the records are coded in an unknown way"),
        };
        let (dictionary, plain_len) = (next()?, next()?);
        let (body_len, attachment_len) = (next()?, next()?);
        let body_start = payload.len() - rest.len();
        if body_len + attachment_len != rest.len() as u64 {
            return Err(LENGTH);
        }
        let attachment_start = body_start + body_len as usize;
        let count = u32::try_from(count).map_err(|_| CONTRADICTION)?;
        let head = RecordsHead { first_sequence, count, coding, dictionary, plain_len };
        let commit = Commit {
            serial: frame.serial,
            number,
            time_us: u64_at(payload, 0) as i64,
            prev_offset,
            begin: offset,
            first_sequence,
            next_sequence,
            manifest_offset,
            tail_offset,
            indexed,
            tail_bytes,
            history_offset,
            frames_hash: hash(&[]),
            prev_chain: None,
            chain: hash_at(payload, 8),
            prev_digest: hash_at(payload, 40),
            frame_count: 0,
            dictionary_offset,
        };
        // Its records are in no segment: one could not have been added to it.
        if first_sequence == 0 || indexed == 0 || indexed > first_sequence {
            return Err(CONTRADICTION);
        }
        Ok(SmallCommit {
            commit,
            records: Packed::new(head, payload.slice(body_start..attachment_start))?,
            attachment: payload.slice(attachment_start..),
        })
    }
}

/// The records of a frame that holds any, and what is attached to them; none of other frames.
pub(crate) fn records_of(
    frame: &Frame,
    payload: &Bytes,
) -> Result<Option<(Packed, Bytes)>, Damage> {
    match frame.kind {
        Kind::Records => Ok(Some((Packed::decode(payload)?, Bytes::new()))),
        Kind::SmallCommit => {
            let SmallCommit { records, attachment, .. } = SmallCommit::decode(frame, payload)?;
            Ok(Some((records, attachment)))
        }
        _ => Ok(None),
    }
}

/// The commit that a frame makes, if it is one that makes a commit.
pub(crate) fn commit_of(frame: &Frame, payload: &Bytes) -> Result<Commit, Damage> {
    match frame.kind {
        Kind::Commit => Commit::decode(payload),
        Kind::SmallCommit => Ok(SmallCommit::decode(frame, payload)?.commit),
        _ => Err("the frame does not make a commit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> SmallCommit {
        let head = RecordsHead {
            first_sequence: 5,
            count: 2,
            coding: Coding::Plain,
            dictionary: 0,
            plain_len: 11,
        };
        let commit = Commit {
            serial: 9,
            number: 4,
            time_us: -3,
            prev_offset: 12_288,
            begin: 20_000,
            first_sequence: 5,
            next_sequence: 7,
            manifest_offset: 0,
            tail_offset: 13_000,
            indexed: 1,
            tail_bytes: 77,
            frames_hash: hash(&[]),
            chain: [1; 32],
            prev_digest: [2; 32],
            ..Commit::default()
        };
        SmallCommit {
            commit,
            records: Packed::new(head, Bytes::from_static(b"eleven byte")).expect("fits"),
            attachment: Bytes::from_static(b"attached"),
        }
    }

    fn frame(payload: &[u8]) -> Frame {
        Frame {
            kind: Kind::SmallCommit,
            payload_len: payload.len() as u64,
            offset: 20_000,
            serial: 9,
            digest: [0; 32],
        }
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let written = small();
        let payload = Bytes::from(written.encode());
        let read = SmallCommit::decode(&frame(&payload), &payload).expect("whole");
        assert_eq!(read.commit, written.commit);
        assert_eq!(
            (read.records.head, read.records.body),
            (written.records.head, written.records.body)
        );
        assert_eq!(read.attachment, written.attachment);
    }

    #[test]
    fn one_that_is_cut_or_longer_is_refused() {
        let payload = Bytes::from(small().encode());
        for len in 0..payload.len() {
            let cut = payload.slice(..len);
            assert!(SmallCommit::decode(&frame(&cut), &cut).is_err(), "{len} bytes");
        }
        let longer = Bytes::from([&payload[..], b"x"].concat());
        assert!(SmallCommit::decode(&frame(&longer), &longer).is_err());
    }

    /// A change that a small commit must not survive.
    type Change = fn(&mut SmallCommit);

    #[test]
    fn fields_that_contradict_each_other_are_refused() {
        let changes: [Change; 3] = [
            |small| small.commit.indexed = 0,
            |small| small.commit.indexed = 6,
            |small| small.records.head.plain_len = 12,
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut written = small();
            change(&mut written);
            let payload = Bytes::from(written.encode());
            assert!(SmallCommit::decode(&frame(&payload), &payload).is_err(), "change {index}");
        }
        let payload = Bytes::from(small().encode());
        let early = Frame { offset: 64, ..frame(&payload) };
        assert!(SmallCommit::decode(&early, &payload).is_err(), "it points before the file");
    }
}
