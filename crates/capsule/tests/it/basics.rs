//! Writing, reading back, segments, rewriting, the lock.

use std::time::Duration;

use kapsa_capsule::{
    COMMIT_RECORDS_MAX, DerivedDraft, Error, FileSystem, LockState, NewCapsule, RECORD_BYTES_MAX,
    SECTIONS_MAX, SegmentDraft, Snapshot, Stored, Writer, WriterOptions, create, lock_state,
};

use crate::{assert_whole, bodies, dictionaries, fixture, put, rewrite_all, segment, writer};

#[test]
fn records_come_back_in_order_after_each_reopen() {
    let f = fixture();
    for round in 0..20u64 {
        let mut w = writer(&f.path);
        let next =
            put(&mut w, &[format!("first of {round}").as_bytes(), b"", &vec![round as u8; 5000]]);
        assert_eq!(next, round * 3 + 4);
    }
    let snapshot = Snapshot::open(&f.path).expect("opens");
    assert_eq!(snapshot.commit().number, 20);
    let all = bodies(&snapshot);
    assert_eq!(all.len(), 60);
    assert_eq!(all[57], b"first of 19");
    assert_eq!(all[59], vec![19; 5000]);
    assert!(matches!(snapshot.record(61), Err(Error::NoSuchRecord { sequence: 61 })));
    assert!(matches!(snapshot.record(0), Err(Error::NoSuchRecord { .. })));
    let report = assert_whole(&f.path);
    assert_eq!((report.records, report.commits, report.torn_bytes), (60, 20, 0));
}

#[test]
fn a_snapshot_never_changes() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"a"]);
    let before = Snapshot::open(&f.path).expect("opens");
    put(&mut w, &[b"b"]);
    assert_eq!(bodies(&before), [b"a"]);
    assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")).len(), 2);
    assert_eq!(bodies(&w.snapshot().expect("opens")).len(), 2);
}

#[test]
fn an_uncommitted_transaction_leaves_nothing() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"kept"]);
    let length = std::fs::metadata(&f.path).expect("there").len();
    let big: Vec<u8> =
        (0..30_000_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut transaction = w.begin().expect("begins");
    for part in big.chunks(1 << 20) {
        transaction.append(part).expect("appends");
    }
    drop(transaction);
    assert!(std::fs::metadata(&f.path).expect("there").len() > length, "it spilled");
    assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")), [b"kept"]);
    put(&mut w, &[b"next"]);
    assert_eq!(bodies(&w.snapshot().expect("opens")), [b"kept".to_vec(), b"next".to_vec()]);
    assert_whole(&f.path);
}

#[test]
fn bulk_is_packed_with_a_dictionary_and_later_batches_use_it() {
    let f = fixture();
    let text = |i: usize| {
        format!(
            "record {i}: the quick brown fox jumps over the lazy dog, once more, number {}",
            i * 7919
        )
        .repeat(9)
    };
    let mut plain = 0;
    for batch in 0..3 {
        let mut w = writer(&f.path);
        let mut transaction = w.begin().expect("begins");
        for i in batch * 4000..(batch + 1) * 4000 {
            plain += text(i).len();
            transaction.append(text(i).as_bytes()).expect("appends");
        }
        transaction.commit(1).expect("commits");
    }
    assert!(std::fs::metadata(&f.path).expect("there").len() < plain as u64 / 4, "packed");
    assert_eq!(dictionaries(&f.path), 1, "learned by the first batch");
    let snapshot = Snapshot::open(&f.path).expect("opens");
    for i in [0usize, 1, 3999, 4000, 11_999] {
        assert_eq!(
            snapshot.record(i as u64 + 1).expect("there").stored(),
            Stored::Body(text(i).as_bytes())
        );
    }
    assert_eq!(assert_whole(&f.path).records, 12_000);
}

