//! From files to memories: the two passes of a sync. Knows no format, and no rule by which
//! something is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use kapsa_agents::{StoreLocation, TimeSource};
use kapsa_extract::{Candidate, EXTRACTION_MARK, EXTRACTOR_VERSION};
use kapsa_ingest::{Agent, Reading, Seen, Session, Speaker, TurnKind, sessions_once};
use kapsa_memory::{Micros, NewRecord, Provenance, Trust};
use kapsa_redact::RULES_VERSION;

use crate::claims::{Claims, Jobs};
use crate::decide::{Action, Decision, Thresholds};
use crate::error::Result;
use crate::files::{Found, found};
use crate::known::{Offer, Origin};
use crate::original::{Cut, Original};
use crate::queue::{JOB_ERROR_CHARS_MAX, JobFile};
use crate::registry::{FileState, Registry, SessionState, TraceFile};
use crate::remember::{Memories, Outcome};
use crate::report::{FailedFile, Kept, KeptDecision, Report, Step};
use crate::repositories::{Repositories, folder_of, named, named_by};

/// Bytes of originals that are written in one commit.
const BATCH_BYTES: usize = 4 << 20;
/// Files that are noted in one commit.
const NOTED_AT_ONCE: usize = 64;

/// What finds candidates in a session.
#[derive(Clone, Copy)]
pub struct Extractor<'a> {
    /// Raised whenever the same session may give others; at least 1.
    pub version: u32,
    /// What it finds.
    pub extract: &'a dyn Fn(&Session) -> Vec<Candidate>,
}

impl std::fmt::Debug for Extractor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extractor").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Default for Extractor<'_> {
    /// The one that needs no model.
    fn default() -> Self {
        Extractor {
            version: EXTRACTOR_VERSION,
            extract: &|session| kapsa_extract::extract(session).candidates,
        }
    }
}

/// What is to be read, and how.
#[derive(Clone, Debug)]
pub struct SyncOptions<'a> {
    /// Only sessions that went on at this time or later.
    pub since: Option<Micros>,
    /// Only sessions that began before.
    pub until: Option<Micros>,
    /// Only sessions of this agent.
    pub agent: Option<Agent>,
    /// Most sessions; what is near its end is read first, then the newest.
    pub sessions_max: Option<u64>,
    /// Whether nothing is written; default no.
    pub is_dry: bool,
    /// Whether memories are looked for; otherwise originals alone are kept. Default yes.
    pub extracts: bool,
    /// Whether files are read that are as they were, and that were given up; default no.
    pub force: bool,
    /// Reads only what is claimed from the queue; default everything that is found.
    pub claims: Option<Claims<'a>>,
    /// Set by somebody else to end the run before the next file or session.
    pub stop: Option<&'a AtomicBool>,
    /// From where on a text is taken for another one's.
    pub thresholds: Thresholds,
    /// Who brings it. It is trusted as a trace at most.
    pub provenance: Provenance,
    /// What finds candidates.
    pub extractor: Extractor<'a>,
    /// The time.
    pub clock: TimeSource,
    /// Ends the run before this many writes were made, as if it were killed there. For tests.
    pub stops_after: Option<u64>,
}

