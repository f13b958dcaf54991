//! `sync`, `trace` and `status`: traces of sessions become memories.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kapsa_agents::StoreLocation;
use kapsa_extract::{Budget, Candidate, EXTRACTOR_VERSION, extract_with};
use kapsa_ingest::{Agent, Session};
use kapsa_model::{LanguageModel, block_on};
use kapsa_notes::check_inputs;
use kapsa_traces::queue::{Job, JobQueue, JobState};
use kapsa_traces::{
    Extractor, FileState, Kept, PURGED_AFTER_DAYS, Registry, Report, RunOptions, Step, SyncOptions,
    TraceFile, WORKSPACE_DEFAULT, original_of, run as run_trace, sync as sync_traces,
};
use serde_json::{Map, Value};

use crate::app::{App, Status, did};
use crate::args::{EmbedWhen, SyncArgs, TraceVerb};
use crate::commands::embed::New;
use crate::commands::pipelines;
use crate::commands::watch::watch;
use crate::error::{CliError, Done, Result};
use crate::language_models;
use crate::moment::{self, readable};
use crate::output::Piece;
use crate::progress::Progress;
use crate::render::counted;
use crate::trace_config::TraceConfig;
use crate::wire::Time;
use crate::wire::traces::{
    CandidateOut, ExtractedOut, KeptSessionOut, SessionDecisionOut, SyncAnswer, SyncJobOut,
    SyncModelOut, SyncOut, SyncStatusOut, SyncedFileOut, TraceRunOut,
};

/// Exit code of a sync of which some files could not be read.
const EXIT_PARTIAL: u8 = 3;
/// Columns by which what follows a first line is indented.
const INDENT: usize = 2;

/// `kapsa sync`.
pub(crate) fn sync(app: &mut App, args: &SyncArgs) -> Result<Status> {
    if args.watch {
        return watch(app, args);
    }
    let location = app.location()?;
    let paths = places(args, &location)?;
    if paths.is_empty() {
        return Err(nothing_to_read());
    }
    let asked = Proposer::asked_for(args)?;
    let extract = |session: &Session| extracted(asked.as_ref(), session);
    let options = options(app, args, Extractor { version: version(args), extract: &extract })?;
    if let Some(memory_root) = &args.memory_root {
        let [trace] = paths.as_slice() else {
            return Err(CliError::usage("--memory-root takes one trace, not several"));
        };
        check_inputs(trace, &args.mode).map_err(kapsa_traces::Error::from)?;
        if !options.is_dry {
            return run_one(app, args, &location, trace, memory_root, options);
        }
    }
    let is_dry = options.is_dry;
    let new = New::begin(app, args.embed.or(Some(EmbedWhen::Now)))?;
    let report = {
        let mut reading = Progress::new("reading files", &app.out);
        let mut going_through = Progress::new("going through sessions", &app.out);
        sync_traces(&location, &paths, &options, &mut |step| match step {
            Step::Files(done, total) => reading.set(done, Some(total)),
            Step::Sessions(done, total) => going_through.set(done, Some(total)),
        })?
    };
    let embedding = if is_dry {
        None
    } else {
        did(app, Done::new(format!("synced {}", counted(report.sessions, "session"))));
        new.end(app)
    };
    warn(app, &report);
    if app.out.is_json() {
        let model = asked.as_ref().map(Proposer::told);
        let answer = SyncOut { model, ..SyncOut::of(&report, embedding) };
        app.out.json(&SyncAnswer::Sync(answer))?;
    } else {
        show(app, &report)?;
        asked.iter().try_for_each(|asked| asked.show(app))?;
    }
    Ok(if report.failed.is_empty() { Status::Done } else { Status::Told(EXIT_PARTIAL) })
}

/// What is read: what was named, else what is connected and there.
pub(super) fn places(args: &SyncArgs, location: &StoreLocation) -> Result<Vec<PathBuf>> {
    if !args.paths.is_empty() {
        return args.paths.iter().map(|path| absolute(path)).collect();
    }
    let mut paths = kapsa_traces::connected(location)?;
    // A place that is gone is no reason to leave the others unread.
    paths.retain(|path| path.exists());
    Ok(paths)
}

