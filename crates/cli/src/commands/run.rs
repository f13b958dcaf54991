//! `run`: the memory of a team of agents.
//!
//! Steps of a run (start, task start, record, context, finish, archive) never fail it: what goes
//! wrong is told on standard error, `"ok"` is false in the JSON, and the exit code is 0, unless
//! `--strict` asks otherwise. A call that makes no sense is an error all the same, as is a merge
//! that needs somebody to decide. Questions of people (status, list, config) fail as all other
//! verbs do.

use std::env;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use kapsa_memory::record::TEXT_BYTES_MAX;
use kapsa_memory::{Micros, Mode, WriteOptions, random_bits};
use kapsa_runs::{
    Context, ContextRequest, Finish, Finished, Layer, LayoutKind, ModelSource, NewOutput, NewRun,
    NewTask, PromptLayers, Role, RunConfig, RunId, RunInfo, RunStore, SIBLING_CHUNK_CHARS, Started,
    Status as RunStatus, TaskId,
};
use serde_json::json;

use crate::app::{App, Status, did};
use crate::args::{
    self, ContextFormat, Named, RunContext, RunFinish, RunMerge, RunPlace, RunRecord, RunStart,
    RunTaskStart, RunTaskVerb, RunVerb, WhichRun,
};
use crate::commands::embed::New;
use crate::commands::init;
use crate::commands::text::plain_text;
use crate::commands::text::utf8;
use crate::error::{CliError, Done, Kind, Result, after};
use crate::output::{self, ErrorStyle};
use crate::render::counted;
use crate::run_config::{self, Setup, layout_name, mode_name};
use crate::wire::run::{
    ArchivedOut, ConfigOut, FailedOut, FinishedOut, OffOut, RecordedOut, RunContextOut, RunsOut,
    StartedOut, StatusOut,
};
use crate::wire::{ErrorOut, show};
use crate::{escape, locate, models, moment};

/// `kapsa run …`.
pub(crate) fn run(app: &mut App, verb: RunVerb) -> Result<Status> {
    match verb {
        RunVerb::Start(args) => step(app, &args.place, |app, runs| start(app, runs, &args)),
        RunVerb::Task(args) => match args.verb {
            RunTaskVerb::Start(args) => {
                step(app, &args.which.place, |app, runs| start_task(app, runs, &args))
            }
        },
        RunVerb::Record(args) => step(app, &args.which.place, |app, runs| record(app, runs, &args)),
        RunVerb::Context(args) => {
            step(app, &args.which.place, |app, runs| context(app, runs, &args))
        }
        RunVerb::Finish(args) => step(app, &args.which.place, |app, runs| finish(app, runs, &args)),
        RunVerb::Archive(args) => {
            step(app, &args.which.place, |app, runs| archive(app, runs, &args))
        }
        RunVerb::Status(args) => status(app, &args).map(|()| Status::Done),
        RunVerb::List(args) => list(app, &args).map(|()| Status::Done),
        RunVerb::Config(args) => config(app, &args).map(|()| Status::Done),
    }
}

/// The runs of this place.
struct Runs {
    setup: Setup,
    store: RunStore,
    /// The capsule of the workspace: that of all runs, or the one that runs kept as files are
    /// merged into.
    workspace: PathBuf,
}

impl Runs {
    fn open(app: &App, place: &RunPlace) -> Result<Runs> {
        let setup = Setup::find(place)?;
        let workspace =
            match app.global.capsule.as_deref().filter(|path| !path.as_os_str().is_empty()) {
                Some(path) => path.to_path_buf(),
                None => {
                    locate::expect_inside(&setup.root)?;
                    setup.root.join(locate::workspace())
                }
            };
        let mut options = app.write_options(None);
        if app.global.lock_timeout.is_none() {
            options.lock_timeout = setup.config.timeout;
        }
        let store = store(&setup, &workspace, options);
        Ok(Runs { setup, store, workspace })
    }