#[test]
fn segments_join_are_replaced_and_lead_to_their_records() {
    let f = fixture();
    let mut w = writer(&f.path);
    for i in 0..10u8 {
        put(&mut w, &[&[i; 10], &[i; 20]]);
    }
    for (first, next) in [(1, 5), (5, 12)] {
        let mut t = w.begin().expect("begins");
        t.add_segment(segment(first, next, &[first as u8; 100_000])).expect("joins");
        t.commit(2).expect("commits");
    }
    let s = w.snapshot().expect("opens");
    assert_eq!(
        (s.segments().len(), s.tail().start, s.tail(), s.tail_bytes()),
        (2, 12, 12..21, 5 * 20 + 4 * 10)
    );
    assert_eq!(bodies(&s).len(), 20);
    let mut t = w.begin().expect("begins");
    t.append(b"new").expect("appends");
    t.add_segment(segment(12, 22, b"tail")).expect("joins");
    t.add_segment(segment(1, 12, b"merged")).expect("replaces both");
    assert!(matches!(t.add_segment(segment(2, 12, b"x")), Err(Error::Misuse { .. })));
    assert!(matches!(t.add_segment(segment(1, 13, b"x")), Err(Error::Misuse { .. })));
    assert!(matches!(t.add_segment(segment(22, 24, b"x")), Err(Error::Misuse { .. })));
    t.commit(3).expect("commits");
    let s = Snapshot::open(&f.path).expect("opens");
    assert_eq!((s.segments().len(), s.tail().start, s.tail_bytes()), (2, 22, 0));
    let section = s.section(0, *b"test    ").expect("whole").expect("there");
    assert_eq!(&section.read_all().expect("whole")[..], b"merged");
    assert!(s.section(0, *b"nothing ").expect("whole").is_none());
    assert_eq!(bodies(&s).len(), 21);
    assert_eq!(assert_whole(&f.path).commits, 11);
}

#[test]
fn rewriting_keeps_the_chain_and_erases_what_is_purged() {
    let f = fixture();
    let mut w = writer(&f.path);
    for i in 0..50u32 {
        put(&mut w, &[format!("record number {i}").as_bytes()]);
    }
    for _ in 0..2 {
        let before = w.snapshot().expect("opens").commit();
        let mut rewrite = w.rewrite().expect("begins");
        let old = rewrite.old().clone();
        for record in old.records(1) {
            let record = record.expect("readable");
            let hash = record.stored().hash();
            let purge = record.sequence() == 7;
            rewrite
                .append(if purge { Stored::Purged(&hash) } else { record.stored() })
                .expect("appends");
        }
        let next = before.next_sequence;
        rewrite.add_segment(segment(1, next, b"s")).expect("joins");
        assert_eq!(rewrite.finish(&mut w).expect("finishes"), before);
        let file = std::fs::read(&f.path).expect("there");
        assert!(!file.windows(15).any(|w| w == b"record number 6"), "erased from the file");
        put(&mut w, &[b"after"]);
        let report = assert_whole(&f.path);
        assert_eq!(report.commits, before.number + 1);
    }
    assert_eq!(w.snapshot().expect("opens").file().generation, 3);
    drop(w);
    let s = Snapshot::open(&f.path).expect("opens");
    assert_eq!(s.commit().next_sequence, 53);
    assert_eq!(bodies(&s)[6], b"purged");
    assert_eq!(FileSystem.leftovers(&f.path).expect("listed"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_rewrite_that_is_dropped_changes_nothing() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"a", b"b"]);
    let before = std::fs::read(&f.path).expect("there");
    let mut rewrite = w.rewrite().expect("begins");
    rewrite.append(Stored::Body(b"a")).expect("appends");
    assert!(matches!(rewrite.finish(&mut w), Err(Error::Misuse { .. })), "a record is missing");
    assert_eq!(std::fs::read(&f.path).expect("there"), before);
    assert_eq!(put(&mut w, &[b"c"]), 4);
}

