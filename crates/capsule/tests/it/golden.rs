//! Holds the code to the offsets of `docs/format.md`, and opens the sample of each format version
//! for ever.

use std::path::Path;

use kapsa_capsule::{Snapshot, verify};

use crate::{bodies, derived, fixture, put, segment, writer};

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
        (32 + 4 + 5, 12_288, 1)
    );
    assert_eq!(u64_at(records, 72), 1, "first sequence");
    assert_eq!(&records[72 + 32 + 4..][..5], b"hello");
    let commit = &file[commit_offset..];
    assert_eq!((&commit[..4], commit[4], commit.len()), (b"KFRM".as_slice(), 5, 72 + 256));
    let field = |offset| u64_at(&commit[72..], offset);
    assert_eq!(
        (field(0), field(8), field(16), field(32), field(40), field(48)),
        (1, 1, 7, 12_288, 1, 2)
    );
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
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/v1.kapsa");
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
