//! Threads that take pieces of work one after the other. Knows nothing of models.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does `work` with each of the pieces, by at most `threads` threads, and gives the results in the
/// order of the pieces. Each thread keeps what `begin` made for it.
pub(crate) fn share<P: Sync, S, R: Send>(
    pieces: &[P],
    threads: usize,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &P) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let (mut kept, mut done) = (begin(), Vec::new());
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(place) else { return done };
            done.push((place, work(&mut kept, piece)));
        }
    };
    // What a thread does not do that the system did not grant, the others do.
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(pieces.len()))
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, take).ok())
            .collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().expect("arithmetic does not panic"));
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
