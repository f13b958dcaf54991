//! `memory.jsonl` of the MCP memory server: an entity or a relation a line. A line without a type
//! is what its members say it is; what has no name cannot be used.

use std::path::Path;

use serde_json::{Value, json};

use crate::error::Error;
use crate::input::{file_in, json_lines, others, text};
use crate::item::{Draft, Source};

/// What the file is called: by this server, and by its first versions.
const NAMES: [&str; 2] = ["memory.jsonl", "memory.json"];

pub(crate) fn read(product: &'static str, path: &Path) -> Result<Source, Error> {
    let file = file_in(path, &NAMES)?;
    let mut source = Source::default();
    for (number, line) in json_lines(&file)? {
        let place = format!("{}:{number}", file.display());
        match line {
            Err(reason) => source.skip(place, reason),
            Ok(line) => match draft(product, &line) {
                Ok(draft) => source.take(place, draft),
                Err(reason) => source.skip(place, reason),
            },
        }
    }
    Ok(source)
}

fn draft(product: &'static str, line: &Value) -> Result<Draft, &'static str> {
    let is_relation = line.get("from").is_some() && line.get("to").is_some();
    if text(line, "type") == "relation" || is_relation && line.get("name").is_none() {
        return relation(product, line);
    }
    entity(product, line)
}

fn entity(product: &'static str, line: &Value) -> Result<Draft, &'static str> {
    let name = text(line, "name");
    if name.trim().is_empty() {
        return Err("the entity has no name");
    }
    let entity_type = text(line, "entityType");
    let observations: Vec<&str> = match line.get("observations") {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one],
        _ => Vec::new(),
    };
    let typed = if entity_type.is_empty() { String::new() } else { format!(" ({entity_type})") };
    let mut more = others(line, &["type", "name", "entityType", "observations"]);
    more.insert("entity_type".to_string(), json!(entity_type));
    more.insert("observations".to_string(), json!(observations));
    Ok(Draft {
        product,
        what: "entity",
        title: format!("{name}{typed}"),
        text: observations.join("\n"),
        entity: name.clone(),
        id: name,
        tags: Some(("entity_type".to_string(), entity_type))
            .filter(|(_, value)| !value.is_empty())
            .into_iter()
            .collect(),
        more,
        ..Draft::default()
    })
}

fn relation(product: &'static str, line: &Value) -> Result<Draft, &'static str> {
    let (from, to) = (text(line, "from"), text(line, "to"));
    let relation = text(line, "relationType");
    if from.trim().is_empty() || to.trim().is_empty() {
        return Err("the relation does not say between what");
    }
    let verb = if relation.is_empty() { "is related to" } else { &relation };
    let mut more = others(line, &["type"]);
    more.insert("relation_type".to_string(), json!(relation));
    Ok(Draft {
        product,
        what: "relation",
        id: json!([from, relation, to]).to_string(),
        text: format!("{from} {} {to}", verb.replace('_', " ")),
        entity: from,
        more,
        ..Draft::default()
    })
}
