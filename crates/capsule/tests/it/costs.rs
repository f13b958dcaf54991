//! What reading and writing asks of the disk: what is done, in which order, and how often.

use std::sync::Arc;

use kapsa_capsule::{
    Buffers, Error, LOG_START, SegmentDraft, Snapshot, Volume, Writer, common, create_unlocked,
    verify_in,
};
use kapsa_testkit::{Disk, Failure, Fault, Operation};

use crate::harness::{Files, path, read_all};
use crate::verdicts::{NEW, capsule, commits, noise};
use crate::{bodies, put};

const EINTR: i32 = 4;
const EIO: i32 = 5;

fn disk(bytes: &[u8]) -> Disk {
    Disk::with_files(&files(bytes))
}

fn files(bytes: &[u8]) -> Files {
    Files::from([(path().to_path_buf(), bytes.to_vec())])
}

fn open_writer(disk: &Disk) -> Writer {
    Writer::open_unlocked(Arc::new(disk.clone()), path()).expect("opens")
}

fn unpointed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[4096..LOG_START as usize].fill(0);
    bytes
}

/// What `work` does to the disk, in short.
fn done<T>(disk: &Disk, work: impl FnOnce() -> T) -> Vec<&'static str> {
    let before = disk.operations().len();
    work();
    let name = |operation: &Operation| match operation {
        Operation::Write { offset, .. } if *offset < LOG_START => "pointer",
        Operation::Write { .. } => "log",
        Operation::SetLen { .. } => "cut",
        Operation::Sync { .. } => "sync",
        Operation::SyncFolder => "name",
        _ => "other",
    };
    disk.operations()[before..].iter().map(name).collect()
}

/// How often `work` reads from the disk: so many reads can be interrupted.
fn reads(disk: &Disk, work: impl Fn()) -> u64 {
    let failure = Failure::ReadRefused(EINTR);
    let interrupted = |nth: &u64| {
        disk.set_fault(Some(Fault { nth: *nth, forever: false, failure }));
        work();
        disk.failed_after().is_some()
    };
    (0..).take_while(interrupted).count() as u64
}

#[test]
fn a_commit_is_one_write_one_sync_and_then_its_pointer() {
    let (disk, mut writer) = capsule();
    // The first one makes the name durable too.
    let first = done(&disk, || drop(writer.begin().expect("begins")));
    assert_eq!(first, ["cut", "sync", "name"]);
    for body in [b"one".to_vec(), noise(1)] {
        let steps = done(&disk, || put(&mut writer, &[&body]));
        assert_eq!(steps, ["log", "sync", "pointer"]);
    }
}

#[test]
fn a_transaction_that_is_given_up_costs_a_cut_only_where_it_was_written() {
    let (disk, mut writer) = capsule();
    put(&mut writer, &[b"one"]);
    let small = done(&disk, || {
        writer.begin().expect("begins").append(b"given up").expect("appends");
        drop(writer.begin().expect("begins"));
    });
    assert_eq!(small, [""; 0]);
    writer.set_buffers(Buffers { pending_bytes: 10, spill_bytes: 10 });
    let spilled = done(&disk, || {
        writer.begin().expect("begins").append(&noise(1)).expect("appends");
        drop(writer.begin().expect("begins"));
    });
    assert_eq!(spilled, ["log", "cut", "sync"]);
}

#[test]
fn deferred_commits_are_synced_when_their_caller_says_so() {
    let (disk, mut writer) = capsule();
    put(&mut writer, &[b"one"]);
    writer.defer_syncs();
    assert_eq!(done(&disk, || put(&mut writer, &[b"two"])), ["log", "pointer"]);
    assert_eq!(done(&disk, || writer.sync().expect("synced")), ["sync"]);
    let after = done(&disk, || put(&mut writer, &[b"three"]));
    assert_eq!(after, ["log", "sync", "pointer"]);
    assert!(!writer.is_poisoned());
}

/// A pointer that is torn while it is written again would name nothing.
#[test]
fn what_is_on_the_medium_is_not_written_again() {
    let (bytes, _) = commits(&["one", "two"]);
    let torn = [bytes.as_slice(), b"torn"].concat();
    for (bytes, expected) in [
        (&bytes, [].as_slice()),
        (&torn, &["cut", "sync"]),
        (&unpointed(&bytes), &["cut", "sync", "name", "pointer"]),
    ] {
        let disk = disk(bytes);
        let mut writer = open_writer(&disk);
        assert_eq!(done(&disk, || drop(writer.begin().expect("begins"))), expected);
    }
}

