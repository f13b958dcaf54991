//! A transaction before it is published: put together in memory, and past the newest commit where
//! nobody looks.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::format::commit::{COMMIT_BYTES, Commit, chain_of};
use crate::format::frame::{FRAME_HEADER_BYTES, Frame, Kind, header_bytes, push_frame};
use crate::format::header::Header;
use crate::format::manifest::Manifest;
use crate::format::records::{Coding, HEAD_BYTES, Packed, RecordsHead, Stored, encode_plain};
use crate::format::segment::RecordsPlace;
use crate::format::small_commit::commit_of;
use crate::format::{COUNT_MAX, Hash, LOG_START, RECORD_BYTES_MAX, RECORDS_PER_FRAME_MAX};
use crate::log::{Head, corrupt, follows};
use crate::pack::Packer;
use crate::storage::{Storage, write_all_at};

mod segments;
mod small;

pub use segments::{DerivedDraft, SegmentDraft};
pub(crate) use segments::{add_derived, add_segment, drop_derived};
pub(crate) use small::{attach, finish_small, is_small, is_small_with, writes_small_commits};

/// How much of a transaction is held in memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Record bytes gathered before they are packed into frames.
    pub pending_bytes: usize,
    /// Bytes of frames before they are written out, unpublished.
    pub spill_bytes: usize,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { pending_bytes: 2 << 20, spill_bytes: 8 << 20 }
    }
}

/// Most records in one transaction.
pub const COMMIT_RECORDS_MAX: usize = 1 << 20;

/// A transaction in the making.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
    header: Header,
    base: Head,
    buffer: Vec<u8>,
    /// File offset of the buffer's first byte.
    buffer_offset: u64,
    frames: blake3::Hasher,
    frame_count: u64,
    pending: Vec<Pending>,
    pending_bytes: usize,
    /// What goes with the records into a small commit.
    attachment: Option<Vec<u8>>,
    places: Vec<RecordsPlace>,
    hashes: Vec<Hash>,
    lengths: Vec<u32>,
    next_sequence: u64,
    manifest: Manifest,
    manifest_changed: bool,
    /// Offset of the dictionary that this transaction learned, or of the one in force before it; 0
    /// for none.
    dictionary_offset: u64,
    pub(crate) history_offset: u64,
    buffers: Buffers,
    /// Whether bytes past the base may be in the file.
    spilled: bool,
    /// Whether a write failed, or is under way: then records that were counted may be missing.
    incomplete: bool,
}

/// A transaction that is ready to be published.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The bytes still to be written.
    pub(crate) bytes: Vec<u8>,
    /// Where they go.
    pub(crate) offset: u64,
    /// The head that they make.
    pub(crate) head: Head,
}

#[derive(Debug)]
struct Pending {
    bytes: Vec<u8>,
    purged: bool,
}

impl Pending {
    fn stored(&self) -> Stored<'_> {
        match <&[u8; 32]>::try_from(self.bytes.as_slice()) {
            Ok(hash) if self.purged => Stored::Purged(hash),
            _ => Stored::Body(&self.bytes),
        }
    }
}

impl Draft {
    pub(crate) fn new(
        path: &Path,
        header: &Header,
        base: &Head,
        manifest: Manifest,
        buffers: Buffers,
    ) -> Draft {
        assert_eq!(
            manifest.indexed(),
            base.commit.indexed,
            "a transaction goes on from the manifest of its base"
        );
        assert!(
            base.end >= LOG_START && base.end.is_multiple_of(8),
            "a transaction begins where a frame can"
        );
        Draft {
            path: path.to_path_buf(),
            header: *header,
            base: *base,
            buffer: Vec::new(),
            buffer_offset: base.end,
            frames: blake3::Hasher::new(),
            frame_count: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            attachment: None,
            places: Vec::new(),
            hashes: Vec::new(),
            lengths: Vec::new(),
            next_sequence: base.commit.next_sequence,
            manifest,
            manifest_changed: false,
            dictionary_offset: base.commit.dictionary_offset,
            history_offset: base.commit.history_offset,
            buffers,
            spilled: false,
            incomplete: false,
        }
    }

    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    pub(crate) fn record_count(&self) -> usize {
        self.lengths.len()
    }

    /// Whether anything was written to the file already, or is about to be.
    pub(crate) fn spilled(&self) -> bool {
        self.spilled
    }

