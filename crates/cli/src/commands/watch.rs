//! `sync --watch`: session traces are read as they are written, until a signal ends it.
//!
//! A round reads what was left alone for long enough and what failed and is due, through the queue
//! of the capsule, and tells what it did in one line. Between two rounds nothing is held but the
//! lock that keeps a second watch away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use kapsa_agents::StoreLocation;
use kapsa_ingest::Session;
use kapsa_memory::{CapsuleError, Error as MemoryError, Holder, Lock, Micros};
use kapsa_traces::queue::{HEARTBEAT_US, JobHolder, JobQueue};
use kapsa_traces::{
    Claims, Extractor, Report, SyncOptions, WATCHED_CHANGES_MAX, sync as sync_traces, unread,
};

use super::embed::New;
use super::traces::{
    Proposer, absolute, extracted, joined, memories, nothing_to_read, options, places, version,
    warn_of_failed,
};
use crate::app::{App, Status, did};
use crate::args::{EmbedWhen, SyncArgs};
use crate::error::{CliError, Done, Result};
use crate::holder;
use crate::moment::{self, readable};
use crate::output::Piece;
use crate::render::counted;
use crate::trace_config::TraceConfig;
use crate::watching::{Begun, Changes, Watching};
use crate::wire::Time;
use crate::wire::traces::{SyncAnswer, SyncOut};

/// How often it is looked what is connected, and whether changes were missed.
const LOOK_EVERY_US: Micros = 120 * 1_000_000;
/// Pause before what another writer kept from being stored is tried again.
const LOCKED_PAUSE_US: Micros = 5 * 1_000_000;
/// Longest sleep.
const SLEEP_MAX_US: Micros = 60 * 1_000_000;
/// What the lock of a watch is named after, beside the capsule.
const WATCH_ENDING: &str = ".watch";
/// Columns by which what follows a first line is indented.
const INDENT: usize = 2;

/// `kapsa sync --watch`.
pub(super) fn watch(app: &mut App, args: &SyncArgs) -> Result<Status> {
    let capsule = app.capsule()?;
    let location = app.location()?;
    // Who names a place that is not there is told at once, and nothing connected may come later.
    if args.paths.is_empty() && kapsa_traces::connected(&location)?.is_empty() {
        return Err(nothing_to_read());
    }
    if let Some(missing) = places(args, &location)?.into_iter().find(|path| !path.exists()) {
        return Err(kapsa_traces::Error::Missing { path: missing }.into());
    }
    drop(location);
    let _alone = alone(app, &capsule)?;
    let changes = Arc::new(Changes::new(args.idle, &absolute(&capsule)?));
    let _listening =
        changes.end_by_signals().map_err(|error| CliError::io("wait for signals", &error))?;
    let asked = Proposer::asked_for(args)?;
    let extract = |session: &Session| extracted(asked.as_ref(), session);
    let extractor = Extractor { version: version(args), extract: &extract };
    let options = SyncOptions { stop: Some(changes.stop()), ..options(app, args, extractor)? };
    if options.is_dry {
        let message = "a watch has nothing to do where kapsa.toml keeps memory from being written";
        return Err(CliError::user("memory_write_off", message).hint(TraceConfig::no_writes()));
    }
    let mut watch = Watch {
        options,
        args,
        asked: asked.as_ref(),
        holder: job_holder(&app.write_options(None).holder),
        watching: Watching::new(&changes, args.idle, args.poll),
        changes: &changes,
        changed: BTreeSet::new(),
        taken: BTreeMap::new(),
        unlooked: Vec::new(),
        look_at: 0,
        due_at: None,
        locked_until: None,
    };
    while !changes.is_stopped() {
        watch.look(app)?;
        watch.round(app)?;
        changes.wait(watch.sleeps_until());
    }
    Ok(Status::Done)
}

/// Keeps every other watch away from this capsule, until it is dropped.
fn alone(app: &App, capsule: &Path) -> Result<Lock> {
    let mut name = capsule.as_os_str().to_owned();
    name.push(WATCH_ENDING);
    let name = PathBuf::from(name);
    let locked = Lock::acquire(&name, &app.write_options(None).holder, Duration::ZERO);
    locked.map_err(|error| match error {
        CapsuleError::LockedByWriter { holder, .. } => watched(capsule, &name, holder.as_deref()),
        error => MemoryError::from(error).into(),
    })
}

fn watched(capsule: &Path, name: &Path, holder: Option<&Holder>) -> CliError {
    let place = capsule.display();
    let Some(holder) = holder else {
        let message = format!("another kapsa sync --watch reads sessions into {place}");
        return CliError::system("already_watched", message);
    };
    let message = format!(
        "process {} of {} on {} has read sessions into {place} since {}",
        holder.pid, holder.user, holder.host, holder.started_at
    );
    let fate = holder::fate(holder, &kapsa_memory::lock_path(name));
    CliError::system("already_watched", message)
        .hint("one watch is enough for a capsule; end that one first")
        .field("holder", fate.name())
        .field("pid", holder.pid)
        .field("host", holder.host.clone())
        .field("user", holder.user.clone())
        .field("started_at", holder.started_at.clone())
}

