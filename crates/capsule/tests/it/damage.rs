//! What was acknowledged before a torn tail is there; a file without commit pointers is walked; a
//! newer format is refused.

use kapsa_capsule::{Error, Snapshot};

use crate::{assert_whole, bodies, fixture, put, segment, writer};

fn small_capsule() -> (crate::Fixture, Vec<u8>) {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one", &[b'x'; 600]]);
    let mut t = w.begin().expect("begins");
    t.append(b"two").expect("appends");
    t.add_segment(segment(1, 4, b"index")).expect("joins");
    t.commit(2).expect("commits");
    put(&mut w, &[b"three"]);
    drop(w);
    let bytes = std::fs::read(&f.path).expect("there");
    (f, bytes)
}

#[test]
fn a_torn_tail_is_ignored_by_readers_and_cut_by_the_next_writer() {
    let (f, bytes) = small_capsule();
    put(&mut writer(&f.path), &[b"four", &[b'y'; 3000]]);
    let longer = std::fs::read(&f.path).expect("there");
    // The commit pointer of the last commit never reached the disk, and its frames only in part.
    for len in bytes.len()..longer.len() {
        let mut torn = bytes.clone();
        torn.extend_from_slice(&longer[bytes.len()..len]);
        std::fs::write(&f.path, &torn).expect("written");
        assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")).len(), 4);
        assert_eq!(assert_whole(&f.path).torn_bytes, (len - bytes.len()) as u64);
        if len % 37 == 0 {
            assert_eq!(put(&mut writer(&f.path), &[b"five"]), 6);
            assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens"))[4], b"five");
            assert_eq!(assert_whole(&f.path).torn_bytes, 0);
        }
    }
    let mut unpointed = bytes.clone();
    unpointed.extend_from_slice(&longer[bytes.len()..]);
    std::fs::write(&f.path, &unpointed).expect("written");
    assert_eq!(
        bodies(&Snapshot::open(&f.path).expect("opens")).len(),
        6,
        "a whole commit exists without its commit pointer"
    );
    assert_eq!(put(&mut writer(&f.path), &[b"seven"]), 8);
    assert_whole(&f.path);
}

#[test]
fn without_any_commit_pointer_the_log_is_walked_from_its_start() {
    let (f, mut bytes) = small_capsule();
    bytes[4096..12_288].fill(0);
    std::fs::write(&f.path, &bytes).expect("written");
    assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")).len(), 4);
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let (f, mut bytes) = small_capsule();
    bytes[8] = 2;
    std::fs::write(&f.path, &bytes).expect("written");
    match Snapshot::open(&f.path) {
        Err(Error::VersionMismatch { found, .. }) => {
            assert!(found.contains("version 2"), "{found}")
        }
        other => panic!("{other:?}"),
    }
}
