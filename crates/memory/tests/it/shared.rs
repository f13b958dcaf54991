//! Many threads, one writer: every record once, each thread's in its own order, many in one commit.

use std::sync::{Arc, Barrier};

use kapsa_memory::{Error, NewRecord, SharedWriter, stats};

use crate::{Fixture, named, uri};

const THREADS: usize = 8;
const PUTS: usize = 40;

#[test]
fn concurrent_puts_share_commits_and_keep_the_order_of_each_thread() {
    let f = Fixture::new();
    let shared = SharedWriter::new(f.writer());
    let start = Arc::new(Barrier::new(THREADS));
    let workers: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (shared, start) = (shared.clone(), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                let put = |n| {
                    shared
                        .put(named(&format!("t{thread}/{n}"), &format!("text {thread} {n}")))
                        .expect("put")
                        .sequence
                };
                (0..PUTS).map(put).collect::<Vec<u64>>()
            })
        })
        .collect();
    let sequences: Vec<Vec<u64>> =
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect();
    let reader = f.reader();
    for (thread, sequences) in sequences.iter().enumerate() {
        assert!(sequences.is_sorted(), "thread {thread}: {sequences:?}");
        for (n, &sequence) in sequences.iter().enumerate() {
            let record = reader.get(&uri(&format!("t{thread}/{n}"))).expect("there");
            assert_eq!((record.sequence, record.text), (sequence, format!("text {thread} {n}")));
        }
    }
    let stats = stats(&reader, true).expect("counted");
    assert_eq!(stats.last_sequence, (THREADS * PUTS) as u64);
    assert!(
        stats.commit_count < stats.last_sequence,
        "{} commits for {} records",
        stats.commit_count,
        stats.last_sequence
    );
    drop(shared);
    f.assert_whole();
}

#[test]
fn a_record_that_breaks_a_limit_harms_nobody_else() {
    let f = Fixture::new();
    let shared = SharedWriter::new(f.writer());
    assert!(matches!(
        shared.put(NewRecord::text("")),
        Err(Error::InvalidRecord { field: "text", .. })
    ));
    assert_eq!(shared.put(NewRecord::text("fine")).expect("put").sequence, 1);
    let forgotten = shared.exclusively(|writer| writer.forget(&uri("never/was")));
    assert!(matches!(forgotten, Err(Error::UriNotFound { .. })));
    assert_eq!(shared.put(NewRecord::text("still fine")).expect("put").sequence, 2);
}
