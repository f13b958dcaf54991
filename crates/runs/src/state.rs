//! What a run's own records say of it: its tasks, its plans, whether it is archived. Knows no
//! layout.

use kapsa_memory::{Error, Filter, Reader, Record, Result, TimelineRequest};

use super::names::{RunId, TaskId};
use super::records::{self, RunInfo, Status, TaskInfo};

/// Most tasks of one run that are listed.
pub const TASKS_MAX: usize = 10_000;
/// Most records of one store that are counted.
const OUTPUTS_MAX: usize = 1 << 20;

/// A request for records of one kind.
pub(crate) fn kind_request(kind: &str) -> TimelineRequest {
    let filter = Filter { kinds: vec![kind.to_string()], ..Filter::default() };
    TimelineRequest { filter, ..TimelineRequest::default() }
}

pub(crate) fn refuse_archived(run: &RunId, record: Option<&Record>) -> Result<()> {
    let closed =
        record.is_some_and(|record| records::run_info(record, run).status == Status::Archived);
    if closed { Err(archived(run)) } else { Ok(()) }
}

/// A run as its own records have it; none when they have none of it.
pub(crate) fn run_in(reader: &Reader, run: &RunId) -> Result<Option<RunInfo>> {
    let own = match reader.get(&records::run_uri(run)?) {
        Ok(record) => record,
        Err(Error::UriNotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let request = TimelineRequest { limit: TASKS_MAX, ..kind_request(records::TASK) };
    // A record that says it is a task and lies elsewhere is none.
    let genuine = |task: &TaskInfo, record: &Record| {
        records::task_uri(run, &task.id).is_ok_and(|uri| uri == record.uri)
    };
    let listed = reader.timeline(&request)?;
    let mut tasks: Vec<TaskInfo> = listed
        .iter()
        .filter_map(|record| records::task_info(record).filter(|task| genuine(task, record)))
        .collect();
    tasks.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    let plans = outputs(reader, Some(records::PLAN))?;
    Ok(Some(RunInfo { tasks, plans, ..records::run_info(&own, run) }))
}

/// How many outputs of agents a store holds.
pub(crate) fn outputs(reader: &Reader, label: Option<&str>) -> Result<u64> {
    let filter = match label {
        Some(label) => Filter { labels: vec![label.to_string()], ..Filter::default() },
        None => Filter::default(),
    };
    Ok(reader.raw().count(&filter, OUTPUTS_MAX)? as u64)
}

/// The newest plan of the run, or of one task of it.
pub(crate) fn newest_plan_of(reader: &Reader, task: Option<&TaskId>) -> Result<Option<Record>> {
    let filter = Filter { labels: vec![records::PLAN.to_string()], ..Filter::default() };
    let request = TimelineRequest { filter, limit: TASKS_MAX, reverse: true };
    // What was merged is shown under the task that it came from.
    let mut plans = reader.timeline(&request)?.into_iter().filter(|plan| plan.origin.is_none());
    Ok(plans.find(|plan| records::task_of(plan) == task.map(TaskId::as_str)))
}

pub(crate) fn no_run(run: &RunId) -> Error {
    Error::InvalidOperation { reason: format!("there is no run {run}") }
}

pub(crate) fn archived(run: &RunId) -> Error {
    Error::InvalidOperation {
        reason: format!("run {run} is archived: it can be read and not written"),
    }
}
