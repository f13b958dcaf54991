//! Conversations as ChatGPT exports them: trees of messages, of which the branch that is shown
//! counts. Knows no file.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw};
use crate::limits::ARGUMENT_CHARS_MAX;
use crate::output::Output;
use crate::session::{Agent, Outcome, Place, Speaker};
use crate::skipped::Reason;
use crate::text;

/// Reads an export: one conversation, or a list of them.
pub(super) struct ChatGpt {
    stem: String,
    sessions: u64,
    /// The members of a document that is one conversation.
    members: HashMap<String, String>,
}

impl ChatGpt {
    pub(super) fn new(context: Context) -> Self {
        Self { stem: context.stem, sessions: 0, members: HashMap::new() }
    }

    fn conversation(&mut self, conversation: &Object<'_>, output: &mut Output<'_>) {
        self.sessions += 1;
        let number = self.sessions;
        let id = conversation.any_text(&["conversation_id", "id"]);
        let id = id.map_or_else(|| format!("{}#{number}", self.stem), |id| id.into_owned());
        let mut draft = Draft::new(Agent::ChatGpt, &id);
        draft.saw(conversation.time("create_time"));
        draft.saw(conversation.time("update_time"));
        let mapping = conversation.object("mapping");
        let current = conversation.text("current_node");
        for (index, raw) in branch(&mapping, current.as_deref()).into_iter().enumerate() {
            message(&mut draft, &Object::of(raw), Place::Message(index as u64), output);
        }
        draft.finish(output);
    }
}

/// The messages from the root to a node; without one, to the end of the last children.
fn branch<'a>(mapping: &Object<'a>, current: Option<&str>) -> Vec<Raw<'a>> {
    let nodes: HashMap<&str, Object<'a>> =
        mapping.members().map(|(id, raw)| (id, Object::of(raw))).collect();
    let mut at = current.map(str::to_owned).or_else(|| last_leaf(&nodes));
    let mut seen = HashSet::new();
    let mut messages = Vec::new();
    while let Some(id) = at.filter(|id| seen.insert(id.clone())) {
        let Some(node) = nodes.get(id.as_str()) else { break };
        messages.extend(node.get("message"));
        at = node.text("parent").map(|parent| parent.into_owned());
    }
    messages.reverse();
    messages
}

fn last_leaf(nodes: &HashMap<&str, Object<'_>>) -> Option<String> {
    let (root, _) = nodes.iter().find(|(_, node)| !node.has("parent"))?;
    let mut at = (*root).to_owned();
    let mut seen = HashSet::new();
    while seen.insert(at.clone()) {
        let children = nodes.get(at.as_str())?.list("children");
        match children.last().and_then(|raw| json::string(raw)) {
            Some(child) => at = child.into_owned(),
            None => break,
        }
    }
    Some(at)
}

fn message(draft: &mut Draft, message: &Object<'_>, place: Place, output: &mut Output<'_>) {
    let spot = Spot { at: message.time("create_time"), place };
    let content = message.object("content");
    let kind = content.text("content_type").unwrap_or_default();
    let hidden = message.object("metadata").is_true("is_visually_hidden_from_conversation");
    let words = match kind.as_ref() {
        "thoughts" => content.list("thoughts").into_iter().map(thought).collect::<String>(),
        _ => ["parts", "text", "result", "content"]
            .iter()
            .find_map(|name| content.get(name))
            .map(json::words)
            .unwrap_or_default(),
    };
    let recipient = message.text("recipient").filter(|name| name != "all");
    let author = message.object("author");
    match author.text("role").as_deref().unwrap_or_default() {
        "user" if hidden || kind == "user_editable_context" => {
            draft.text(Speaker::Injected, &words, spot);
        }
        "user" => draft.said(&words, spot),
        "assistant" if matches!(kind.as_ref(), "thoughts" | "reasoning_recap") => {
            draft.reasoning(&words, spot);
        }
        "assistant" => match recipient {
            Some(tool) => draft.call("", &tool, called_with(&words), spot),
            None => draft.text(Speaker::Assistant, &words, spot),
        },
        "tool" => draft.result("", &words, Outcome::Unknown, spot),
        "system" | "developer" => draft.text(Speaker::Injected, &words, spot),
        role => output.skip(Reason::UnknownType, role),
    }
}

/// What a tool is given: JSON, or a program's text.
fn called_with(text: &str) -> Value {
    Value::String(text::elided(text, ARGUMENT_CHARS_MAX))
}

fn thought(raw: Raw<'_>) -> String {
    let thought = Object::of(raw);
    let summary = thought.text("summary").unwrap_or_default();
    let content = thought.text("content").unwrap_or_default();
    format!("{summary}\n{content}\n")
}

impl Adapter for ChatGpt {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        if object.has("mapping") {
            self.conversation(&object, output);
        } else {
            output.skip(Reason::NotDialogue, record.list);
        }
        Ok(())
    }

    fn member(&mut self, name: &str, text: &str, _output: &mut Output<'_>) {
        let members =
            ["mapping", "current_node", "conversation_id", "id", "create_time", "update_time"];
        if members.contains(&name) {
            self.members.insert(name.to_owned(), text.to_owned());
        }
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let members = std::mem::take(&mut self.members);
        if members.contains_key("mapping") {
            let fields = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
            let document = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
            match Object::parse(&document) {
                Some(conversation) => self.conversation(&conversation, output),
                None => output.skip(Reason::NotJson, "conversation"),
            }
        }
    }
}