    /// The run that is meant: the one asked for, else the only one that is under way.
    fn which(&self, which: &WhichRun) -> Result<RunId> {
        if let Some(run) = which.run.get() {
            return Ok(run.clone());
        }
        // A variable that is set to nothing comes from a start that failed: another run is not what
        // was meant.
        if env::var_os(RUN_VARIABLE).is_some_and(|value| value.is_empty()) {
            return Err(CliError::user(
                "no_run",
                format!("{RUN_VARIABLE} is empty: no run was started"),
            )
            .hint("start one with kapsa run start; unset KAPSA_RUN to use the only active one"));
        }
        // One that cannot be read may be the one.
        let may_be_meant = |info: &RunInfo| info.status == RunStatus::Running;
        let all = self.store.newest_runs(usize::MAX)?.0.into_iter();
        let mut running: Vec<RunId> = all
            .filter(|(_, info)| info.as_ref().map_or(true, may_be_meant))
            .map(|(run, _)| run)
            .collect();
        match running.len() {
            1 => Ok(running.remove(0)),
            0 => Err(CliError::user("no_run", "no run is active")
                .hint("start one with kapsa run start, or name one with --run or KAPSA_RUN")),
            _ => {
                let names: Vec<&str> = running.iter().map(RunId::as_str).take(RUNS_TOLD).collect();
                Err(CliError::user(
                    "several_runs",
                    format!("several runs are active: {}", names.join(", ")),
                )
                .hint("choose one with --run or KAPSA_RUN"))
            }
        }
    }

    /// A place, as people read it: a file relative to the root.
    fn short<'a>(&self, place: &'a str) -> &'a str {
        let root = show(&self.setup.root);
        place.strip_prefix(root.as_str()).map_or(place, |rest| rest.trim_start_matches('/'))
    }

    fn layout(&self) -> &'static str {
        layout_name(self.setup.config.layout)
    }
}

/// The variable that names the run.
const RUN_VARIABLE: &str = "KAPSA_RUN";
/// Runs that an error names.
const RUNS_TOLD: usize = 5;

fn store(setup: &Setup, workspace: &Path, options: WriteOptions) -> RunStore {
    match setup.config.layout {
        LayoutKind::Branches => RunStore::branches(workspace, options),
        LayoutKind::Files => {
            let RunConfig { dir, store_extension, .. } = &setup.config;
            RunStore::files_named(dir, workspace, store_extension, options, moment::rfc3339)
        }
    }
}

/// One step: does nothing where run memory is off, and fails only where that is asked for.
fn step(
    app: &mut App,
    place: &RunPlace,
    step: impl FnOnce(&mut App, &Runs) -> Result<Status>,
) -> Result<Status> {
    let done = match run_config::is_off() {
        true => off(app),
        false => Runs::open(app, place).and_then(|runs| match runs.setup.config.enabled {
            true => {
                let done = step(app, &runs);
                let stored = runs.store.stored();
                if done.is_err() && app.done.is_none() && !stored.is_empty() {
                    did(app, Done::new(stored.join("; ")));
                }
                for warning in runs.store.warnings() {
                    app.out.warn("run_memory", &format!("run memory: {warning}"));
                }
                done
            }
            false => off(app),
        }),
    };
    match done {
        Err(error)
            if !place.strict && error.kind != Kind::Quiet && !MISUSES.contains(&error.code) =>
        {
            let error = after(app.done.take(), error);
            tell_failure(app, &error)?;
            Ok(Status::Done)
        }
        done => done,
    }
}

/// Codes of errors that are the caller's to mend, and no failure of memory.
const MISUSES: [&str; 2] = ["usage", "merge_conflicts"];

fn off(app: &mut App) -> Result<Status> {
    if app.out.is_json() {
        app.out.json(&OffOut::OFF)?;
    }
    Ok(Status::Done)
}

fn tell_failure(app: &mut App, error: &CliError) -> Result<()> {
    app.out.warn("run_memory_failed", &format!("run memory: {}", error.message));
    if !app.out.is_json() {
        if let Some(hint) = &error.hint {
            app.out.note(&format!("hint: {hint}"));
        }
        return Ok(());
    }
    output::error(error, ErrorStyle::Json);
    app.out.json(&FailedOut::from(ErrorOut::from(error).error))
}

fn start(app: &mut App, runs: &Runs, args: &RunStart) -> Result<Status> {
    let plan = args.plan.as_deref().map(text_of).transpose()?;
    let run = match (args.run.get(), run_of_environment()?) {
        (Some(run), _) => run.clone(),
        (None, Some(run)) if !is_archived(runs, &run) => run,
        (None, Some(old)) => {
            let message = format!(
                "run memory: {RUN_VARIABLE} names run {old}, which is archived: a new run starts"
            );
            app.out.warn("run_memory", &message);
            fresh_id()?
        }
        (None, None) => fresh_id()?,
    };
    let new = NewRun { title: args.title.clone().unwrap_or_default(), plan };
    match make_folder(runs).and_then(|()| Ok(runs.store.start(&run, &new)?)) {
        Ok(started) => tell_started(app, runs, &run, None, &started),
        Err(error) => {
            // Later steps are of this run, whether or not its memory works; another run's must not
            // get them. An archived run takes none.
            if !app.out.is_json() && !args.place.strict && !is_archived(runs, &run) {
                app.out.line(run.as_str())?;
            }
            Err(error.field("run", run.as_str()))
        }
    }
}

