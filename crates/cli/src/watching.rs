//! What changes in files and folders, as the system reports it, and signals that end a watch. Knows
//! no trace and no capsule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kapsa_memory::Micros;
use kapsa_traces::Debounce;
use notify::event::{EventKind, MetadataKind, ModifyKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Shortest and longest time between two looks at what cannot be watched.
const POLL_EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// What databases keep beside themselves: a change of it is one of theirs.
const BESIDE_DATABASES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What changed, until somebody asks; threads that see changes and the one that reads share it.
pub(crate) struct Changes {
    started: Instant,
    debounce: Mutex<Debounce>,
    wakes: Condvar,
    stop: AtomicBool,
    /// The capsule; what is beside it changes whenever something is stored.
    capsule: PathBuf,
}

impl Changes {
    /// Changes of files that are left alone for `idle` microseconds; not of the capsule.
    pub(crate) fn new(idle: Micros, capsule: &Path) -> Changes {
        Changes {
            started: Instant::now(),
            debounce: Mutex::new(Debounce::new(idle)),
            wakes: Condvar::new(),
            stop: AtomicBool::new(false),
            capsule: capsule.to_path_buf(),
        }
    }

    /// Microseconds since the watch began, by a clock that is never set.
    pub(crate) fn now(&self) -> Micros {
        Micros::try_from(self.started.elapsed().as_micros()).unwrap_or(Micros::MAX)
    }

    fn debounce(&self) -> MutexGuard<'_, Debounce> {
        // What a thread that panicked left behind is whole: each change is one call.
        self.debounce.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Set when the watch is to end.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// These files changed just now.
    pub(crate) fn add<'a>(&self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        let now = self.now();
        let mut debounce = self.debounce();
        paths.into_iter().for_each(|path| debounce.changed(path, now));
        self.wakes.notify_all();
    }

    /// Something changed, and nobody knows what.
    pub(crate) fn lost(&self) {
        let now = self.now();
        self.debounce().lost(now);
        self.wakes.notify_all();
    }

    /// The files that were left alone for long enough.
    pub(crate) fn take(&self) -> BTreeSet<PathBuf> {
        let now = self.now();
        self.debounce().take(now)
    }

    /// Whether changes were lost.
    pub(crate) fn take_lost(&self) -> bool {
        let now = self.now();
        self.debounce().take_lost(now)
    }

    /// Waits until something can be taken, the watch is to end, or at the latest until `until`.
    pub(crate) fn wait(&self, until: Micros) {
        let mut debounce = self.debounce();
        loop {
            let now = self.now();
            let until = debounce.next().map_or(until, |next| next.min(until));
            if self.is_stopped() || until <= now {
                return;
            }
            let pause = Duration::from_micros(u64::try_from(until - now).unwrap_or_default());
            let waited = self.wakes.wait_timeout(debounce, pause);
            debounce = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes what the system reports.
    fn take_event(&self, event: notify::Result<Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.lost(),
            Ok(event) if is_change(&event.kind) => {
                let paths = event.paths.iter().filter(|path| !self.is_own(path));
                let paths: Vec<PathBuf> = paths.map(|path| changed_by(path)).collect();
                self.add(&paths);
            }
            Ok(_) => {}
            // Something was not looked at.
            Err(_) => self.lost(),
        }
    }

    /// Whether a path is the capsule's, or of a file beside it.
    fn is_own(&self, path: &Path) -> bool {
        let capsule = self.capsule.as_os_str().as_encoded_bytes();
        path.as_os_str().as_encoded_bytes().starts_with(capsule)
    }

    /// Ends the watch at the first SIGINT or SIGTERM, and the process at the next one, until what
    /// is returned is dropped.
    pub(crate) fn end_by_signals(self: &Arc<Self>) -> std::io::Result<Listening> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let listening = Listening(signals.handle());
        let changes = Arc::clone(self);
        std::thread::Builder::new().name("signals".to_string()).spawn(move || {
            for signal in signals.forever() {
                if changes.stop.swap(true, Ordering::Relaxed) {
                    // May be dropped: it fails for signals that do not exist only.
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                // Held, so that who is about to wait has not missed it.
                let _debounce = changes.debounce();
                changes.wakes.notify_all();
            }
        })?;
        Ok(listening)
    }
}

/// A thread that waits for signals, until it is dropped.
pub(crate) struct Listening(Handle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Whether an event says that there is something new to read. Being read is none.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Modify(ModifyKind::Metadata(kind)) => {
            matches!(kind, MetadataKind::Any | MetadataKind::WriteTime)
        }
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Other => true,
        EventKind::Access(_) | EventKind::Remove(_) => false,
    }
}

