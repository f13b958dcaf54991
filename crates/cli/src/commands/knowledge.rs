//! `policy`, `graph` and `replay`: rules, relations and what happened under them.

use std::fs;
use std::path::Path;

use kapsa_agents::{EntityNames, VocabularyStore};
use kapsa_memory::graph::{Author, Direction, Fact};
use kapsa_memory::policy;
use kapsa_memory::request::TimelineRequest;
use kapsa_memory::uri::slug;
use kapsa_memory::{
    Error, Filter, PolicySnapshot, REPLAY_STATEMENT, Reader, Replayed, graph, replay,
};
use serde_json::{Map, Value};

use super::events::{event_type, line as event_line};
use super::{records, versions};
use crate::app::{self, App, Status, did};
use crate::args::{EdgeDirection, From, GraphVerb, PolicyVerb, ReplayVerb};
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::json_input;
use crate::moment::{self, rfc3339};
use crate::render;
use crate::wire::knowledge::{
    CapturedOut, PoliciesOut, PolicyDiffOut, PolicyLineOut, PolicyOut, ReplayOut, ReplayVerifyOut,
    ValidOut, issue_level,
};
use crate::wire::{self, Records};

/// Largest policy that is read from a file.
const POLICY_BYTES_MAX: u64 = 1 << 20;
/// Most policies that are listed.
const POLICIES_MAX: usize = 10_000;

fn policy_file(path: &Path) -> Result<Map<String, Value>> {
    let unreadable = |error| CliError::io(&format!("read {}", path.display()), &error);
    if fs::metadata(path).map_err(unreadable)?.len() > POLICY_BYTES_MAX {
        return Err(CliError::user(
            "too_large",
            format!("{} is larger than 1 MiB", path.display()),
        ));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    json_input::object(&bytes).map_err(|fault| {
        CliError::user("invalid_json", format!("{}: {}", path.display(), fault.message))
    })
}

fn found(reader: &Reader, id: Option<&str>) -> Result<PolicySnapshot> {
    let policy = match id.filter(|id| *id != "current") {
        Some(id) => policy::named(reader, id.trim_start_matches("policy/"))?,
        None => policy::current(reader)?,
    };
    policy.ok_or_else(|| {
        CliError::user("policy_not_found", "no such policy")
            .hint("kapsa policy list shows the policies")
    })
}

/// `kapsa policy`.
pub(crate) fn policy(app: &mut App, verb: PolicyVerb) -> Result<()> {
    match verb {
        PolicyVerb::Capture { file } => {
            let given = policy_file(&file)?;
            let path = app.capsule()?;
            let captured = policy::capture(
                &mut app.owner_writer(&path, None)?,
                &given,
                &rfc3339(moment::now()),
            )?;
            let policy = &captured.policy;
            let sequence = policy.record.sequence;
            let what = format!("captured policy {}", policy.id);
            did(app, captured.changed.then(|| Done::new(what).field("sequence", sequence)));
            if app.out.is_json() {
                return app.out.json(&CapturedOut::from(&captured));
            }
            let what = if captured.changed { "captured" } else { "unchanged" };
            app.out.line(&format!("{}  {}  {what}", policy.id, &policy.hash[..12]))
        }
        PolicyVerb::List => list_policies(app),
        PolicyVerb::Show { id } => {
            let policy = found(&app.owner_reader()?, id.as_deref())?;
            app.out.json(&PolicyOut::from(&policy))
        }
        PolicyVerb::Validate { file } => {
            let hash = policy::hash(&policy::canonical(&policy_file(&file)?)?);
            if app.out.is_json() {
                return app.out.json(&ValidOut { valid: true, hash: &hash });
            }
            app.out.line(&format!("valid, {hash}"))
        }
        PolicyVerb::Diff { a, b } => {
            let reader = app.owner_reader()?;
            let (a, b) = (found(&reader, Some(&a))?, found(&reader, b.as_deref())?);
            let diff = PolicyDiffOut::of(&a, &b);
            if app.out.is_json() {
                return app.out.json(&diff);
            }
            if diff.differences.is_empty() {
                app.out.note("no difference");
            }
            diff.differences.iter().try_for_each(|part| {
                app.out.strong(part.part)?;
                app.out.line(&format!(
                    "\n   - {}\n   + {}",
                    escape::line(&part.a.to_string()),
                    escape::line(&part.b.to_string())
                ))
            })
        }
    }
}

fn list_policies(app: &mut App) -> Result<()> {
    let reader = app.owner_reader()?;
    let filter = Filter { kinds: vec![policy::KIND.to_string()], ..Filter::default() };
    let mut records =
        reader.timeline(&TimelineRequest { filter, limit: POLICIES_MAX + 1, reverse: false })?;
    let more = wire::cut(&mut records, POLICIES_MAX);
    let current = match policy::current(&reader) {
        // The list is how one finds out what there is to compare it with.
        Err(error @ Error::PolicyChanged { .. }) => {
            app.out.warn("policy_changed", &error.to_string());
            None
        }
        found => found?.map(|policy| policy.id),
    };
    let policies: Vec<_> =
        records.iter().map(|record| PolicyLineOut::of(record, current.as_deref())).collect();
    if app.out.is_json() {
        return app.out.json(&PoliciesOut::of(policies, more));
    }
    policies.iter().try_for_each(|policy| {
        let mark = if policy.current { "*" } else { " " };
        let hash = policy.hash.get(..12).unwrap_or_default();
        app.out.line(&format!("{mark} {}  {hash}  {}", policy.policy_id, policy.created_at))
    })
}

fn provenance(from: From) -> Author {
    Author {
        spec: from.spec.unwrap_or_default(),
        run: from.run.unwrap_or_default(),
        by: from.agent.unwrap_or_default(),
    }
}

/// Reads `KEY=VALUE`, with the value's type after the last colon where that is one.
fn fact(text: &str) -> Result<Fact> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| CliError::usage(format!("`{text}` is not a fact; write KEY=VALUE")))?;
    let typed =
        value.rsplit_once(':').filter(|(_, name)| kapsa_memory::graph::VALUE_TYPES.contains(name));
    let (value, value_type) = typed.unwrap_or((value, "string"));
    Ok(Fact::parse(key, value, value_type)?)
}