pub(super) fn nothing_to_read() -> CliError {
    CliError::user("usage", "no file or folder of session traces was named, and none is connected")
        .hint("kapsa sync FOLDER, or kapsa connect, which finds them")
}

/// How a call asks for traces to be read. Where settings say that nothing is written to memory, it
/// is told so, and the call is a dry one.
pub(super) fn options<'a>(
    app: &mut App,
    args: &SyncArgs,
    extractor: Extractor<'a>,
) -> Result<SyncOptions<'a>> {
    let config = TraceConfig::find()?;
    if !config.writes_memory {
        app.out.warn("memory_write_off", TraceConfig::no_writes());
    }
    Ok(SyncOptions {
        extractor,
        since: args.since.or(args.window),
        until: args.until,
        agent: args.agent.as_deref().and_then(agent_named),
        sessions_max: args.max_sessions.map(|most| most as u64),
        is_dry: args.dry_run || !config.writes_memory,
        extracts: !args.no_extract,
        // A run reads its trace whatever was read before.
        force: args.force || args.memory_root.is_some(),
        provenance: app.write_options(None).provenance,
        ..SyncOptions::new(moment::now)
    })
}

/// The version of what finds candidates.
pub(super) fn version(args: &SyncArgs) -> u32 {
    if args.model.is_some() { VERSION_WITH_MODEL } else { EXTRACTOR_VERSION }
}

/// What a model proposes where one is asked, else what the rules find.
pub(super) fn extracted(asked: Option<&Proposer>, session: &Session) -> Vec<Candidate> {
    match asked {
        Some(asked) => asked.extract(session),
        None => kapsa_extract::extract(session).candidates,
    }
}

/// A run over one trace, with a folder of its own and the memories as files.
fn run_one(
    app: &mut App,
    args: &SyncArgs,
    location: &StoreLocation,
    trace: &Path,
    memory_root: &Path,
    options: SyncOptions<'_>,
) -> Result<Status> {
    let random = kapsa_memory::random_id();
    let chance = u32::from_le_bytes([random[0], random[1], random[2], random[3]]);
    let memory_root = absolute(memory_root)?;
    let workspace_root = args.workspace_root.as_deref().map(absolute).transpose()?;
    let options = RunOptions::new(options, &absolute(Path::new("."))?, chance);
    let new = New::begin(app, args.embed.or(Some(EmbedWhen::Now)))?;
    let done = run_trace(
        location,
        trace,
        Some(&memory_root),
        workspace_root.as_deref(),
        &args.mode,
        &options,
    )?;
    did(app, Done::new(format!("run {}", done.run_id)));
    let embedding = new.end(app);
    for path in &done.viewed.conflicts {
        let message =
            format!("{} was changed here and in the capsule: it is left as it is", path.display());
        app.out.warn("note_conflict", &message);
    }
    for (path, reason) in &done.viewed.unreadable {
        app.out.warn("note_unreadable", &format!("{}: {reason}", path.display()));
    }
    if app.out.is_json() {
        app.out.json(&SyncAnswer::Run(TraceRunOut::of(&done, embedding)))?;
        return Ok(Status::Done);
    }
    show(app, &done.report)?;
    line_of(app, "run", &done.run_folder.display().to_string())?;
    line_of(app, "summary", &done.summary_path.display().to_string())?;
    for path in &done.written_memory_paths {
        line_of(app, "wrote", &path.display().to_string())?;
    }
    Ok(Status::Done)
}

/// Where a program that answers as a model keeps its sessions, below the workspace.
const SESSIONS_FOLDER: &str = ".claude";

fn sessions_folder(args: &SyncArgs) -> Result<PathBuf> {
    let workspace = args.workspace_root.as_deref().unwrap_or(Path::new(WORKSPACE_DEFAULT));
    Ok(absolute(workspace)?.join(SESSIONS_FOLDER))
}

/// The version of what a model proposes: what was read by rules is read again with one.
const VERSION_WITH_MODEL: u32 = EXTRACTOR_VERSION + (1 << 16);

/// A language model that is asked session by session, until it fails or its budget is used up.
pub(super) struct Proposer {
    model: Box<dyn LanguageModel>,
    budget: RefCell<Budget>,
    by_rules: Cell<u64>,
    failed: RefCell<Option<String>>,
}

