//! `hook drain`: the process that a hook leaves behind reads what is queued, and ends.
//!
//! Invariants: one of them works on a capsule at a time. What one finds that cannot work is in the
//! queue before it looks whether another one works; and who works looks at the queue once more
//! after it let others work. So one of the two reads it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use kapsa_agents::StoreLocation;
use kapsa_ingest::Session;
use kapsa_memory::{CapsuleError, Error as MemoryError, Lock};
use kapsa_traces::queue::{JobFile, JobHolder, JobQueue};
use kapsa_traces::{Claims, Extractor, SyncOptions, sync as sync_traces};

use super::regular::is_regular;
use crate::app::App;
use crate::args::{Drain, EmbedWhen};
use crate::commands::embed::New;
use crate::commands::upkeep::surroundings;
use crate::commands::watch::{job_holder, with_heartbeat};
use crate::error::{CliError, Result};
use crate::moment;
use crate::trace_config::TraceConfig;

/// What the lock of such a process is named after, beside the capsule.
const ENDING: &str = ".hooks";
/// A trace is read once it was left alone for so long, since more of it may be on its way.
const IDLE: Duration = Duration::from_secs(1);
/// Longest wait for that.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// Longest wait for other writers, and for another process like this.
const PATIENCE: Duration = Duration::from_secs(600);
/// Pause between two attempts to write.
const PAUSE: Duration = Duration::from_millis(500);
/// Most rounds of one process: whoever comes later starts another one.
const ROUNDS_MAX: usize = 100;

/// `kapsa hook drain`.
pub(super) fn run(app: &mut App, args: &Drain) -> Result<()> {
    let capsule = app.capsule()?;
    // Refuses principals as well: sync is the owner's.
    drop(app.owner_reader()?);
    if !TraceConfig::find()?.writes_memory {
        return Ok(());
    }
    let mut name: OsString = capsule.into_os_string();
    name.push(ENDING);
    let lock = PathBuf::from(name);
    let mut draining = Draining {
        own: args.paths.iter().cloned().collect(),
        usual: usual_places(&app.location()?)?,
        holder: job_holder(&app.write_options(None).holder),
    };
    let (mut is_queued, mut is_taken) = (false, true);
    for _ in 0..ROUNDS_MAX {
        let is_usual = draining.own.iter().all(|path| draining.is_usual(path));
        // Whom nobody else would follow, or what the queue did not take, waits for its turn.
        let patience = if is_queued && !(is_usual && is_taken) { PATIENCE } else { Duration::ZERO };
        match Lock::acquire(&lock, &app.write_options(None).holder, patience) {
            Ok(held) => {
                draining.work(app)?;
                drop(held);
                if !draining.is_due(app)? {
                    return Ok(());
                }
            }
            Err(CapsuleError::LockedByWriter { .. }) if is_queued => return Ok(()),
            Err(CapsuleError::LockedByWriter { .. }) => {
                is_taken = draining.queue_own(app)?;
                is_queued = true;
            }
            Err(error) => return Err(MemoryError::from(error).into()),
        }
    }
    Ok(())
}

/// Where agents keep their traces on this machine, and what the memory is connected with.
fn usual_places(location: &StoreLocation) -> Result<Vec<PathBuf>> {
    let places = kapsa_traces::places(&surroundings()).into_iter().map(|place| place.path);
    Ok(places.chain(kapsa_traces::connected(location)?).collect())
}

struct Draining {
    /// What this process was started for.
    own: BTreeSet<PathBuf>,
    usual: Vec<PathBuf>,
    holder: JobHolder,
}

impl Draining {
    /// Whether a path is read that only the queue names. A capsule may come from anybody, and its
    /// queue with it: a file that it names elsewhere is not followed.
    fn is_usual(&self, path: &Path) -> bool {
        self.usual.iter().any(|place| path.starts_with(place))
    }

    /// Paths in the queue whose time has come, and that are followed.
    fn due(&self, app: &App) -> Result<BTreeSet<PathBuf>> {
        let now = moment::now();
        let queue = JobQueue::load(&app.location()?)?;
        let due = queue.due(now).map(PathBuf::from);
        Ok(due.filter(|path| self.own.contains(path) || self.is_usual(path)).collect())
    }

    /// Whether something is left that can be read.
    fn is_due(&self, app: &App) -> Result<bool> {
        Ok(self.due(app)?.iter().any(|path| is_regular(path)))
    }

    /// Puts what this process was started for into the queue, however long another writer takes.
    /// Returns whether all of it was taken: a queue may be full.
    fn queue_own(&self, app: &App) -> Result<bool> {
        Ok(queue(app, &self.own)?.is_empty())
    }

