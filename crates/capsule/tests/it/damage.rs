//! Every flipped bit, every cut, is seen; what was acknowledged before a torn tail is there.

use kapsa_capsule::{Error, Snapshot, verify};

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
fn every_flipped_bit_is_found_by_verify_and_never_read_as_something_else() {
    let (f, bytes) = small_capsule();
    let good = bodies(&Snapshot::open(&f.path).expect("opens"));
    for position in 0..bytes.len() {
        // Where zeros must be, one bit of each byte will do.
        let bits = if bytes[position] == 0 { position % 8..position % 8 + 1 } else { 0..8 };
        for bit in bits {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << bit;
            std::fs::write(&f.path, &damaged).expect("written");
            let found = verify(&f.path, &mut |_, _| {});
            let torn_hint = matches!(&found, Ok(report) if report.problems.is_empty());
            assert!(!torn_hint, "byte {position} bit {bit} went unseen");
            if let Ok(snapshot) = Snapshot::open(&f.path) {
                for record in snapshot.records(1).flatten() {
                    let expected = &good[record.sequence() as usize - 1];
                    assert_eq!(record.stored(), kapsa_capsule::Stored::Body(expected), "byte {position} bit {bit}");
                }
                for index in 0..snapshot.segments().len() {
                    if let Ok(Some(section)) = snapshot.section(index, *b"test    ")
                        && let Ok(bytes) = section.read_all()
                    {
                        assert_eq!(&bytes[..], b"index", "byte {position} bit {bit}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_cut_is_reported_or_leaves_an_older_whole_state() {
    let (f, bytes) = small_capsule();
    for len in 0..bytes.len() {
        std::fs::write(&f.path, &bytes[..len]).expect("written");
        let opened = Snapshot::open(&f.path);
        let told = matches!(opened, Err(Error::Truncated { .. } | Error::NotACapsule { .. } | Error::Corrupt { .. }));
        assert!(told, "a file cut to {len} bytes opened as {opened:?}");
    }
}

#[test]
fn a_torn_tail_is_ignored_by_readers_and_cut_by_the_next_writer() {
    let (f, bytes) = small_capsule();
    put(&mut writer(&f.path), &[b"four", &[b'y'; 3000]]);
    let longer = std::fs::read(&f.path).expect("there");
    // The hint of the last commit never reached the disk, and its frames only in part.
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
    let mut unhinted = bytes.clone();
    unhinted.extend_from_slice(&longer[bytes.len()..]);
    std::fs::write(&f.path, &unhinted).expect("written");
    assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")).len(), 6, "a whole commit exists without its hint");
    assert_eq!(put(&mut writer(&f.path), &[b"seven"]), 8);
    assert_whole(&f.path);
}

#[test]
fn without_any_hint_the_log_is_walked_from_its_start() {
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
        Err(Error::VersionMismatch { found, .. }) => assert!(found.contains("version 2"), "{found}"),
        other => panic!("{other:?}"),
    }
}