/// The run that the environment names.
fn run_of_environment() -> Result<Option<RunId>> {
    let Some(value) = env::var_os(RUN_VARIABLE) else { return Ok(None) };
    let named = value.to_str().ok_or_else(|| "not UTF-8".to_string()).and_then(args::run_id);
    let named = named.map_err(|why| CliError::usage(format!("{RUN_VARIABLE}: {why}")))?;
    Ok(named.get().cloned())
}

/// Whether a run is closed, as far as that can be read.
fn is_archived(runs: &Runs, run: &RunId) -> bool {
    // May be dropped: a run that cannot be read is not known to be archived, and its start says
    // what is wrong.
    runs.store.status(run).ok().flatten().is_some_and(|info| info.status == RunStatus::Archived)
}

/// An id that no run has: the time, and a random number.
fn fresh_id() -> Result<RunId> {
    let now = moment::now();
    let stamp: String = moment::readable(now).chars().filter(char::is_ascii_digit).collect();
    let (day, time) = stamp.split_at_checked(8).unwrap_or((stamp.as_str(), ""));
    Ok(RunId::parse(&format!("{day}-{time}-{:08x}", random_bits() as u32))?)
}

/// The folder of the workspace's capsule, kept out of version control.
fn make_folder(runs: &Runs) -> Result<()> {
    match runs.setup.config.layout {
        LayoutKind::Branches => init::make_folder(&runs.workspace),
        LayoutKind::Files => Ok(()),
    }
}

fn start_task(app: &mut App, runs: &Runs, args: &RunTaskStart) -> Result<Status> {
    let run = runs.which(&args.which)?;
    make_folder(runs)?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let new = NewTask { title: text(&args.title), description: text(&args.description) };
    let started = runs.store.start_task(&run, &args.task, &new)?;
    tell_started(app, runs, &run, Some(&args.task), &started)
}

fn tell_started(
    app: &mut App,
    runs: &Runs,
    run: &RunId,
    task: Option<&TaskId>,
    started: &Started,
) -> Result<Status> {
    let what =
        task.map_or_else(|| format!("run {run}"), |task| format!("task {task} of run {run}"));
    did(app, Done::new(format!("started {what}")).field("run", run.as_str()));
    if app.out.is_json() {
        app.out.json(&StartedOut::of(
            run.as_str(),
            task.map(TaskId::as_str),
            runs.layout(),
            started,
        ))?;
        return Ok(Status::Done);
    }
    app.out.line(task.map_or_else(|| run.as_str(), TaskId::as_str))?;
    Ok(Status::Done)
}

/// The role that is meant.
fn role_of(role: &Named<Role>) -> Result<&Role> {
    role.get().ok_or_else(|| {
        CliError::usage("no role given").hint("name it with --role builder or KAPSA_ROLE")
    })
}

fn record(app: &mut App, runs: &Runs, args: &RunRecord) -> Result<Status> {
    let role = role_of(&args.role)?;
    let text = match (&args.text, &args.source) {
        (Some(text), _) => text.clone(),
        (None, Some(source)) => text_of(source)?,
        (None, None) if io::stdin().is_terminal() => {
            return Err(CliError::usage("nothing to record")
                .hint("give --text TEXT, a file, or text on standard input"));
        }
        (None, None) => plain_text()?,
    };
    let run = runs.which(&args.which)?;
    make_folder(runs)?;
    let output = NewOutput {
        task: args.task.0.clone(),
        role: role.clone(),
        text,
        confidence: args.confidence,
        agent: args.agent.clone().unwrap_or_default(),
    };
    let put = runs.store.record(&run, output)?;
    did(app, Done::put(&put).field("run", run.as_str()));
    app.global.capsule = Some(runs.store.capsule(&run, args.task.get(), role));
    let embedding = New::one(args.embed, put.sequence).end(app);
    if app.out.is_json() {
        let task = args.task.get().map(TaskId::as_str);
        app.out.json(&RecordedOut::of(run.as_str(), task, role.as_str(), &put, embedding))?;
        return Ok(Status::Done);
    }
    app.out.line(&format!("{}  #{}", put.uri.short(), put.sequence))?;
    Ok(Status::Done)
}