impl SyncOptions<'_> {
    /// Everything, with every default.
    #[must_use]
    pub fn new(clock: impl Into<TimeSource>) -> Self {
        SyncOptions {
            since: None,
            until: None,
            agent: None,
            sessions_max: None,
            is_dry: false,
            extracts: true,
            force: false,
            claims: None,
            stop: None,
            thresholds: Thresholds::default(),
            provenance: Provenance::default(),
            extractor: Extractor::default(),
            clock: clock.into(),
            stops_after: None,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn is_wanted_then(&self, session: &Session) -> bool {
        let last = session.ended.or(session.started);
        let is_late = |since| last.is_none_or(|last| last >= since);
        let is_early = |until| session.started.is_none_or(|started| started < until);
        self.since.is_none_or(is_late) && self.until.is_none_or(is_early)
    }

    fn extractor_version(&self) -> u32 {
        if self.extracts { self.extractor.version } else { 0 }
    }
}

/// A session whose candidates wait for their turn.
struct Waiting {
    /// Of the files.
    file: usize,
    /// Of the sessions of its file.
    place: usize,
    started: Micros,
    id: String,
    source: String,
    /// The repository that it names itself.
    repository: Option<String>,
    folder: String,
    candidates: Vec<Candidate>,
}

/// A file that was read, until all of its sessions were gone through.
struct Read {
    noted: TraceFile,
    /// Sessions that still wait.
    left: u64,
    /// Whether sessions of it were left out that another call may want.
    is_partial: bool,
}

impl Read {
    /// Whether everything of it was gone through, so that it can be noted.
    fn is_finished(&self) -> bool {
        self.left == 0 && !self.is_partial
    }
}

/// Reads traces into memories. What cannot be read is reported, and the rest goes on.
///
/// # Errors
/// A path that is not there; the capsule cannot be read or written.
pub fn sync(
    location: &StoreLocation,
    paths: &[PathBuf],
    options: &SyncOptions<'_>,
    step: &mut dyn FnMut(Step),
) -> Result<Report> {
    let mut report = Report { is_dry: options.is_dry, ..Report::default() };
    let files = found(paths, options.clock.now(), options.sessions_max.is_some(), &mut report)?;
    let mut run = Run::new(location, options, report)?;
    let to_read = match options.claims {
        Some(claims) => run.claim(&files, claims)?,
        None => files.clone(),
    };
    run.read_files(&to_read, step)?;
    run.go_through(step)?;
    if let Some(claims) = options.claims.filter(|claims| run.jobs.are_held_by(claims.holder)) {
        run.about_to_write()?;
        run.jobs.release(claims.holder, options.is_stopped())?;
    }
    let gone = run.jobs.gone(paths, &files);
    if !options.is_dry && !gone.is_empty() {
        run.about_to_write()?;
        run.jobs.forget(&gone)?;
    }
    Ok(run.report)
}

/// The files below these paths that a sync would read: those that are new or changed and look like
/// traces. Reads no more than their beginnings, and only of those that were never read.
///
/// # Errors
/// As [`sync`].
pub fn unread(
    location: &StoreLocation,
    paths: &[PathBuf],
    options: &SyncOptions<'_>,
) -> Result<BTreeSet<PathBuf>> {
    let mut report = Report::default();
    let files = found(paths, options.clock.now(), false, &mut report)?;
    let run = Run::new(location, options, report)?;
    // What has a job comes back by itself.
    let has_job = |file: &Found| run.jobs.job(file).is_some_and(|job| job.is_of(&file.job()));
    let unread = files.into_iter().filter(|file| !has_job(file) && run.is_to_be_read(file));
    Ok(unread.map(|file| file.path).collect())
}

struct Run<'a> {
    location: StoreLocation,
    options: &'a SyncOptions<'a>,
    registry: Registry,
    /// The queue as it was when it was looked at last.
    jobs: Jobs,
    /// What folders are of.
    repositories: Repositories,
    /// Hashes of the originals that are kept.
    originals: BTreeSet<String>,
    report: Report,
    seen: Seen,
    read: Vec<Read>,
    /// Files that are to be noted, by their places in `read`.
    finished: Vec<usize>,
    waiting: Vec<Waiting>,
    /// Originals that are to be written.
    batch: Vec<NewRecord>,
    batch_bytes: usize,
    writes: u64,
}

impl<'a> Run<'a> {
    fn new(
        location: &StoreLocation,
        options: &'a SyncOptions<'a>,
        report: Report,
    ) -> Result<Run<'a>> {
        let brought = options.provenance.at_most(Some(Trust::Trace));
        let location = location.brought_by(brought);
        let registry = Registry::load(&location)?;
        let jobs = Jobs::load(&location)?;
        Ok(Run {
            originals: registry.originals(),
            repositories: registry.repositories(),
            location,
            options,
            registry,
            jobs,
            report,
            seen: Seen::new(),
            read: Vec::new(),
            finished: Vec::new(),
            waiting: Vec::new(),
            batch: Vec::new(),
            batch_bytes: 0,
            writes: 0,
        })
    }
}

