//! The writer of a put of many commits, shared fairly with others.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::defaults::Defaults;
use crate::app::{AnyWriter, App};
use crate::error::Result;

/// After so long a put of many commits gives the lock back between two of them, for so long: more
/// than the pause between two tries of one that waits.
const LOCK_HELD_MAX: Duration = Duration::from_millis(500);
const LOCK_FREE: Duration = Duration::from_millis(8);

/// The writer of a put of many commits: opened when something is ready to be stored, given back now
/// and then.
#[derive(Default)]
pub(super) struct Turn {
    held: Option<(AnyWriter, Instant)>,
}

impl Turn {
    /// The writer; waits its turn unless it has it.
    pub(super) fn writer(
        &mut self,
        app: &App,
        path: &Path,
        defaults: &Defaults,
    ) -> Result<&mut AnyWriter> {
        let held = match self.held.take() {
            Some(held) => held,
            None => (app.writer(path, defaults.run())?, Instant::now()),
        };
        Ok(&mut self.held.insert(held).0)
    }

    /// Whether nothing was stored yet, or others may write at the moment.
    pub(super) fn is_free(&self) -> bool {
        self.held.is_none()
    }

    /// Lets others write: nothing more is to be stored.
    pub(super) fn end(&mut self) {
        self.held = None;
    }

    /// Between two commits: lets others write, if this one has for long, or left a large record to
    /// be indexed without the lock.
    pub(super) fn let_others_write(&mut self) {
        let ends = |(writer, since): &mut (AnyWriter, Instant)| {
            since.elapsed() > LOCK_HELD_MAX || writer.leaves_index()
        };
        if self.held.take_if(ends).is_some() {
            thread::sleep(LOCK_FREE);
        }
    }
}
