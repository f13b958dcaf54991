//! The JSON of `run`.

use std::collections::BTreeMap;

use kapsa_memory::Uri;
use kapsa_memory::request::Put;
use kapsa_runs::{
    Context, Finished, Line, MergedInto, RunId, RunInfo, Skipped, Started, Status, TaskInfo,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::error::ErrorBody;
use super::{Extent, Time, given};

/// What a step of a run prints. A step never fails the run: unless `--strict` is given, a failure
/// has `"ok": false` and the exit code 0.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "each is printed on its own; together they describe the verb")]
pub(crate) enum StepAnswer<'a, T> {
    /// The step was done.
    Done(T),
    /// Run memory is off.
    Off(OffOut),
    /// Run memory failed.
    Failed(FailedOut<'a>),
}

/// Run memory is off: nothing was done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunMemoryOff")]
pub(crate) struct OffOut {
    /// False.
    ok: bool,
    /// False.
    enabled: bool,
}

impl OffOut {
    pub(crate) const OFF: OffOut = OffOut { ok: false, enabled: false };
}

/// Run memory failed; the run goes on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunMemoryFailed")]
pub(crate) struct FailedOut<'a> {
    /// False.
    ok: bool,
    /// What went wrong, as on standard error.
    error: ErrorBody<'a>,
}

impl<'a> From<ErrorBody<'a>> for FailedOut<'a> {
    fn from(error: ErrorBody<'a>) -> FailedOut<'a> {
        FailedOut { ok: false, error }
    }
}

/// A run or a task that was started.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunStarted")]
pub(crate) struct StartedOut<'a> {
    /// True.
    ok: bool,
    /// The run.
    run: &'a str,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    /// Whether it was there before.
    existed: bool,
    /// How runs are kept.
    #[schemars(extend("enum" = ["branches", "files"]))]
    layout: &'static str,
    /// The branch or the file that holds it.
    location: &'a str,
}

impl<'a> StartedOut<'a> {
    pub(crate) fn of(
        run: &'a str,
        task: Option<&'a str>,
        layout: &'static str,
        started: &'a Started,
    ) -> StartedOut<'a> {
        StartedOut {
            ok: true,
            run,
            task,
            existed: started.existed,
            layout,
            location: &started.location,
        }
    }
}

/// An output that was recorded.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunRecorded")]
pub(crate) struct RecordedOut<'a> {
    /// True.
    ok: bool,
    /// The run.
    run: &'a str,
    /// The task; left out for an output of the run as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    /// Role of who did it.
    role: &'a str,
    /// URI of the record.
    uri: &'a str,
    /// Its sequence.
    sequence: u64,
    /// Why the record, which is stored, has no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<String>,
}

impl<'a> RecordedOut<'a> {
    pub(crate) fn of(
        run: &'a str,
        task: Option<&'a str>,
        role: &'a str,
        put: &'a Put,
        embedding: Option<String>,
    ) -> RecordedOut<'a> {
        RecordedOut {
            ok: true,
            run,
            task,
            role,
            uri: put.uri.as_str(),
            sequence: put.sequence,
            embedding,
        }
    }
}

/// What an agent that is about to begin should know from the others, within a budget.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunContext")]
pub(crate) struct RunContextOut<'a> {
    /// True.
    ok: bool,
    /// The run.
    run: &'a str,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    /// The role.
    role: &'a str,
    /// What was searched for.
    query: &'a str,
    /// All lines as one text for a prompt; null if there are none.
    text: Option<String>,
    #[serde(flatten)]
    extent: Extent,
    /// The lines: the plan first, then task by task.
    lines: Vec<LineOut<'a>>,
    /// Number of passages that did not fit the budget.
    left_out: usize,
    /// Tokens of `text`: a quarter of its bytes.
    tokens: usize,
    /// The budget, in tokens.
    budget: usize,
    /// Branches or files that could not be read.
    skipped: Vec<SkippedOut<'a>>,
}

/// A line of a context.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunContextLine")]
struct LineOut<'a> {
    /// Where it comes from, for people.
    from: String,
    /// The earlier run that it is of; left out for this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    /// The task that it is of; left out for the run as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    /// Role of its author, or `plan`.
    role: &'a str,
    /// True if its task failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    /// True if the same role recorded a later output that was found, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    earlier: bool,
    /// Title of the task or record.
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    /// The passage, on one line.
    text: &'a str,
    /// URI of the record that holds all of it.
    uri: &'a str,
    /// How sure the author was, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// How well it fits; comparable within one answer only.
    score: f32,
}

