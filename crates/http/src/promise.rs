//! The work of a thread as a future. Knows nothing of the work.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// The result of a thread: none if it panicked.
pub(crate) struct Promise<T> {
    shared: Arc<Mutex<Shared<T>>>,
}

struct Shared<T> {
    /// Set once the thread is done; the inner option is none if it panicked.
    outcome: Option<Option<T>>,
    waker: Option<Waker>,
}

/// Runs `work` on a thread of its own. It can ask whether anybody still waits: nobody does once the
/// promise is dropped.
pub(crate) fn on_thread<T: Send + 'static>(
    work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
) -> io::Result<Promise<T>> {
    let shared = Arc::new(Mutex::new(Shared { outcome: None, waker: None }));
    let weak = Arc::downgrade(&shared);
    thread::Builder::new().name("kapsa-http".to_owned()).spawn(move || {
        // What `work` owns is dropped in a panic, so nobody sees it in a broken state.
        // May be dropped: its hook reported the panic; whoever waits gets none, which is an error.
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&|| weak.strong_count() > 0))).ok();
        if let Some(shared) = weak.upgrade() {
            let waker = {
                let mut shared = lock(&shared);
                shared.outcome = Some(outcome);
                shared.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    })?;
    Ok(Promise { shared })
}

impl<T> Future for Promise<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut shared = lock(&self.shared);
        match shared.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                shared.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use kapsa_model::block_on;

    use super::*;

    #[test]
    fn a_promise_is_kept_early_or_late() {
        for wait in [0, 30] {
            let promise = on_thread(move |_| {
                thread::sleep(Duration::from_millis(wait));
                wait
            });
            thread::sleep(Duration::from_millis(15));
            assert_eq!(block_on(promise.unwrap()), Some(wait));
        }
    }

    #[test]
    fn a_panic_does_not_leave_one_waiting() {
        assert_eq!(block_on(on_thread::<()>(|_| panic!("on purpose")).unwrap()), None);
    }

    #[test]
    fn a_thread_learns_that_nobody_waits() {
        let (report, reports) = mpsc::channel();
        let (drop_it, dropped) = mpsc::channel();
        let promise = on_thread(move |is_awaited| {
            report.send(is_awaited()).unwrap();
            dropped.recv().unwrap();
            report.send(is_awaited()).unwrap();
        });
        assert!(reports.recv().unwrap());
        drop(promise);
        drop_it.send(()).unwrap();
        assert!(!reports.recv().unwrap());
    }
}
