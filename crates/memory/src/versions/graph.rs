//! What is known of subjects, and how they relate. Cards hold facts, edges join logical URIs; both
//! are memories like any other.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use crate::error::{Error, Result, misuse};
use crate::records::integers::wide_integer;
use crate::records::record::{NewRecord, Record};
use crate::records::request::{Filter, Put, TimelineRequest};
use crate::records::uri::{Uri, UriType};
use crate::search::reader::Reader;
use crate::versions::event::{RUN_NONE, SPEC_NONE};
use crate::write::writer::Writer;

/// What a card can be about.
pub const CARD_TYPES: [&str; 8] =
    ["spec", "decision", "task", "risk", "component", "person", "artifact", "run"];
/// How an edge can join.
pub const EDGE_TYPES: [&str; 7] =
    ["depends_on", "blocks", "implements", "references", "owns", "risks", "related_to"];
/// What a fact's value can be.
pub const VALUE_TYPES: [&str; 6] = ["string", "number", "boolean", "date", "uri", "json"];
/// Kinds of the records.
pub const CARD: &str = "card";
/// Kind of edges.
pub const EDGE: &str = "edge";
/// Most steps that a query goes from its subject.
pub const DEPTH_MAX: usize = 5;

/// One thing known of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What it is about the subject.
    pub key: String,
    /// The value.
    pub value: Value,
    /// One of [`VALUE_TYPES`].
    pub value_type: String,
}

/// Where cards and edges come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// What the run works on; empty means none.
    pub spec: String,
    /// The run; empty means none.
    pub run: String,
    /// Who adds it.
    pub by: String,
}

/// Which edges of a subject are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Those that begin at it.
    Out,
    /// Those that end at it.
    In,
    /// Both.
    #[default]
    Both,
}

fn known(what: &str, given: &str, all: &[&str]) -> Result<()> {
    if all.contains(&given) {
        return Ok(());
    }
    Err(misuse(&format!("`{given}` is not a {what}: use {}", all.join(", "))))
}

fn or<'a>(text: &'a str, none: &'a str) -> &'a str {
    if text.is_empty() { none } else { text }
}

impl Fact {
    /// Reads the value as its type says.
    ///
    /// # Errors
    /// `InvalidOperation` when it is not of that type, or the type is unknown.
    pub fn parse(key: &str, text: &str, value_type: &str) -> Result<Fact> {
        known("type of a fact", value_type, &VALUE_TYPES)?;
        let odd = || misuse(&format!("`{text}` is not a valid {value_type}"));
        let is_json = matches!(value_type, "number" | "boolean" | "json");
        if is_json && wide_integer(text.as_bytes()).is_some() {
            return Err(misuse("the value has an integer beyond 64 bits: give it as a string"));
        }
        let value = match value_type {
            "number" | "boolean" | "json" => serde_json::from_str(text).map_err(|_| odd())?,
            "uri" => Value::String(Uri::parse(text)?.to_string()),
            _ => Value::String(text.to_string()),
        };
        let fits = match value_type {
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            _ => true,
        };
        if key.trim().is_empty() || !fits {
            return Err(if key.trim().is_empty() { misuse("a fact needs a key") } else { odd() });
        }
        Ok(Fact { key: key.to_string(), value, value_type: value_type.to_string() })
    }

    fn json(&self) -> Value {
        json!({ "key": self.key, "value": self.value, "value_type": self.value_type })
    }
}

/// Adds a card, or facts to one that is there. A key may have several values: none takes another's
/// place.
///
/// # Errors
/// `InvalidOperation` for an unknown type; `InvalidUri` for an odd id.
pub fn add_card(
    writer: &mut Writer,
    card_type: &str,
    title: &str,
    id: &str,
    facts: &[Fact],
    from: &Author,
) -> Result<Put> {
    known("type of a card", card_type, &CARD_TYPES)?;
    if title.trim().is_empty() {
        return Err(misuse("a card needs a title"));
    }
    let uri = card_uri(id, from)?;
    let mut all: Vec<Value> = match writer.view()?.visible(&uri)? {
        Some(body) => {
            body.record.metadata.get("facts").and_then(Value::as_array).cloned().unwrap_or_default()
        }
        None => Vec::new(),
    };
    for fact in facts.iter().map(Fact::json) {
        if !all.contains(&fact) {
            all.push(fact);
        }
    }
    let lines =
        all.iter().map(|fact| format!("{}: {}", shown(&fact["key"]), shown(&fact["value"])));
    let text = std::iter::once(format!("{title} ({card_type})"))
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n");
    let mut record = NewRecord {
        uri: Some(uri),
        title: title.to_string(),
        kind: CARD.to_string(),
        entity: title.to_string(),
        agent: from.by.clone(),
        run: from.run.clone(),
        metadata: object(
            json!({ "card_id": id, "card_type": card_type, "title": title, "facts": all, "version": 1 }),
        ),
        ..NewRecord::text(text)
    };
    record.tags.insert("card_type".to_string(), card_type.to_string());
    writer.put(record)
}

/// The URI of the card with this id.
///
/// # Errors
/// `InvalidUri` for an odd id.
pub fn card_uri(id: &str, from: &Author) -> Result<Uri> {
    Uri::of_run(or(&from.spec, SPEC_NONE), or(&from.run, RUN_NONE), UriType::Card, id)
}

