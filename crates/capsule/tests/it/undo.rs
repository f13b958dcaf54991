//! A transaction that fails, panics or is given up leaves the writer as it was, the dictionary that
//! it learned included.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use kapsa_capsule::{
    Buffers, Error, NewCapsule, SegmentDraft, Snapshot, Stored, Volume, Writer, create_unlocked,
    verify_in,
};
use kapsa_testkit::{Disk, Failure, Fault, Random};

use crate::harness::Verdict;

const EIO: i32 = 5;

/// How the disk fails in the middle of a transaction.
const FAILURES: [Failure; 5] = [
    Failure::Refused(EIO),
    Failure::TornWrite(EIO),
    Failure::SyncKeeps(EIO),
    Failure::SyncDrops(EIO),
    Failure::Panics,
];
/// Small enough that a transaction with a dictionary reaches the file in parts.
const BUFFERS: Buffers = Buffers { pending_bytes: 2 << 20, spill_bytes: 64 << 10 };

fn path() -> &'static Path {
    Path::new("c.kapsa")
}

fn capsule() -> (Disk, Writer) {
    let disk = Disk::default();
    create_unlocked(&disk, path(), NewCapsule { capsule_id: [1; 16], created_us: 0 })
        .expect("created");
    let mut writer = Writer::open_unlocked(Arc::new(disk.clone()), path()).expect("opens");
    writer.set_buffers(BUFFERS);
    (disk, writer)
}

/// `count` bodies of about a kilobyte that have much in common, so that a dictionary pays.
fn bodies(seed: u64, count: usize) -> Vec<Vec<u8>> {
    const WORDS: [&str; 8] = [
        "remember ",
        "the capsule ",
        "was packed ",
        "with a dictionary ",
        "that nobody ",
        "can read ",
        "after ",
        "a cut. ",
    ];
    let mut random = Random::new(seed);
    let mut body = || {
        let words = (0..110).map(|_| WORDS[random.below(8) as usize]).collect::<String>();
        format!("{words}{}", random.number()).into_bytes()
    };
    (0..count).map(|_| body()).collect()
}

/// Above the threshold from which a dictionary is learned.
fn learned_from() -> Vec<Vec<u8>> {
    bodies(1, 1_300)
}

/// Enough to be packed with the dictionary in force, and too little to learn another one from.
fn packed_with() -> Vec<Vec<u8>> {
    bodies(2, 120)
}

fn put(writer: &mut Writer, bodies: &[Vec<u8>]) -> Result<(), Error> {
    let mut transaction = writer.begin()?;
    bodies.iter().try_for_each(|body| transaction.append(body).map(drop))?;
    transaction.commit(1).map(drop)
}

/// As [`put`]; a panic of the disk is a failure like any other.
fn put_caught(writer: &mut Writer, bodies: &[Vec<u8>]) -> bool {
    catch_unwind(AssertUnwindSafe(|| put(writer, bodies).is_ok())).unwrap_or(false)
}

fn expect_whole(disk: &Disk, expected: &[Vec<u8>]) -> Verdict {
    let report =
        verify_in(disk, path(), &mut |_, _| {}).map_err(|e| format!("verify failed: {e}"))?;
    // A commit pointer that could not be written costs the next open a longer walk, no more.
    let harmless = report.problems.iter().all(|problem| problem.what.contains("commit pointer"));
    if !harmless || report.torn_bytes > 0 {
        return Err(format!("{} torn bytes, {:?}", report.torn_bytes, report.problems));
    }
    let snapshot = Snapshot::open_in(disk, path()).map_err(|e| format!("does not open: {e}"))?;
    let mut found = Vec::new();
    for record in snapshot.records(1) {
        match record.map_err(|e| format!("an acknowledged record is lost: {e}"))?.stored() {
            Stored::Body(body) => found.push(body.to_vec()),
            Stored::Purged(_) => return Err("a record is purged".to_string()),
        }
    }
    if found == expected {
        Ok(())
    } else {
        Err(format!("{} records instead of {}", found.len(), expected.len()))
    }
}

/// Every operation of a large transaction fails in every way, from the one numbered `from` on; then
/// the same writer, or the next one where this one cannot go on, puts records that a dictionary
/// would be used for.
pub fn explore(from: u64) -> Verdict {
    let (large, small) = (learned_from(), packed_with());
    for failure in FAILURES {
        for nth in from.. {
            let (disk, mut writer) = capsule();
            disk.set_fault(Some(Fault { nth, forever: false, failure }));
            let stored = put_caught(&mut writer, &large);
            let befell = disk.failed_after().is_some();
            disk.set_fault(None);
            if writer.is_poisoned() {
                writer = Writer::open_unlocked(Arc::new(disk.clone()), path())
                    .map_err(|e| e.to_string())?;
            }
            let context = |what| format!("{failure:?} at {nth}: {what}");
            put(&mut writer, &small)
                .map_err(|e| context(format!("the next transaction failed: {e}")))?;
            let both = [large.as_slice(), &small].concat();
            let whole = expect_whole(&disk, if stored { &both } else { &small });
            // A panic may have come after the sync, and nobody was told that the commit is there.
            let whole = if failure == Failure::Panics {
                whole.or_else(|_| expect_whole(&disk, &both))
            } else {
                whole
            };
            whole.map_err(context)?;
            if !befell {
                break;
            }
        }
    }
    Ok(())
}

