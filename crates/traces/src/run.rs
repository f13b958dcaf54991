//! A run over one trace, with the folder, the steps and the files that other programs expect. What
//! is decided and stored is what a sync decides and stores; the memory's folder is a view of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kapsa_agents::StoreLocation;
use kapsa_extract::Candidate;
use kapsa_ingest::Session;
use kapsa_notes::{
    ActionKind, Artifact, Log, MemoryFolder, RUNS_KEPT_DEFAULT, Report as Actions, ReportAction,
    RunFolder, RunMode, Step as Todo, Todos, check_inputs, check_run, retain_runs,
};
use serde_json::{Map, Value, json};

use crate::decide::Action;
use crate::error::Result;
use crate::known::Offer;
use crate::pipelines::{Held, SummaryOrigin, body_of, held_by};
use crate::registry::Registry;
use crate::remember::Memories;
use crate::report::{Kept, Report};
use crate::sync::{Extractor, SyncOptions, sync};
use crate::view::{FolderView, Viewed, stamp};

/// Most searches of what is known that run at once.
pub const EXPLORERS_MAX: usize = 3;
/// Candidates that are worth a search of their own.
const CANDIDATES_PER_EXPLORER: usize = 4;

/// Where a memory's folder is below a repository, unless that is said.
const MEMORY_DEFAULT: &str = ".acreta/memory";
/// Where the runs are below a repository, unless that is said.
pub const WORKSPACE_DEFAULT: &str = ".acreta/workspace";

/// How a run is done.
#[derive(Clone, Debug)]
pub struct RunOptions<'a> {
    /// How the trace is read and compared.
    pub sync: SyncOptions<'a>,
    /// The folder that the defaults of memory and workspace lie below.
    pub repository: PathBuf,
    /// How many runs of this mode are kept.
    pub runs_kept: usize,
    /// Any number, by which the run is named.
    pub chance: u32,
}

impl<'a> RunOptions<'a> {
    /// A run below a repository, with every default.
    #[must_use]
    pub fn new(sync: SyncOptions<'a>, repository: &Path, chance: u32) -> RunOptions<'a> {
        let repository = repository.to_path_buf();
        RunOptions { sync, repository, runs_kept: RUNS_KEPT_DEFAULT, chance }
    }
}

/// What a run did.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// The run: the name of its folder.
    pub run_id: String,
    /// Its folder.
    pub run_folder: PathBuf,
    /// What it was for.
    pub run_mode: RunMode,
    /// The files of the run, by their names without endings.
    pub artifacts: BTreeMap<String, PathBuf>,
    /// How many candidates were added, updated a memory, or were known.
    pub counts: BTreeMap<&'static str, usize>,
    /// Notes that were written.
    pub written_memory_paths: Vec<PathBuf>,
    /// The summary of the session.
    pub summary_path: PathBuf,
    /// The trace.
    pub trace_path: PathBuf,
    /// The folder of the memory.
    pub memory_root: PathBuf,
    /// The folder of the runs.
    pub workspace_root: PathBuf,
    /// What was done in the capsule.
    pub report: Report,
    /// What was done in the folder.
    pub viewed: Viewed,
}

/// Takes what a trace holds into the memory: in the capsule, and in its folder.
///
/// # Errors
/// [`crate::Error::Contract`] for a trace or a mode that is none, before anything is made;
/// [`crate::Error::EmptyTrace`]; what the capsule or a folder reports.
pub fn run(
    location: &StoreLocation,
    trace_path: &Path,
    memory_root: Option<&Path>,
    workspace_root: Option<&Path>,
    run_mode: &str,
    options: &RunOptions<'_>,
) -> Result<RunReport> {
    let mode = check_inputs(trace_path, run_mode)?;
    let or_below = |given: Option<&Path>, default: &str| {
        given.map_or_else(|| options.repository.join(default), Path::to_path_buf)
    };
    let memory_root = or_below(memory_root, MEMORY_DEFAULT);
    let workspace_root = or_below(workspace_root, WORKSPACE_DEFAULT);
    let at = stamp(options.sync.clock.now())?;
    let folder = RunFolder::create(&workspace_root, mode, &at, options.chance)?;
    let todos = Todos::begin(&folder, &at)?;
    let found = BTreeMap::new();
    let mut run = Running { location, trace_path, memory_root, folder, todos, options, found };
    let done = run.all();
    if let Err(error) = &done {
        let line = json!({"event": "failed", "message": error.to_string()});
        run.folder.append(Log::Agent, &line)?;
    }
    let done = done?;
    let checked = check_run(&run.folder, &run.memory_root)?;
    retain_runs(&workspace_root, mode, options.runs_kept)?;
    let counts = ActionKind::ALL.map(|kind| (kind.name(), checked.report.count(kind)));
    Ok(RunReport {
        run_id: run.folder.id().to_string(),
        run_folder: run.folder.path().to_path_buf(),
        run_mode: mode,
        artifacts: run.artifacts(),
        counts: counts.into_iter().collect(),
        written_memory_paths: checked.report.written_memory_paths,
        summary_path: checked.summary_path,
        trace_path: trace_path.to_path_buf(),
        memory_root: run.memory_root,
        workspace_root,
        report: done.report,
        viewed: done.viewed,
    })
}