/// The file that is changed when this one is.
fn changed_by(path: &Path) -> PathBuf {
    let name = path.as_os_str().to_str();
    let database = name.and_then(|name| {
        BESIDE_DATABASES.iter().find_map(|ending| name.strip_suffix(ending)).map(PathBuf::from)
    });
    database.unwrap_or_else(|| path.to_path_buf())
}

/// A file or folder that is watched.
struct Watched {
    /// The file system and number by which it is known again.
    id: (u64, u64),
    is_polled: bool,
}

/// Files and folders whose changes are reported.
pub(crate) struct Watching {
    /// None where the system reports nothing, or is not to be asked.
    system: Option<RecommendedWatcher>,
    poll_every: Duration,
    places: BTreeMap<PathBuf, Watched>,
}

/// What became of a place that is new.
pub(crate) enum Begun {
    /// It is watched.
    Watched(PathBuf),
    /// It has to be looked at every so often; where the system was asked, for this reason.
    Polled(PathBuf, Option<String>),
}

impl Begun {
    /// The place.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Begun::Watched(path) | Begun::Polled(path, _) => path,
        }
    }
}

impl Watching {
    /// Nothing yet. With `polls` the system is not asked what changes.
    pub(crate) fn new(changes: &Arc<Changes>, idle: Micros, polls: bool) -> Watching {
        let for_system = Arc::clone(changes);
        let system = match polls {
            true => None,
            // What cannot be watched is polled.
            false => notify::RecommendedWatcher::new(
                move |event| for_system.take_event(event),
                Config::default().with_follow_symlinks(false),
            )
            .ok(),
        };
        let half = Duration::from_micros(u64::try_from(idle / 2).unwrap_or_default());
        Watching {
            system,
            poll_every: half.clamp(POLL_EVERY.0, POLL_EVERY.1),
            places: BTreeMap::new(),
        }
    }

    /// Changes under the names that places were given: some systems report the files of a place
    /// that is a link, or below one, by where they really are.
    pub(crate) fn as_named(&self, changed: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let links = self.places.keys().filter_map(|place| {
            // May be dropped: what is gone has no other name.
            let real = fs::canonicalize(place).ok()?;
            (real != *place).then_some((place, real))
        });
        let links: Vec<(&PathBuf, PathBuf)> = links.collect();
        let named = |path: PathBuf| {
            let given = links.iter().find_map(|(place, real)| {
                let below = path.strip_prefix(real).ok()?;
                let is_it = below.as_os_str().is_empty();
                Some(if is_it { place.to_path_buf() } else { place.join(below) })
            });
            given.unwrap_or(path)
        };
        changed.into_iter().map(named).collect()
    }

    /// How often places have to be looked at that the system does not watch.
    pub(crate) fn poll_every(&self) -> Duration {
        self.poll_every
    }

    /// Whether there are such places.
    pub(crate) fn has_polled(&self) -> bool {
        self.places.values().any(|place| place.is_polled)
    }

    /// Watches exactly these from now on. Returns those that are new, or other files or folders
    /// than before under the same name.
    pub(crate) fn watch(&mut self, wanted: &[PathBuf]) -> Vec<Begun> {
        let gone: Vec<PathBuf> =
            self.places.keys().filter(|path| !wanted.contains(path)).cloned().collect();
        gone.iter().for_each(|path| self.end(path));
        let mut begun = Vec::new();
        for path in wanted {
            let Ok(about) = fs::metadata(path) else {
                self.end(path);
                continue;
            };
            let id = (about.dev(), about.ino());
            match self.places.get(path) {
                // A file that is replaced keeps its name, and its folder is what is watched.
                Some(place) if place.id == id || about.is_file() => {}
                _ => {
                    self.end(path);
                    begun.push(self.begin(path, id, about.is_dir()));
                }
            }
        }
        begun
    }

