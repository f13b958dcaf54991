//! `policy`, `graph` and `replay`: rules, relations and what happened under them.

use std::fs;
use std::path::Path;

use kapsa_memory::graph::{Direction, Fact, Provenance};
use kapsa_memory::policy::{self, PARTS};
use kapsa_memory::request::TimelineRequest;
use kapsa_memory::uri::slug;
use kapsa_memory::{Filter, PolicySnapshot, REPLAY_STATEMENT, Reader, Record, Replayed};
use serde_json::{Map, Value, json};

use super::events::{event_type, line as event_line};
use super::{put, versions};
use crate::app::{self, App, Status};
use crate::args::{EdgeDirection, From, GraphVerb, PolicyVerb, ReplayVerb};
use crate::error::{CliError, Result};
use crate::escape;
use crate::json_input;
use crate::moment::{self, rfc3339};
use crate::render;
use crate::wire::RecordOut;
use crate::wire::versions::{CheckpointOut, EventOut};

/// Largest policy that is read from a file.
const POLICY_BYTES_MAX: u64 = 1 << 20;
/// Most policies that are listed.
const POLICIES_MAX: usize = 10_000;

fn policy_file(path: &Path) -> Result<Map<String, Value>> {
    let unreadable = |error| CliError::io(&format!("read {}", path.display()), &error);
    if fs::metadata(path).map_err(unreadable)?.len() > POLICY_BYTES_MAX {
        return Err(CliError::user("too_large", format!("{} is larger than 1 MiB", path.display())));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    json_input::object(&bytes).map_err(|fault| CliError::user("invalid_json", format!("{}: {}", path.display(), fault.message)))
}

fn found(reader: &Reader, id: Option<&str>) -> Result<PolicySnapshot> {
    let policy = match id.filter(|id| *id != "current") {
        Some(id) => reader.policy(id.trim_start_matches("policy/"))?,
        None => reader.current_policy()?,
    };
    policy.ok_or_else(|| CliError::user("policy_not_found", "no such policy").hint("kapsa policy list shows the policies"))
}

/// `kapsa policy`.
pub(crate) fn policy(app: &mut App, verb: PolicyVerb) -> Result<()> {
    match verb {
        PolicyVerb::Capture { file } => {
            let given = policy_file(&file)?;
            let path = app.capsule()?;
            let captured = app.writer(&path, None)?.capture_policy(&given, &rfc3339(moment::now()))?;
            let policy = &captured.policy;
            if app.out.is_json() {
                return app
                    .out
                    .json(&json!({ "captured": captured.changed, "policy_id": policy.id, "policy_uri": policy.uri.as_str(),
                    "hash": policy.hash, "drift_from": policy.drift_from }));
            }
            let what = if captured.changed { "captured" } else { "unchanged" };
            app.out.line(&format!("{}  {}  {what}", policy.id, &policy.hash[..12]))
        }
        PolicyVerb::List => list_policies(app),
        PolicyVerb::Show { id } => {
            let policy = found(&app.reader()?, id.as_deref())?;
            app.out.json(&Value::Object(policy.record.metadata))
        }
        PolicyVerb::Validate { file } => {
            let hash = policy::hash(&policy::canonical(&policy_file(&file)?)?);
            if app.out.is_json() {
                return app.out.json(&json!({ "valid": true, "hash": hash }));
            }
            app.out.line(&format!("valid, {hash}"))
        }
        PolicyVerb::Diff { a, b } => {
            let reader = app.reader()?;
            let (a, b) = (found(&reader, Some(&a))?, found(&reader, b.as_deref())?);
            let part = |policy: &PolicySnapshot, part: &str| policy.record.metadata.get(part).cloned().unwrap_or_default();
            let differs = |name: &&str| part(&a, name) != part(&b, name);
            let parts: Vec<Value> = PARTS
                .into_iter()
                .filter(differs)
                .map(|name| json!({ "part": name, "a": part(&a, name), "b": part(&b, name) }))
                .collect();
            if app.out.is_json() {
                return app.out.json(&json!({ "a": a.id, "b": b.id, "same": parts.is_empty(), "differences": parts }));
            }
            if parts.is_empty() {
                app.out.note("no difference");
            }
            parts.iter().try_for_each(|part| {
                app.out.strong(part["part"].as_str().unwrap_or_default())?;
                app.out.line(&format!(
                    "\n   - {}\n   + {}",
                    escape::line(&part["a"].to_string()),
                    escape::line(&part["b"].to_string())
                ))
            })
        }
    }
}

fn list_policies(app: &mut App) -> Result<()> {
    let reader = app.reader()?;
    let filter = Filter { kinds: vec![policy::KIND.to_string()], ..Filter::default() };
    let policies = reader.timeline(&TimelineRequest { filter, limit: POLICIES_MAX, reverse: false })?;
    let current = reader.current_policy()?.map(|policy| policy.id);
    let text = |record: &Record, name: &str| record.metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
    let is_current = |record: &Record| Some(text(record, "policy_id")) == current;
    if app.out.is_json() {
        let one = |record: &Record| {
            json!({ "policy_id": text(record, "policy_id"), "hash": text(record, "hash"), "created_at": text(record, "created_at"),
                "current": is_current(record) })
        };
        return app.out.json(&json!({ "count": policies.len(), "policies": policies.iter().map(one).collect::<Vec<_>>() }));
    }
    policies.iter().try_for_each(|record| {
        let mark = if is_current(record) { "*" } else { " " };
        let (id, hash, at) = (text(record, "policy_id"), text(record, "hash"), text(record, "created_at"));
        app.out.line(&format!("{mark} {id}  {}  {at}", hash.get(..12).unwrap_or_default()))
    })
}

fn provenance(from: From) -> Provenance {
    Provenance { spec: from.spec.unwrap_or_default(), run: from.run.unwrap_or_default(), by: from.agent.unwrap_or_default() }
}

/// Reads `KEY=VALUE`, with the value's type after the last colon where that is one.
fn fact(text: &str) -> Result<Fact> {
    let (key, value) = text.split_once('=').ok_or_else(|| CliError::usage(format!("`{text}` is not a fact; write KEY=VALUE")))?;
    let typed = value.rsplit_once(':').filter(|(_, name)| kapsa_memory::graph::VALUE_TYPES.contains(name));
    let (value, value_type) = typed.unwrap_or((value, "string"));
    Ok(Fact::parse(key, value, value_type)?)
}

/// `kapsa graph`.
pub(crate) fn graph(app: &mut App, verb: GraphVerb) -> Result<()> {
    match verb {
        GraphVerb::AddCard { card_type, title, id, facts, from } => {
            let facts = facts.iter().map(|text| fact(text)).collect::<Result<Vec<_>>>()?;
            let path = app.capsule()?;
            let id = id.unwrap_or_else(|| slug(&title));
            let put = app.writer(&path, None)?.add_card(&card_type, &title, &id, &facts, &provenance(from))?;
            put::tell_one(&mut app.out, &put)
        }
        GraphVerb::AddEdge { edge_type, start, end, weight, from } => {
            let (start, end) = (logical(&start)?, logical(&end)?);
            let path = app.capsule()?;
            let put = app.writer(&path, None)?.add_edge(&edge_type, (&start, &end), weight, &provenance(from))?;
            put::tell_one(&mut app.out, &put)
        }
        GraphVerb::Query { uri, direction, depth, of_type, limit, when } => {
            let reader = app.reader_when(&when)?;
            let records = match uri {
                Some(uri) => {
                    let direction = match direction {
                        EdgeDirection::In => Direction::In,
                        EdgeDirection::Out => Direction::Out,
                        EdgeDirection::Both => Direction::Both,
                    };
                    reader.edges(&logical(&uri)?, direction, of_type.as_deref(), depth, limit)?
                }
                None => reader.cards(of_type.as_deref(), limit)?,
            };
            if app.out.is_json() {
                let records: Vec<RecordOut<'_>> = records.iter().map(RecordOut::whole).collect();
                return app.out.json(&json!({ "count": records.len(), "records": records }));
            }
            if records.is_empty() {
                app.out.note("no edges");
            }
            records.iter().try_for_each(|record| {
                app.out.strong(&escape::line(record.uri.short()))?;
                app.out.line(&format!("  {}", render::headline(record)))
            })
        }
    }
}

/// A URI, and not a place in some file: edges outlive those.
fn logical(text: &str) -> Result<kapsa_memory::Uri> {
    if text.trim_start_matches('#').bytes().all(|b| b.is_ascii_digit()) {
        return Err(CliError::user("invalid_uri", format!("`{text}` is a sequence, not a URI"))
            .hint("edges join logical URIs such as note/locks"));
    }
    app::uri(text)
}

/// `kapsa replay`.
pub(crate) fn replay(app: &mut App, verb: ReplayVerb) -> Result<Status> {
    match verb {
        ReplayVerb::Run { run, types } => {
            let types = types.iter().map(|name| event_type(name)).collect::<Result<Vec<_>>>()?;
            let timeline = app.reader()?.replay(&run, &types)?;
            show_timeline(app, &run, &timeline)?;
            Ok(Status::Done)
        }
        ReplayVerb::Verify { run, check_retrievals, check_sequence } => {
            let all = !check_retrievals && !check_sequence;
            let issues = app.reader()?.verify_replay(&run, all || check_retrievals, all || check_sequence)?;
            let passed = !issues.iter().any(|issue| issue.is_error);
            let severity = |is_error| if is_error { "error" } else { "warning" };
            if app.out.is_json() {
                let one = |issue: &kapsa_memory::ReplayIssue| json!({ "check": issue.check, "severity": severity(issue.is_error), "message": issue.message, "event_uri": issue.event.as_str() });
                let listed: Vec<Value> = issues.iter().map(one).collect();
                app.out.json(&json!({ "passed": passed, "issue_count": issues.len(), "issues": listed }))?;
            } else {
                for issue in &issues {
                    let event = escape::line(issue.event.short()).into_owned();
                    app.out.line(&format!("{}: {event}: {}", severity(issue.is_error), escape::line(&issue.message)))?;
                }
                app.out.line(if passed { "consistent" } else { "inconsistent" })?;
            }
            Ok(if passed { Status::Done } else { Status::Told(1) })
        }
    }
}

fn show_timeline(app: &mut App, run: &str, timeline: &[Replayed]) -> Result<()> {
    if app.out.is_json() {
        let entry = |entry: &Replayed| -> Result<Value> {
            let shown = match entry {
                Replayed::Event(event) => serde_json::to_value(EventOut::of(event)),
                Replayed::Checkpoint(checkpoint) => serde_json::to_value(CheckpointOut::from(checkpoint)),
            };
            shown.map_err(|error| CliError::system("internal", error.to_string()))
        };
        let entries = timeline.iter().map(entry).collect::<Result<Vec<_>>>()?;
        return app.out.json(&json!({ "run": run, "count": entries.len(), "statement": REPLAY_STATEMENT, "timeline": entries }));
    }
    for entry in timeline {
        match entry {
            Replayed::Event(event) => event_line(app, event)?,
            Replayed::Checkpoint(checkpoint) => versions::checkpoint_line(app, checkpoint, false)?,
        }
    }
    app.out.note(REPLAY_STATEMENT);
    Ok(())
}
