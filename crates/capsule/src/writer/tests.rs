//! What no writer of ours leaves behind, put together by hand.

use super::*;
use crate::create::{NewCapsule, create};
use crate::format::LOG_START;
use crate::format::segment::RecordsPlace;

/// A file with more in its tail than readers hold, as no writer of ours leaves it: packed, it is
/// small.
#[test]
fn a_tail_beyond_its_limit_is_neither_written_nor_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.kapsa");
    let options = WriterOptions::default();
    let new = NewCapsule { capsule_id: [7; 16], created_us: 1 };
    create(&path, new, &options).expect("created");
    let mut writer = Writer::open(&path, &options).expect("opens");
    let body = vec![b'x'; 30 << 20];
    for round in 0..5 {
        let mut transaction = writer.begin().expect("begins");
        transaction.append(&body).expect("appended");
        let Transaction { core, draft, published } = &mut transaction;
        draft.flush(&mut core.packer, &*core.storage).expect("flushed");
        let tail = Tail { places: &[], first_sequence: 1, lengths: &[] };
        let finished = draft.finish(Ending::Next { time_us: 1 }, tail);
        let refused = expect_readable_tail(&finished.head.commit);
        assert_eq!(refused.is_err(), round == 4, "{refused:?}");
        core.publish(&finished).expect("published");
        *published = true;
    }
    drop(writer);
    assert!(std::fs::metadata(&path).expect("there").len() < 1 << 20);
    let snapshot = Snapshot::open(&path).expect("opens");
    match snapshot.record(1) {
        Err(Error::Corrupt { what, .. }) => assert!(what.contains("limit"), "{what}"),
        other => panic!("{other:?}"),
    }
}

/// A directory that names one frame for the records of two.
#[test]
fn a_directory_that_leaves_a_frame_out_leads_to_no_other_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.kapsa");
    let options = WriterOptions::default();
    create(&path, NewCapsule { capsule_id: [7; 16], created_us: 1 }, &options).expect("created");
    let mut writer = Writer::open(&path, &options).expect("opens");
    for body in [b"one", b"two"] {
        let mut transaction = writer.begin().expect("begins");
        transaction.append(body).expect("appended");
        transaction.commit(1).expect("committed");
    }
    let mut transaction = writer.begin().expect("begins");
    let sections = vec![(*b"test    ", vec![1])];
    let segment = SegmentDraft { first_sequence: 1, next_sequence: 3, sections };
    let first = RecordsPlace { first_sequence: 1, frame_offset: LOG_START };
    add_segment(&mut transaction.draft, segment, vec![first]).expect("joins");
    transaction.commit(1).expect("committed");
    let snapshot = writer.snapshot().expect("opens");
    assert!(snapshot.record(1).is_ok());
    assert!(matches!(snapshot.record(2), Err(Error::Corrupt { .. })));
    let mut all = snapshot.records(1);
    assert!(matches!(all.next(), Some(Ok(_))));
    assert!(matches!(all.next(), Some(Err(Error::Corrupt { .. }))));
}