    /// Reads this process's traces, and then what is queued until nothing is.
    fn work(&mut self, app: &mut App) -> Result<()> {
        let mut changed = self.own.clone();
        for _ in 0..ROUNDS_MAX {
            changed.extend(self.due(app)?);
            self.forget_gone(app, &mut changed)?;
            if changed.is_empty() {
                return Ok(());
            }
            changed.iter().for_each(|path| wait_until_idle(path));
            self.read(app, &changed)?;
            changed.clear();
        }
        Ok(())
    }

    /// Takes what is no regular file out of what is to be read, and what is gone out of the queue.
    fn forget_gone(&self, app: &App, changed: &mut BTreeSet<PathBuf>) -> Result<()> {
        let (regular, others): (BTreeSet<_>, BTreeSet<_>) =
            std::mem::take(changed).into_iter().partition(|path| is_regular(path));
        *changed = regular;
        let gone: Vec<PathBuf> =
            others.into_iter().filter(|path| path.symlink_metadata().is_err()).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let location = app.location()?;
        patiently(|| {
            JobQueue::change(&location, |queue| {
                gone.iter().for_each(|path| queue.done(&path.to_string_lossy()));
            })
        })
    }

    /// Reads traces; those that the queue does not take without a job.
    fn read(&self, app: &mut App, changed: &BTreeSet<PathBuf>) -> Result<()> {
        let beyond = queue(app, changed)?;
        let queued: BTreeSet<PathBuf> = changed.difference(&beyond).cloned().collect();
        if !queued.is_empty() {
            let claims = Claims { holder: &self.holder, changed: &queued };
            self.read_these(app, &queued, Some(claims))?;
        }
        if beyond.is_empty() { Ok(()) } else { self.read_these(app, &beyond, None) }
    }

    fn read_these(
        &self,
        app: &mut App,
        changed: &BTreeSet<PathBuf>,
        claims: Option<Claims<'_>>,
    ) -> Result<()> {
        let location = app.location()?;
        let paths: Vec<PathBuf> = changed.iter().cloned().collect();
        let extract = |session: &Session| kapsa_extract::extract(session).candidates;
        let extractor = Extractor { extract: &extract, ..Extractor::default() };
        let options = SyncOptions {
            extractor,
            claims,
            provenance: app.write_options(None).provenance,
            ..SyncOptions::new(moment::now)
        };
        let new = New::begin(app, EmbedWhen::of_environment().or(Some(EmbedWhen::Now)))?;
        let read = || {
            patiently(|| {
                with_heartbeat(&location, &self.holder, || {
                    sync_traces(&location, &paths, &options, &mut |_| ())
                })
            })
        };
        match read() {
            // It was there a moment ago, and what is gone is not to be read.
            Err(error) if error.code == "trace_not_found" => return Ok(()),
            read => read?,
        };
        // What failed is said to nobody here; the memories are found by their words.
        let _failed = new.end(app);
        Ok(())
    }
}

/// Puts traces into the queue, however long another writer takes. Returns those that it does not
/// take.
fn queue(app: &App, paths: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>> {
    let files: Vec<(&PathBuf, JobFile)> = paths
        .iter()
        .filter(|path| is_regular(path))
        // May be dropped: what is gone, or cannot even be looked at, cannot be read either.
        .filter_map(|path| Some((path, kapsa_traces::job_file(path).ok().flatten()?)))
        .collect();
    let location = app.location()?;
    patiently(|| {
        let now = moment::now();
        let mut refused = BTreeSet::new();
        JobQueue::change(&location, |queue| {
            refused = files
                .iter()
                .filter(|(_, file)| !queue.add(file, now))
                .map(|(path, _)| (*path).clone())
                .collect();
        })?;
        Ok(refused)
    })
}

/// Waits until a file was left alone for a moment.
fn wait_until_idle(path: &Path) {
    let begun = Instant::now();
    while begun.elapsed() < IDLE_MAX {
        let changed = fs::metadata(path).and_then(|about| about.modified());
        // What is gone is not waited for, nor a time to come, which is that of another clock.
        let age = changed.ok().and_then(|changed| changed.elapsed().ok()).unwrap_or(IDLE);
        if age >= IDLE {
            return;
        }
        thread::sleep(IDLE.saturating_sub(age));
    }
}

/// Does what another writer may keep from being done, until it is.
fn patiently<T>(mut work: impl FnMut() -> kapsa_traces::Result<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        match work() {
            Err(kapsa_traces::Error::Memory(MemoryError::Capsule(
                CapsuleError::LockedByWriter { .. },
            ))) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            done => return done.map_err(CliError::from),
        }
    }
}
