//! Runs, tasks, plans and outputs as records. The only module that knows their kinds, URIs and
//! metadata.

use serde_json::{Map, Value};

use super::names::{ROLE_BYTES_MAX, Role, RunId, TaskId};
use kapsa_memory::Result;
use kapsa_memory::record::{FIELD_BYTES_MAX, Micros, NewRecord, Record};
use kapsa_memory::tokens;
use kapsa_memory::uri::Uri;

/// Kind of the record that a run is.
pub(super) const RUN: &str = "run";
/// Kind of the record that a task is.
pub(super) const TASK: &str = "task";
/// Kind of what agents record.
pub(super) const OUTPUT: &str = "artifact";
/// Label of a plan.
pub(super) const PLAN: &str = "plan";

/// Labels of what a task that failed leaves to others.
pub(super) const LESSONS: [&str; 3] = ["summary", "lesson", "lessons"];

/// How far a run or a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Agents are at work.
    #[default]
    Running,
    /// It came to a good end.
    Done,
    /// It came to a bad end.
    Failed,
    /// A run that was closed: it can be read and not written.
    Archived,
}

impl Status {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Archived => "archived",
        }
    }

    /// The status with this name; a name that nobody gave counts as running.
    #[must_use]
    pub fn named(name: &str) -> Status {
        [Status::Done, Status::Failed, Status::Archived]
            .into_iter()
            .find(|status| status.name() == name)
            .unwrap_or_default()
    }
}

/// A task of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its id.
    pub id: TaskId,
    /// Its title, may be empty.
    pub title: String,
    /// Its description, may be empty.
    pub description: String,
    /// How far it is.
    pub status: Status,
    /// When it began.
    pub started_at: Micros,
    /// When its status, title or description changed last.
    pub changed_at: Micros,
    /// Records in its store or on its branch; none where that was not counted or cannot be read.
    pub outputs: Option<u64>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Its id.
    pub id: RunId,
    /// Its title, may be empty.
    pub title: String,
    /// How far it is.
    pub status: Status,
    /// When it began.
    pub started_at: Micros,
    /// Plans that were recorded.
    pub plans: u64,
    /// Its tasks in the order in which they began.
    pub tasks: Vec<TaskInfo>,
}

/// URI of a run's record.
pub(super) fn run_uri(run: &RunId) -> Result<Uri> {
    Uri::parse(&format!("{RUN}/{run}"))
}

/// URI of a task's record.
pub(super) fn task_uri(run: &RunId, task: &TaskId) -> Result<Uri> {
    Uri::parse(&format!("{RUN}/{run}/{TASK}/{task}"))
}

/// The record that a run is.
pub(super) fn run_record(info: &RunInfo) -> Result<NewRecord> {
    let metadata = metadata([("run_id", info.id.as_str()), ("status", info.status.name())]);
    Ok(NewRecord {
        uri: Some(run_uri(&info.id)?),
        kind: RUN.to_string(),
        title: info.title.clone(),
        run: info.id.to_string(),
        metadata,
        created_at: Some(info.started_at),
        ..NewRecord::text(if info.title.is_empty() {
            format!("run {}", info.id)
        } else {
            info.title.clone()
        })
    })
}

/// What a run's record says; the plans and tasks are not in it.
pub(super) fn run_info(record: &Record, run: &RunId) -> RunInfo {
    RunInfo {
        id: run.clone(),
        title: record.title.clone(),
        status: Status::named(text_of(&record.metadata, "status")),
        started_at: record.created_at,
        plans: 0,
        tasks: Vec::new(),
    }
}

/// The record that a task is.
pub(super) fn task_record(info: &TaskInfo, run: &RunId) -> Result<NewRecord> {
    let metadata = metadata([
        ("run_id", run.as_str()),
        ("task_id", info.id.as_str()),
        ("status", info.status.name()),
    ]);
    let text = [&info.description, &info.title].into_iter().find(|text| !text.trim().is_empty());
    Ok(NewRecord {
        uri: Some(task_uri(run, &info.id)?),
        kind: TASK.to_string(),
        title: info.title.clone(),
        run: run.to_string(),
        tags: tags([("task_id", info.id.as_str()), ("run_id", run.as_str())]),
        metadata,
        created_at: Some(info.started_at),
        ..NewRecord::text(text.cloned().unwrap_or_else(|| format!("task {}", info.id)))
    })
}