#[test]
fn a_reader_of_the_old_file_keeps_it_while_it_is_rewritten() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"a"]);
    let reader = Snapshot::open(&f.path).expect("opens");
    let mut rewrite = w.rewrite().expect("begins");
    rewrite.append(Stored::Body(b"a")).expect("appends");
    rewrite.finish(&mut w).expect("finishes");
    assert_eq!(bodies(&reader), [b"a"]);
}

#[test]
fn a_second_writer_is_told_who_holds_the_lock() {
    let f = fixture();
    let mut options = WriterOptions::default();
    options.holder.pid = 4711;
    options.holder.host = "here".to_string();
    let first = Writer::open(&f.path, &options).expect("opens");
    let refused = Writer::open(&f.path, &WriterOptions::default()).expect_err("it is held");
    assert!(refused.to_string().contains("pid 4711 of"), "{refused}");
    match refused {
        Error::LockedByWriter { holder: Some(holder), .. } => {
            assert_eq!((holder.pid, holder.host.as_str()), (4711, "here"))
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(lock_state(&f.path), Ok(LockState::Held(h)) if h.pid == 4711));
    Snapshot::open(&f.path).expect("a reader needs no lock");
    let waiting = std::thread::spawn({
        let path = f.path.clone();
        move || {
            Writer::open(
                &path,
                &WriterOptions {
                    lock_timeout: Duration::from_secs(20),
                    ..WriterOptions::default()
                },
            )
            .map(drop)
        }
    });
    std::thread::sleep(Duration::from_millis(30));
    drop(first);
    waiting.join().expect("no panic").expect("its turn came");
    assert_eq!(lock_state(&f.path).expect("readable"), LockState::Free);
}

#[test]
fn a_replaced_lock_file_or_a_link_in_its_place_does_no_harm() {
    let f = fixture();
    let lock = kapsa_capsule::lock_path(&f.path);
    let victim = f.path.with_extension("victim");
    std::fs::write(&victim, b"precious").expect("written");
    std::fs::remove_file(&lock).expect("there");
    std::os::unix::fs::symlink(&victim, &lock).expect("linked");
    assert!(matches!(
        Writer::open(&f.path, &WriterOptions::default()),
        Err(Error::ForeignLock { .. })
    ));
    assert_eq!(std::fs::read(&victim).expect("there"), b"precious");
}

#[test]
fn a_snapshot_that_outlives_its_writer_keeps_nobody_from_writing() {
    let f = fixture();
    let mut first = writer(&f.path);
    put(&mut first, &[b"one"]);
    let kept = first.snapshot().expect("opens");
    drop(first);
    put(&mut writer(&f.path), &[b"two"]);
    assert_eq!(bodies(&kept), [b"one".to_vec()]);
}

#[test]
fn a_moved_capsule_is_not_written_behind_its_owners_back() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"a"]);
    std::fs::rename(&f.path, f.path.with_extension("moved")).expect("moved");
    assert!(matches!(w.begin(), Err(Error::Replaced { .. })));
}

#[test]
fn create_leaves_what_is_there() {
    let f = fixture();
    put(&mut writer(&f.path), &[b"a"]);
    let before = std::fs::read(&f.path).expect("there");
    let new = NewCapsule { capsule_id: [9; 16], created_us: 9 };
    assert!(!create(&f.path, new, &WriterOptions::default()).expect("it exists"));
    assert_eq!(std::fs::read(&f.path).expect("there"), before);
    let foreign = f.path.with_extension("mv2");
    std::fs::write(&foreign, b"MV2\0\x01 not ours").expect("written");
    match create(&foreign, new, &WriterOptions::default()) {
        Err(Error::NotACapsule { found, .. }) => assert!(found.contains("memvid"), "{found}"),
        other => panic!("{other:?}"),
    }
    assert!(!kapsa_capsule::lock_path(&foreign).exists(), "nothing beside a stranger's file");
    assert!(matches!(
        Writer::open(&foreign, &WriterOptions::default()),
        Err(Error::NotACapsule { .. })
    ));
    assert!(!kapsa_capsule::lock_path(&foreign).exists());
}

