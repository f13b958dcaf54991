//! Episodes and facts (edges) of Graphiti or Zep, as JSON: a list, an object with lists, or lines.
//! A fact keeps when it held.

use std::path::Path;

use kapsa_memory::kinds::FACT;
use serde_json::{Value, json};

use crate::error::Error;
use crate::input::{foreign, json, json_lines, others, text};
use crate::item::{Draft, Source};
use crate::time::moment;

/// Names of lists in an object.
const LISTS: [&str; 5] = ["episodes", "edges", "facts", "entity_edges", "nodes"];

pub(crate) fn read(product: &'static str, path: &Path) -> Result<Source, Error> {
    let mut source = Source::default();
    if path.extension().is_some_and(|ending| ending == "jsonl") {
        for (number, line) in json_lines(path)? {
            let place = format!("{}:{number}", path.display());
            match line {
                Err(reason) => source.skip(place, reason),
                Ok(line) => take(&mut source, product, place, &line),
            }
        }
        return Ok(source);
    }
    let file = json(path)?;
    let lists: Vec<(&str, &Vec<Value>)> = match &file {
        Value::Array(all) => vec![("", all)],
        file => {
            LISTS.iter().filter_map(|name| Some((*name, file.get(name)?.as_array()?))).collect()
        }
    };
    if lists.is_empty() {
        return Err(foreign(path, format!("it holds no list of {}", LISTS.join(", "))));
    }
    for (name, list) in lists {
        for (index, value) in list.iter().enumerate() {
            let place = format!("{}: {name}[{index}]", path.display());
            take(&mut source, product, place, value);
        }
    }
    Ok(source)
}

fn take(source: &mut Source, product: &'static str, place: String, value: &Value) {
    if value.get("fact").is_some() {
        return source.take(place, fact(product, value));
    }
    let content = [text(value, "content"), text(value, "episode_body")].concat();
    if content.is_empty() && value.get("summary").is_some() {
        let entity = text(value, "name");
        let draft = Draft {
            what: "node",
            text: text(value, "summary"),
            entity,
            ..draft(product, value, &["summary"])
        };
        return source.take(place, draft);
    }
    let draft = Draft {
        what: "episode",
        text: content,
        agent: text(value, "source_description"),
        ..draft(product, value, &["content", "episode_body"])
    };
    source.take(place, draft);
}

fn draft(product: &'static str, value: &Value, taken: &[&str]) -> Draft {
    let id = match text(value, "uuid") {
        id if !id.is_empty() => id,
        _ => blake3::hash(value.to_string().as_bytes()).to_hex().to_string(),
    };
    let mut more = others(value, taken);
    more.retain(|name, _| !name.contains("embedding") && name != "name" && name != "uuid");
    Draft {
        product,
        id,
        title: text(value, "name"),
        more,
        at: moment(value.get("valid_at")).or_else(|| moment(value.get("created_at"))),
        ..Draft::default()
    }
}

fn fact(product: &'static str, value: &Value) -> Draft {
    let mut draft = Draft { what: FACT, kind: FACT, ..draft(product, value, &["fact"]) };
    draft.text = text(value, "fact");
    draft.title = String::new();
    draft.entity = text(value, "source_node_name");
    for (name, at) in [("valid_from", "valid_at"), ("valid_to", "invalid_at")] {
        if let Some(at) = moment(value.get(at)) {
            draft.more.insert(name.to_string(), json!(at));
        }
    }
    draft
}