impl Proposer {
    /// The model that a call asks, if it does.
    pub(super) fn asked_for(args: &SyncArgs) -> Result<Option<Proposer>> {
        let Some(name) = &args.model else { return Ok(None) };
        let is_kept = args.persist_sessions || TraceConfig::find()?.persists_sessions;
        let sessions_in = is_kept.then(|| sessions_folder(args)).transpose()?;
        Proposer::new(name, args.max_tokens, sessions_in.as_deref()).map(Some)
    }

    /// Has a model asked again that failed.
    pub(super) fn try_again(&self) {
        self.failed.replace(None);
    }

    fn new(name: &str, tokens_max: Option<usize>, sessions_in: Option<&Path>) -> Result<Proposer> {
        Ok(Proposer {
            model: match sessions_in {
                Some(folder) => language_models::named_with_sessions_in(name, folder)?,
                None => language_models::named(name, None)?,
            },
            budget: RefCell::new(Budget::tokens(tokens_max.map(|most| most as u64))),
            by_rules: Cell::new(0),
            failed: RefCell::default(),
        })
    }

    /// What the model proposes; once it cannot be asked any more, what the rules find.
    fn extract(&self, session: &Session) -> Vec<Candidate> {
        let mut budget = self.budget.borrow_mut();
        if self.failed.borrow().is_none() && !budget.is_spent {
            match block_on(extract_with(&*self.model, session, &mut budget)) {
                Ok(found) if !budget.is_spent => return found.candidates,
                Ok(_) => {}
                Err(error) => *self.failed.borrow_mut() = Some(error.message),
            }
        }
        self.by_rules.set(self.by_rules.get() + 1);
        kapsa_extract::extract(session).candidates
    }

    pub(super) fn told(&self) -> SyncModelOut {
        let budget = self.budget.borrow();
        SyncModelOut {
            name: self.model.name().to_string(),
            request_count: budget.requests,
            token_in_count: budget.usage.tokens_in,
            token_out_count: budget.usage.tokens_out,
            by_rules_count: self.by_rules.get(),
            failed: self.failed.borrow().clone(),
        }
    }

    fn show(&self, app: &mut App) -> Result<()> {
        let told = self.told();
        let spent = format!(
            "{} asked: {}, {} tokens in, {} out",
            told.name,
            counted(told.request_count, "request"),
            told.token_in_count,
            told.token_out_count
        );
        line_of(app, "model", &spent)?;
        if told.by_rules_count > 0 {
            let why = told.failed.unwrap_or_else(|| "the tokens are used up".to_string());
            let by_rules = counted(told.by_rules_count, "session");
            app.out.note(&format!("{by_rules} read by rules: {why}; --force reads them again"));
        }
        Ok(())
    }
}

fn agent_named(name: &str) -> Option<Agent> {
    Agent::ALL.into_iter().find(|agent| agent.name() == name)
}

/// A path that means the same in every folder.
pub(super) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| CliError::io(&format!("find {}", path.display()), &error))
}

/// Says what could not be read.
pub(super) fn warn_of_failed(app: &mut App, report: &Report) {
    for failed in &report.failed {
        app.out.warn("trace_failed", &failed.message);
    }
}

fn warn(app: &mut App, report: &Report) {
    warn_of_failed(app, report);
    if report.given_up > 0 {
        let files = counted(report.given_up, "file");
        app.out.note(&format!("{files} given up; kapsa status says why, --force tries again"));
    }
    if report.expiring > 0 {
        let message = format!(
            "{} older than 25 days: agents delete their transcripts after about {} days",
            counted(report.expiring, "file"),
            PURGED_AFTER_DAYS
        );
        app.out.note(&message);
    }
}

