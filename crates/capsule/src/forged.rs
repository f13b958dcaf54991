//! A log put together by hand, every sum in it right: what no writer of ours leaves behind.

use std::path::PathBuf;

use crate::error::Result;
use crate::format::commit::{COMMIT_BYTES, Commit};
use crate::format::frame::{FRAME_HEADER_BYTES, Frame, Kind, header_bytes, push_frame};
use crate::format::header::Header;
use crate::format::records::{Coding, RecordsHead, Stored, encode_plain};
use crate::format::{Hash, LOG_START};
use crate::log::Head;
use crate::snapshot::Snapshot;

/// The bytes of a file, and the transaction that is open at its end.
pub(crate) struct Log {
    pub(crate) header: Header,
    pub(crate) bytes: Vec<u8>,
    pub(crate) head: Head,
    headers: blake3::Hasher,
    frames: u64,
    pub(crate) next_sequence: u64,
}

/// A file with these bytes, in a folder of its own.
pub(crate) struct File {
    // Held for its drop.
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn file(bytes: &[u8]) -> File {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.kapsa");
    std::fs::write(&path, bytes).expect("written");
    File { _folder: folder, path }
}

impl Log {
    /// A header and no commit pointers.
    pub(crate) fn new() -> Log {
        let header = Header::new([7; 16], 1, 1);
        let mut bytes = header.encode();
        bytes.resize(LOG_START as usize, 0);
        let head = Head::empty();
        let next_sequence = head.commit.next_sequence;
        Log { header, bytes, head, headers: blake3::Hasher::new(), frames: 0, next_sequence }
    }

    /// Adds a frame to the transaction.
    pub(crate) fn push(&mut self, kind: Kind, payload: &[u8]) -> Frame {
        let serial = self.head.commit.serial + 1;
        let frame = push_frame(&mut self.bytes, 0, kind, serial, &self.header, payload);
        self.headers.update(&header_bytes(&frame, &self.header));
        self.frames += 1;
        frame
    }

    /// Adds records, as they are.
    pub(crate) fn records(&mut self, bodies: &[&[u8]]) -> Frame {
        let stored: Vec<Stored<'_>> = bodies.iter().map(|body| Stored::Body(body)).collect();
        let plain = encode_plain(&stored);
        self.coded(bodies.len() as u32, Coding::Plain, 0, plain.len() as u64, &plain)
    }

    /// Adds a frame of `count` records, whatever its body is.
    pub(crate) fn coded(
        &mut self,
        count: u32,
        coding: Coding,
        dictionary: u64,
        plain_len: u64,
        body: &[u8],
    ) -> Frame {
        let first_sequence = self.next_sequence;
        let mut payload = Vec::new();
        RecordsHead { first_sequence, count, coding, dictionary, plain_len }.encode(&mut payload);
        payload.extend_from_slice(body);
        self.next_sequence += u64::from(count);
        self.push(Kind::Records, &payload)
    }

    /// Ends the transaction with a commit, as `change` makes it. Its chain is made up.
    pub(crate) fn commit(&mut self, change: impl FnOnce(&mut Commit)) -> Head {
        let Head { commit: previous, offset, end, digest } = self.head;
        let mut commit = Commit {
            serial: previous.serial + 1,
            number: previous.number + u64::from(self.next_sequence > previous.next_sequence),
            time_us: 1,
            prev_offset: offset,
            begin: end,
            first_sequence: previous.next_sequence,
            next_sequence: self.next_sequence,
            frames_hash: *self.headers.finalize().as_bytes(),
            prev_chain: Some(previous.chain),
            chain: Hash::default(),
            prev_digest: digest,
            frame_count: self.frames,
            ..previous
        };
        change(&mut commit);
        let (serial, payload) = (commit.serial, commit.encode());
        let frame = push_frame(&mut self.bytes, 0, Kind::Commit, serial, &self.header, &payload);
        self.head = Head { commit, offset: frame.offset, end: frame.end(), digest: frame.digest };
        (self.headers, self.frames) = (blake3::Hasher::new(), 0);
        self.head
    }

    /// Where the commit of the open transaction will end.
    pub(crate) fn end(&self) -> u64 {
        self.bytes.len() as u64 + FRAME_HEADER_BYTES + COMMIT_BYTES as u64
    }

    /// The file.
    pub(crate) fn file(&self) -> File {
        file(&self.bytes)
    }

    /// The view of it, with the file that it is of.
    pub(crate) fn open(&self) -> (File, Result<Snapshot>) {
        let file = self.file();
        let snapshot = Snapshot::open(&file.path);
        (file, snapshot)
    }
}
