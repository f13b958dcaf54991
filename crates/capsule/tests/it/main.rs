//! The capsule as its users see it: real files in a temporary folder.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod attached;
mod basics;
mod bytes;
mod costs;
mod crash;
mod damage;
mod derived;
mod faults;
mod golden;
mod harness;
mod replicate;
mod salvaged;
mod seeded;
mod undo;
mod unlocked;
mod verdicts;

use std::path::{Path, PathBuf};

use kapsa_capsule::{
    DerivedDraft, NewCapsule, SegmentDraft, Snapshot, Stored, Writer, WriterOptions, create,
};

pub struct Fixture {
    // Held for its drop.
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

pub fn fixture() -> Fixture {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.kapsa");
    let made =
        create(&path, NewCapsule { capsule_id: [3; 16], created_us: 5 }, &WriterOptions::default())
            .expect("created");
    assert!(made);
    Fixture { _folder: folder, path }
}

pub fn writer(path: &Path) -> Writer {
    Writer::open(path, &WriterOptions::default()).expect("opens for writing")
}

pub fn put(writer: &mut Writer, bodies: &[&[u8]]) -> u64 {
    let mut transaction = writer.begin().expect("begins");
    for body in bodies {
        transaction.append(body).expect("appends");
    }
    transaction.commit(7).expect("commits").next_sequence
}

pub fn bodies(snapshot: &Snapshot) -> Vec<Vec<u8>> {
    snapshot
        .records(1)
        .map(|record| match record.expect("readable").stored() {
            Stored::Body(body) => body.to_vec(),
            Stored::Purged(_) => b"purged".to_vec(),
        })
        .collect()
}

pub fn segment(first_sequence: u64, next_sequence: u64, content: &[u8]) -> SegmentDraft {
    SegmentDraft { first_sequence, next_sequence, sections: vec![(*b"test    ", content.to_vec())] }
}

pub fn derived(first_sequence: u64, next_sequence: u64, content: &[u8]) -> DerivedDraft {
    DerivedDraft { first_sequence, next_sequence, sections: vec![(*b"annex   ", content.to_vec())] }
}

pub fn assert_whole(path: &Path) -> kapsa_capsule::Report {
    let report = kapsa_capsule::verify(path, &mut |_, _| {}).expect("can be checked");
    assert_eq!(report.problems, []);
    report
}

/// Writes every record again into a file that takes the old one's place. Returns how many.
pub fn rewrite_all(writer: &mut Writer) -> u64 {
    let mut rewrite = writer.rewrite().expect("begins");
    let old = rewrite.old().clone();
    for record in old.records(1) {
        rewrite.append(record.expect("readable").stored()).expect("appends");
    }
    rewrite.finish(writer).expect("finishes").next_sequence - 1
}

/// How many dictionaries the file holds.
pub fn dictionaries(path: &Path) -> usize {
    let file = std::fs::read(path).expect("there");
    file.windows(5).filter(|window| *window == b"KFRM\x04").count()
}