/// `kapsa graph`.
pub(crate) fn graph(app: &mut App, verb: GraphVerb) -> Result<()> {
    match verb {
        GraphVerb::AddCard { card_type, title, id, facts, from } => {
            let facts = facts.iter().map(|text| fact(text)).collect::<Result<Vec<_>>>()?;
            let path = app.capsule()?;
            let from = provenance(from);
            let card = match id {
                Some(id) => CardName { id, title },
                None => named_card(app, title, &from)?,
            };
            let put = graph::add_card(
                &mut app.owner_writer(&path, None)?,
                &card_type,
                &card.title,
                &card.id,
                &facts,
                &from,
            )?;
            records::wrote(app, &put)
        }
        GraphVerb::AddEdge { edge_type, start, end, weight, from } => {
            let (start, end) = (logical(&start)?, logical(&end)?);
            let path = app.capsule()?;
            let put = graph::add_edge(
                &mut app.owner_writer(&path, None)?,
                &edge_type,
                (&start, &end),
                weight,
                &provenance(from),
            )?;
            records::wrote(app, &put)
        }
        GraphVerb::Query { uri, direction, depth, of_type, limit, when } => {
            let reader = app.owner_reader_when(&when)?;
            let names = names(app)?;
            let above = limit.saturating_add(1);
            let mut records = match uri {
                Some(uri) => {
                    let direction = match direction {
                        EdgeDirection::In => Direction::In,
                        EdgeDirection::Out => Direction::Out,
                        EdgeDirection::Both => Direction::Both,
                    };
                    graph::edges_by_names(
                        &reader,
                        &logical(&uri)?,
                        direction,
                        of_type.as_deref(),
                        depth,
                        above,
                        &|uri| other_names(uri, &names),
                    )?
                }
                None => graph::cards(&reader, of_type.as_deref(), above)?,
            };
            let more = wire::cut(&mut records, limit);
            if app.out.is_json() {
                let count = records.len();
                return app.out.json(&Records::of(records.into_iter().map(Ok), count, more));
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

/// The id and the title of a card.
struct CardName {
    id: String,
    title: String,
}

/// The card of a subject of this title, or the one there is under another name of the entity.
fn named_card(app: &App, title: String, from: &graph::Author) -> Result<CardName> {
    let own = CardName { id: slug(&title), title };
    let names = names(app)?;
    let Some(entity) = entity_of(&own.title, &names) else { return Ok(own) };
    let reader = app.owner_reader()?;
    let others = std::iter::once(&entity.name).chain(&entity.aliases).map(|name| slug(name));
    for id in std::iter::once(own.id.clone()).chain(others) {
        match graph::card(&reader, &graph::card_uri(&id, from)?) {
            Ok(card) => return Ok(CardName { id, title: card.title }),
            Err(Error::UriNotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(own)
}

/// The entities that have several names.
fn names(app: &App) -> Result<Vec<EntityNames>> {
    Ok(VocabularyStore::new(app.location()?).entities()?)
}

fn entity_of<'a>(name: &str, all: &'a [EntityNames]) -> Option<&'a EntityNames> {
    all.iter().find(|entity| entity.has(name))
}

/// URIs that end with another name of the entity that one ends with.
fn other_names(uri: &str, all: &[EntityNames]) -> Vec<String> {
    let Some((folder, id)) = uri.rsplit_once('/') else { return Vec::new() };
    let Some(entity) = entity_of(id, all) else { return Vec::new() };
    let names = std::iter::once(&entity.name).chain(&entity.aliases);
    names.map(|name| format!("{folder}/{}", slug(name))).filter(|other| other != uri).collect()
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
        ReplayVerb::Run { run, types, when } => {
            let types = types.iter().map(|name| event_type(name)).collect::<Result<Vec<_>>>()?;
            let timeline = replay::timeline(&app.owner_reader_when(&when)?, &run, &types)?;
            show_timeline(app, &run, &timeline)?;
            Ok(Status::Done)
        }
        ReplayVerb::Verify { run, check_retrievals, check_sequence, when } => {
            let all = !check_retrievals && !check_sequence;
            let issues = replay::verify(
                &app.owner_reader_when(&when)?,
                &run,
                all || check_retrievals,
                all || check_sequence,
            )?;
            let passed = !issues.iter().any(|issue| issue.is_error);
            if app.out.is_json() {
                app.out.json(&ReplayVerifyOut::of(passed, &issues))?;
            } else {
                for issue in &issues {
                    let event = escape::line(issue.event.short()).into_owned();
                    app.out.line(&format!(
                        "{}: {event}: {}",
                        issue_level(issue),
                        escape::line(&issue.message)
                    ))?;
                }
                app.out.line(if passed { "consistent" } else { "inconsistent" })?;
            }
            Ok(if passed { Status::Done } else { Status::Told(1) })
        }
    }
}

fn show_timeline(app: &mut App, run: &str, timeline: &[Replayed]) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(&ReplayOut::of(run, timeline));
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
