//! The power fails at every point of every write path, and again while the first crash is recovered from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_capsule::{Error, NewCapsule, Snapshot, Stored, Writer, create_unlocked, verify_in};
use kapsa_testkit::{Crash, Disk, Random, crashes};

use crate::segment;

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn path() -> &'static Path {
    Path::new("c.kapsa")
}

fn open(disk: &Disk) -> Result<Writer, Error> {
    Writer::open_unlocked(Arc::new(disk.clone()), path())
}

fn body(sequence: u64) -> Vec<u8> {
    format!("body of record {sequence} {}", "x".repeat(sequence as usize % 7 * 90)).into_bytes()
}

/// Appends `count` records in one commit and notes the acknowledgement.
fn put(disk: &Disk, writer: &mut Writer, count: u64) {
    let mut transaction = writer.begin().expect("begins");
    for _ in 0..count {
        let sequence = transaction.next_sequence();
        transaction.append(&body(sequence)).expect("appends");
    }
    let commit = transaction.commit(1).expect("commits");
    disk.acknowledge(commit.next_sequence - 1);
}

fn index(writer: &mut Writer, first: u64, next: u64) {
    let mut transaction = writer.begin().expect("begins");
    transaction.add_segment(segment(first, next, &[first as u8; 700])).expect("joins");
    transaction.commit(1).expect("commits");
}

fn rewrite(writer: &mut Writer) {
    let mut rewrite = writer.rewrite().expect("begins");
    let old = rewrite.old().clone();
    for record in old.records(1) {
        rewrite.append(record.expect("readable").stored()).expect("appends");
    }
    rewrite.add_segment(segment(1, old.commit().next_sequence, b"rewritten")).expect("joins");
    rewrite.finish().expect("finishes");
}

/// A way of writing, run on a disk that holds what an earlier one left.
type Scenario = (&'static str, fn(&Disk), fn(&Disk));

fn prepared(disk: &Disk) {
    create_unlocked(disk, path(), NewCapsule { capsule_id: [1; 16], created_us: 0 }).expect("created");
    let mut writer = open(disk).expect("opens");
    put(disk, &mut writer, 2);
    put(disk, &mut writer, 1);
}

const SCENARIOS: [Scenario; 7] = [
    (
        "create",
        |_| {},
        |disk| {
            create_unlocked(disk, path(), NewCapsule { capsule_id: [1; 16], created_us: 0 }).expect("created");
            put(disk, &mut open(disk).expect("opens"), 1);
        },
    ),
    ("put", prepared, |disk| put(disk, &mut open(disk).expect("opens"), 1)),
    ("puts of one writer", prepared, |disk| {
        let mut writer = open(disk).expect("opens");
        (0..4).for_each(|_| put(disk, &mut writer, 1));
    }),
    ("batch", prepared, |disk| put(disk, &mut open(disk).expect("opens"), 9)),
    ("tail to segment", prepared, |disk| {
        let mut writer = open(disk).expect("opens");
        index(&mut writer, 1, 4);
        put(disk, &mut writer, 1);
    }),
    (
        "segment merge",
        |disk| {
            prepared(disk);
            let mut writer = open(disk).expect("opens");
            index(&mut writer, 1, 3);
            index(&mut writer, 3, 4);
        },
        |disk| {
            let mut writer = open(disk).expect("opens");
            index(&mut writer, 1, 4);
            put(disk, &mut writer, 1);
        },
    ),
    ("rewrite", prepared, |disk| {
        let mut writer = open(disk).expect("opens");
        rewrite(&mut writer);
        put(disk, &mut writer, 1);
    }),
];

/// Everything acknowledged is there, nothing half-visible, nothing else.
fn assert_sound(files: &Files, acknowledged: u64, context: &str) -> u64 {
    let disk = Disk::with_files(files);
    let snapshot = match Snapshot::open_in(&disk, path()) {
        Ok(snapshot) => snapshot,
        Err(Error::NotFound { .. }) if acknowledged == 0 => return 0,
        Err(error) => panic!("{context}: {error}"),
    };
    let next = snapshot.commit().next_sequence;
    assert!(next > acknowledged, "{context}: {acknowledged} acknowledged, {} there", next - 1);
    for sequence in 1..next {
        let record = snapshot.record(sequence).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert_eq!(record.stored(), Stored::Body(&body(sequence)), "{context}");
    }
    let report = verify_in(&disk, path(), &mut |_, _| {}).unwrap_or_else(|e| panic!("{context}: {e}"));
    let harmless = report.problems.iter().all(|p| p.what.contains("hint"));
    assert!(harmless, "{context}: {:?}", report.problems);
    next - 1
}

/// What the next writer does after a crash.
fn recover_and_put(disk: &Disk) {
    match open(disk) {
        Ok(mut writer) => put(disk, &mut writer, 1),
        Err(Error::NotFound { .. }) => {
            create_unlocked(disk, path(), NewCapsule { capsule_id: [1; 16], created_us: 0 }).expect("created");
            put(disk, &mut open(disk).expect("opens"), 1);
        }
        Err(error) => panic!("{error}"),
    }
}

/// Every crash of the recovery from `crash`, and of the commit after it.
fn crash_again(crash: &Crash, random: &mut Random, context: &str) -> u64 {
    let before = assert_sound(&crash.files, crash.acknowledged, context);
    let disk = Disk::with_files(&crash.files);
    disk.acknowledge(crash.acknowledged);
    recover_and_put(&disk);
    assert_eq!(assert_sound(&disk.files(), before + 1, context), before + 1, "{context}: recovered and went on");
    crashes(&crash.files, &disk.operations(), random, &mut |second| {
        assert_sound(&second.files, second.acknowledged, &format!("{context}, then after {}", second.operations));
    })
}

#[test]
fn no_crash_loses_or_tears_a_commit() {
    let mut random = Random::new(1);
    let (mut states, mut deeper) = (0, 0);
    for (name, before, scenario) in SCENARIOS {
        let disk = Disk::default();
        before(&disk);
        let files = disk.files();
        let told = disk.operations().iter().rev().find_map(|o| match o {
            kapsa_testkit::Operation::Acknowledge { records } => Some(*records),
            _ => None,
        });
        let disk = Disk::with_files(&files);
        disk.acknowledge(told.unwrap_or(0));
        scenario(&disk);
        let mut distinct = std::collections::HashSet::new();
        let mut firsts = Vec::new();
        states += crashes(&files, &disk.operations(), &mut random, &mut |crash| {
            assert_sound(&crash.files, crash.acknowledged, &format!("{name}, crash after {}", crash.operations));
            if distinct.insert((crash.files.clone(), crash.acknowledged)) {
                firsts.push(crash);
            }
        });
        for (number, crash) in firsts.iter().enumerate() {
            deeper += crash_again(crash, &mut random, &format!("{name}, crash {number} after {}", crash.operations));
        }
    }
    println!("{states} states at depth 1, {deeper} at depth 2");
    assert!(states > 500 && deeper > 10_000, "the enumeration ran: {states}, {deeper}");
}