/// What a task's record says; none when it names no task.
pub(super) fn task_info(record: &Record) -> Option<TaskInfo> {
    let id = TaskId::parse(text_of(&record.metadata, "task_id")).ok()?;
    let is_description = record.text != record.title && record.text != format!("task {id}");
    Some(TaskInfo {
        id,
        title: record.title.clone(),
        description: if is_description { record.text.clone() } else { String::new() },
        status: Status::named(text_of(&record.metadata, "status")),
        started_at: record.created_at,
        changed_at: record.committed_at,
        outputs: None,
    })
}

/// A plan: of the run, or of one task.
pub(super) fn plan_record(
    run: &RunId,
    task: Option<&TaskId>,
    title: &str,
    text: String,
) -> NewRecord {
    let task_id = task.map_or("", TaskId::as_str);
    NewRecord {
        kind: OUTPUT.to_string(),
        title: title.to_string(),
        label: PLAN.to_string(),
        run: run.to_string(),
        tags: tags([("task_id", task_id), ("run_id", run.as_str()), ("role", "planner")]),
        metadata: metadata([("task_id", task_id), ("run_id", run.as_str())]),
        ..NewRecord::text(text)
    }
}

/// What an agent did: title `<title> — <Role>`, confidence with two decimals in the metadata, as
/// the stores of other tools have it.
pub(super) fn output_record(
    run: &RunId,
    task: Option<&TaskId>,
    role: &Role,
    title: &str,
    confidence: Option<f64>,
    text: String,
) -> NewRecord {
    let task_id = task.map_or("", TaskId::as_str);
    let mut metadata =
        metadata([("task_id", task_id), ("role", role.as_str()), ("run_id", run.as_str())]);
    if let Some(confidence) = confidence {
        metadata.insert("confidence".to_string(), format!("{confidence:.2}").into());
    }
    let title =
        [title, task_id].into_iter().find(|title| !title.is_empty()).unwrap_or(run.as_str());
    let title = tokens::first_bytes(title, FIELD_BYTES_MAX - TITLE_ROLE.len() - ROLE_BYTES_MAX);
    NewRecord {
        kind: OUTPUT.to_string(),
        title: format!("{title}{TITLE_ROLE}{}", role.title()),
        label: role.to_string(),
        run: run.to_string(),
        tags: tags([("task_id", task_id), ("run_id", run.as_str()), ("role", role.as_str())]),
        metadata,
        confidence,
        ..NewRecord::text(text)
    }
}

/// Stands between the title of a task and the role in the title of an output.
const TITLE_ROLE: &str = " — ";

/// The title of a record without the role, which is shown beside it.
pub(super) fn bare_title<'a>(title: &'a str, label: &str) -> &'a str {
    match title.rsplit_once(TITLE_ROLE) {
        Some((bare, role)) if role.eq_ignore_ascii_case(label) => bare,
        _ => title,
    }
}

/// The task that a record says it is of.
pub(super) fn task_of(record: &Record) -> Option<&str> {
    Some(text_of(&record.metadata, "task_id")).filter(|id| !id.is_empty())
}

/// The run that a record says it is of.
pub(super) fn run_of(record: &Record) -> &str {
    match text_of(&record.metadata, "run_id") {
        "" => &record.run,
        id => id,
    }
}

fn text_of<'a>(metadata: &'a Map<String, Value>, name: &str) -> &'a str {
    metadata.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn metadata<const N: usize>(pairs: [(&str, &str); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_string(), value.into())).collect()
}

fn tags<const N: usize>(pairs: [(&str, &str); N]) -> std::collections::BTreeMap<String, String> {
    let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}