struct Running<'a> {
    location: &'a StoreLocation,
    trace_path: &'a Path,
    memory_root: PathBuf,
    folder: RunFolder,
    todos: Todos,
    options: &'a RunOptions<'a>,
    /// What each session was found to hold, by its id: a model is asked once.
    found: BTreeMap<String, Vec<Candidate>>,
}

/// What was done in the capsule and in the folder.
struct Done {
    report: Report,
    viewed: Viewed,
}

impl Running<'_> {
    fn all(&mut self) -> Result<Done> {
        let folder = MemoryFolder::at(&self.memory_root);
        self.step(Todo::ValidateInputs, |_| Ok(folder.create()?))?;
        let held = self.step(Todo::Extract, Running::extract)?;
        let repository = held.repository.clone();
        self.step(Todo::Summarise, |run| run.summarise(&held, &folder, &repository))?;
        // What people changed in the folder counts before anything is compared with it.
        let before = self.agree(&repository)?;
        self.step(Todo::Explore, |run| run.explore(&held, &before))?;
        self.step(Todo::Decide, |run| run.decide())?;
        let done = self.step(Todo::Write, |run| {
            let report = run.sync(false)?;
            let viewed = run.agree(&repository)?;
            Ok(Done { report, viewed })
        })?;
        self.start(Todo::Report)?;
        let actions = self.actions(&done);
        let now = self.now()?;
        self.todos.finish(&actions, &now)?;
        Ok(done)
    }

    fn now(&self) -> Result<kapsa_notes::Stamp> {
        stamp(self.options.sync.clock.now())
    }

    fn start(&mut self, step: Todo) -> Result<()> {
        let now = self.now()?;
        Ok(self.todos.start(step, &now)?)
    }

    fn step<T>(&mut self, step: Todo, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.start(step)?;
        let done = work(self)?;
        let now = self.now()?;
        self.todos.complete(step, &now)?;
        Ok(done)
    }

    /// `extract.json`: the candidates of the trace.
    fn extract(&mut self) -> Result<Held> {
        let sync = &self.options.sync;
        let mut held = held_by(
            self.trace_path,
            &sync.extractor,
            &Registry::load(self.location)?.repositories(),
            sync.clock.now(),
        )?;
        self.found = std::mem::take(&mut held.found);
        let candidates = held.offers.iter().map(|(one, offer)| extracted(one, offer));
        self.folder.write(Artifact::Extract, &Value::Array(candidates.collect()))?;
        Ok(held)
    }

    /// The summary of the session, always a new file, and `summary.json`, which names it.
    fn summarise(&mut self, held: &Held, folder: &MemoryFolder, repository: &str) -> Result<()> {
        let origin = SummaryOrigin {
            trace_path: self.trace_path,
            run_id: self.folder.id(),
            repository,
            coding_agent: None,
        };
        let path = held.write_summary(folder, &origin, &self.now()?, self.folder.short_id())?;
        let output = json!({"summary_path": path});
        Ok(self.folder.write(Artifact::Summary, &output)?)
    }

    fn agree(&self, repository: &str) -> Result<Viewed> {
        let clock = &self.options.sync.clock;
        let view =
            FolderView::new(self.location, &self.memory_root, repository, self.folder.id(), clock);
        view.agree()
    }

    /// `subagents.log`: what searches found for each candidate, a few of them at once. They read
    /// and write nothing.
    fn explore(&mut self, held: &Held, viewed: &Viewed) -> Result<()> {
        let offers: Vec<&Offer> = held.offers.iter().map(|(_, offer)| offer).collect();
        if offers.is_empty() {
            return Ok(());
        }
        let explorers = offers.len().div_ceil(CANDIDATES_PER_EXPLORER).min(EXPLORERS_MAX);
        let (location, options) = (self.location, &self.options.sync);
        let (clock, thresholds) = (&options.clock, options.thresholds);
        let explore = |number: usize, offers: &[&Offer]| -> Result<Vec<Value>> {
            let memories = Memories::new(location, clock, thresholds, true)?;
            let found = offers.iter().map(|offer| {
                let outcome = memories.look(offer)?;
                let matched = outcome.other.as_ref().and_then(|id| viewed.files.get(id));
                Ok(json!({
                    "explorer": number,
                    "candidate_id": offer.id,
                    "action_hint": hint(outcome.action).name(),
                    "matched_file": matched,
                    "evidence": {"score": outcome.score, "reason": outcome.reason},
                }))
            });
            found.collect()
        };
        let explore = &explore;
        let chunk = offers.len().div_ceil(explorers);
        let found: Vec<Result<Vec<Value>>> = std::thread::scope(|scope| {
            let workers: Vec<_> = offers
                .chunks(chunk)
                .enumerate()
                .map(|(number, offers)| scope.spawn(move || explore(number + 1, offers)))
                .collect();
            let ended = |worker: std::thread::ScopedJoinHandle<'_, Result<Vec<Value>>>| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            workers.into_iter().map(ended).collect()
        });
        for lines in found {
            for line in lines? {
                self.folder.append(Log::Subagents, &line)?;
            }
        }
        Ok(())
    }

    /// What would be done, to the log.
    fn decide(&mut self) -> Result<()> {
        let report = self.sync(true)?;
        for kept in &report.kept {
            let line = json!({
                "event": "decided",
                "candidate_id": kept.decision.id,
                "action": kept.decision.action,
                "reason": kept.decision.reason,
            });
            self.folder.append(Log::Agent, &line)?;
        }
        Ok(())
    }

    fn sync(&self, is_dry: bool) -> Result<Report> {
        let found = |session: &Session| self.found.get(&session.id).cloned().unwrap_or_default();
        let extractor = Extractor { extract: &found, ..self.options.sync.extractor };
        let options = SyncOptions { is_dry, force: true, extractor, ..self.options.sync.clone() };
        let report = sync(self.location, &[self.trace_path.to_path_buf()], &options, &mut |_| ())?;
        Ok(report)
    }

    /// The report: an action for each candidate.
    fn actions(&self, done: &Done) -> Actions {
        let actions = done.report.kept.iter().map(|kept| action(kept, &done.viewed));
        Actions {
            run_id: self.folder.id().to_string(),
            actions: actions.collect(),
            written_memory_paths: done.viewed.written.values().cloned().collect(),
            trace_path: self.trace_path.to_path_buf(),
        }
    }

    fn artifacts(&self) -> BTreeMap<String, PathBuf> {
        let of_json = [Artifact::Extract, Artifact::Summary, Artifact::MemoryActions];
        let files = of_json.map(|artifact| self.folder.path_of(artifact)).into_iter();
        let logs = [Log::Agent, Log::Subagents].map(|log| self.folder.log_path(log));
        files
            .chain(logs)
            .map(|path| {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                (name, path)
            })
            .collect()
    }
}

