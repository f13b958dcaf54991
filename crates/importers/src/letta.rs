//! Agent files of Letta (`.af`): the blocks of the core memory. Messages are the past of an agent,
//! not its memory, and stay where they are, as do tools and files.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::error::Error;
use crate::input::{foreign, json, others, text};
use crate::item::{Draft, Source};
use crate::time::moment;

pub(crate) fn read(product: &'static str, path: &Path) -> Result<Source, Error> {
    let file = json(path)?;
    let agents = match file.get("agents").and_then(Value::as_array) {
        Some(agents) => agents.as_slice(),
        None if file.get("core_memory").is_some() || file.get("agent_type").is_some() => {
            std::slice::from_ref(&file)
        }
        None => return Err(foreign(path, "it holds no agent of Letta")),
    };
    let mut source = Source::default();
    let place = |part: String| format!("{}: {part}", path.display());
    let mut shared: BTreeSet<String> = BTreeSet::new();
    for block in list(&file, "blocks") {
        shared.insert(text(block, "id"));
        source.take(place(text(block, "label")), draft(product, "", block));
    }
    let (mut messages, mut passages) = (0, 0);
    for agent in agents {
        let name = text(agent, "name");
        for block in list(agent, "core_memory").chain(list(agent, "memory_blocks")) {
            let id = text(block, "id");
            if id.is_empty() || shared.insert(id) {
                let label = text(block, "label");
                source.take(place(format!("{name}/{label}")), draft(product, &name, block));
            }
        }
        for passage in list(agent, "archival_memory").chain(list(agent, "passages")) {
            passages += 1;
            let draft = Draft { what: "passage", ..draft(product, &name, passage) };
            source.take(place(format!("{name}/passage {passages}")), draft);
        }
        messages += list(agent, "messages").count() as u64;
    }
    source.leave("messages", messages);
    source.leave("tools", list(&file, "tools").count() as u64);
    source.leave("files", list(&file, "files").count() as u64);
    Ok(source)
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn draft(product: &'static str, agent: &str, block: &Value) -> Draft {
    let label = text(block, "label");
    let said = [text(block, "value"), text(block, "text")].concat();
    let id = match text(block, "id") {
        id if !id.is_empty() => id,
        _ if !label.is_empty() => format!("{agent}/{label}"),
        _ => format!("{agent}/{}", blake3::hash(said.as_bytes()).to_hex()),
    };
    Draft {
        product,
        what: "block",
        id,
        title: label,
        text: said,
        agent: agent.to_string(),
        more: others(block, &["value", "text", "label", "id", "embedding"]),
        at: moment(block.get("updated_at")).or_else(|| moment(block.get("created_at"))),
        ..Draft::default()
    }
}
