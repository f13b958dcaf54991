//! Holds the code to the offsets of `docs/format.md`, and opens the sample of each format version for ever.

use std::path::Path;

use kapsa_capsule::{Snapshot, verify};

use crate::{bodies, fixture, put, segment, writer};

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[test]
fn the_bytes_lie_where_the_document_says() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"hello"]);
    drop(w);
    let file = std::fs::read(&f.path).expect("there");
    assert_eq!(&file[..8], b"\x89KAPSA\r\n");
    assert_eq!(u64_at(&file, 8), 1, "version, then zeros");
    assert_eq!(&file[32..48], &[3; 16], "capsule id");
    assert_eq!((u64_at(&file, 48), u64_at(&file, 56)), (5, 1), "created, generation");
    let hint = &file[8192..];
    assert_eq!(&hint[..8], b"KAPSHINT");
    let commit_offset = u64_at(hint, 16) as usize;
    assert_eq!((u64_at(hint, 8), u64_at(hint, 24)), (1, file.len() as u64), "serial 1 goes to slot B");
    let records = &file[12_288..];
    assert_eq!((&records[..4], records[4]), (b"KFRM".as_slice(), 1));
    assert_eq!((u64_at(records, 8), u64_at(records, 16), u64_at(records, 24)), (32 + 4 + 5, 12_288, 1));
    assert_eq!(u64_at(records, 72), 1, "first sequence");
    assert_eq!(&records[72 + 32 + 4..][..5], b"hello");
    let commit = &file[commit_offset..];
    assert_eq!((&commit[..4], commit[4], commit.len()), (b"KFRM".as_slice(), 5, 72 + 256));
    let field = |offset| u64_at(&commit[72..], offset);
    assert_eq!((field(0), field(8), field(16), field(32), field(40), field(48)), (1, 1, 7, 12_288, 1, 2));
}

/// The sample was written by the first release of format 1 and is never written again.
#[test]
fn the_sample_of_version_1_opens() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/v1.kapsa");
    let report = verify(&sample, &mut |_, _| {}).expect("can be checked");
    assert_eq!((report.problems.len(), report.records, report.commits), (0, 1003, 3));
    let snapshot = Snapshot::open(&sample).expect("opens");
    let all = bodies(&snapshot);
    assert_eq!((all[0].as_slice(), all[2].as_slice()), (b"sample record one".as_slice(), b"purged".as_slice()));
    assert_eq!(snapshot.segments().len(), 2);
}

/// Makes the sample anew where it is missing: run once for each new format version.
#[test]
fn sample_is_made_only_where_it_is_missing() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/v1.kapsa");
    if sample.exists() {
        return;
    }
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"sample record one", b"sample record two", b"sample record three, to be purged"]);
    let many: Vec<Vec<u8>> =
        (0..999u32).map(|i| format!("sample record of a batch, number {i}, {}", "text ".repeat(20)).into_bytes()).collect();
    put(&mut w, &many.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut rewrite = w.rewrite().expect("begins");
    let old = rewrite.old().clone();
    for record in old.records(1) {
        let record = record.expect("readable");
        let hash = record.stored().hash();
        let purged = kapsa_capsule::Stored::Purged(&hash);
        rewrite.append(if record.sequence() == 3 { purged } else { record.stored() }).expect("appends");
    }
    rewrite.add_segment(segment(1, 500, b"first")).expect("joins");
    rewrite.finish().expect("finishes");
    let mut t = w.begin().expect("begins");
    t.append(b"after compaction").expect("appends");
    t.add_segment(segment(500, 1004, b"second")).expect("joins");
    t.commit(9).expect("commits");
    std::fs::create_dir_all(sample.parent().expect("has one")).expect("made");
    std::fs::copy(&f.path, &sample).expect("copied");
}
