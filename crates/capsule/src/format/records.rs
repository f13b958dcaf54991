//! A records frame's payload: a run of record bodies, packed where it pays.

use bytes::Bytes;

use super::primitives::{
    BODY_BYTES_MAX, COUNT_MAX, Damage, Hash, RECORD_BYTES_MAX, RECORDS_PER_FRAME_MAX, hash, u32_at,
    u64_at,
};

pub(crate) const HEAD_BYTES: usize = 32;
const PURGED: u32 = 1 << 31;

/// How the body is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Zstd,
}

/// The fields before the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordsHead {
    pub(crate) first_sequence: u64,
    pub(crate) count: u32,
    pub(crate) coding: Coding,
    pub(crate) dictionary: u64,
    pub(crate) plain_len: u64,
}

impl RecordsHead {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        assert!(
            (1..=RECORDS_PER_FRAME_MAX).contains(&(self.count as usize)),
            "whoever reads the frame accepts its count"
        );
        assert!(self.plain_len <= BODY_BYTES_MAX, "whoever reads the frame accepts its length");
        out.extend_from_slice(&self.first_sequence.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&u32::from(self.coding == Coding::Zstd).to_le_bytes());
        out.extend_from_slice(&self.dictionary.to_le_bytes());
        out.extend_from_slice(&self.plain_len.to_le_bytes());
    }

    fn decode(payload: &[u8]) -> Result<RecordsHead, Damage> {
        if payload.len() < HEAD_BYTES {
            return Err("the records are cut short");
        }
        let coding = match u32_at(payload, 12) {
            0 => Coding::Plain,
            1 => Coding::Zstd,
            _ => return Err("the records are coded in an unknown way"),
        };
        Ok(RecordsHead {
            first_sequence: u64_at(payload, 0),
            count: u32_at(payload, 8),
            coding,
            dictionary: u64_at(payload, 16),
            plain_len: u64_at(payload, 24),
        })
    }
}

/// The records of a frame as they lie there.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) head: RecordsHead,
    pub(crate) body: Bytes,
}

impl Packed {
    /// A body and what is said of it, where they can belong together.
    pub(crate) fn new(head: RecordsHead, body: Bytes) -> Result<Packed, Damage> {
        let plain_fits = head.coding == Coding::Zstd || body.len() as u64 == head.plain_len;
        let counts_fit = head.first_sequence <= COUNT_MAX
            && (1..=RECORDS_PER_FRAME_MAX).contains(&(head.count as usize));
        if head.plain_len > BODY_BYTES_MAX || !counts_fit || !plain_fits {
            return Err("the records break a limit");
        }
        Ok(Packed { head, body })
    }

    /// Reads the payload of a records frame.
    pub(crate) fn decode(payload: &Bytes) -> Result<Packed, Damage> {
        let head = RecordsHead::decode(payload)?;
        Packed::new(head, payload.slice(HEAD_BYTES..))
    }
}

/// One record as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored<'a> {
    /// Its body.
    Body(&'a [u8]),
    /// Its content was erased; the hash it had remains.
    Purged(&'a [u8; 32]),
}

impl Stored<'_> {
    /// Hash of the body, kept when the body is not.
    #[must_use]
    pub fn hash(&self) -> Hash {
        match self {
            Stored::Body(body) => hash(body),
            Stored::Purged(hash) => **hash,
        }
    }

    fn word(&self) -> u32 {
        match self {
            Stored::Body(body) => {
                assert!(
                    body.len() <= RECORD_BYTES_MAX,
                    "a length leaves the bit of purged records free"
                );
                body.len() as u32
            }
            Stored::Purged(_) => PURGED | 32,
        }
    }

    /// What is stored of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Stored::Body(body) => body,
            Stored::Purged(hash) => hash.as_slice(),
        }
    }
}

/// The plain body of a run of records.
pub(crate) fn encode_plain(records: &[Stored<'_>]) -> Vec<u8> {
    let bytes: usize = records.iter().map(|r| 4 + r.bytes().len()).sum();
    let mut out = Vec::with_capacity(bytes);
    for record in records {
        out.extend_from_slice(&record.word().to_le_bytes());
    }
    for record in records {
        out.extend_from_slice(record.bytes());
    }
    assert_eq!(out.len(), bytes, "a body has a word and its bytes for each record");
    out
}

/// A plain body, checked: record `i` is there for every `i` below the count.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) first_sequence: u64,
    plain: Bytes,
    /// End of each record's bytes within `plain`.
    ends: Vec<u32>,
}

impl Block {
    pub(crate) fn decode(head: &RecordsHead, plain: Bytes) -> Result<Block, Damage> {
        const DAMAGE: Damage = "the lengths of the records do not add up";
        let mut end = head.count as usize * 4;
        if plain.len() as u64 != head.plain_len || end > plain.len() {
            return Err(DAMAGE);
        }
        let mut ends = Vec::with_capacity(head.count as usize);
        for index in 0..head.count as usize {
            let word = u32_at(&plain, index * 4);
            let len = (word & !PURGED) as usize;
            if len > RECORD_BYTES_MAX || word & PURGED != 0 && len != size_of::<Hash>() {
                return Err(DAMAGE);
            }
            end += len;
            if end > plain.len() {
                return Err(DAMAGE);
            }
            ends.push(end as u32);
        }
        if end != plain.len() {
            return Err(DAMAGE);
        }
        debug_assert!(
            ends.is_sorted() && ends.len() == head.count as usize,
            "a block gives every record that it counts"
        );
        Ok(Block { first_sequence: head.first_sequence, plain, ends })
    }

    pub(crate) fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.plain.len() + size_of_val(self.ends.as_slice())
    }

    pub(crate) fn get(&self, index: usize) -> Option<Stored<'_>> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(self.ends.len() * 4, |i| self.ends[i] as usize);
        let bytes = &self.plain[start..end];
        if u32_at(&self.plain, index * 4) & PURGED != 0 {
            return Some(Stored::Purged(bytes.try_into().expect("checked when decoded")));
        }
        Some(Stored::Body(bytes))
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = Stored<'_>> {
        (0..self.ends.len()).filter_map(|index| self.get(index))
    }
}
