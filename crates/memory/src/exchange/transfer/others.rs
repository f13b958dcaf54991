//! A memory in one file, as other programs read it: the graph of the MCP memory server, and
//! instructions for agents. What was imported from the server goes back as it was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::current;
use crate::error::Result;
use crate::exchange::export::Export;
use crate::exchange::sync::failed;
use crate::records::escape;
use crate::records::record::{KIND_DEFAULT, Record};
use crate::records::tokens::{flowed, one_line};

/// An entity of the graph.
#[derive(Default)]
struct Entity {
    entity_type: String,
    observations: Vec<String>,
}

/// Lines of entities and relations. What has no entity is one by its title, else by its name; of
/// those with one title all but the first have their names behind it.
pub(super) fn write_server_memory(export: &Export<'_>, to: &Path) -> Result<()> {
    let (mut relations, mut others) = (Vec::new(), Vec::new());
    let mut entities: BTreeMap<String, Entity> = BTreeMap::new();
    for record in memories(export)? {
        match (relation(&record), record.entity.trim()) {
            (Some(relation), _) => relations.push(relation),
            (None, "") => others.push(record),
            (None, name) => entities.entry(one_line(name)).or_default().add(&record),
        }
    }
    for record in others {
        let mut name = one_line(&record.title);
        if name.is_empty() {
            name = one_line(record.uri.short());
        }
        while entities.contains_key(&name) {
            name = format!("{name} ({})", record.uri.short());
        }
        entities.entry(name).or_default().add(&record);
    }
    let mut out = String::new();
    for (name, entity) in entities {
        let entity_type = Some(entity.entity_type).filter(|kind| !kind.is_empty());
        let entity_type = entity_type.unwrap_or_else(|| KIND_DEFAULT.to_string());
        let line = json!({
            "type": "entity",
            "name": name,
            "entityType": entity_type,
            "observations": entity.observations,
        });
        let _writing_to_a_string = writeln!(out, "{}", escape::json(&line));
    }
    for relation in relations {
        let _writing_to_a_string = writeln!(out, "{}", escape::json(&relation));
    }
    put(to, &out)
}

impl Entity {
    /// Adds what a record says of it.
    fn add(&mut self, record: &Record) {
        let typed = text(record, "entity_type");
        let entity_type = if typed.is_empty() { record.kind.as_str() } else { typed };
        if self.entity_type.is_empty() || !typed.is_empty() {
            self.entity_type = entity_type.to_string();
        }
        self.observations.extend(observations(record));
    }
}

/// What an entity was observed to be: as it was imported, unless its text was changed since.
fn observations(record: &Record) -> Vec<String> {
    let imported = record.metadata.get("observations").and_then(Value::as_array);
    let imported: Vec<String> =
        imported.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect();
    let is_imported = record.metadata.contains_key("entity_type");
    if is_imported && (imported.join("\n").trim() == record.text || imported.is_empty()) {
        return imported;
    }
    if is_imported {
        record.text.lines().map(str::to_string).collect()
    } else {
        vec![record.text.clone()]
    }
}

fn relation(record: &Record) -> Option<Value> {
    let more = |name: &str| record.metadata.get(name).and_then(Value::as_str);
    let (from, to, relation) = (more("from")?, more("to")?, more("relation_type")?);
    Some(json!({"type": "relation", "from": from, "to": to, "relationType": relation}))
}

fn text<'a>(record: &'a Record, name: &str) -> &'a str {
    record.metadata.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A file of instructions for agents, a list for each kind.
pub(super) fn write_instructions(export: &Export<'_>, to: &Path) -> Result<()> {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in memories(export)? {
        let about = match record.entity.trim() {
            "" => String::new(),
            entity => format!("{}: ", one_line(entity)),
        };
        let said = match record.title.trim() {
            "" => flowed(&record.text),
            title => flowed(&format!("{title}\n{}", record.text)),
        };
        kinds.entry(record.kind.clone()).or_default().push(format!("- {about}{said}"));
    }
    let mut out = "# Memory\n".to_string();
    for (kind, lines) in kinds {
        let kind = if kind.is_empty() { KIND_DEFAULT } else { &kind };
        let _writing_to_a_string = write!(out, "\n## {}\n\n{}\n", one_line(kind), lines.join("\n"));
    }
    put(to, &out)
}

/// What counts now, in the order in which it was written.
fn memories(export: &Export<'_>) -> Result<Vec<Record>> {
    let current = current(export)?;
    let mut all = Vec::new();
    for record in export.records() {
        let record = record?;
        if current.contains(&record.sequence) && record.alias.is_none() && !record.system {
            all.push(record);
        }
    }
    Ok(all)
}

fn put(to: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(to);
    file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|source| failed("write", to, source))
}