#[test]
fn the_bytes_of_the_tail_are_counted_and_a_directory_names_the_frames_of_its_records() {
    let f = fixture();
    let mut w = writer(&f.path);
    let check = |w: &mut Writer, segments: &[usize]| {
        let s = w.snapshot().expect("opens");
        let tail = s.records(s.tail().start).map(|record| match record.expect("there").stored() {
            Stored::Body(body) => body.len() as u64,
            Stored::Purged(_) => panic!("none is purged"),
        });
        assert_eq!(s.tail_bytes(), tail.sum::<u64>(), "{:?}", s.tail());
        let frames =
            |index| s.section(index, *b"recdir  ").expect("whole").expect("there").len() / 16;
        assert_eq!((0..s.segments().len()).map(frames).collect::<Vec<_>>(), segments);
    };
    let index = |w: &mut Writer, bodies: &[&[u8]], first, next| {
        let mut t = w.begin().expect("begins");
        for body in bodies {
            t.append(body).expect("appends");
        }
        t.add_segment(segment(first, next, b"index")).expect("joins");
        assert_eq!(t.segments().last().expect("one").next_sequence, next);
        t.commit(2).expect("commits");
    };
    put(&mut w, &[b"aaa", b"bbbbb"]);
    put(&mut w, &[b"c"]);
    check(&mut w, &[]);
    index(&mut w, &[b"dddd"], 1, 3);
    check(&mut w, &[1]);
    put(&mut w, &[b"ee"]);
    index(&mut w, &[b"ffffff"], 3, 6);
    check(&mut w, &[1, 3]);
    index(&mut w, &[b"ggggggg", b"hhhhhhhh"], 6, 8);
    check(&mut w, &[1, 3, 2]);
    index(&mut w, &[], 8, 9);
    check(&mut w, &[1, 3, 2, 1]);
    let s = w.snapshot().expect("opens");
    for (sequence, body) in (1..).zip(bodies(&s)) {
        let record = s.record(sequence).expect("there");
        assert_eq!(record.stored(), Stored::Body(&body));
    }
}

#[test]
fn a_body_that_is_as_long_as_a_hash_is_a_body() {
    let f = fixture();
    put(&mut writer(&f.path), &[&[7; 32]]);
    assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")), [[7; 32]]);
}

#[test]
fn a_transaction_that_spills_in_many_parts_is_read_as_one() {
    let f = fixture();
    let mut w = writer(&f.path);
    w.set_buffers(kapsa_capsule::Buffers { pending_bytes: 100, spill_bytes: 300 });
    let all: Vec<Vec<u8>> = (0..20u8).map(|n| vec![n; 90]).collect();
    put(&mut w, &all.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_eq!(bodies(&Snapshot::open(&f.path).expect("opens")), all);
    assert_whole(&f.path);
}

#[test]
fn a_record_and_a_transaction_are_not_larger_than_their_limits() {
    let f = fixture();
    let mut w = writer(&f.path);
    let mut t = w.begin().expect("begins");
    let largest = vec![0; RECORD_BYTES_MAX + 1];
    assert!(matches!(t.append(&largest), Err(Error::TooLarge { .. })));
    assert_eq!(t.append(&largest[1..]).expect("fits"), 1);
    for _ in 1..COMMIT_RECORDS_MAX {
        t.append(b"").expect("fits");
    }
    assert!(matches!(t.append(b""), Err(Error::TooLarge { .. })));
}

#[test]
fn a_segment_has_as_many_sections_as_the_limit_says_with_the_capsules_own() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    let sections = |count: usize| (0..count).map(|n| ([n as u8; 8], vec![1])).collect();
    let segment =
        |count| SegmentDraft { first_sequence: 1, next_sequence: 2, sections: sections(count) };
    let mut t = w.begin().expect("begins");
    assert!(matches!(t.add_segment(segment(SECTIONS_MAX)), Err(Error::Misuse { .. })));
    t.add_segment(segment(SECTIONS_MAX - 1)).expect("with the directory they are as many");
    let derived =
        DerivedDraft { first_sequence: 1, next_sequence: 2, sections: sections(SECTIONS_MAX) };
    t.add_derived(derived, &[]).expect("it has no directory");
    t.commit(2).expect("commits");
    assert_whole(&f.path);
}

