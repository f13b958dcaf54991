//! Replays what happened in a run, in the same order, without asking any model.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::{Result, misuse};
use crate::records::request::FindRequest;
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::tables::lineage::Lineage;
use crate::versions::branch;
use crate::versions::checkpoint::{self, Checkpoint};
use crate::versions::event::{self, Event, EventRequest, EventType};
use crate::view::as_of::AsOf;
use crate::view::{branches, checkpoints};

/// What a replay can promise, and what not.
pub const REPLAY_STATEMENT: &str = "Events and searches replay exactly, from what the capsule held at that moment. \
The texts that models read and wrote are shown only as far as each call stored them.";
/// What names this program as the source of a search.
const SOURCE: &str = "kapsa";

/// One entry of a run's timeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Replayed {
    /// Something that happened.
    Event(Event),
    /// A moment that was given a name.
    Checkpoint(Checkpoint),
}

impl Replayed {
    /// Its place in the capsule's order.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        match self {
            Replayed::Event(event) => event.sequence,
            Replayed::Checkpoint(checkpoint) => checkpoint.sequence,
        }
    }
}

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayIssue {
    /// Which check found it.
    pub check: &'static str,
    /// Whether the replay fails by it.
    pub is_error: bool,
    /// What does not fit.
    pub message: String,
    /// The event at fault.
    pub event: Uri,
}

/// The timeline of a run: what its branch has, where it has one, and what all others say of it;
/// else what this branch says of it. In order of sequence.
///
/// # Errors
/// `InvalidOperation` when nothing is known of the run.
pub fn timeline(reader: &Reader, run: &str, types: &[EventType]) -> Result<Vec<Replayed>> {
    let (run, on_branch) = of_run(reader, run)?;
    let own = on_branch.view().lineage().own() != reader.view().lineage().own()
        || on_branch.branch()? == branch::run_branch(&run)?;
    let whole = EventRequest { types: types.to_vec(), ..EventRequest::default() };
    let mut events = Vec::new();
    let named = EventRequest { run: Some(run.clone()), all_branches: own, ..whole.clone() };
    events.extend(event::list(&on_branch, &named)?);
    let mut checkpoints = checkpoint::list(&on_branch, own)?;
    checkpoints.retain(|made| branch::run_id(&made.run).is_ok_and(|id| id == run));
    if own {
        events.extend(event::list(&on_branch, &whole)?);
        checkpoints.extend(checkpoint::list(&on_branch, false)?);
    }
    let mut all: Vec<Replayed> = events.into_iter().map(Replayed::Event).collect();
    all.extend(checkpoints.into_iter().map(Replayed::Checkpoint));
    if all.is_empty() && types.is_empty() {
        return Err(misuse(&format!("no event or checkpoint of run {run}")));
    }
    all.sort_by_key(Replayed::sequence);
    all.dedup_by_key(|entry| entry.sequence());
    Ok(all)
}

/// The run's bare id, and who reads its branch.
fn of_run(reader: &Reader, run: &str) -> Result<(String, Reader)> {
    let run = branch::run_id(run)?.to_string();
    let name = branch::run_branch(&run)?;
    let on_branch = match branches::find(reader.view().store(), &name)? {
        Some(_) => reader.on(&name, None)?,
        None => reader.on(&reader.branch()?, None)?,
    };
    Ok((run, on_branch))
}

/// Checks that a run's timeline fits together: what searches found still resolves as of then, and
/// is found again; checkpoints exist; time goes forward.
///
/// # Errors
/// As [`timeline`].
pub fn verify(
    reader: &Reader,
    run: &str,
    retrievals: bool,
    sequence: bool,
) -> Result<Vec<ReplayIssue>> {
    let mut issues = Vec::new();
    let mut requests: HashMap<String, Event> = HashMap::new();
    let mut last = i64::MIN;
    for entry in timeline(reader, run, &[])? {
        let Replayed::Event(event) = entry else { continue };
        let text = |name: &str| {
            event.payload.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        if sequence && event.timestamp < last {
            issues.push(issue(
                "sequence",
                false,
                "its time is earlier than that of the event before it".to_string(),
                &event,
            ));
        }
        last = last.max(event.timestamp);
        match event.event_type {
            EventType::RetrievalRequest => drop(requests.insert(text("request_id"), event)),
            EventType::RetrievalResponse if retrievals => {
                issues.extend(check_retrieval(reader, &event, requests.get(&text("request_id")))?);
            }
            EventType::StageTransition if sequence => {
                let id = text("checkpoint_id");
                if checkpoints::by_id(&reader.view().with(Lineage::all()), &id)?.is_none() {
                    issues.push(issue(
                        "sequence",
                        true,
                        format!("there is no checkpoint {id}"),
                        &event,
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(issues)
}

/// Checks one answer: every hit resolves as of then, and a search of ours finds the same again.
fn check_retrieval(
    reader: &Reader,
    answer: &Event,
    request: Option<&Event>,
) -> Result<Vec<ReplayIssue>> {
    const CHECK: &str = "retrieval";
    let then = reader.on(&answer.branch, Some(&AsOf::Sequence(answer.sequence)))?;
    let hits: Vec<&str> = answer.payload["hit_uris"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut issues = Vec::new();
    for hit in &hits {
        if Uri::parse(hit).and_then(|uri| then.get(&uri)).is_err() {
            issues.push(issue(
                CHECK,
                true,
                format!("{hit} resolves to nothing as of then"),
                answer,
            ));
        }
    }
    let Some(request) = request else {
        issues.push(issue(CHECK, false, "its request was not recorded".to_string(), answer));
        return Ok(issues);
    };
    if request.payload.get("source").and_then(Value::as_str) == Some(SOURCE) {
        let query = request.payload.get("query").and_then(Value::as_str).unwrap_or_default();
        let asked = reader.on(&request.branch, Some(&AsOf::Sequence(request.sequence)))?;
        let k =
            request.payload["config"].get("k").and_then(Value::as_u64).unwrap_or(hits.len() as u64);
        let found = asked.find(&FindRequest { k: k as usize, ..FindRequest::new(query) })?;
        let again: Vec<&str> = found.hits.iter().map(|hit| hit.record.uri.as_str()).collect();
        if again != hits {
            issues.push(issue(
                CHECK,
                false,
                format!("the same search finds {} of {} again", common(&again, &hits), hits.len()),
                answer,
            ));
        }
    }
    Ok(issues)
}

fn common(a: &[&str], b: &[&str]) -> usize {
    b.iter().filter(|uri| a.contains(uri)).count()
}

fn issue(check: &'static str, is_error: bool, message: String, event: &Event) -> ReplayIssue {
    ReplayIssue { check, is_error, message, event: event.uri.clone() }
}