    /// Offset of the dictionary that its commit will name, 0 for none.
    pub(crate) fn dictionary_offset(&self) -> u64 {
        self.dictionary_offset
    }

    /// What will be in force.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether the transaction can go on. A failed write lost records that are counted; and a
    /// commit that counts beyond the limit could never be read, so none is built on one that a
    /// stranger made to be near it.
    pub(crate) fn expect_usable(&self) -> Result<()> {
        if self.incomplete {
            return Err(Error::Misuse {
                reason: "a write of this transaction failed; begin another one",
            });
        }
        let Commit { serial, number, next_sequence, tail_bytes, .. } = self.base.commit;
        if [serial, number, next_sequence, tail_bytes]
            .into_iter()
            .all(|count| count <= COUNT_MAX / 2)
        {
            return Ok(());
        }
        Err(corrupt(
            &self.path,
            self.base.offset,
            "the newest commit leaves no number for the next one",
        ))
    }

    /// Adds a record; its sequence is returned.
    pub(crate) fn append(
        &mut self,
        record: Stored<'_>,
        packer: &mut Packer,
        storage: &dyn Storage,
    ) -> Result<u64> {
        let (bytes, purged) = (record.bytes(), matches!(record, Stored::Purged(_)));
        self.expect_usable()?;
        small::expect_open(self)?;
        if bytes.len() > RECORD_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "the length of a record in bytes",
                limit: RECORD_BYTES_MAX as u64,
            });
        }
        self.hashes.push(record.hash());
        self.lengths.push(bytes.len() as u32);
        self.pending_bytes += bytes.len();
        self.pending.push(Pending { bytes: bytes.to_vec(), purged });
        self.next_sequence += 1;
        if self.pending_bytes >= self.buffers.pending_bytes
            || self.pending.len() >= RECORDS_PER_FRAME_MAX
        {
            self.flush(packer, storage)?;
        }
        Ok(self.next_sequence - 1)
    }

    /// Appends the frame that makes everything before it exist.
    fn end_with(&mut self, kind: Kind, commit: Commit, payload: &[u8]) -> Finished {
        let offset = self.buffer_offset;
        let serial = commit.serial;
        let frame = push_frame(&mut self.buffer, offset, kind, serial, &self.header, payload);
        debug_assert_eq!(
            commit_of(&frame, &Bytes::copy_from_slice(payload)),
            Ok(commit),
            "whoever opens the file reads the commit that was written"
        );
        self.spilled = true;
        Finished {
            bytes: std::mem::take(&mut self.buffer),
            offset,
            head: Head { commit, offset: frame.offset, end: frame.end(), digest: frame.digest },
        }
    }

    /// Packs the pending records into frames.
    pub(crate) fn flush(&mut self, packer: &mut Packer, storage: &dyn Storage) -> Result<()> {
        self.expect_usable()?;
        small::expect_open(self)?;
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(());
        }
        self.incomplete = true;
        let total = std::mem::take(&mut self.pending_bytes);
        if packer.wants_dictionary(total) {
            self.push_dictionary(&pending, packer);
        }
        let mut first = self.next_sequence - pending.len() as u64;
        for group in group(&pending, packer.target_bytes(total)) {
            let records: Vec<Stored<'_>> = group.iter().map(Pending::stored).collect();
            self.push_records(first, &records, packer, total);
            first += group.len() as u64;
            self.spill(storage)?;
        }
        assert_eq!(first, self.next_sequence, "every record that was counted is in a frame");
        self.incomplete = false;
        Ok(())
    }

    fn push_dictionary(&mut self, pending: &[Pending], packer: &mut Packer) {
        let samples: Vec<&[u8]> = pending.iter().map(|p| p.bytes.as_slice()).collect();
        self.learn(&samples, packer);
    }

    /// Learns a dictionary from records, where they allow one, and packs with it from now on.
    pub(crate) fn learn(&mut self, samples: &[&[u8]], packer: &mut Packer) {
        if let Some(dictionary) = packer.train(samples) {
            let offset = self.push(Kind::Dictionary, &dictionary).offset;
            packer.adopt(offset, &dictionary);
            self.dictionary_offset = offset;
        }
    }

    fn push_records(
        &mut self,
        first_sequence: u64,
        records: &[Stored<'_>],
        packer: &mut Packer,
        total: usize,
    ) {
        assert!(
            (1..=RECORDS_PER_FRAME_MAX).contains(&records.len()),
            "a frame holds one record at least, and not too many"
        );
        let known = packer.dictionary_offset();
        assert!(
            known == 0 || known == self.dictionary_offset,
            "records are packed with a dictionary that the commit names"
        );
        let Packed { head, body } = pack(first_sequence, records, packer, total);
        let mut payload = Vec::with_capacity(HEAD_BYTES + body.len());
        head.encode(&mut payload);
        payload.extend_from_slice(&body);
        let frame_offset = self.push(Kind::Records, &payload).offset;
        let ascends = self
            .places
            .last()
            .is_none_or(|p| p.first_sequence < first_sequence && p.frame_offset < frame_offset);
        debug_assert!(ascends, "records lie in the file in the order of their sequences");
        self.places.push(RecordsPlace { first_sequence, frame_offset });
    }

    /// Appends a frame.
    pub(crate) fn push(&mut self, kind: Kind, payload: &[u8]) -> Frame {
        let serial = self.base.commit.serial + 1;
        let frame =
            push_frame(&mut self.buffer, self.buffer_offset, kind, serial, &self.header, payload);
        self.frames.update(&header_bytes(&frame, &self.header));
        self.frame_count += 1;
        debug_assert_eq!(
            frame.end(),
            self.buffer_offset + self.buffer.len() as u64,
            "the buffer ends with its last frame"
        );
        frame
    }

    /// Writes the buffer out when it is full. Nothing of it exists before the commit frame does.
    pub(crate) fn spill(&mut self, storage: &dyn Storage) -> Result<()> {
        if self.buffer.len() >= self.buffers.spill_bytes {
            debug_assert!(self.buffer.len().is_multiple_of(8), "whole frames are written out");
            self.spilled = true;
            let was_incomplete = std::mem::replace(&mut self.incomplete, true);
            let written = write_all_at(storage, &self.buffer, self.buffer_offset);
            written.map_err(Error::io("write", &self.path))?;
            self.incomplete = was_incomplete;
            self.buffer_offset += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Ends the transaction: the manifest if it changed, then the commit frame.
    pub(crate) fn finish(&mut self, end: Ending, committed_tail: Tail<'_>) -> Finished {
        assert!(
            self.pending.is_empty() && !self.incomplete,
            "a transaction is flushed before it ends"
        );
        let new = self.next_sequence - self.base.commit.next_sequence;
        assert!(
            self.hashes.len() as u64 == new && self.lengths.len() as u64 == new,
            "every new record has its hash and length"
        );
        let mut commit = self.commit_fields(&end, committed_tail);
        commit.dictionary_offset = self.dictionary_offset;
        if self.manifest_changed {
            let manifest = self.manifest.encode();
            commit.manifest_offset = self.push(Kind::Manifest, &manifest).offset;
            let read = Manifest::decode(&manifest, &commit);
            debug_assert_eq!(
                read.as_ref(),
                Ok(&self.manifest),
                "whoever opens the file accepts the manifest"
            );
        }
        commit.frames_hash = *self.frames.finalize().as_bytes();
        commit.frame_count = self.frame_count;
        let offset = self.buffer_offset + self.buffer.len() as u64;
        let end = offset + FRAME_HEADER_BYTES + COMMIT_BYTES as u64;
        if commit.indexed == commit.next_sequence {
            commit.tail_offset = end;
        }
        assert!(
            follows(&self.base, &commit),
            "whoever opens the file finds this commit after its base"
        );
        let finished = self.end_with(Kind::Commit, commit, &commit.encode());
        let Head { offset: at, end: until, .. } = finished.head;
        assert_eq!((at, until), (offset, end), "a commit frame has one length");
        finished
    }

    fn commit_fields(&self, end: &Ending, tail: Tail<'_>) -> Commit {
        let previous = &self.base.commit;
        let mut commit = Commit {
            serial: previous.serial + 1,
            prev_offset: self.base.offset,
            prev_digest: self.base.digest,
            begin: self.base.end,
            first_sequence: previous.next_sequence,
            next_sequence: self.next_sequence,
            manifest_offset: previous.manifest_offset,
            indexed: self.manifest.indexed(),
            history_offset: self.history_offset,
            ..Commit::default()
        };
        match *end {
            Ending::Next { time_us } => {
                commit.prev_chain = Some(previous.chain);
                (commit.number, commit.chain) = (self.number(), self.chain(time_us));
                commit.time_us = if self.hashes.is_empty() { previous.time_us } else { time_us };
            }
            Ending::Base { number, time_us, chain } => {
                commit.prev_chain = Some(Hash::default());
                (commit.number, commit.time_us, commit.chain) = (number, time_us, chain);
            }
        }
        self.tail_fields(&mut commit, tail);
        commit
    }

    /// The number of the commit that the transaction makes.
    pub(crate) fn number(&self) -> u64 {
        self.base.commit.number + u64::from(!self.hashes.is_empty())
    }

    /// The chain after it.
    pub(crate) fn chain(&self, time_us: i64) -> Hash {
        let previous = &self.base.commit;
        if self.hashes.is_empty() {
            return previous.chain;
        }
        chain_of(&previous.chain, self.number(), time_us, previous.next_sequence, &self.hashes)
    }

    fn tail_fields(&self, commit: &mut Commit, tail: Tail<'_>) {
        let previous = &self.base.commit;
        if commit.indexed == commit.next_sequence {
            return;
        }
        if commit.indexed == previous.indexed {
            let had_tail = previous.next_sequence > previous.indexed;
            commit.tail_offset = if had_tail { previous.tail_offset } else { self.base.end };
            commit.tail_bytes =
                previous.tail_bytes + self.lengths.iter().map(|&n| u64::from(n)).sum::<u64>();
            return;
        }
        let mut places = tail.places.to_vec();
        places.extend_from_slice(&self.places);
        let first = select(&places, commit.indexed, commit.next_sequence).first();
        commit.tail_offset = first.map_or(LOG_START, |place| place.frame_offset);
        let old = previous.next_sequence.saturating_sub(commit.indexed);
        let skipped = commit.indexed.saturating_sub(previous.next_sequence) as usize;
        commit.tail_bytes = tail.bytes(commit.indexed, old);
        commit.tail_bytes += self.lengths.iter().skip(skipped).map(|&n| u64::from(n)).sum::<u64>();
    }
}

/// Records as a frame holds them, in a batch of `total` bytes.
fn pack(first_sequence: u64, records: &[Stored<'_>], packer: &mut Packer, total: usize) -> Packed {
    let plain = encode_plain(records);
    let packed = packer.pack(&plain, total);
    let head = RecordsHead {
        first_sequence,
        count: records.len() as u32,
        coding: if packed.is_some() { Coding::Zstd } else { Coding::Plain },
        dictionary: if packed.is_some() { packer.dictionary_offset() } else { 0 },
        plain_len: plain.len() as u64,
    };
    let body = Bytes::from(packed.unwrap_or(plain));
    Packed::new(head, body).expect("the limits of the records were checked")
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// The next commit of the history.
    Next { time_us: i64 },
    /// The first commit of a compacted file, which stands for the whole history so far.
    Base { number: u64, time_us: i64, chain: Hash },
}

/// What a commit needs to know of the tail that earlier commits left; only when it indexes a part
/// of it.
#[derive(Clone, Copy)]
pub(crate) struct Tail<'a> {
    pub(crate) places: &'a [RecordsPlace],
    pub(crate) first_sequence: u64,
    pub(crate) lengths: &'a [u32],
}

impl Tail<'_> {
    fn bytes(&self, from: u64, count: u64) -> u64 {
        let skip = from.saturating_sub(self.first_sequence) as usize;
        self.lengths.iter().skip(skip).take(count as usize).map(|&n| u64::from(n)).sum()
    }
}

/// The places that hold the records `first..next`: from the last one that begins at or before
/// `first`.
fn select(places: &[RecordsPlace], first: u64, next: u64) -> &[RecordsPlace] {
    let from = places.partition_point(|p| p.first_sequence <= first).saturating_sub(1);
    let to = places.partition_point(|p| p.first_sequence < next);
    places.get(from..to).unwrap_or_default()
}

/// Runs of records whose bytes reach `target`, none with more records than a frame may hold.
fn group(pending: &[Pending], target: usize) -> Vec<&[Pending]> {
    let mut groups = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, record) in pending.iter().enumerate() {
        bytes += record.bytes.len();
        if bytes >= target
            || index + 1 - start == RECORDS_PER_FRAME_MAX
            || index + 1 == pending.len()
        {
            groups.push(&pending[start..=index]);
            (start, bytes) = (index + 1, 0);
        }
    }
    groups
}

#[cfg(test)]
mod tests;