/// Joins two URIs. They are logical names, and need not exist yet.
///
/// # Errors
/// `InvalidOperation` for an unknown type; `InvalidUri` when an end is no URI.
pub fn add_edge(
    writer: &mut Writer,
    edge_type: &str,
    ends: (&Uri, &Uri),
    weight: Option<f64>,
    from: &Author,
) -> Result<Put> {
    known("type of an edge", edge_type, &EDGE_TYPES)?;
    let (start, end) = ends;
    let id =
        blake3::hash(format!("{start} {edge_type} {end}").as_bytes()).to_hex()[..16].to_string();
    let mut metadata = object(
        json!({ "edge_id": id, "edge_type": edge_type, "from_uri": start.as_str(), "to_uri": end.as_str(), "version": 1 }),
    );
    if let Some(weight) = weight {
        metadata.insert("weight".to_string(), json!(weight));
    }
    let mut record = NewRecord {
        uri: Some(Uri::of_run(
            or(&from.spec, SPEC_NONE),
            or(&from.run, RUN_NONE),
            UriType::Edge,
            &id,
        )?),
        kind: EDGE.to_string(),
        agent: from.by.clone(),
        run: from.run.clone(),
        metadata,
        ..NewRecord::text(format!(
            "{} {} {}",
            start.short(),
            edge_type.replace('_', " "),
            end.short()
        ))
    };
    let tags = [("edge_type", edge_type), ("from", start.as_str()), ("to", end.as_str())];
    record.tags.extend(tags.map(|(name, value)| (name.to_string(), value.to_string())));
    writer.put(record)
}

/// Edges around a subject, up to `depth` steps away, in the order in which they are met; every edge
/// once.
///
/// # Errors
/// `InvalidOperation` for an unknown type or a depth above [`DEPTH_MAX`].
pub fn edges(
    reader: &Reader,
    uri: &Uri,
    direction: Direction,
    edge_type: Option<&str>,
    depth: usize,
    limit: usize,
) -> Result<Vec<Record>> {
    edges_by_names(reader, uri, direction, edge_type, depth, limit, &|_| Vec::new())
}

/// [`edges`], where `also` says which other URIs stand for the same subject as one.
///
/// # Errors
/// As [`edges`].
pub fn edges_by_names(
    reader: &Reader,
    uri: &Uri,
    direction: Direction,
    edge_type: Option<&str>,
    depth: usize,
    limit: usize,
    also: &dyn Fn(&str) -> Vec<String>,
) -> Result<Vec<Record>> {
    edge_type.map_or(Ok(()), |edge_type| known("type of an edge", edge_type, &EDGE_TYPES))?;
    if !(1..=DEPTH_MAX).contains(&depth) {
        return Err(misuse(&format!("a depth is from 1 to {DEPTH_MAX}")));
    }
    let (mut met, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let (mut queue, mut edges) = (VecDeque::new(), Vec::new());
    let mut meet = |subject: String, steps: usize, queue: &mut VecDeque<(String, usize)>| {
        for name in also(&subject).into_iter().chain([subject]) {
            if met.insert(name.clone()) {
                queue.push_back((name, steps));
            }
        }
    };
    meet(uri.to_string(), 0, &mut queue);
    while let Some((at, steps)) = queue.pop_front() {
        for (end, other) in [("from", "to"), ("to", "from")] {
            if direction == Direction::Out && end == "to"
                || direction == Direction::In && end == "from"
            {
                continue;
            }
            for edge in edges_at(reader, end, &at, edge_type, limit)? {
                let neighbour = edge.tags.get(other).cloned().unwrap_or_default();
                if edges.len() < limit && seen.insert(edge.sequence) {
                    edges.push(edge);
                }
                if steps + 1 < depth {
                    meet(neighbour, steps + 1, &mut queue);
                }
            }
        }
    }
    Ok(edges)
}

fn edges_at(
    reader: &Reader,
    end: &str,
    uri: &str,
    edge_type: Option<&str>,
    limit: usize,
) -> Result<Vec<Record>> {
    let mut tags = std::collections::BTreeMap::from([(end.to_string(), uri.to_string())]);
    tags.extend(edge_type.map(|edge_type| ("edge_type".to_string(), edge_type.to_string())));
    let filter = Filter { kinds: vec![EDGE.to_string()], tags, ..Filter::default() };
    reader.timeline(&TimelineRequest { filter, limit, reverse: false })
}

/// Cards of one type, or all.
///
/// # Errors
/// `InvalidOperation` for an unknown type.
pub fn cards(reader: &Reader, card_type: Option<&str>, limit: usize) -> Result<Vec<Record>> {
    card_type.map_or(Ok(()), |card_type| known("type of a card", card_type, &CARD_TYPES))?;
    let tags = card_type
        .map(|card_type| ("card_type".to_string(), card_type.to_string()))
        .into_iter()
        .collect();
    let filter = Filter { kinds: vec![CARD.to_string()], tags, ..Filter::default() };
    reader.timeline(&TimelineRequest { filter, limit, reverse: false })
}

/// The card under a URI.
///
/// # Errors
/// `UriNotFound` when there is none.
pub fn card(reader: &Reader, uri: &Uri) -> Result<Record> {
    let record = reader.get(uri)?;
    if record.kind == CARD { Ok(record) } else { Err(Error::UriNotFound { uri: uri.to_string() }) }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