#[test]
fn a_view_is_renewed_only_when_something_was_committed() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    let s = Snapshot::open(&f.path).expect("opens");
    assert!(s.renewed().expect("opens").is_same(&s));
    assert!(!Snapshot::open(&f.path).expect("opens").is_same(&s));
    put(&mut w, &[b"two"]);
    let renewed = s.renewed().expect("opens");
    assert!(!renewed.is_same(&s));
    assert_eq!((bodies(&s).len(), bodies(&renewed).len()), (1, 2));
}

#[test]
fn an_empty_capsule_has_no_attachments() {
    let f = fixture();
    assert_eq!(Snapshot::open(&f.path).expect("opens").attachments().expect("readable"), []);
}

#[test]
fn a_dropped_rewrite_leaves_no_file_and_a_finished_one_has_its_segments() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    drop(w.rewrite().expect("begins"));
    assert_eq!(std::fs::read_dir(f.path.parent().expect("a folder")).expect("listed").count(), 2);
    let mut rewrite = w.rewrite().expect("begins");
    rewrite.append(Stored::Body(b"one")).expect("appends");
    rewrite.add_segment(segment(1, 2, b"index")).expect("joins");
    rewrite.finish(&mut w).expect("finishes");
    assert_eq!(w.snapshot().expect("opens").segments().len(), 1);
}

#[test]
fn a_capsule_with_two_names_is_not_rewritten() {
    let f = fixture();
    let mut w = writer(&f.path);
    put(&mut w, &[b"one"]);
    let other = f.path.with_extension("other");
    std::fs::hard_link(&f.path, &other).expect("linked");
    assert!(matches!(w.rewrite().map(drop), Err(Error::Misuse { .. })));
    std::fs::remove_file(&other).expect("removed");
    assert_eq!(rewrite_all(&mut w), 1);
}

/// The file itself is locked as well.
#[test]
fn a_lock_file_that_was_taken_away_lets_nobody_write_beside_the_writer() {
    let f = fixture();
    let first = writer(&f.path);
    std::fs::remove_file(kapsa_capsule::lock_path(&f.path)).expect("removed");
    let second = Writer::open(&f.path, &WriterOptions::default()).map(drop);
    assert!(matches!(second, Err(Error::LockedByWriter { holder: None, .. })), "{second:?}");
    drop(first);
    drop(writer(&f.path));
}

#[test]
fn a_folder_and_a_device_are_not_capsules() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = |error: Option<Error>| match error {
        Some(Error::NotACapsule { found, .. }) => found,
        other => panic!("{other:?}"),
    };
    let device = std::path::Path::new("/dev/null");
    assert_eq!(found(Snapshot::open(device).err()), "it is not a regular file");
    assert_eq!(found(Snapshot::open(folder.path()).err()), "it is not a regular file");
    let options = WriterOptions::default();
    assert_eq!(found(Writer::open(folder.path(), &options).err()), "it is a folder");
}

/// Whoever opens a pipe may wait for its other end for ever.
#[test]
fn a_pipe_is_neither_a_capsule_nor_a_lock_file() {
    let f = fixture();
    let pipe = kapsa_capsule::lock_path(&f.path);
    std::fs::remove_file(&pipe).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "every system has mkfifo");
    assert!(matches!(lock_state(&f.path), Err(Error::ForeignLock { .. })));
    let options = WriterOptions::default();
    assert!(matches!(Writer::open(&f.path, &options), Err(Error::ForeignLock { .. })));
    assert!(matches!(Snapshot::open(&pipe), Err(Error::NotACapsule { .. })));
}