/// For people: what was read, what was skipped, and each new memory in a line.
fn show(app: &mut App, report: &Report) -> Result<()> {
    for kept in report.kept.iter().filter(|kept| is_news(kept)) {
        memory_line(app, kept)?;
    }
    let files = [
        (report.read, "read"),
        (report.unchanged, "unchanged"),
        (report.others, "without traces"),
        (report.left + report.over, "left for later"),
        (report.waiting.len() as u64, "still being written"),
        (report.failed.len() as u64, "failed"),
        (report.given_up, "given up"),
    ];
    let sessions = [
        (report.sessions, "read"),
        (report.sessions_own, "of Kapsa's own"),
        (report.sessions_of_others, "of other agents"),
        (report.sessions_of_other_time, "of other times"),
    ];
    line_of(app, "files", &joined(&files))?;
    line_of(app, "sessions", &joined(&sessions))?;
    if let Some(skipped) = skipped(report) {
        line_of(app, "skipped", &skipped)?;
    }
    line_of(app, "memories", &joined(&memories(report)))?;
    if report.is_dry {
        app.out.note("nothing was stored");
    }
    Ok(())
}

/// What became of the candidates.
pub(super) fn memories(report: &Report) -> [(u64, &'static str); 8] {
    let actions = report.actions();
    let count = |name: &str| actions.get(name).copied().unwrap_or_default();
    [
        (count("add"), "added"),
        (count("update"), "updated"),
        (count("no_op"), "known"),
        (count("supersede"), "superseding"),
        (count("precede"), "older"),
        (report.taken_back, "taken back"),
        (report.pending(), "pending"),
        (report.held(), "held for review"),
    ]
}

/// Kinds of what was skipped that are named; `--json` has all of them.
const SKIPPED_NAMED_MAX: usize = 4;

/// What was skipped: the kinds of which there were most, and how much in all.
fn skipped(report: &Report) -> Option<String> {
    let mut kinds: Vec<_> = report.skipped.iter().collect();
    kinds.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    let total: u64 = kinds.iter().map(|(_, _, count)| count).sum();
    let named = kinds.len().min(SKIPPED_NAMED_MAX);
    let (named, others) = kinds.split_at(named);
    let mut parts: Vec<String> = named
        .iter()
        .map(|(reason, kind, count)| format!("{count} {kind} ({})", reason.words()))
        .collect();
    if !others.is_empty() {
        let count: u64 = others.iter().map(|(_, _, count)| count).sum();
        parts.push(format!("{count} of {} other kinds", others.len()));
    }
    (total > 0).then(|| match parts.len() {
        1 => parts.remove(0),
        _ => format!("{total} in all: {}", parts.join(", ")),
    })
}

/// Whether somebody who reads the report would miss it.
fn is_news(kept: &Kept) -> bool {
    kept.decision.action != "no_op" || kept.decision.pending || kept.confirms
}

/// `add  preference  Ask before adding a dependency  (session.jsonl:12)`.
fn memory_line(app: &mut App, kept: &Kept) -> Result<()> {
    let decision = &kept.decision;
    let what = match decision.action.as_str() {
        "no_op" if decision.pending => "pending",
        "no_op" => "confirmed",
        action => action,
    };
    let held = if decision.held { "  held for review" } else { "" };
    app.out.pieces(
        &[
            Piece::plain(format!("{what:<10}")),
            Piece::strong(format!("{:<11}", kept.kind)),
            Piece::plain(kept.title.as_str()),
            Piece::faint(format!("  {}{held}", kept.place)),
        ],
        INDENT,
    )
}

/// Numbers that are not 0, with what they count.
pub(super) fn joined(counts: &[(u64, &str)]) -> String {
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if told.is_empty() { "none".to_string() } else { told.join(", ") }
}

const NAME_COLUMNS: usize = 10;

fn line_of(app: &mut App, name: &str, value: &str) -> Result<()> {
    app.out.pieces(
        &[Piece::faint(format!("{name:<NAME_COLUMNS$}")), Piece::plain(value)],
        NAME_COLUMNS,
    )
}

/// `kapsa trace`.
pub(crate) fn trace(app: &mut App, verb: TraceVerb) -> Result<()> {
    match verb {
        TraceVerb::Extract(args) => match args.file {
            Some(file) if !args.pipeline.is_asked() => extract(app, &file),
            file => pipelines::extract(app, file.as_deref(), &args.pipeline),
        },
        TraceVerb::Summarise(args) => pipelines::summarise(app, &args),
        TraceVerb::Show { session } => show_session(app, &session),
    }
}

/// What a trace holds, by the rules that a sync goes by.
fn extract(app: &mut App, file: &Path) -> Result<()> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let reading = kapsa_ingest::sessions(file, &mut |session| {
        candidates.extend(kapsa_extract::extract(&session).candidates);
        std::ops::ControlFlow::Continue(())
    })
    .map_err(|error| unreadable(&error))?;
    if reading.format.is_none() {
        let message = format!("{} holds no session trace", file.display());
        return Err(CliError::user("no_trace", message).hint("docs/traces.md lists the formats"));
    }
    if app.out.is_json() {
        let candidates = candidates.iter().map(CandidateOut::from).collect();
        return app.out.json(&ExtractedOut { candidates });
    }
    for candidate in &candidates {
        let places: Vec<String> = candidate.evidence.iter().map(ToString::to_string).collect();
        let back = if candidate.reversed { "  taken back later" } else { "" };
        app.out.pieces(
            &[
                Piece::strong(format!("{:<11}", candidate.kind.name())),
                Piece::plain(candidate.title.as_str()),
                Piece::faint(format!("  {}{back}", places.join(","))),
            ],
            INDENT,
        )?;
        if candidate.body != candidate.title {
            app.out.body(&indented(&candidate.body))?;
        }
    }
    if candidates.is_empty() {
        app.out.note("nothing in it is worth keeping");
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("{:INDENT$}{line}\n", "")).collect()
}