/// The first pass: what is new or changed is read.
impl Run<'_> {
    /// Takes up what has changed, and claims what is due. Returns what is to be read.
    fn claim(&mut self, files: &[Found], claims: Claims<'_>) -> Result<Vec<Found>> {
        // What could not be walked through was told when everything was looked at.
        self.report.failed.clear();
        let now = self.options.clock.now();
        let is_news = |file: &&Found| claims.names(&file.path) && self.is_to_be_read(file);
        let news: Vec<JobFile> = files.iter().filter(is_news).map(Found::job).collect();
        if news.is_empty() && !self.jobs.are_due(now) {
            return Ok(Vec::new());
        }
        self.about_to_write()?;
        let (claimed, left) = self.jobs.claim(files, &news, claims.holder, now)?;
        self.report.left += left;
        Ok(claimed)
    }

    fn read_files(&mut self, files: &[Found], step: &mut dyn FnMut(Step)) -> Result<()> {
        for (done, file) in files.iter().enumerate() {
            step(Step::Files(done as u64, files.len() as u64));
            if self.is_full() || self.is_too_old(file) || self.options.is_stopped() {
                self.report.left += 1;
            } else if self.is_as_noted(file) {
                self.report.unchanged += 1;
            } else if self.is_given_up(file) {
                self.report.given_up += 1;
            } else {
                self.read_file(file)?;
            }
        }
        step(Step::Files(files.len() as u64, files.len() as u64));
        self.write_originals()
    }

    fn is_full(&self) -> bool {
        self.options.sessions_max.is_some_and(|most| self.report.sessions >= most)
    }

    /// What was not changed since holds nothing of then.
    fn is_too_old(&self, file: &Found) -> bool {
        self.options.since.is_some_and(|since| file.changed < since)
    }

    /// Whether a file is as it was when it was read last, by its size and time.
    fn is_as_noted(&self, file: &Found) -> bool {
        if self.options.force {
            return false;
        }
        self.registry.file(&file.name()).is_some_and(|noted| {
            noted.is_current(self.options.extractor_version(), RULES_VERSION)
                && (noted.size, noted.changed) == (file.size, file.changed)
        })
    }

    /// Whether all attempts to read a file failed, by this extractor or a later one, and it has not
    /// changed since.
    fn is_given_up(&self, file: &Found) -> bool {
        let noted = self.registry.file(&file.name());
        let version = self.options.extractor_version();
        !self.options.force
            && noted.is_some_and(|noted| noted.extractor >= version && noted.rules == RULES_VERSION)
            && self.jobs.job(file).is_some_and(|job| job.is_given_up(&file.job()))
    }

    /// Whether a file is worth a job: what is no trace is left alone.
    fn is_to_be_read(&self, file: &Found) -> bool {
        let is_known = self.registry.file(&file.name()).is_some() || self.jobs.job(file).is_some();
        !self.is_as_noted(file) && (is_known || kapsa_ingest::looks_like_trace(&file.path))
    }

    fn read_file(&mut self, file: &Found) -> Result<()> {
        let hash = match file.hash() {
            Ok(hash) => hash,
            Err(error) => return self.failed(file, &format!("{}: {error}", file.path.display())),
        };
        let noted = self.registry.file(&file.name());
        let is_same = noted.is_some_and(|noted| {
            noted.hash == hash && noted.is_current(self.options.extractor_version(), RULES_VERSION)
        });
        if let Some(noted) = noted.filter(|_| is_same && !self.options.force) {
            // It was touched, or copied over itself.
            self.report.unchanged += 1;
            let noted = TraceFile { size: file.size, changed: file.changed, ..noted.clone() };
            self.add(Read { noted, left: 0, is_partial: false });
            return Ok(());
        }
        let mut reading = FileReading::default();
        let mut seen = std::mem::take(&mut self.seen);
        let mut failed = None;
        let done = sessions_once(&file.path, &mut seen, &mut |session| match self.take(
            &session,
            file,
            &mut reading,
        ) {
            Ok(flow) => flow,
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        });
        self.seen = seen;
        failed.map_or(Ok(()), Err)?;
        match done {
            Ok(done) => self.note_reading(file, hash, done, reading),
            // What was found in it before it broke is dropped with it.
            Err(error) => {
                let index = self.read.len();
                self.waiting.retain(|waiting| waiting.file != index);
                self.failed(file, &error.to_string())?;
            }
        }
        Ok(())
    }

    /// Takes one session of a file.
    fn take(
        &mut self,
        session: &Session,
        file: &Found,
        reading: &mut FileReading,
    ) -> Result<ControlFlow<()>> {
        if self.is_full() || self.options.is_stopped() {
            reading.is_partial = true;
            return Ok(ControlFlow::Break(()));
        }
        if is_own(session) {
            self.report.sessions_own += 1;
            return Ok(ControlFlow::Continue(()));
        }
        if self.options.agent.is_some_and(|agent| agent != session.agent) {
            self.report.sessions_of_others += 1;
            reading.is_partial = true;
            return Ok(ControlFlow::Continue(()));
        }
        if !self.options.is_wanted_then(session) {
            self.report.sessions_of_other_time += 1;
            reading.is_partial = true;
            return Ok(ControlFlow::Continue(()));
        }
        let candidates = match self.options.extracts {
            true => (self.options.extractor.extract)(session),
            false => Vec::new(),
        };
        if self.options.is_stopped() {
            // What found them may have been stopped by the same signal.
            reading.is_partial = true;
            return Ok(ControlFlow::Break(()));
        }
        self.report.sessions += 1;
        let original = Original::of(session);
        let source = source_of(session);
        self.repositories.learn(session);
        let (folder, repository) = named(session);
        if !candidates.is_empty() {
            reading.waiting += 1;
            self.waiting.push(Waiting {
                file: self.read.len(),
                place: reading.sessions.len(),
                started: session.started.unwrap_or(file.changed),
                id: session.id.clone(),
                source,
                repository: named_by(session),
                folder: folder_of(session),
                candidates,
            });
        }
        reading.sessions.push(SessionState {
            id: session.id.clone(),
            agent: session.agent.name().to_string(),
            original: original.hash.clone(),
            started: session.started,
            turns: session.turns.len() as u64,
            decisions: Vec::new(),
            folder,
            repository,
        });
        self.keep(original)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Queues an original that is not kept yet.
    fn keep(&mut self, original: Original) -> Result<()> {
        if !self.originals.insert(original.hash.clone()) {
            return Ok(());
        }
        let bytes = original.bytes();
        // A run that was stopped wrote it before its file was noted.
        if self.location.noted(&Original::uri_of(&original.hash)?)?.is_some() {
            return Ok(());
        }
        self.report.originals += 1;
        self.report.original_bytes += bytes as u64;
        self.report.originals_cut += u64::from(original.cut != Cut::default());
        if self.options.is_dry {
            return Ok(());
        }
        self.batch_bytes += bytes;
        self.batch.push(original.note()?);
        if self.batch_bytes >= BATCH_BYTES { self.write_originals() } else { Ok(()) }
    }

    fn write_originals(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        self.about_to_write()?;
        Ok(self.location.change_notes(batch, Vec::new())?)
    }

    fn note_reading(&mut self, file: &Found, hash: String, done: Reading, reading: FileReading) {
        self.report.skipped.merge(&done.skipped);
        if done.format.is_none() && reading.sessions.is_empty() {
            self.report.others += 1;
            return;
        }
        self.report.read += 1;
        self.report.expiring += u64::from(file.expires_soon(self.options.clock.now()));
        if done.waiting.is_some() {
            self.report.waiting.push(file.path.clone());
        }
        let skipped = done.skipped.iter();
        let noted = TraceFile {
            hash,
            state: if done.waiting.is_some() { FileState::Waiting } else { FileState::Read },
            skipped: skipped
                .map(|(reason, what, count)| (reason.words().to_string(), what.to_string(), count))
                .collect(),
            sessions: reading.sessions,
            ..self.noted(file)
        };
        self.add(Read { noted, left: reading.waiting, is_partial: reading.is_partial });
    }

    fn add(&mut self, read: Read) {
        if read.is_finished() {
            self.finished.push(self.read.len());
        }
        self.read.push(read);
    }

    /// What is noted of a file, whatever came of it.
    fn noted(&self, file: &Found) -> TraceFile {
        TraceFile {
            path: file.name(),
            size: file.size,
            changed: file.changed,
            extractor: self.options.extractor_version(),
            rules: RULES_VERSION,
            read_at: self.options.clock.now(),
            ..TraceFile::default()
        }
    }

    fn failed(&mut self, file: &Found, message: &str) -> Result<()> {
        let message: String = message.chars().take(JOB_ERROR_CHARS_MAX).collect();
        self.report.failed.push(FailedFile { path: file.path.clone(), message: message.clone() });
        let before = self.registry.file(&file.name()).cloned().unwrap_or_default();
        let noted = TraceFile {
            state: FileState::Failed,
            error: message,
            sessions: before.sessions,
            ..self.noted(file)
        };
        self.add(Read { noted, left: 0, is_partial: false });
        Ok(())
    }

    /// Where a test ends the run.
    fn about_to_write(&mut self) -> Result<()> {
        if self.options.stops_after.is_some_and(|most| self.writes >= most) {
            let reason = "stopped by a test".to_string();
            return Err(kapsa_memory::Error::InvalidOperation { reason }.into());
        }
        self.writes += 1;
        Ok(())
    }
}

