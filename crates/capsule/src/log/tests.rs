//! What no writer of ours leaves behind, opened.

use super::*;
use crate::forged::{Log, file};
use crate::format::commit_pointer::CommitPointer;
use crate::format::frame::{Kind, push_frame};
use crate::format::header::sealed;
use crate::format::records::{Coding, Packed, RecordsHead};
use crate::format::small_commit::SmallCommit;
use crate::lock::WriterOptions;
use crate::snapshot::{Snapshot, open_storage};
use crate::storage::FileSystem;
use crate::writer::{Unlocked, Writer};

/// A change that a commit must not survive.
type Change = fn(&mut Commit);

fn head() -> Head {
    let commit =
        Commit { serial: 4, number: 3, next_sequence: 9, chain: [1; 32], ..Commit::default() };
    Head { commit, offset: 20_000, end: 20_400, digest: [2; 32] }
}

fn next() -> Commit {
    Commit {
        serial: 5,
        number: 4,
        prev_offset: 20_000,
        prev_digest: [2; 32],
        begin: 20_400,
        prev_chain: Some([1; 32]),
        first_sequence: 9,
        next_sequence: 11,
        ..Commit::default()
    }
}

#[test]
fn a_commit_follows_the_one_before_it_in_every_field() {
    assert!(follows(&head(), &next()));
    assert!(follows(&head(), &Commit { prev_chain: None, ..next() }), "a small commit");
    assert!(follows(&head(), &Commit { next_sequence: 9, number: 3, ..next() }), "no records");
    let changes: [Change; 10] = [
        |commit| commit.serial = 4,
        |commit| commit.serial = 6,
        |commit| commit.number = 3,
        |commit| commit.number = 5,
        |commit| commit.prev_offset = 20_008,
        |commit| commit.prev_digest = [3; 32],
        |commit| commit.begin = 20_408,
        |commit| commit.prev_chain = Some([3; 32]),
        |commit| (commit.first_sequence, commit.next_sequence) = (8, 10),
        |commit| commit.next_sequence = 9,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut commit = next();
        change(&mut commit);
        assert!(!follows(&head(), &commit), "change {index}");
    }
}

#[test]
fn only_the_first_commit_stands_for_a_folded_history() {
    let first =
        |commit: Commit| Commit { serial: 1, prev_offset: 0, prev_digest: [0; 32], ..commit };
    let base = Commit { begin: LOG_START, history_offset: 13_000, ..first(next()) };
    assert!(follows(&Head::empty(), &base));
    assert!(!follows(&Head::empty(), &Commit { history_offset: 0, ..base }));
    assert!(!follows(&head(), &Commit { number: 9, history_offset: 13_000, ..next() }));
}

/// Two commits with one record each, with commit pointers.
fn capsule() -> (Log, CommitPointer) {
    let mut log = Log::new();
    let mut pointer = None;
    for body in [b"one".as_slice(), b"two"] {
        log.records(&[body]);
        let Head { commit, offset, end, digest } = log.commit(|_| {});
        pointer = Some(CommitPointer { serial: commit.serial, offset, end, digest, named: true });
    }
    (log, pointer.expect("two commits"))
}

/// What opening the capsule says when this is its only commit pointer.
fn pointed(log: &Log, pointer: &CommitPointer) -> Result<u64> {
    let mut page =
        CommitPointer { offset: LOG_START, end: u64::MAX, ..*pointer }.encode(&log.header);
    page[16..24].copy_from_slice(&pointer.offset.to_le_bytes());
    page[24..32].copy_from_slice(&pointer.end.to_le_bytes());
    let sum = sealed(&page[..120], log.header.seed());
    page[120..].copy_from_slice(&sum);
    let mut bytes = log.bytes.clone();
    bytes[pointer.slot() as usize..][..page.len()].copy_from_slice(&page);
    // So much that a longer commit could be there.
    bytes.resize(bytes.len() + 2 * SMALL_COMMIT_BYTES_MAX, 0);
    Snapshot::open(&file(&bytes).path).map(|snapshot| snapshot.commit().number)
}