fn unreadable(error: &kapsa_ingest::Error) -> CliError {
    CliError::user("trace_unreadable", error.to_string())
}

fn show_session(app: &mut App, id: &str) -> Result<()> {
    let location = app.location()?;
    let registry = Registry::load(&location)?;
    let found = registry.sessions(id);
    let ids: BTreeMap<&str, usize> =
        found.iter().enumerate().map(|(at, (_, session))| (session.id.as_str(), at)).collect();
    let (file, session) = match (found.as_slice(), ids.len()) {
        ([.., last], 1) => *last,
        ([], _) => {
            let message = format!("no session {id} was synced");
            let hint = "kapsa sync FOLDER reads sessions; kapsa status --json lists files";
            return Err(CliError::user("session_not_found", message).hint(hint));
        }
        _ => {
            let names: Vec<&str> = ids.keys().copied().collect();
            let message = format!("{id} begins the ids of {} sessions", names.len());
            return Err(CliError::user("session_ambiguous", message).hint(names.join(", ")));
        }
    };
    let Some(original) = original_of(&location, session)? else {
        let message = format!("the original of session {} is not kept", session.id);
        let hint = "kapsa sync --force reads its file again";
        return Err(CliError::user("original_not_found", message).hint(hint));
    };
    if app.out.is_json() {
        return app.out.json(&KeptSessionOut {
            session: &session.id,
            agent: &session.agent,
            path: &file.path,
            decisions: SessionDecisionOut::all_of(session),
            original: &original,
        });
    }
    line_of(app, "session", &format!("{}/{}", session.agent, session.id))?;
    line_of(app, "file", &file.path)?;
    for name in ["cwd", "repo", "branch"] {
        if let Some(value) = original.get(name).and_then(Value::as_str) {
            line_of(app, name, value)?;
        }
    }
    let turns = original.get("turns").and_then(Value::as_array);
    turns
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .try_for_each(|turn| show_turn(app, turn))
}

fn show_turn(app: &mut App, turn: &Map<String, Value>) -> Result<()> {
    let text = |name: &str| turn.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = if text("kind").is_empty() { "" } else { " (reasoning)" };
    app.out.text("\n")?;
    let outcome = turn.get("outcome").map(|outcome| match outcome {
        Value::String(outcome) => format!("  {outcome}"),
        exit => format!("  exit code {exit}"),
    });
    app.out.pieces(
        &[
            Piece::strong(format!("{}{kind}", text("speaker"))),
            Piece::faint(format!("  {}{}", text("at"), outcome.unwrap_or_default())),
        ],
        INDENT,
    )?;
    if let Some(call) = turn.get("call") {
        let tool = call.get("tool").and_then(Value::as_str).unwrap_or_default();
        let arguments = call.get("arguments").map(ToString::to_string).unwrap_or_default();
        app.out.body(&format!("{tool} {arguments}"))?;
    }
    if text("text").is_empty() { Ok(()) } else { app.out.body(text("text")) }
}