/// A branch or a file that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunSkipped")]
struct SkippedOut<'a> {
    /// The branch or the file.
    location: &'a str,
    /// Why.
    reason: &'a str,
}

impl<'a> RunContextOut<'a> {
    pub(crate) fn of(
        run: &'a str,
        task: Option<&'a str>,
        role: &'a str,
        context: &'a Context,
    ) -> RunContextOut<'a> {
        let text = context.text();
        let tokens = text.as_deref().map_or(0, kapsa_memory::tokens::estimate);
        let skipped =
            |skipped: &'a Skipped| SkippedOut { location: &skipped.store, reason: &skipped.reason };
        let count = context.lines.len();
        RunContextOut {
            ok: true,
            run,
            task,
            role,
            query: &context.query,
            text,
            extent: Extent::of(count, count + context.left_out),
            lines: context.lines.iter().map(LineOut::from).collect(),
            left_out: context.left_out,
            tokens,
            budget: context.tokens_max,
            skipped: context.skipped.iter().map(skipped).collect(),
        }
    }
}

impl<'a> From<&'a Line> for LineOut<'a> {
    fn from(line: &'a Line) -> LineOut<'a> {
        LineOut {
            from: line.provenance(),
            run: line.run.as_ref().map(RunId::as_str),
            task: line.task.as_deref(),
            role: &line.role,
            failed: line.failed,
            earlier: line.earlier,
            title: &line.title,
            text: &line.text,
            uri: line.uri.as_str(),
            confidence: line.confidence,
            score: line.score,
        }
    }
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
struct Summary<'a> {
    /// Its id.
    run: &'a str,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// How far it is.
    #[schemars(extend("enum" = ["running", "done", "failed", "archived"]))]
    status: &'static str,
    /// When it was started.
    created_at: Time,
    /// Number of plans recorded.
    plan_count: u64,
}

impl<'a> From<&'a RunInfo> for Summary<'a> {
    fn from(info: &'a RunInfo) -> Summary<'a> {
        Summary {
            run: info.id.as_str(),
            title: given(&info.title),
            status: info.status.name(),
            created_at: Time(info.started_at),
            plan_count: info.plans,
        }
    }
}

/// A run and its tasks.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunStatus")]
pub(crate) struct StatusOut<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    /// How runs are kept.
    #[schemars(extend("enum" = ["branches", "files"]))]
    layout: &'static str,
    /// The branch or the file that holds it.
    location: &'a str,
    /// Its tasks, in the order in which they were started.
    tasks: Vec<TaskOut<'a>>,
}

/// A task of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Task")]
struct TaskOut<'a> {
    /// Its id.
    task: &'a str,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// What is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// How far it is.
    #[schemars(extend("enum" = ["running", "done", "failed", "archived"]))]
    status: &'static str,
    /// When it was started.
    created_at: Time,
    /// When its status, title or description last changed.
    updated_at: Time,
    /// Number of outputs recorded; left out where its branch or file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_count: Option<u64>,
}

impl<'a> From<&'a TaskInfo> for TaskOut<'a> {
    fn from(task: &'a TaskInfo) -> TaskOut<'a> {
        TaskOut {
            task: task.id.as_str(),
            title: given(&task.title),
            description: given(&task.description),
            status: task.status.name(),
            created_at: Time(task.started_at),
            updated_at: Time(task.changed_at),
            output_count: task.outputs,
        }
    }
}

impl<'a> StatusOut<'a> {
    pub(crate) fn of(info: &'a RunInfo, layout: &'static str, location: &'a str) -> StatusOut<'a> {
        StatusOut {
            summary: info.into(),
            layout,
            location,
            tasks: info.tasks.iter().map(TaskOut::from).collect(),
        }
    }
}

/// The runs, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunsOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The runs.
    runs: Vec<RunOut<'a>>,
}

/// A run in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "RunLine")]
enum RunOut<'a> {
    /// A run.
    Read(ListedOut<'a>),
    /// A run that cannot be read.
    Unreadable(UnreadableOut<'a>),
}

/// A run, with its tasks counted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
struct ListedOut<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    /// Number of tasks of each status.
    task_counts: BTreeMap<&'static str, u64>,
}

/// A run that cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UnreadableRun")]
struct UnreadableOut<'a> {
    /// Its id.
    run: &'a str,
    /// Why, for people.
    message: String,
}