/// A commit whose sync failed is in the cache and, for all that is known, nowhere else.
#[test]
fn what_may_be_in_the_cache_only_is_written_again() {
    let (first, _) = commits(&["one"]);
    let disk = disk(&first);
    let mut writer = open_writer(&disk);
    let large: Vec<u8> = (1..25).flat_map(noise).collect();
    assert!(large.len() > 1 << 20);
    let mut transaction = writer.begin().expect("begins");
    transaction.append(&large).expect("appends");
    let failure = Failure::SyncKeeps(EIO);
    disk.set_fault(Some(Fault { nth: 0, forever: false, failure }));
    assert!(matches!(transaction.commit(1), Err(Error::Io { .. })));
    let failed = disk.failed_after().expect("a sync failed");
    let killed = Disk::after(&files(&first), &disk.operations()[..=failed]);
    let mut next = open_writer(&killed);
    let steps = done(&killed, || drop(next.begin().expect("begins")));
    assert_eq!(steps, ["cut", "sync", "log", "log", "sync", "pointer"], "a megabyte at once");
    assert_eq!(read_all(&killed.files()).expect("readable"), [b"one".to_vec(), large]);
}

#[test]
fn a_sync_that_fails_before_a_transaction_is_final_only_for_deferred_commits() {
    for deferred in [false, true] {
        let (disk, mut writer) = capsule();
        put(&mut writer, &[b"one"]);
        if deferred {
            writer.defer_syncs();
        }
        writer.set_buffers(Buffers { pending_bytes: 10, spill_bytes: 10 });
        writer.begin().expect("begins").append(&noise(1)).expect("appends");
        let failure = Failure::SyncKeeps(EIO);
        disk.set_fault(Some(Fault { nth: 0, forever: false, failure }));
        assert!(matches!(writer.begin().map(drop), Err(Error::Io { .. })));
        assert_eq!(writer.is_poisoned(), deferred);
        assert_eq!(writer.begin().is_err(), deferred);
    }
}

#[test]
fn a_failed_commit_is_cut_and_the_cut_is_synced() {
    let (disk, mut writer) = capsule();
    put(&mut writer, &[b"one"]);
    let mut transaction = writer.begin().expect("begins");
    transaction.append(b"two").expect("appends");
    let failure = Failure::TornWrite(EIO);
    disk.set_fault(Some(Fault { nth: 0, forever: false, failure }));
    let steps = done(&disk, || assert!(transaction.commit(1).is_err()));
    assert_eq!(steps, ["log", "cut", "sync"]);
    assert!(!writer.is_poisoned());
}

#[test]
fn the_log_is_walked_and_its_tail_read_in_few_reads() {
    let texts: Vec<String> = (0..50).map(|n| format!("record {n}")).collect();
    let (bytes, _) = commits(&texts);
    let (pointed, unpointed) = (disk(&bytes), disk(&unpointed(&bytes)));
    let open = |disk: &Disk| Snapshot::open_in(disk, path()).expect("opens");
    let opened = [&pointed, &unpointed].map(|disk| reads(disk, || drop(open(disk))));
    assert_eq!(opened, [2, 2], "the pages before the log, then a commit or the log");
    let tail = reads(&pointed, || assert_eq!(bodies(&open(&pointed)).len(), 50));
    assert_eq!(tail, 3, "the tail is read at once");
}