/// `kapsa status`.
pub(crate) fn status(app: &mut App) -> Result<()> {
    let location = app.location()?;
    let (registry, queue) = (Registry::load(&location)?, JobQueue::load(&location)?);
    let files: Vec<&TraceFile> = registry.files().collect();
    let of_state = |state| files.iter().filter(|file| file.state == state).count();
    let session_count = files.iter().map(|file| file.sessions.len()).sum();
    let synced_at = files.iter().map(|file| file.read_at).max();
    let odd: Vec<&TraceFile> =
        files.iter().copied().filter(|file| file.state != FileState::Read).collect();
    if app.out.is_json() {
        return app.out.json(&SyncStatusOut {
            read_count: of_state(FileState::Read),
            waiting_count: of_state(FileState::Waiting),
            failed_count: of_state(FileState::Failed),
            session_count,
            synced_at: synced_at.map(Time),
            files: odd.iter().map(|file| SyncedFileOut::from(*file)).collect(),
            jobs: queue.jobs().map(SyncJobOut::from).collect(),
        });
    }
    let Some(synced_at) = synced_at else {
        app.out.note("nothing was synced yet; kapsa sync FOLDER reads session traces");
        return show_queue(app, &queue);
    };
    line_of(app, "synced", &readable(synced_at))?;
    let counts = [
        (of_state(FileState::Read) as u64, "read"),
        (of_state(FileState::Waiting) as u64, "still being written"),
        (of_state(FileState::Failed) as u64, "failed"),
    ];
    line_of(app, "files", &joined(&counts))?;
    let mut agents: BTreeMap<&str, u64> = BTreeMap::new();
    for session in files.iter().flat_map(|file| &file.sessions) {
        *agents.entry(&session.agent).or_default() += 1;
    }
    let agents: Vec<(u64, &str)> = agents.into_iter().map(|(name, count)| (count, name)).collect();
    line_of(app, "sessions", &joined(&agents))?;
    for file in odd.iter().filter(|file| queue.job(&file.path).is_none()) {
        let why = if file.error.is_empty() { "still being written" } else { file.error.as_str() };
        line_of(app, "", &with_reason(&file.path, why))?;
    }
    show_queue(app, &queue)
}

/// What waits, is being read, or failed: `broken.db: not a database  (attempt 1 of 3 failed, …)`.
fn show_queue(app: &mut App, queue: &JobQueue) -> Result<()> {
    let of_state = |state| queue.jobs().filter(|job| job.state == state).count() as u64;
    let counts = [
        (of_state(JobState::Pending), "pending"),
        (of_state(JobState::Running), "running"),
        (of_state(JobState::Failed), "to be tried again"),
        (of_state(JobState::DeadLetter), "given up"),
    ];
    if counts.iter().all(|(count, _)| *count == 0) {
        return Ok(());
    }
    line_of(app, "queue", &joined(&counts))?;
    queue.jobs().try_for_each(|job| {
        let what = with_reason(&job.path, &job.error);
        app.out.pieces(
            &[
                Piece::plain(format!("{:NAME_COLUMNS$}{what}", "")),
                Piece::faint(format!("  ({})", standing(job))),
            ],
            NAME_COLUMNS,
        )
    })
}

/// A path, and why something is the matter with it; most reasons name it themselves.
fn with_reason(path: &str, why: &str) -> String {
    match why {
        "" => path.to_string(),
        why if why.starts_with(path) => why.to_string(),
        why => format!("{path}: {why}"),
    }
}

/// How a job stands, in words.
fn standing(job: &Job) -> String {
    match job.state {
        JobState::Failed => format!(
            "failed {}, next attempt {}",
            counted(u64::from(job.attempts), "time"),
            readable(job.due_at)
        ),
        JobState::DeadLetter => {
            format!("given up after {}", counted(u64::from(job.attempts), "attempt"))
        }
        JobState::Running => match &job.holder {
            Some(holder) => format!("read by process {} on {}", holder.pid, holder.host),
            None => "being read".to_string(),
        },
        JobState::Pending | JobState::Done => job.state.name().to_string(),
    }
}