/// What is gathered while a file is read.
#[derive(Default)]
struct FileReading {
    sessions: Vec<SessionState>,
    /// Sessions whose candidates wait for their turn.
    waiting: u64,
    is_partial: bool,
}

/// The second pass: the sessions in the order of time, whatever the order of files.
impl Run<'_> {
    fn go_through(&mut self, step: &mut dyn FnMut(Step)) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return self.note_finished(1);
        }
        waiting.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
        let options = self.options;
        let memories =
            Memories::new(&self.location, &options.clock, options.thresholds, options.is_dry)?;
        let total = waiting.len() as u64;
        self.note_finished(NOTED_AT_ONCE)?;
        for (done, session) in waiting.iter().enumerate() {
            if self.options.is_stopped() {
                // Files that have sessions left are read again.
                break;
            }
            step(Step::Sessions(done as u64, total));
            let decisions = self.remember(&memories, session)?;
            let read = &mut self.read[session.file];
            read.noted.sessions[session.place].decisions = decisions;
            read.left -= 1;
            if read.is_finished() {
                self.finished.push(session.file);
            }
            self.note_finished(NOTED_AT_ONCE)?;
        }
        step(Step::Sessions(total, total));
        self.note_finished(1)
    }

    fn remember(&mut self, memories: &Memories, session: &Waiting) -> Result<Vec<KeptDecision>> {
        let path = self.read[session.file].noted.path.clone();
        let before = self.decided_before(&path, &session.id);
        let repository = session
            .repository
            .clone()
            .unwrap_or_else(|| self.repositories.name_of_folder(&session.folder));
        let origin = Origin {
            source: &session.source,
            repository: &repository,
            path: &path,
            at: session.started,
        };
        let mut decisions = Vec::new();
        memories.in_turn(|| {
            for candidate in &session.candidates {
                self.about_to_write()?;
                let offer = Offer::of(candidate, &origin);
                if candidate.reversed {
                    self.report.taken_back += u64::from(memories.take_back(&offer)?);
                    continue;
                }
                let outcome = match before.get(&offer.id) {
                    // What was rejected once is not brought again.
                    Some(decided) if decided.held => Outcome { is_held: true, ..told(decided) },
                    // Nor what was forgotten since.
                    Some(decided) if decided.made(&offer.id) && !memories.knows(&offer.id)? => {
                        Outcome { decision: Decision::forgotten(&offer.id), ..told(decided) }
                    }
                    _ => memories.remember(&offer)?,
                };
                let decision = kept_decision(&outcome);
                let is_new = outcome.decision.confirms
                    || outcome.decision.action != Action::NoOp
                    || outcome.decision.proposed.is_some();
                decisions.push(match before.get(&offer.id) {
                    // It was decided when it came; a file that is read again decides nothing.
                    Some(decided) if !is_new => decided.clone(),
                    _ => decision.clone(),
                });
                self.report.kept.push(kept(&offer, outcome.decision.confirms, decision));
            }
            Ok(())
        })?;
        Ok(decisions)
    }

    /// What was decided when this session was read last.
    fn decided_before(&self, path: &str, id: &str) -> BTreeMap<String, KeptDecision> {
        let noted = self.registry.file(path).into_iter().flat_map(|file| &file.sessions);
        let of_session = noted.filter(|session| session.id == id);
        of_session
            .flat_map(|session| &session.decisions)
            .map(|decision| (decision.id.clone(), decision.clone()))
            .collect()
    }

    /// Notes the files of which everything was gone through, once there are so many.
    fn note_finished(&mut self, at_least: usize) -> Result<()> {
        if self.options.is_dry || self.finished.len() < at_least {
            return Ok(());
        }
        let places = std::mem::take(&mut self.finished);
        let noted: Vec<TraceFile> =
            places.into_iter().map(|place| std::mem::take(&mut self.read[place].noted)).collect();
        self.about_to_write()?;
        let (location, registry) = (&self.location, &mut self.registry);
        self.jobs.settle(noted, self.options.clock.now(), |noted, kept, removed| {
            registry.note(location, noted, kept, removed)
        })
    }
}

