//! A large record is durable before its words are in the index, and nobody waits for those.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use kapsa_memory::{
    NewRecord, Reader, TAIL_BYTES_MAX, TAIL_RECORDS_MAX, WriteOptions, Writer, optimize, stats,
};

use crate::{Fixture, clock};

/// Words that no other text has, more than the tail may hold.
fn large(name: &str) -> String {
    let mut text = String::from(name);
    for number in 0u64.. {
        if text.len() as u64 > TAIL_BYTES_MAX {
            break;
        }
        let _strings_never_fail = write!(text, " {name}{number}");
    }
    text
}

fn unindexed(f: &Fixture) -> u64 {
    let stats = stats(&f.reader(), true).expect("counted");
    stats.tail_records
}

/// Where the clock puts a record of its own, once.
static PLACE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A clock in the hand of somebody who also wants to write: it can only when the lock is free.
fn impatient() -> i64 {
    let place = PLACE.lock().expect("one thread at a time").take();
    if let Some(path) = place {
        let writer = Writer::open(&path, WriteOptions::new(clock));
        writer.expect("the lock is free").put(NewRecord::text("between")).expect("stored");
    }
    clock()
}

#[test]
fn others_write_while_a_large_record_is_indexed() {
    let f = Fixture::new();
    let mut writer = Writer::open(&f.path, WriteOptions::new(impatient)).expect("opens");
    let text = large("big");
    writer.put(NewRecord::text(&text)).expect("stored");
    assert!(writer.leaves_index());
    assert_eq!(unindexed(&f), 1, "durable, and no index was built under the lock");
    assert_eq!(f.texts("big1000"), [text.as_str()]);
    *PLACE.lock().expect("not poisoned") = Some(f.path.clone());
    drop(writer);
    assert_eq!(*PLACE.lock().expect("not poisoned"), None, "somebody else wrote meanwhile");
    assert_eq!(unindexed(&f), 1, "all but what was put meanwhile");
    assert_eq!(f.texts("big1000"), [text.as_str()]);
    assert_eq!(f.texts("between"), ["between"]);
    f.assert_whole();
}

#[test]
fn what_a_dead_writer_left_is_indexed_by_a_later_one() {
    let f = Fixture::new();
    let mut dead = f.writer();
    dead.put(NewRecord::text(large("big"))).expect("stored");
    let left = f.path.with_file_name("left.kapsa");
    std::fs::copy(&f.path, &left).expect("as it is when the process dies here");
    drop(dead);
    let put = |n: u64| {
        let mut writer = Writer::open(&left, WriteOptions::new(clock)).expect("opens");
        writer.put(NewRecord::text(format!("small {n}"))).expect("stored");
        assert_eq!(writer.leaves_index(), n == TAIL_RECORDS_MAX, "{n}");
    };
    (1..=TAIL_RECORDS_MAX).for_each(put);
    let reader = Reader::open(&left).expect("opens");
    assert_eq!(stats(&reader, true).expect("counted").tail_records, 0);
}

#[test]
fn whoever_keeps_the_lock_indexes_under_it_in_the_end() {
    let f = Fixture::new();
    let mut writer = f.writer();
    writer.put(NewRecord::text(large("big"))).expect("stored");
    for n in 0..TAIL_RECORDS_MAX {
        writer.put(NewRecord::text(format!("small {n}"))).expect("stored");
    }
    assert!(!writer.leaves_index());
    assert_eq!(unindexed(&f), 0);
}

#[test]
fn optimize_indexes_what_was_left() {
    let f = Fixture::new();
    let mut writer = f.writer();
    writer.put(NewRecord::text(large("big"))).expect("stored");
    let left = f.path.with_file_name("left.kapsa");
    std::fs::copy(&f.path, &left).expect("as it is when the process dies here");
    optimize(&left, &WriteOptions::new(clock), &mut |_, _| {}).expect("optimised");
    let reader = Reader::open(&left).expect("opens");
    assert_eq!(stats(&reader, true).expect("counted").tail_records, 0);
}