/// A candidate as `extract.json` has it.
fn extracted(candidate: &Candidate, offer: &Offer) -> Value {
    let places: Vec<String> = candidate.evidence.iter().map(ToString::to_string).collect();
    let mut value = json!({
        "candidate_id": offer.id,
        "primitive": offer.kind.primitive(),
        "title": offer.title,
        "body": body_of(candidate),
        "confidence": offer.confidence,
        "tags": offer.tags,
        "type": offer.kind.name(),
        "evidence": places,
    });
    if let Some(kind) = offer.kind.kind() {
        value["kind"] = kind.into();
    }
    value
}

/// The action of a report that a decision is.
fn hint(action: Action) -> ActionKind {
    match action {
        Action::Add | Action::Supersede => ActionKind::Add,
        Action::Update => ActionKind::Update,
        Action::NoOp | Action::Precede => ActionKind::NoOp,
    }
}

fn action(kept: &Kept, viewed: &Viewed) -> ReportAction {
    let decision = &kept.decision;
    let kind = Action::ALL.into_iter().find(|action| action.name() == decision.action);
    // What waits is no note yet.
    let is_written = !decision.held && !decision.pending;
    let action = kind.filter(|_| is_written).map_or(ActionKind::NoOp, hint);
    let mut details = Map::new();
    details.insert("candidate_id".into(), decision.id.as_str().into());
    details.insert("title".into(), kept.title.as_str().into());
    details.insert("decision".into(), decision.action.as_str().into());
    details.insert("reason".into(), decision.reason.as_str().into());
    details.insert("overlap".into(), json!(f64::from(decision.score) / 1000.0));
    details.insert("evidence".into(), kept.place.as_str().into());
    for (name, id) in [("path", &decision.id), ("matched_file", &decision.other)] {
        if let Some(path) = viewed.files.get(id) {
            details.insert(name.into(), json!(path));
        }
    }
    for (name, is_so) in [("pending", decision.pending), ("held", decision.held)] {
        if is_so {
            details.insert(name.into(), true.into());
        }
    }
    ReportAction { action, details }
}
