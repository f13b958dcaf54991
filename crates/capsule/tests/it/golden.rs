//! Holds the code to the offsets of `docs/format.md`, and opens the sample of each format version
//! for ever.

use std::path::Path;

use kapsa_capsule::{Snapshot, verify};
use kapsa_testkit::Random;

use crate::{bodies, derived, fixture, put, segment, writer};

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[test]
fn the_bytes_lie_where_the_document_says() {
    let f = fixture();
    let mut w = writer(&f.path);
    let large = unpackable(70_000);
    put(&mut w, &[&large]);
    drop(w);
    let file = std::fs::read(&f.path).expect("there");
    assert_eq!(&file[..8], b"\x89KAPSA\r\n");
    assert_eq!(u64_at(&file, 8), 1, "version, then zeros");
    assert_eq!((u64_at(&file, 16), u64_at(&file, 24)), (1, 0), "features: small commits");
    assert_eq!(&file[32..48], &[3; 16], "capsule id");
    assert_eq!((u64_at(&file, 48), u64_at(&file, 56)), (5, 1), "created, generation");
    let pointer = &file[8192..];
    assert_eq!(&pointer[..8], b"KAPSHINT");
    let commit_offset = u64_at(pointer, 16) as usize;
    assert_eq!(
        (u64_at(pointer, 8), u64_at(pointer, 24)),
        (1, file.len() as u64),
        "serial 1 goes to slot B"
    );
    let records = &file[12_288..];
    assert_eq!((&records[..4], records[4]), (b"KFRM".as_slice(), 1));
    assert_eq!(
        (u64_at(records, 8), u64_at(records, 16), u64_at(records, 24)),
        (32 + 4 + 70_000, 12_288, 1)
    );
    assert_eq!(u64_at(records, 72), 1, "first sequence");
    assert_eq!(records[72 + 32 + 4..][..70_000], large);
    let commit = &file[commit_offset..];
    assert_eq!((&commit[..4], commit[4], commit.len()), (b"KFRM".as_slice(), 5, 72 + 256));
    let field = |offset| u64_at(&commit[72..], offset);
    assert_eq!(
        (field(0), field(8), field(16), field(32), field(40), field(48)),
        (1, 1, 7, 12_288, 1, 2)
    );
}

/// Bytes that no packer makes shorter.
fn unpackable(len: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// A LEB128 number of one byte.
fn short(bytes: &[u8], at: usize) -> u8 {
    assert!(bytes[at] < 0x80);
    bytes[at]
}

#[test]
fn a_small_commit_lies_where_the_document_says() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"first"]);
    let mut t = w.begin().expect("begins");
    t.append(b"hello").expect("appends");
    t.append(b"you").expect("appends");
    t.attach(b"attached".to_vec()).expect("small");
    t.commit(9).expect("commits");
    drop(w);
    let file = std::fs::read(&f.path).expect("there");
    let second = u64_at(&file, 4096 + 16) as usize;
    assert_eq!(u64_at(&file, 4096 + 24), file.len() as u64, "serial 2 goes to slot A");
    let (frame, payload) = (&file[second..], &file[second + 72..]);
    assert_eq!((&frame[..4], frame[4], u64_at(frame, 24)), (b"KFRM".as_slice(), 7, 2));
    assert_eq!(u64_at(payload, 0), 9, "time");
    assert_eq!(payload[40..72], file[12_288 + 32..][..32], "hash of the previous payload");
    let back = (second - 12_288) as u64;
    assert_eq!(u64::from(payload[73] & 0x7f) | u64::from(payload[74]) << 7, back, "previous");
    assert_eq!(short(payload, 72), 2, "number");
    assert_eq!([75, 76, 77].map(|at| short(payload, at)), [2, 2, 0], "first, count, manifest");
    assert_eq!(u64::from(payload[78] & 0x7f) | u64::from(payload[79]) << 7, back, "tail");
    let rest: [u8; 9] = std::array::from_fn(|i| short(payload, 80 + i));
    let lengths = [4 * 2 + 5 + 3, 4 * 2 + 5 + 3, 8];
    assert_eq!(rest[..6], [3, 13, 0, 0, 0, 0], "in the tail, their bytes, history, dictionaries");
    assert_eq!(rest[6..], lengths, "plain length, body, attachment");
    assert_eq!(&payload[89 + 8..][..16], b"helloyouattached");
}