fn told(decided: &KeptDecision) -> Outcome {
    Outcome { decision: Decision::told_before(&decided.id), id: decided.id.clone(), is_held: false }
}

fn kept_decision(outcome: &Outcome) -> KeptDecision {
    const THOUSANDTHS: f64 = 1000.0;
    let decision = &outcome.decision;
    KeptDecision {
        id: outcome.id.clone(),
        action: decision.action.name().to_string(),
        other: decision.other.clone().unwrap_or_default(),
        score: (decision.score * THOUSANDTHS).round() as u32,
        reason: decision.reason.clone(),
        pending: decision.proposed.is_some() && !outcome.is_held,
        held: outcome.is_held,
    }
}

fn kept(offer: &Offer, confirms: bool, decision: KeptDecision) -> Kept {
    Kept {
        kind: offer.kind.name(),
        title: offer.title.clone(),
        place: offer.place.clone(),
        source: offer.source.clone(),
        repository: offer.repository.clone(),
        at: offer.at,
        confidence: offer.confidence,
        decision,
        confirms,
    }
}

/// Whether a session was made by this program's own extraction, of any version: what was said first
/// begins as [`EXTRACTION_MARK`] does.
#[must_use]
pub fn is_own(session: &Session) -> bool {
    let mark = EXTRACTION_MARK.split(',').next().unwrap_or(EXTRACTION_MARK);
    let first = session.turns.iter().find(|turn| {
        turn.kind == TurnKind::Text && matches!(turn.speaker, Speaker::User | Speaker::Injected)
    });
    first.is_some_and(|turn| turn.text.trim_start().starts_with(mark))
}

/// The session whose words these are: of a sub-agent, the one that started it.
pub(crate) fn source_of(session: &Session) -> String {
    format!("{}/{}", session.agent.name(), session.parent.as_ref().unwrap_or(&session.id))
}