/// The text of a file, or of standard input for `-`.
pub(super) fn text_of(source: &Path) -> Result<String> {
    if source.as_os_str() == "-" {
        return plain_text();
    }
    let failed =
        |error: io::Error| CliError::usage(format!("cannot read {}: {error}", source.display()));
    let mut bytes = Vec::new();
    let file = File::open(source).map_err(failed)?;
    file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    utf8(bytes, &source.display().to_string())
}

fn context(app: &mut App, runs: &Runs, args: &RunContext) -> Result<Status> {
    let as_json = args.format == ContextFormat::Json;
    if !args.layers.is_empty() && args.format != ContextFormat::Prompt {
        return Err(CliError::usage("layers are parts of a prompt").hint("--format prompt"));
    }
    if as_json {
        app.out.say_json();
    }
    let run = runs.which(&args.which)?;
    let config = &runs.setup.config;
    let timeout = Micros::try_from(config.timeout.as_micros()).unwrap_or(Micros::MAX);
    let models: ModelSource<'_> = &|model| models::recorded(model).map_err(|error| error.message);
    let request = ContextRequest {
        task: args.task.get(),
        role: role_of(&args.role)?,
        query: args.query.as_deref().filter(|query| !query.trim().is_empty()),
        tokens_max: args.budget.unwrap_or(config.context_tokens),
        chunks_max: config.sibling_max_chunks,
        chunk_chars_max: SIBLING_CHUNK_CHARS,
        mode: config.search_mode,
        past_runs: args.past_runs,
        models: Some(models),
        deadline: Some(moment::now().saturating_add(timeout)),
    };
    let context = runs.store.context(&run, &request)?;
    print_context(app, runs, &run, args, &context)?;
    Ok(Status::Done)
}

fn print_context(
    app: &mut App,
    runs: &Runs,
    run: &RunId,
    args: &RunContext,
    context: &Context,
) -> Result<()> {
    let role = role_of(&args.role)?;
    for skipped in &context.skipped {
        let message = format!("run memory: skipped {}: {}", skipped.store, skipped.reason);
        app.out.warn("store_skipped", &message);
    }
    if app.out.is_json() {
        let task = args.task.get().map(TaskId::as_str);
        return app.out.json(&RunContextOut::of(run.as_str(), task, role.as_str(), context));
    }
    let text = match args.format {
        ContextFormat::Markdown => context.markdown(),
        ContextFormat::Prompt => Some(prompt(runs, run, args, role, context)?),
        ContextFormat::Text | ContextFormat::Json => context.text(),
    };
    text.map_or(Ok(()), |text| app.out.text(&text))
}

/// The prompt of a role: who it is, its task, the layers that were given, and what siblings found
/// out.
fn prompt(
    runs: &Runs,
    run: &RunId,
    args: &RunContext,
    role: &Role,
    context: &Context,
) -> Result<String> {
    let siblings = context.text();
    let mut layers = PromptLayers::new()
        .with(Layer::Role, Some(&role.title()))
        .with(Layer::SiblingMemory, siblings.as_deref());
    if let (Some(id), Some(info)) = (args.task.get(), runs.store.status(run)?)
        && let Some(task) = info.tasks.into_iter().find(|task| task.id == *id)
    {
        layers = layers.with(Layer::Task, Some(&format!("{}\n\n{}", task.title, task.description)));
    }
    for given in &args.layers {
        layers = layers.with(given.layer, Some(&text_of(&given.file)?));
    }
    Ok(layers.render())
}

