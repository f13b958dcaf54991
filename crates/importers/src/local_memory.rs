//! Memories of local-memory, as its own program answers a search: one JSON object each.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::input::{others, text};
use crate::item::{Draft, Source};
use crate::time::moment;

/// Members that become fields of their own, and what is computed from the text.
const TAKEN: [&str; 5] = ["id", "content", "title", "tags", "embedding"];

/// Reads what was found. Of memories that say the same the oldest one counts.
pub(crate) fn read(product: &'static str, memories: &[Value]) -> Source {
    let mut sorted: Vec<&Value> = memories.iter().collect();
    sorted.sort_by_key(|memory| (moment(memory.get("created_at")), id(memory)));
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for memory in &sorted {
        first.entry(hash(memory)).or_insert_with(|| id(memory));
    }
    let mut source = Source::default();
    // Of one name the last one counts.
    for memory in sorted.into_iter().rev() {
        let id = first.get(&hash(memory)).cloned().unwrap_or_default();
        source.take(format!("{product}: {}", self::id(memory)), draft(product, id, memory));
    }
    source
}

fn draft(product: &'static str, id: String, memory: &Value) -> Draft {
    let words = memory.get("tags").and_then(Value::as_array).into_iter().flatten();
    let tags = words.filter_map(Value::as_str).map(|tag| match tag.split_once(':') {
        Some((name, value)) => (name.to_string(), value.to_string()),
        None => (tag.to_string(), String::new()),
    });
    Draft {
        product,
        what: "memory",
        id,
        title: text(memory, "title"),
        text: text(memory, "content"),
        tags: tags.collect(),
        more: others(memory, &TAKEN),
        at: moment(memory.get("updated_at")).or_else(|| moment(memory.get("created_at"))),
        ..Draft::default()
    }
}

/// Its id there; without one its text names it.
fn id(memory: &Value) -> String {
    match text(memory, "id") {
        id if id.is_empty() => hash(memory),
        id => id,
    }
}

fn hash(memory: &Value) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [text(memory, "title"), text(memory, "content")] {
        hasher.update(part.trim().as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}
