//! What a check counts and says, to the letter: one damage is one problem, and it is named.

use std::path::Path;
use std::sync::Arc;

use kapsa_capsule::{
    Error, FileSystem, LOG_START, NewCapsule, PROBLEMS_MAX, Report, SMALL_COMMIT_BYTES_MAX,
    Snapshot, Volume, Writer, WriterOptions, create, create_unlocked, verify_in,
};
use kapsa_testkit::{Disk, Failure, Fault, Random};

use crate::harness::{Files, path};
use crate::{derived, fixture, put, segment, writer};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
pub const NEW: NewCapsule = NewCapsule { capsule_id: [1; 16], created_us: 0 };
/// Header and content of a commit's frame.
pub const COMMIT_FRAME_BYTES: usize = 72 + 256;

pub fn capsule() -> (Disk, Writer) {
    let disk = Disk::default();
    assert!(create_unlocked(&disk, path(), NEW).expect("created"));
    let writer = Writer::open_unlocked(Arc::new(disk.clone()), path()).expect("opens");
    (disk, writer)
}

/// A body that does not fit into a small commit and cannot be packed: frames of records, then that
/// of the commit.
pub fn noise(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..SMALL_COMMIT_BYTES_MAX + 1000).map(|_| random.number() as u8).collect()
}

/// A capsule of one commit for each body, and its length after each.
pub fn commits(bodies: &[impl AsRef<[u8]>]) -> (Vec<u8>, Vec<usize>) {
    let (disk, mut writer) = capsule();
    let mut lengths = Vec::new();
    for body in bodies {
        let mut transaction = writer.begin().expect("begins");
        transaction.append(body.as_ref()).expect("appends");
        transaction.commit(1).expect("commits");
        lengths.push(disk.files()[path()].len());
    }
    (disk.files()[path()].clone(), lengths)
}

fn report(bytes: &[u8]) -> Report {
    let files = Files::from([(path().to_path_buf(), bytes.to_vec())]);
    verify_in(&Disk::with_files(&files), path(), &mut |_, _| {}).expect("can be checked")
}

pub fn find(bytes: &[u8], text: &str) -> usize {
    let found = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    found.expect("a short body is stored as it is")
}

#[test]
fn a_check_counts_what_it_read() {
    let (bytes, _) = commits(&[b"one".to_vec(), noise(1), b"three".to_vec()]);
    let report = report(&bytes);
    let counted = (report.frames, report.records, report.commits, report.bytes);
    assert_eq!(counted, (4, 3, 3, bytes.len() as u64), "small commits are one frame, others two");
    assert_eq!((report.torn_bytes, report.problems), (0, vec![]));
}

#[test]
fn a_damaged_header_ends_the_check_after_the_pages_before_the_log() {
    let (mut bytes, _) = commits(&["one"]);
    bytes[20] ^= 1;
    let report = report(&bytes);
    assert_eq!((report.bytes, report.problems.len()), (LOG_START, 1), "{:?}", report.problems);
}

#[test]
fn a_damaged_commit_is_one_problem_and_what_follows_is_none() {
    let (mut bytes, lengths) = commits(&[noise(1), noise(2), noise(3), noise(4)]);
    bytes[lengths[1] - 100] ^= 1;
    let report = report(&bytes);
    let problems: Vec<_> = report.problems.iter().map(|p| (p.frame, p.what.as_str())).collect();
    assert_eq!(problems, [(Some(3), "commit frame: its hash does not match")]);
}

/// The manifest that names the segment is not blamed for the damage.
#[test]
fn a_damaged_block_of_a_segment_is_one_problem() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    let mut t = w.begin().expect("begins");
    t.add_segment(segment(1, 2, b"the index")).expect("joins");
    t.add_derived(derived(1, 2, b"the annex"), &[]).expect("fits");
    t.commit(2).expect("commits");
    drop(w);
    let good = std::fs::read(&f.path).expect("there");
    for (content, damaged) in [("the index", "segment frame: "), ("the annex", "derived segment ")]
    {
        let mut bytes = good.clone();
        bytes[find(&good, content)] ^= 1;
        let problems = report(&bytes).problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].what.starts_with(damaged), "{problems:?}");
        assert!(problems[0].what.ends_with("its block 0 does not match its sum"), "{problems:?}");
    }
}