    fn begin(&mut self, path: &Path, id: (u64, u64), is_folder: bool) -> Begun {
        let (target, mode) = target(path, is_folder);
        let failed = match &mut self.system {
            Some(system) => match system.watch(target, mode) {
                Ok(()) => {
                    self.places.insert(path.to_path_buf(), Watched { id, is_polled: false });
                    return Begun::Watched(path.to_path_buf());
                }
                Err(error) => Some(error.to_string()),
            },
            None => None,
        };
        self.places.insert(path.to_path_buf(), Watched { id, is_polled: true });
        Begun::Polled(path.to_path_buf(), failed)
    }

    fn end(&mut self, path: &Path) {
        let Some(place) = self.places.remove(path) else { return };
        let is_shared = path.parent().is_some_and(|folder| {
            self.places.keys().any(|other| other == folder || other.parent() == Some(folder))
        });
        let target = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        if is_shared && target != path {
            return;
        }
        if let Some(system) = self.system.as_mut().filter(|_| !place.is_polled) {
            // May be dropped: what is gone is watched no more, whatever the system says of it.
            let _ = system.unwatch(target);
        }
    }
}

/// What is watched for a place: a folder with all below it; of a file its folder, since programs
/// replace files.
fn target(path: &Path, is_folder: bool) -> (&Path, RecursiveMode) {
    match path.parent().filter(|_| !is_folder) {
        Some(folder) => (folder, RecursiveMode::NonRecursive),
        None => (path, RecursiveMode::Recursive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longest wait for a change.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_change_below_a_watched_folder_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let capsule = folder.path().join("m.kapsa");
        let changes = Arc::new(Changes::new(1, &capsule));
        let mut watching = Watching::new(&changes, 1, false);
        let begun = watching.watch(&[folder.path().to_path_buf()]);
        assert!(matches!(&begun[..], [Begun::Watched(_)]) && !watching.has_polled());
        assert!(watching.watch(&[folder.path().to_path_buf()]).is_empty());
        fs::write(folder.path().join("m.kapsa.lock"), "x").expect("written");
        fs::write(folder.path().join("a.db-wal"), "x").expect("written");
        let begun = Instant::now();
        let mut seen = BTreeSet::new();
        while seen.is_empty() && begun.elapsed() < PATIENCE {
            changes.wait(changes.now() + 1_000_000);
            seen = changes.take();
            // The folder itself changes with what is in it.
            seen.remove(folder.path());
        }
        assert_eq!(seen, BTreeSet::from([folder.path().join("a.db")]), "not of the capsule");
    }

    #[test]
    fn what_the_system_cannot_watch_is_looked_at() {
        let changes = Arc::new(Changes::new(1, Path::new("m.kapsa")));
        let mut watching = Watching::new(&changes, 1, false);
        let begun = watching.begin(Path::new("/nowhere/at/all"), (0, 0), true);
        assert!(matches!(begun, Begun::Polled(_, Some(_))) && watching.has_polled());
    }

    #[test]
    fn what_is_reported_by_its_real_name_has_the_name_that_was_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let (real, link) = (root.join("real"), root.join("link"));
        fs::create_dir(&real).expect("made");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        let changes = Arc::new(Changes::new(1, Path::new("m.kapsa")));
        let mut watching = Watching::new(&changes, 1, true);
        let begun = watching.watch(std::slice::from_ref(&link));
        assert!(matches!(&begun[..], [Begun::Polled(_, None)]) && watching.has_polled());
        let changed = BTreeSet::from([real.clone(), real.join("a/b.jsonl"), root.join("c")]);
        let wanted = BTreeSet::from([link.clone(), link.join("a/b.jsonl"), root.join("c")]);
        assert_eq!(watching.as_named(changed), wanted);
    }

    #[test]
    fn a_watch_waits_no_longer_once_it_is_stopped() {
        let changes = Changes::new(1, Path::new("m.kapsa"));
        changes.stop.store(true, Ordering::Relaxed);
        changes.wait(Micros::MAX);
        changes.lost();
        assert!(changes.is_stopped());
    }
}
