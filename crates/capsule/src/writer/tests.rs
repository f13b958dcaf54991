//! What no writer of ours leaves behind, put together by hand.

use super::*;
use crate::create::{NewCapsule, create};

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