impl<'a> RunsOut<'a> {
    /// The newest runs, of so many in all.
    pub(crate) fn of(
        runs: &'a [(RunId, kapsa_memory::Result<RunInfo>)],
        total: usize,
    ) -> RunsOut<'a> {
        let one = |(run, info): &'a (RunId, kapsa_memory::Result<RunInfo>)| match info {
            Ok(info) => RunOut::Read(ListedOut::from(info)),
            Err(error) => {
                RunOut::Unreadable(UnreadableOut { run: run.as_str(), message: error.to_string() })
            }
        };
        RunsOut { extent: Extent::of(runs.len(), total), runs: runs.iter().map(one).collect() }
    }
}

impl<'a> From<&'a RunInfo> for ListedOut<'a> {
    fn from(info: &'a RunInfo) -> ListedOut<'a> {
        let mut task_counts = BTreeMap::new();
        info.tasks.iter().for_each(|task| *task_counts.entry(task.status.name()).or_default() += 1);
        ListedOut { summary: info.into(), task_counts }
    }
}

/// A run or a task that was finished.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunFinished")]
pub(crate) struct FinishedOut<'a> {
    /// False if there are conflicts: then the exit code is 1, and the error is on standard error,
    /// too.
    ok: bool,
    /// The run.
    run: &'a str,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    /// How it ended.
    #[schemars(extend("enum" = ["running", "done", "failed", "archived"]))]
    status: &'static str,
    /// URI of the output that was recorded, since the task had recorded none.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<&'a str>,
    /// Id of the checkpoint that the end of the stage left.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<&'a str>,
    /// What was merged, in order.
    merged: Vec<MergedOut<'a>>,
    /// Tasks that were left out of the merge, since they are not done, with their status.
    left_out: BTreeMap<&'a str, &'static str>,
}

/// A merge of a task or a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunMerged")]
struct MergedOut<'a> {
    /// The branch or the file that was merged.
    from: &'a str,
    /// The branch or the file that it was merged into.
    to: &'a str,
    /// Number of records written.
    uris_merged: u64,
    /// URIs that both sides changed. If there are any, nothing was merged.
    conflicts: Vec<&'a str>,
}

impl<'a> From<&'a MergedInto> for MergedOut<'a> {
    fn from(merged: &'a MergedInto) -> MergedOut<'a> {
        let conflicts = merged.conflicts.iter().map(Uri::as_str).collect();
        MergedOut { from: &merged.from, to: &merged.to, uris_merged: merged.written, conflicts }
    }
}

impl<'a> FinishedOut<'a> {
    pub(crate) fn of(
        run: &'a str,
        task: Option<&'a str>,
        finished: &'a Finished,
    ) -> FinishedOut<'a> {
        FinishedOut {
            ok: finished.merged.iter().all(|merged| merged.conflicts.is_empty()),
            run,
            task,
            status: finished.status.name(),
            recorded: finished.recorded.as_ref().map(|put| put.uri.as_str()),
            checkpoint_id: finished.checkpoint.as_deref(),
            merged: finished.merged.iter().map(MergedOut::from).collect(),
            left_out: finished
                .left
                .iter()
                .map(|(task, status)| (task.as_str(), status.name()))
                .collect(),
        }
    }
}

/// A run that was archived.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunArchived")]
pub(crate) struct ArchivedOut<'a> {
    /// True.
    ok: bool,
    /// The run.
    run: &'a str,
    /// Always `archived`.
    status: &'static str,
}

impl<'a> ArchivedOut<'a> {
    pub(crate) fn of(run: &'a str) -> ArchivedOut<'a> {
        ArchivedOut { ok: true, run, status: Status::Archived.name() }
    }
}

/// The settings of run memory that hold here.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigOut {
    /// Whether run memory is on.
    pub(crate) enabled: bool,
    /// How runs are kept.
    #[schemars(extend("enum" = ["branches", "files"]))]
    pub(crate) layout: &'static str,
    /// Folder of runs kept as files.
    pub(crate) dir: String,
    /// What names of stores of runs kept as files end in.
    pub(crate) store_extension: String,
    /// Root of the repository.
    pub(crate) repo_root_path: String,
    /// How long a step may take, in seconds.
    pub(crate) timeout_seconds: f64,
    /// Most passages of one sibling in a context.
    pub(crate) sibling_max_chunks: usize,
    /// How a context is searched for.
    #[schemars(extend("enum" = ["lex", "sem", "auto"]))]
    pub(crate) search_mode: &'static str,
    /// Budget of a context, in tokens.
    pub(crate) context_tokens: usize,
    /// Python of clients that start a service.
    pub(crate) python_path: String,
    /// Folder of that service.
    pub(crate) svc_dir: String,
    /// The `kapsa.toml` in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
}
