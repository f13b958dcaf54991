//! Which files have been left alone for long enough to be read. Knows no file system and no clock:
//! it is told what changed, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kapsa_memory::Micros;

/// Files whose changes are remembered. Beyond them only that something changed is known.
pub const WATCHED_CHANGES_MAX: usize = 4096;
/// A file that is never left alone is read after so many times the pause.
const WAIT_FACTOR: Micros = 10;

/// When a file changed.
#[derive(Clone, Copy, Debug)]
struct Changes {
    first: Micros,
    last: Micros,
}

/// Files that changed, until they are read.
#[derive(Debug)]
pub struct Debounce {
    idle: Micros,
    files: BTreeMap<PathBuf, Changes>,
    /// When changes were lost first.
    lost: Option<Micros>,
}

impl Debounce {
    /// Files are read once they have been left alone for so many microseconds.
    #[must_use]
    pub fn new(idle: Micros) -> Debounce {
        Debounce { idle, files: BTreeMap::new(), lost: None }
    }

    /// A file changed.
    pub fn changed(&mut self, path: &Path, now: Micros) {
        if let Some(changes) = self.files.get_mut(path) {
            changes.last = changes.last.max(now);
        } else if self.files.len() < WATCHED_CHANGES_MAX {
            self.files.insert(path.to_path_buf(), Changes { first: now, last: now });
        } else {
            self.lost(now);
        }
    }

    /// Something changed, and nobody knows what.
    pub fn lost(&mut self, now: Micros) {
        self.lost.get_or_insert(now);
    }

    fn ready_at(&self, changes: Changes) -> Micros {
        let at_the_latest = changes.first.saturating_add(self.idle.saturating_mul(WAIT_FACTOR));
        changes.last.saturating_add(self.idle).min(at_the_latest)
    }

    /// When there is something to read next, if nothing changes until then.
    #[must_use]
    pub fn next(&self) -> Option<Micros> {
        let files = self.files.values().map(|changes| self.ready_at(*changes));
        files.chain(self.lost.map(|at| at.saturating_add(self.idle))).min()
    }

    /// The files that can be read now; they are forgotten here.
    pub fn take(&mut self, now: Micros) -> BTreeSet<PathBuf> {
        let ready = |changes: &Changes| self.ready_at(*changes) <= now;
        let paths: BTreeSet<PathBuf> = self
            .files
            .iter()
            .filter(|(_, changes)| ready(changes))
            .map(|(path, _)| path.clone())
            .collect();
        self.files.retain(|path, _| !paths.contains(path));
        paths
    }

    /// Whether changes were lost long enough ago, so that everything has to be looked at; that is
    /// forgotten here.
    pub fn take_lost(&mut self, now: Micros) -> bool {
        let is_ready = self.lost.is_some_and(|at| at.saturating_add(self.idle) <= now);
        if is_ready {
            self.lost = None;
        }
        is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Micros = 100;

    fn taken(debounce: &mut Debounce, now: Micros) -> Vec<String> {
        debounce.take(now).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_file_is_read_once_it_was_left_alone() {
        let mut debounce = Debounce::new(IDLE);
        assert_eq!(debounce.next(), None);
        debounce.changed(Path::new("a"), 0);
        debounce.changed(Path::new("b"), 50);
        debounce.changed(Path::new("a"), 60);
        assert_eq!(debounce.next(), Some(150));
        assert!(taken(&mut debounce, 149).is_empty());
        assert_eq!(taken(&mut debounce, 150), ["b"]);
        assert_eq!(taken(&mut debounce, 160), ["a"]);
        assert_eq!((debounce.next(), taken(&mut debounce, 1000).len()), (None, 0));
    }

    #[test]
    fn a_file_that_always_changes_is_read_in_the_end() {
        let mut debounce = Debounce::new(IDLE);
        for now in 0..WAIT_FACTOR * IDLE {
            debounce.changed(Path::new("a"), now);
            assert!(taken(&mut debounce, now).is_empty());
        }
        assert_eq!(taken(&mut debounce, WAIT_FACTOR * IDLE), ["a"]);
    }

    #[test]
    fn more_changes_than_can_be_remembered_are_a_reason_to_look_at_everything() {
        let mut debounce = Debounce::new(IDLE);
        for number in 0..=WATCHED_CHANGES_MAX {
            assert!(!debounce.take_lost(1000));
            debounce.changed(Path::new(&number.to_string()), 0);
        }
        assert!(!debounce.take_lost(IDLE - 1));
        assert_eq!(debounce.take(IDLE).len(), WATCHED_CHANGES_MAX);
        assert_eq!(debounce.next(), Some(IDLE));
        assert!(debounce.take_lost(IDLE) && !debounce.take_lost(IDLE));
        assert_eq!(debounce.next(), None);
    }
}