/// A disk that gives nothing back from some read on: the check goes on, and names the pages.
#[test]
fn pages_that_the_disk_does_not_give_back_are_problems() {
    let (bytes, _) = commits(&[noise(1), noise(2)]);
    let files = Files::from([(path().to_path_buf(), bytes)]);
    let mut checked = 0;
    for nth in 0.. {
        let disk = Disk::with_files(&files);
        let failure = Failure::ReadRefused(EIO);
        disk.set_fault(Some(Fault { nth, forever: true, failure }));
        let report = match verify_in(&disk, path(), &mut |_, _| {}) {
            Ok(report) => report,
            Err(Error::NotACapsule { .. }) => continue,
            Err(error) => panic!("from read {nth} on: {error}"),
        };
        if disk.failed_after().is_none() {
            break;
        }
        checked += 1;
        let is_page = |what: &str| what == "the disk does not give back 4096 bytes";
        let pages: Vec<_> = report.problems.iter().filter(|p| is_page(&p.what)).collect();
        assert!(!pages.is_empty(), "from read {nth} on: {:?}", report.problems);
        assert!(pages.iter().all(|page| page.offset.is_multiple_of(4096)), "{pages:?}");
    }
    assert!(checked > 5, "{checked}");
}

#[test]
fn no_more_problems_are_listed_than_the_limit() {
    let body = |n: usize| format!("marked-{n:05}");
    let bodies: Vec<String> = (0..=PROBLEMS_MAX).map(body).collect();
    let (mut bytes, _) = commits(&bodies);
    let mut from = 0;
    for body in &bodies {
        from += find(&bytes[from..], body);
        bytes[from] ^= 1;
    }
    assert_eq!(report(&bytes).problems.len(), PROBLEMS_MAX);
}

#[test]
fn frames_of_another_transaction_are_not_those_of_a_commit() {
    let (mut bytes, _) = commits(&[noise(1)]);
    let (other, _) = commits(&[noise(2)]);
    let frames = LOG_START as usize..bytes.len() - COMMIT_FRAME_BYTES;
    bytes[frames.clone()].copy_from_slice(&other[frames]);
    let problems = report(&bytes).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].what, "commit frame: its frames are not the ones it was made for");
}

#[test]
fn a_file_in_the_making_is_not_a_capsule() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().join("m.kapsa");
    let options = WriterOptions::default();
    assert!(create(&place, NEW, &options).expect("created"));
    let making = FileSystem.temporary(&place);
    std::fs::copy(&place, &making).expect("copied");
    let refused = |error: Option<Error>| matches!(error, Some(Error::NotACapsule { .. }));
    assert!(refused(create(&making, NEW, &options).err()));
    assert!(refused(Snapshot::open(&making).err()));
    assert!(refused(Writer::open(&making, &options).err()));
}

#[test]
fn a_full_disk_is_not_taken_for_a_broken_one() {
    for (code, full) in [(ENOSPC, true), (EIO, false)] {
        let (disk, mut writer) = capsule();
        disk.set_fault(Some(Fault { nth: 0, forever: true, failure: Failure::Refused(code) }));
        let failed = writer.begin().map(drop).expect_err("its end cannot be cut");
        assert_eq!(failed.is_disk_full(), full, "{code}");
    }
    let missing = Snapshot::open(Path::new("missing.kapsa")).err();
    assert!(missing.is_some_and(|error| !error.is_disk_full()));
}

#[test]
fn a_file_that_is_not_a_capsule_is_named() {
    let zeros = |len: usize, rest: &[u8]| [vec![0; len].as_slice(), rest].concat();
    let stranger = "its first bytes are not a capsule's";
    let named: [(Vec<u8>, &str); 9] = [
        (vec![], "it is empty"),
        (b"MV2".to_vec(), "it is a memvid store (.mv2)"),
        (b"MV".to_vec(), stranger),
        (b"SQLite format 3".to_vec(), "it is an SQLite database"),
        (b"SQL".to_vec(), stranger),
        (zeros(4096, b""), "it begins with zeros"),
        (zeros(4095, b""), stranger),
        (zeros(7, &[1; 4096]), stranger),
        (vec![1; 4096], stranger),
    ];
    for (bytes, expected) in named {
        let files = Files::from([(path().to_path_buf(), bytes)]);
        match Snapshot::open_in(&Disk::with_files(&files), path()) {
            Err(Error::NotACapsule { found, .. }) => assert_eq!(found, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
}
