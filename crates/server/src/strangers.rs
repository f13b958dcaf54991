//! Connections of clients that have not shown the token yet. They have few places: when all are
//! taken, whoever came first leaves, so that nobody who has the token is kept out by many who have
//! not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Most connections at once of clients that have not shown the token.
pub(crate) const STRANGERS_MAX: usize = 64;

/// The connections, in the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct Strangers(Arc<Mutex<VecDeque<Arc<CancellationToken>>>>);

impl Strangers {
    /// Lets one in, in the place of another where all are taken.
    pub(crate) fn admit(&self) -> Stranger {
        let leaves = Arc::new(CancellationToken::new());
        let mut all = self.all();
        if all.len() >= STRANGERS_MAX
            && let Some(first) = all.pop_front()
        {
            first.cancel();
        }
        all.push_back(Arc::clone(&leaves));
        drop(all);
        Stranger { of: self.clone(), leaves }
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Arc<CancellationToken>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, until it is dropped or the client is known.
pub(crate) struct Stranger {
    of: Strangers,
    leaves: Arc<CancellationToken>,
}

impl Stranger {
    /// Resolves when another needs the place.
    pub(crate) async fn leave(&self) {
        self.leaves.cancelled().await;
    }

    /// The client has shown the token: nobody takes its place any more.
    pub(crate) fn is_known(&self) {
        self.of.all().retain(|other| !Arc::ptr_eq(other, &self.leaves));
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.is_known();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_first_leaves_unless_it_is_known() {
        let strangers = Strangers::default();
        let (first, second) = (strangers.admit(), strangers.admit());
        first.is_known();
        let mut others: Vec<Stranger> = (0..STRANGERS_MAX - 1).map(|_| strangers.admit()).collect();
        assert!(!second.leaves.is_cancelled());
        others.push(strangers.admit());
        assert!(second.leaves.is_cancelled(), "it was the first of those that are not known");
        assert!(!first.leaves.is_cancelled());
        assert!(others.iter().all(|other| !other.leaves.is_cancelled()));
        drop(others);
        assert!(strangers.all().is_empty(), "a place that is left is free");
    }
}
