//! What ChatGPT and Claude remember of their user, from the data exports of both. Conversations are
//! read for what was noted in them, and stay where they are.

use std::path::Path;

use serde_json::{Value, json};

use crate::error::Error;
use crate::input::{file_in, foreign, json, text};
use crate::item::{Draft, Source};
use crate::time::moment;

/// Whom the model of ChatGPT speaks to when it notes something.
const NOTEBOOK: &str = "bio";
/// Kind of message with what the user says of themself.
const PROFILE: &str = "user_editable_context";

pub(crate) fn claude(product: &'static str, path: &Path) -> Result<Source, Error> {
    let file = file_in(path, &["memories.json"])?;
    let all = json(&file)?;
    let all = all.as_array().cloned().unwrap_or_else(|| vec![all]);
    let mut source = Source::default();
    for account in &all {
        let of = text(account, "account_uuid");
        let own = text(account, "conversations_memory");
        let projects = account.get("project_memories").and_then(Value::as_object);
        if own.is_empty() && projects.is_none() {
            return Err(foreign(&file, "it holds no memories of Claude"));
        }
        let draft = |what: &'static str, id: &str, text: &str| Draft {
            product,
            what,
            id: id.to_string(),
            text: text.to_string(),
            ..Draft::default()
        };
        if !own.is_empty() {
            let place = format!("{}: conversations_memory", file.display());
            source.take(place, draft("account", &of, &own));
        }
        for (id, memory) in projects.into_iter().flatten() {
            let place = format!("{}: project_memories/{id}", file.display());
            match memory.as_str() {
                Some(memory) => source.take(place, draft("project", id, memory)),
                None => source.skip(place, "it is not a text"),
            }
        }
    }
    Ok(source)
}

pub(crate) fn chatgpt(product: &'static str, path: &Path) -> Result<Source, Error> {
    let file = file_in(path, &["memories.json", "conversations.json"])?;
    let all = json(&file)?;
    let list = all.as_array().or_else(|| all.get("memories")?.as_array());
    let Some(list) = list else { return Err(foreign(&file, "it holds no list")) };
    let mut source = Source::default();
    let (mut conversations, mut messages) = (0, 0);
    for (index, entry) in list.iter().enumerate() {
        let Some(mapping) = entry.get("mapping").and_then(Value::as_object) else {
            let place = format!("{}: [{index}]", file.display());
            source.take(place, memory(product, entry));
            continue;
        };
        conversations += 1;
        for (id, node) in mapping {
            let Some(message) = node.get("message").filter(|message| message.is_object()) else {
                continue;
            };
            let place = format!("{}: [{index}]/{id}", file.display());
            match noted(product, id, message) {
                Some(draft) => source.take(place, draft),
                None => messages += 1,
            }
        }
    }
    source.leave("conversations", conversations);
    source.leave("messages", messages);
    Ok(source)
}

/// An entry of a list of memories.
fn memory(product: &'static str, entry: &Value) -> Draft {
    let said = match entry {
        Value::String(said) => said.clone(),
        entry => ["content", "memory", "text"].map(|name| text(entry, name)).concat(),
    };
    let id = match text(entry, "id") {
        id if !id.is_empty() => id,
        _ => blake3::hash(said.as_bytes()).to_hex().to_string(),
    };
    Draft {
        product,
        what: "memory",
        id,
        text: said,
        at: moment(entry.get("updated_at")).or_else(|| moment(entry.get("created_at"))),
        ..Draft::default()
    }
}

/// What a message notes.
fn noted(product: &'static str, id: &str, message: &Value) -> Option<Draft> {
    let content = message.get("content")?;
    let parts = content.get("parts").and_then(Value::as_array).into_iter().flatten();
    let said: Vec<&str> = parts.filter_map(Value::as_str).collect();
    let draft = Draft {
        product,
        what: "memory",
        id: id.to_string(),
        text: said.join("\n"),
        at: moment(message.get("create_time")),
        ..Draft::default()
    };
    if text(message, "recipient") == NOTEBOOK && !draft.text.trim().is_empty() {
        return Some(draft);
    }
    if text(content, "content_type") == PROFILE {
        let said = [text(content, "user_profile"), text(content, "user_instructions")];
        let said: Vec<String> = said.into_iter().filter(|said| !said.trim().is_empty()).collect();
        // It is sent along with every conversation: once is enough.
        let text = said.join("\n\n");
        let id = blake3::hash(text.as_bytes()).to_hex().to_string();
        let more = [("of".to_string(), json!("custom instructions"))].into_iter().collect();
        return Some(Draft { what: "profile", id, text, more, ..draft })
            .filter(|draft| !draft.text.is_empty());
    }
    None
}