fn finish(app: &mut App, runs: &Runs, args: &RunFinish) -> Result<Status> {
    let run = runs.which(&args.which)?;
    let finish = Finish {
        failed: args.failed,
        text: args.text.clone(),
        summary: args.summary.clone(),
        merge: args.merge.map(|merge| match merge {
            RunMerge::Curated => Mode::Curated,
            RunMerge::Full => Mode::Full,
        }),
        by: args.by.clone().unwrap_or_default(),
        note: args.note.clone().unwrap_or_default(),
        stage: args.stage.clone(),
        spec: args.spec.clone().unwrap_or_default(),
        lessons: args.lessons,
        include_running: args.include_running,
    };
    if finish.merge.is_some() {
        init::make_folder(&runs.workspace)?;
    }
    app.global.capsule = Some(runs.workspace.clone());
    // Where there is no capsule yet, all that will be in it is new.
    let new = New::begin(app, args.embed).unwrap_or_else(|_| New::since(args.embed, 1));
    let finished = match &args.task {
        Some(task) => runs.store.finish_task(&run, task, &finish)?,
        None => runs.store.finish(&run, &finish)?,
    };
    if finished.merged.iter().all(|merged| merged.conflicts.is_empty()) {
        let what = args.task.as_ref().map_or_else(String::new, |task| format!("task {task} of "));
        did(app, Done::new(format!("finished {what}run {run}")).field("run", run.as_str()));
    }
    if finished.merged.iter().any(|merged| merged.written > 0) && runs.workspace.exists() {
        // A failure is reported there; what was merged is merged.
        new.with_left().end(app);
    }
    tell_finished(app, runs, &run, args.task.as_ref(), &finished)?;
    match finished.merged.last().filter(|merged| !merged.conflicts.is_empty()) {
        Some(merged) => {
            let conflicts: Vec<String> =
                merged.conflicts.iter().map(|uri| uri.short().to_string()).collect();
            let (from, to) = (runs.short(&merged.from), runs.short(&merged.to));
            let message =
                format!("{from} was not merged into {to}: both changed {}", conflicts.join(", "));
            let hint = match runs.setup.config.layout {
                LayoutKind::Branches => format!(
                    "kapsa merge --from {} decides conflicts; then finish again",
                    merged.from
                ),
                LayoutKind::Files => format!(
                    "put the correct text into both {from} and {to} (kapsa put --uri), then finish again"
                ),
            };
            app.out.flush()?;
            Err(CliError::user("merge_conflicts", message)
                .hint(hint)
                .field("conflict_count", conflicts.len()))
        }
        None => Ok(Status::Done),
    }
}

fn tell_finished(
    app: &mut App,
    runs: &Runs,
    run: &RunId,
    task: Option<&TaskId>,
    finished: &Finished,
) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&FinishedOut::of(run.as_str(), task.map(TaskId::as_str), finished));
    }
    let what =
        task.map_or_else(|| format!("run {run}"), |task| format!("task {task} of run {run}"));
    app.out.line(&format!("{what}: {}", finished.status.name()))?;
    if let Some(put) = &finished.recorded {
        app.out.line(&format!("recorded {}", put.uri.short()))?;
    }
    if let Some(checkpoint) = &finished.checkpoint {
        app.out.line(&format!("checkpoint {checkpoint}"))?;
    }
    for merged in finished.merged.iter().filter(|merged| merged.conflicts.is_empty()) {
        let (from, to) = (runs.short(&merged.from), runs.short(&merged.to));
        app.out
            .line(&format!("merged {} of {from} into {to}", counted(merged.written, "record")))?;
    }
    for (task, status) in &finished.left {
        app.out.line(&format!("left out {task}: {}", why_left_out(task, *status)))?;
    }
    Ok(())
}

/// Why a task was left out of a merge, and how to bring it.
fn why_left_out(task: &TaskId, status: RunStatus) -> String {
    match status {
        RunStatus::Running => format!(
            "still running; finish it (kapsa run finish --task {task}), or merge it too (--include-running)"
        ),
        RunStatus::Failed => "failed; --lessons merges why it did".to_string(),
        RunStatus::Done | RunStatus::Archived => status.name().to_string(),
    }
}

fn archive(app: &mut App, runs: &Runs, args: &args::RunArchive) -> Result<Status> {
    let run = match args.which.run.get() {
        Some(run) => run.clone(),
        None => {
            return Err(CliError::usage("no run given")
                .hint("name it with --run or KAPSA_RUN; kapsa run list shows the runs"));
        }
    };
    runs.store.archive(&run)?;
    did(app, Done::new(format!("archived run {run}")).field("run", run.as_str()));
    if app.out.is_json() {
        app.out.json(&ArchivedOut::of(run.as_str()))?;
    } else {
        app.out.line(&format!("run {run}: archived"))?;
    }
    Ok(Status::Done)
}