#[test]
fn records_that_lie_in_one_frame_are_read_once() {
    let (disk, mut writer) = capsule();
    let texts: Vec<Vec<u8>> = (0..50u8).map(|n| vec![n; 30]).collect();
    put(&mut writer, &texts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut transaction = writer.begin().expect("begins");
    let sections = vec![(*b"test    ", vec![1])];
    let segment = SegmentDraft { first_sequence: 1, next_sequence: 51, sections };
    transaction.add_segment(segment).expect("joins");
    transaction.commit(1).expect("commits");
    let open = || Snapshot::open_in(&disk, path()).expect("opens");
    let opened = reads(&disk, || drop(open()));
    let all = reads(&disk, || assert_eq!(bodies(&open()), texts));
    assert_eq!(all - opened, 1, "the frame; the segment is mapped");
}

#[test]
fn the_chains_of_folded_commits_are_computed_once() {
    let (disk, mut writer) = capsule();
    for body in [b"one".as_slice(), b"two", b"three"] {
        put(&mut writer, &[body]);
    }
    crate::rewrite_all(&mut writer);
    let s = Snapshot::open_in(&disk, path()).expect("opens");
    assert!(s.chain_of(1).expect("readable").is_some());
    disk.set_fault(Some(Fault { nth: 0, forever: true, failure: Failure::ReadRefused(EIO) }));
    assert!(s.chain_of(2).expect("known").is_some());
    assert_eq!(common(&s, &s).expect("known"), 3);
}

/// What is to be written does not depend on it.
#[test]
fn a_put_does_not_read_the_records_before_it() {
    let (mut bytes, lengths) = commits(&[noise(1), noise(2)]);
    bytes[lengths[0] + 200] ^= 1;
    let disk = disk(&bytes);
    let mut writer = open_writer(&disk);
    put(&mut writer, &[&noise(3)]);
    put(&mut writer, &[b"four"]);
    assert!(read_all(&disk.files()).is_err(), "the second record is damaged");
}

#[test]
fn a_read_that_fails_is_not_the_end_of_the_log() {
    let (bytes, _) = commits(&[b"one".to_vec(), noise(1), b"three".to_vec()]);
    let disk = disk(&unpointed(&bytes));
    let mut failed = 0;
    for nth in 0.. {
        let failure = Failure::ReadRefused(EIO);
        disk.set_fault(Some(Fault { nth, forever: false, failure }));
        let opened = Snapshot::open_in(&disk, path());
        if disk.failed_after().is_none() {
            break;
        }
        failed += 1;
        assert!(matches!(opened, Err(Error::Unreadable { .. })), "read {nth}: {opened:?}");
    }
    assert!(failed >= 2, "{failed}");
}

/// The frames after the damaged one lie further away than is searched at once.
#[test]
fn damage_is_told_from_a_torn_end_however_far_the_log_goes_on() {
    let large: Vec<u8> = (1..60).flat_map(noise).collect();
    assert!(large.len() > 3 << 20);
    let (bytes, lengths) = commits(&[b"one".to_vec(), large.clone(), b"3".to_vec(), b"4".to_vec()]);
    let mut bytes = unpointed(&bytes);
    let read = read_all(&files(&bytes)).expect("walked");
    assert_eq!(read, [b"one".to_vec(), large, b"3".to_vec(), b"4".to_vec()]);
    bytes[lengths[0]] ^= 1;
    assert!(matches!(read_all(&files(&bytes)), Err(Error::Corrupt { .. })));
    let report = verify_in(&disk(&bytes), path(), &mut |_, _| {}).expect("can be checked");
    let found = report.problems.iter().any(|problem| problem.offset == lengths[0] as u64);
    assert!(found, "{:?}", report.problems);
}

/// A new capsule may end anywhere in its first transaction; a compacted one had its first commit on
/// the disk before it had its name.
#[test]
fn a_first_commit_may_be_torn_in_a_new_capsule_and_not_in_a_compacted_one() {
    for compacted in [false, true] {
        let (disk, mut writer) = capsule();
        put(&mut writer, &[&noise(1)]);
        if compacted {
            crate::rewrite_all(&mut writer);
        }
        let whole = unpointed(&disk.files()[path()]);
        assert_eq!(read_all(&files(&whole)).expect("walked").len(), 1);
        for len in [LOG_START as usize, LOG_START as usize + 100, whole.len() - 8] {
            match read_all(&files(&whole[..len])) {
                Ok(records) => assert!(records.is_empty() && !compacted, "{len} bytes"),
                Err(Error::Corrupt { .. }) => assert!(compacted, "{len} bytes"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Frames whose sums are right, of another capsule's first transaction.
#[test]
fn a_walk_takes_no_commit_with_the_frames_of_another() {
    let (one, _) = commits(&[noise(1)]);
    let (other, _) = commits(&[noise(2)]);
    let mut mixed = unpointed(&one);
    let commit = mixed.len() - crate::verdicts::COMMIT_FRAME_BYTES;
    mixed[LOG_START as usize..commit].copy_from_slice(&other[LOG_START as usize..commit]);
    assert_eq!(read_all(&files(&mixed)).expect("as a torn end"), [b""; 0]);
}

/// A dictionary that is read costs more than it saves one record.
#[test]
fn one_large_record_is_packed_without_the_dictionary() {
    let (disk, mut writer) = capsule();
    let texts: Vec<Vec<u8>> =
        (0..200).map(|n| format!("{n}: a note. ").repeat(20).into()).collect();
    put(&mut writer, &texts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut transaction = writer.begin().expect("begins");
    let sections = vec![(*b"test    ", vec![1])];
    let segment = SegmentDraft { first_sequence: 1, next_sequence: 201, sections };
    transaction.add_segment(segment).expect("joins");
    transaction.commit(1).expect("commits");
    assert!(disk.files()[path()].windows(5).any(|window| window == b"KFRM\x04"), "learned");
    let mut writer = open_writer(&disk);
    let mut transaction = writer.begin().expect("begins");
    disk.set_fault(Some(Fault { nth: 0, forever: true, failure: Failure::ReadRefused(EIO) }));
    transaction.append(&noise(1)).expect("appends");
    transaction.commit(1).expect("nothing is read");
}

/// Its generation stays, since in a later one it is damage when no commit can be read.
#[test]
fn an_empty_capsule_is_rewritten_as_one() {
    let disk = Disk::default();
    assert!(create_unlocked(&disk, path(), NEW).expect("created"));
    let mut writer = open_writer(&disk);
    assert_eq!(crate::rewrite_all(&mut writer), 0);
    let s = writer.snapshot().expect("opens");
    assert_eq!((s.file().generation, s.commits().expect("readable")), (1, vec![]));
    put(&mut writer, &[b"one"]);
    assert_eq!(read_all(&disk.files()).expect("readable"), [b"one"]);
}

/// Every read and every write may do half of its work, or be interrupted before it begins.
#[test]
fn work_that_is_done_in_part_is_gone_on_with() {
    let failures = [Failure::Short, Failure::Refused(EINTR), Failure::ReadRefused(EINTR)];
    for failure in failures {
        for nth in 0.. {
            let disk = Disk::default();
            assert!(create_unlocked(&disk, path(), NEW).expect("created"));
            let mut writer = open_writer(&disk);
            drop(writer.begin().expect("begins"));
            disk.set_fault(Some(Fault { nth, forever: false, failure }));
            put(&mut writer, &[&noise(1)]);
            put(&mut writer, &[b"two"]);
            let s = Snapshot::open_in(&disk, path()).expect("opens");
            assert_eq!(bodies(&s), [noise(1), b"two".to_vec()], "{failure:?} at {nth}");
            if disk.failed_after().is_none() {
                break;
            }
        }
    }
}

/// What a volume does that says nothing of its own.
#[test]
fn a_file_in_the_making_lies_beside_its_place() {
    let disk = Disk::default();
    assert_eq!(disk.temporary(path()), std::path::Path::new("c.kapsa.tmp"));
    assert_eq!(disk.names(path()).expect("known"), 1);
    drop(disk.create_new(&disk.temporary(path())).expect("created"));
    disk.sweep(path()).expect("swept");
    assert_eq!(disk.files().len(), 0);
}

#[test]
fn a_sample_reads_as_many_records_and_blocks_as_it_says() {
    let (disk, mut writer) = capsule();
    put(&mut writer, &[b"one", b"two", b"three"]);
    let mut transaction = writer.begin().expect("begins");
    let segment = SegmentDraft {
        first_sequence: 1,
        next_sequence: 4,
        sections: vec![(*b"test    ", noise(1))],
    };
    transaction.add_segment(segment).expect("joins");
    transaction.commit(1).expect("commits");
    let s = Snapshot::open_in(&disk, path()).expect("opens");
    for (records, blocks, expected) in [(0, 0, (0, 0)), (2, 5, (2, 5)), (9, 1, (3, 1))] {
        assert_eq!(kapsa_capsule::sample(&s, records, blocks).expect("whole"), expected);
    }
    let all = kapsa_capsule::sample(&s, 0, u64::MAX).expect("whole").1;
    assert!((17..=19).contains(&all), "{all} blocks of 4 KiB");
    let section = s.section(0, *b"test    ").expect("whole").expect("there");
    assert!(!section.is_empty());
    let mut bytes = disk.files()[path()].clone();
    let middle = bytes.windows(8).position(|w| *w == section.unchecked()[40_000..40_008]);
    bytes[middle.expect("in the file")] ^= 1;
    let s = Snapshot::open_in(&self::disk(&bytes), path()).expect("opens");
    assert!(kapsa_capsule::sample(&s, 3, u64::MAX).is_err());
    let section = s.section(0, *b"test    ").expect("whole").expect("there");
    assert!(section.check(0..100).is_ok() && section.check(40_000..40_001).is_err());
    assert!(section.read(60_000..60_100).is_ok() && section.read(35_000..45_000).is_err());
    assert!(section.read_all().is_err(), "again");
    let shown = format!("{section:?}");
    assert!(shown.starts_with("Section { segment: ") && shown.contains(", range: "), "{shown}");
}