pub(super) fn job_holder(holder: &Holder) -> JobHolder {
    let start = holder.process_start.as_ref().unwrap_or(&holder.started_at);
    JobHolder { pid: holder.pid, host: holder.host.clone(), start: start.clone() }
}

struct Watch<'a> {
    args: &'a SyncArgs,
    options: SyncOptions<'a>,
    asked: Option<&'a Proposer>,
    holder: JobHolder,
    changes: &'a Changes,
    watching: Watching,
    /// What is to be read in the next round.
    changed: BTreeSet<PathBuf>,
    /// Files that a look found and took up, as they were then.
    taken: BTreeMap<PathBuf, (u64, SystemTime)>,
    /// Places of which everything is to be read in the next round.
    unlooked: Vec<PathBuf>,
    /// When it is looked again what is connected.
    look_at: Micros,
    /// When a job is due next.
    due_at: Option<Micros>,
    /// Another writer holds the capsule; it is tried again then.
    locked_until: Option<Micros>,
}

impl Watch<'_> {
    /// Looks every now and then what is connected, and for changes that nobody reported.
    fn look(&mut self, app: &mut App) -> Result<()> {
        let now = self.changes.now();
        let is_lost = self.changes.take_lost();
        if now < self.look_at && !is_lost {
            return Ok(());
        }
        self.look_at = now.saturating_add(LOOK_EVERY_US);
        let location = app.location()?;
        let places = there(places(self.args, &location)?);
        let begun = self.watching.watch(&places);
        let is_new = |path: &PathBuf| begun.iter().any(|begun| begun.path() == path);
        let (new, known): (Vec<PathBuf>, Vec<PathBuf>) = places.into_iter().partition(is_new);
        self.unlooked.extend(new);
        begun.iter().for_each(|begun| self.tell_begun(app, begun));
        if self.watching.has_polled() {
            let every =
                i64::try_from(self.watching.poll_every().as_micros()).unwrap_or(Micros::MAX);
            self.look_at = now.saturating_add(every.min(LOOK_EVERY_US));
        }
        self.miss(&location, &known)?;
        self.due_at = JobQueue::load(&location)?.next_due(Micros::MIN);
        Ok(())
    }

    /// Finds files in places that were read whole before, that are to be read and were left alone
    /// since. Each is taken up once as it is: what is still to be read then is left out by options.
    fn miss(&mut self, location: &StoreLocation, places: &[PathBuf]) -> Result<()> {
        let unread = match unread(location, places, &self.options) {
            Ok(unread) => unread,
            // It was there a moment ago: the next look finds the others.
            Err(kapsa_traces::Error::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let idle = Duration::from_micros(u64::try_from(self.args.idle).unwrap_or_default());
        let mut taken = BTreeMap::new();
        for path in unread {
            let about = fs::metadata(&path).and_then(|about| Ok((about.len(), about.modified()?)));
            // What is gone by now is no trace.
            let Ok(state) = about else { continue };
            // A time to come is that of another clock.
            let is_idle = state.1.elapsed().map_or(true, |age| age >= idle);
            if self.taken.get(&path) == Some(&state) {
                taken.insert(path, state);
            } else if is_idle {
                self.changed.insert(path.clone());
                taken.insert(path, state);
            }
        }
        self.taken = taken;
        Ok(())
    }

    fn tell_begun(&self, app: &mut App, begun: &Begun) {
        let every = self.watching.poll_every().as_secs();
        match begun {
            Begun::Watched(path) => app.out.note(&format!("watching {}", path.display())),
            Begun::Polled(path, None) => {
                app.out.note(&format!("looking at {} every {every} s", path.display()));
            }
            Begun::Polled(path, Some(why)) => app.out.note(&format!(
                "{} cannot be watched ({why}): it is looked at every {every} s",
                path.display()
            )),
        }
    }

    /// Reads what is ready, and tells what that did.
    fn round(&mut self, app: &mut App) -> Result<()> {
        let mut changed = self.changes.take();
        if !changed.is_empty() {
            changed = self.watching.as_named(changed);
        }
        self.changed.append(&mut changed);
        if self.changed.len() > WATCHED_CHANGES_MAX {
            // They wait for another writer, and are found again.
            self.changed.clear();
            self.changes.lost();
        }
        while !self.changes.is_stopped() && self.is_ready() {
            let location = app.location()?;
            let new = New::begin(app, self.args.embed.or(Some(EmbedWhen::Now)))?;
            let report = match self.read(&location) {
                Ok(report) => report,
                Err(error) => return self.put_off(app, error),
            };
            self.locked_until = None;
            if let Some(asked) = self.asked {
                asked.try_again();
            }
            // What is due and was not taken is not to be found: the next look is early enough.
            let since = if has_looked(&report) { Micros::MIN } else { moment::now() };
            self.due_at = JobQueue::load(&location)?.next_due(since);
            if does_something(&report) {
                self.tell(app, &report, new)?;
            }
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        let is_locked = self.locked_until.is_some_and(|until| self.changes.now() < until);
        let is_due = self.due_at.is_some_and(|due| due <= moment::now());
        !is_locked && (is_due || !self.changed.is_empty() || !self.unlooked.is_empty())
    }

    /// Reads everything in places that are new, else what changed and what is due.
    fn read(&mut self, location: &StoreLocation) -> kapsa_traces::Result<Report> {
        if !self.unlooked.is_empty() {
            let report =
                sync_traces(location, &there(self.unlooked.clone()), &self.options, &mut |_| ())?;
            self.unlooked.clear();
            return Ok(report);
        }
        let places = there(places(self.args, location).unwrap_or_default());
        let claims = Claims { holder: &self.holder, changed: &self.changed };
        let options = SyncOptions { claims: Some(claims), ..self.options.clone() };
        let report = with_heartbeat(location, &self.holder, || {
            sync_traces(location, &places, &options, &mut |_| ())
        })?;
        self.changed.clear();
        Ok(report)
    }

    /// A round that failed because somebody else writes is taken up later.
    fn put_off(&mut self, app: &mut App, error: kapsa_traces::Error) -> Result<()> {
        match error {
            kapsa_traces::Error::Memory(MemoryError::Capsule(CapsuleError::LockedByWriter {
                ..
            })) => {
                if self.locked_until.is_none() {
                    app.out.note("another writer holds the capsule; it is tried again");
                }
                self.locked_until = Some(self.changes.now().saturating_add(LOCKED_PAUSE_US));
                Ok(())
            }
            // A place that was there a moment ago; what is left is looked at.
            kapsa_traces::Error::Missing { .. } => {
                self.look_at = 0;
                Ok(())
            }
            error => Err(error.into()),
        }
    }

    fn tell(&self, app: &mut App, report: &Report, new: New) -> Result<()> {
        if app.done.is_none() {
            did(app, Done::new("synced sessions"));
        }
        let embedding = new.end(app);
        warn_of_failed(app, report);
        if app.out.is_json() {
            let model = self.asked.map(Proposer::told);
            let synced_at = Some(Time(moment::now()));
            let answer = SyncOut { model, synced_at, ..SyncOut::of(report, embedding) };
            app.out.json(&SyncAnswer::Sync(answer))?;
        } else {
            let mut counts = memories(report).to_vec();
            counts.push((report.failed.len() as u64, "not to be read"));
            let what = match counts.iter().all(|(count, _)| *count == 0) {
                true => String::new(),
                false => format!(": {}", joined(&counts)),
            };
            app.out.pieces(
                &[
                    Piece::faint(format!("{}  ", readable(moment::now()))),
                    Piece::plain(format!("{}{what}", counted(report.sessions, "session"))),
                ],
                INDENT,
            )?;
        }
        app.out.flush()
    }

    /// When there is something to do, if nothing changes until then.
    fn sleeps_until(&self) -> Micros {
        let now = self.changes.now();
        let latest = self.look_at.min(now.saturating_add(SLEEP_MAX_US));
        if let Some(until) = self.locked_until {
            return latest.min(until);
        }
        let due = self.due_at.map(|due| now.saturating_add(due.saturating_sub(moment::now())));
        due.map_or(latest, |due| latest.min(due))
    }
}

/// Those that are there.
fn there(mut places: Vec<PathBuf>) -> Vec<PathBuf> {
    places.retain(|path| path.exists());
    places
}

/// Whether any file was taken up.
fn has_looked(report: &Report) -> bool {
    report.read + report.unchanged + report.others + report.failed.len() as u64 > 0
}

fn does_something(report: &Report) -> bool {
    report.sessions > 0 || report.taken_back > 0 || !report.failed.is_empty()
}

/// Does work that may take long, and says in the queue every now and then that it is still done.
pub(super) fn with_heartbeat<T>(
    location: &StoreLocation,
    holder: &JobHolder,
    work: impl FnOnce() -> T,
) -> T {
    let every = Duration::from_micros(u64::try_from(HEARTBEAT_US).unwrap_or_default());
    // Its own, since the work may hold the other in a turn.
    let location = location.impatient();
    let (done, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // May be dropped: a lock is free for the next one, long before the job is stale;
                // what else keeps it from being written meets the sync as well, which reports it.
                let _ = JobQueue::change(&location, |queue| queue.beat(holder, moment::now()));
            }
        });
        let answer = work();
        drop(done);
        answer
    })
}