#[test]
fn a_commit_pointer_names_a_whole_commit_and_its_own() {
    let (log, good) = capsule();
    assert!(matches!(pointed(&log, &good), Ok(2)));
    let CommitPointer { offset, end, .. } = good;
    let nowhere = "the commit pointer names a place where no commit can be";
    let another = "the newest commit is not the one that was written";
    let longest = offset + FRAME_HEADER_BYTES + SMALL_COMMIT_BYTES_MAX as u64;
    let forged = [
        (CommitPointer { offset: LOG_START - 200, end: LOG_START, ..good }, nowhere),
        (CommitPointer { end: offset + FRAME_HEADER_BYTES - 1, ..good }, nowhere),
        (CommitPointer { end: offset - 8, ..good }, nowhere),
        (CommitPointer { end: longest + 8, ..good }, nowhere),
        (CommitPointer { end: longest, ..good }, another),
        (CommitPointer { end: end + 8, ..good }, another),
        (CommitPointer { digest: [9; 32], ..good }, another),
        (CommitPointer { serial: 4, ..good }, "the commit pointer is another commit's"),
    ];
    for (pointer, expected) in forged {
        match pointed(&log, &pointer) {
            Err(Error::Corrupt { what, .. }) => assert_eq!(what, expected, "{pointer:?}"),
            other => panic!("{pointer:?}: {other:?}"),
        }
    }
}

/// No commit has the serial 0, and a pointer to one is nobody's.
#[test]
fn a_commit_of_serial_0_is_not_pointed_to() {
    let mut log = Log::new();
    let Head { offset, end, digest, .. } = log.commit(|commit| commit.serial = 0);
    let pointer = CommitPointer { serial: 2, offset, end, digest, named: true };
    assert!(matches!(pointed(&log, &pointer), Err(Error::Corrupt { .. })));
}

#[test]
fn features_that_this_build_does_not_know_keep_readers_or_writers_away() {
    let (log, _) = capsule();
    let with = |reader: u64, writer: u64| {
        let mut header = log.header;
        header.reader_features |= reader;
        header.writer_features |= writer;
        let mut bytes = log.bytes.clone();
        bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
        file(&bytes)
    };
    let too_new = |error: Option<Error>| matches!(error, Some(Error::VersionMismatch { .. }));
    let read_only = with(0, 2);
    assert_eq!(Snapshot::open(&read_only.path).expect("can be read").commit().number, 2);
    assert!(too_new(Writer::open(&read_only.path, &WriterOptions::default()).err()));
    assert!(too_new(Unlocked::open(&read_only.path).err()));
    assert!(too_new(Snapshot::open(&with(4, 0).path).err()));
    let known = with(0, 0);
    assert!(Writer::open(&known.path, &WriterOptions::default()).is_ok());
}

/// A writer cuts its torn tail while a reader walks over it.
#[test]
fn a_log_that_is_cut_while_it_is_walked_ends_there() {
    let (log, _) = capsule();
    let cut = file(&log.bytes[..LOG_START as usize + 100]);
    let storage = open_storage(&FileSystem, &cut.path, false).expect("opens");
    let mut walk = Walk::new(&*storage, &log.header, log.bytes.len() as u64);
    assert_eq!(walk.next_commit(&Head::empty()).expect("no failure"), None);
}

#[test]
fn a_commit_frame_beyond_the_largest_is_no_commit() {
    let mut log = Log::new();
    // More than a walk reads at once.
    let payload = vec![0; 5 * SMALL_COMMIT_BYTES_MAX];
    push_frame(&mut log.bytes, 0, Kind::Commit, 1, &log.header, &payload);
    let (_file, opened) = log.open();
    assert_eq!(opened.expect("as a torn end").commit().number, 0);
}

/// Our writers leave some room.
#[test]
fn a_small_commit_may_be_as_large_as_the_limit_says() {
    let head = RecordsHead {
        first_sequence: 1,
        count: 1,
        coding: Coding::Plain,
        dictionary: 0,
        plain_len: 7,
    };
    let commit = Commit {
        serial: 1,
        number: 1,
        begin: LOG_START,
        first_sequence: 1,
        next_sequence: 2,
        ..Head::empty().commit
    };
    let encoded = |attached: usize| {
        let body = Bytes::from_static(b"\x03\0\0\0one");
        let records = Packed::new(head, body).expect("fits");
        SmallCommit { commit, records, attachment: Bytes::from(vec![1; attached]) }.encode()
    };
    let room = SMALL_COMMIT_BYTES_MAX - encoded(1 << 15).len() + (1 << 15);
    for (attached, expected) in [(room, 1), (room + 1, 0)] {
        let mut log = Log::new();
        let payload = encoded(attached);
        assert_eq!(payload.len() == SMALL_COMMIT_BYTES_MAX, expected == 1);
        push_frame(&mut log.bytes, 0, Kind::SmallCommit, 1, &log.header, &payload);
        let (_file, opened) = log.open();
        assert_eq!(opened.expect("opens").commit().number, expected, "{} bytes", payload.len());
    }
}