fn status(app: &mut App, args: &args::RunStatus) -> Result<()> {
    let runs = Runs::open(app, &args.which.place)?;
    let run = match runs.which(&args.which) {
        Ok(run) => run,
        // When none is under way, the last one is what people want to see.
        Err(error) => {
            match runs.store.newest_runs(1)?.0.into_iter().next().filter(|_| error.code == "no_run")
            {
                Some((run, _)) => run,
                None => return Err(error),
            }
        }
    };
    let info = runs.store.status(&run)?.ok_or_else(|| {
        CliError::user("run_not_found", format!("no run {run}"))
            .hint("kapsa run list shows the runs")
            .field("run", run.as_str())
    })?;
    let place = runs.store.location(&run, None);
    if app.out.is_json() {
        return app.out.json(&StatusOut::of(&info, runs.layout(), &place));
    }
    headline(app, &info)?;
    let width = info.tasks.iter().map(|task| task.id.as_str().len()).max().unwrap_or(0);
    for task in &info.tasks {
        let outputs =
            task.outputs.map_or_else(|| "unreadable".to_string(), |count| counted(count, "output"));
        let title = escape::line(&task.title).into_owned();
        app.out.line(&format!(
            "  {:<width$}  {:<8} {outputs:<11} {title}",
            task.id.as_str(),
            task.status.name()
        ))?;
    }
    Ok(())
}

fn headline(app: &mut App, info: &RunInfo) -> Result<()> {
    app.out.strong(info.id.as_str())?;
    let tasks = counted(info.tasks.len() as u64, "task");
    let title = if info.title.is_empty() {
        String::new()
    } else {
        format!("  {}", escape::line(&info.title))
    };
    app.out.line(&format!(
        "  {}  {tasks}  {}{title}",
        info.status.name(),
        moment::readable(info.started_at)
    ))
}

fn list(app: &mut App, args: &args::RunList) -> Result<()> {
    let (runs, total) = Runs::open(app, &args.place)?.store.newest_runs(args.limit as usize)?;
    if app.out.is_json() {
        return app.out.json(&RunsOut::of(&runs, total));
    }
    let more = total - runs.len();
    if runs.is_empty() {
        app.out.note("no runs yet; start one with kapsa run start");
    }
    for (run, info) in runs {
        match info {
            Ok(info) => headline(app, &info)?,
            Err(error) => app.out.line(&format!("{run}  {}", escape::line(&error.to_string())))?,
        }
    }
    super::fs::tell_more(app, more);
    Ok(())
}

fn config(app: &mut App, args: &args::RunConfigArgs) -> Result<()> {
    let setup = Setup::find(&args.place)?;
    let config = &setup.config;
    let pairs = [
        ("enabled", json!(config.enabled)),
        ("layout", json!(layout_name(config.layout))),
        ("dir", json!(show(&config.dir))),
        ("store_extension", json!(config.store_extension)),
        ("repo_root_path", json!(show(&setup.root))),
        ("timeout_seconds", json!(config.timeout.as_secs_f64())),
        ("sibling_max_chunks", json!(config.sibling_max_chunks)),
        ("search_mode", json!(mode_name(config.search_mode))),
        ("context_tokens", json!(config.context_tokens)),
        ("python_path", json!(show(&config.python_path))),
        ("svc_dir", json!(show(&config.svc_dir))),
    ];
    let file = setup.file.as_deref().map(show);
    if app.out.is_json() {
        return app.out.json(&config_out(&setup, file));
    }
    match file {
        Some(file) => app.out.line(&format!("# {file}"))?,
        None => app.out.line("# no kapsa.toml: the defaults")?,
    }
    app.out.line("[run]")?;
    for (name, value) in pairs {
        app.out.line(&format!("{name} = {value}"))?;
    }
    Ok(())
}

/// The settings, for programs.
fn config_out(setup: &Setup, file: Option<String>) -> ConfigOut {
    let config = &setup.config;
    ConfigOut {
        enabled: config.enabled,
        layout: layout_name(config.layout),
        dir: show(&config.dir),
        store_extension: config.store_extension.clone(),
        repo_root_path: show(&setup.root),
        timeout_seconds: config.timeout.as_secs_f64(),
        sibling_max_chunks: config.sibling_max_chunks,
        search_mode: mode_name(config.search_mode),
        context_tokens: config.context_tokens,
        python_path: show(&config.python_path),
        svc_dir: show(&config.svc_dir),
        file,
    }
}