/// The commit after a failed one named a dictionary that was cut away, and nobody could read its
/// records.
#[test]
fn no_commit_names_a_dictionary_that_was_cut_away() {
    explore(0).unwrap_or_else(|what| panic!("{what}"));
}

/// Records packed with it could not be read: nobody wrote it.
#[test]
fn a_dictionary_that_was_learned_in_vain_is_forgotten() {
    let (disk, mut writer) = capsule();
    let before = bodies(5, 30);
    put(&mut writer, &before).expect("committed");
    let mut transaction = writer.begin().expect("begins");
    let sections = vec![(*b"test    ", vec![1])];
    let segment = SegmentDraft { first_sequence: 1, next_sequence: 31, sections };
    transaction.add_segment(segment).expect("a dictionary is learned from the tail");
    drop(transaction);
    let after = bodies(6, 5);
    put(&mut writer, &after).expect("committed");
    expect_whole(&disk, &[before, after].concat()).unwrap_or_else(|what| panic!("{what}"));
}

/// A transaction that was given up after a write that failed left what that write had done.
#[test]
fn a_write_that_failed_in_part_is_cut_when_its_transaction_is_given_up() {
    let (disk, mut writer) = capsule();
    writer.set_buffers(Buffers { pending_bytes: 1 << 10, spill_bytes: 1 << 10 });
    disk.set_fault(Some(Fault { nth: 0, forever: false, failure: Failure::TornWrite(EIO) }));
    let mut transaction = writer.begin().expect("begins");
    let failed = bodies(3, 40).iter().try_for_each(|body| transaction.append(body).map(drop));
    assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
    drop(transaction);
    let small = vec![b"small".to_vec()];
    put(&mut writer, &small).expect("the disk is well again");
    expect_whole(&disk, &small).unwrap_or_else(|what| panic!("{what}"));
}

/// A caller that passed over a failed append got a commit that counted records which were in no
/// frame.
#[test]
fn a_transaction_that_lost_records_cannot_be_committed() {
    for failure in [Failure::Refused(EIO), Failure::TornWrite(EIO), Failure::Panics] {
        let (disk, mut writer) = capsule();
        writer.set_buffers(Buffers { pending_bytes: 1 << 10, spill_bytes: 1 << 10 });
        let mut transaction = writer.begin().expect("begins");
        disk.set_fault(Some(Fault { nth: 0, forever: false, failure }));
        for body in bodies(4, 10) {
            let _the_caller_passes_over_it =
                catch_unwind(AssertUnwindSafe(|| transaction.append(&body).is_ok()));
        }
        assert!(matches!(transaction.append(b"more"), Err(Error::Misuse { .. })), "{failure:?}");
        assert!(matches!(transaction.commit(1), Err(Error::Misuse { .. })), "{failure:?}");
        let small = vec![b"small".to_vec()];
        put(&mut writer, &small).expect("the disk is well again");
        expect_whole(&disk, &small).unwrap_or_else(|what| panic!("{failure:?}: {what}"));
    }
}

/// The second sync of a new file succeeded, and the caller took that for the first one's success.
#[test]
fn a_failed_sync_of_deferred_commits_is_final() {
    let (disk, mut writer) = capsule();
    writer.defer_syncs();
    put(&mut writer, &[b"one".to_vec()]).expect("committed");
    disk.set_fault(Some(Fault { nth: 0, forever: false, failure: Failure::SyncKeeps(EIO) }));
    assert!(matches!(writer.sync(), Err(Error::Io { .. })));
    assert!(writer.is_poisoned());
    assert!(matches!(writer.sync(), Err(Error::Poisoned { .. })));
    assert!(matches!(writer.begin().map(drop), Err(Error::Poisoned { .. })));
}

/// A file that had come to the capsule's name meanwhile was displaced by the rewritten one.
#[test]
fn a_capsule_that_lost_its_name_is_not_rewritten() {
    let (disk, mut writer) = capsule();
    put(&mut writer, &[b"one".to_vec()]).expect("committed");
    disk.remove(path()).expect("removed");
    create_unlocked(&disk, path(), NewCapsule { capsule_id: [2; 16], created_us: 0 })
        .expect("created");
    assert!(matches!(writer.rewrite().map(drop), Err(Error::Replaced { .. })));
    assert!(matches!(writer.begin().map(drop), Err(Error::Replaced { .. })));
}