/// A file that was made before there were small commits goes on without them.
#[test]
fn an_older_capsule_gets_no_small_commits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("old.kapsa");
    std::fs::copy(sample("v1.kapsa"), &path).expect("copied");
    let before = std::fs::read(&path).expect("there").len();
    let mut w = writer(&path);
    let mut t = w.begin().expect("begins");
    t.append(b"new").expect("appends");
    assert!(!t.is_small_with(0));
    assert!(matches!(t.attach(b"x".to_vec()), Err(kapsa_capsule::Error::Misuse { .. })));
    t.commit(9).expect("commits");
    let file = std::fs::read(&path).expect("there");
    assert_eq!((u64_at(&file, 16), file[before + 4]), (0, 1), "no feature, a records frame");
    assert_eq!(bodies(&Snapshot::open(&path).expect("opens")).last().expect("there"), b"new");
    let (report, rewritten) = (crate::assert_whole(&path), crate::rewrite_all(&mut w));
    assert_eq!(u64_at(&std::fs::read(&path).expect("there"), 16), 1, "compaction brings them");
    assert_eq!(rewritten, report.records);
}

fn sample(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)
}

#[test]
fn a_manifest_with_derived_segments_lies_where_the_document_says() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one", b"two"]);
    let mut t = w.begin().expect("begins");
    t.add_segment(segment(1, 3, b"index")).expect("joins");
    t.add_derived(derived(2, 3, b"of two"), &[]).expect("fits");
    t.commit(1).expect("commits");
    drop(w);
    let file = std::fs::read(&f.path).expect("there");
    let commit = u64_at(&file, 4096 + 16) as usize;
    let manifest = &file[u64_at(&file, commit + 72 + 56) as usize..];
    assert_eq!((manifest[4], u64_at(manifest, 8)), (3, 8 + 80 + 8 + 80), "kind, length");
    let manifest = &manifest[72..];
    assert_eq!(
        (u64_at(manifest, 0), u64_at(manifest, 88)),
        (1 << 32 | 2, 1),
        "version and count, count and zeros"
    );
    for (entry, first, content) in [(8, 1, b"index".as_slice()), (96, 2, b"of two")] {
        let field = |offset| u64_at(manifest, entry + offset);
        assert_eq!((field(8), field(16)), (first, 3), "first, next");
        let (offset, len) = (field(24) as usize, field(32) as usize);
        assert_eq!(
            (field(0), file[offset + 4], u64_at(&file, offset + 8)),
            (offset as u64, 2, len as u64),
            "id, kind, length"
        );
        assert_eq!(manifest[entry + 40..][..32], file[offset + 32..][..32], "hash of the payload");
        assert!(file[offset + 72..][..len].windows(content.len()).any(|window| window == content));
    }
}

/// The sample was written once, by `examples/make_sample.rs`, and is never written again.
#[test]
fn the_sample_of_version_1_opens() {
    let sample = sample("v1.kapsa");
    let report = verify(&sample, &mut |_, _| {}).expect("can be checked");
    assert_eq!((report.problems.len(), report.records, report.commits), (0, 1003, 3));
    let snapshot = Snapshot::open(&sample).expect("opens");
    let all = bodies(&snapshot);
    assert_eq!(
        (all[0].as_slice(), all[2].as_slice()),
        (b"sample record one".as_slice(), b"purged".as_slice())
    );
    assert_eq!(snapshot.segments().len(), 2);
}
