//! Messages with a role and a content, as services of models take them: one a line, or lists of
//! them. Knows nothing of programs.

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Speaker};
use crate::skipped::Reason;

/// Members that hold the list of messages.
const LISTS: [&str; 4] = ["messages", "conversation", "conversations", "history"];

/// Parts that are what a tool returned.
const RESULTS: [&str; 3] = ["tool_result", "tool_call_response", "tool-result"];

/// Reads messages; lines that each hold a list are sessions of their own.
pub(super) struct Plain {
    stem: String,
    draft: Draft,
    sessions: u64,
}

impl Plain {
    pub(super) fn new(context: Context) -> Self {
        let draft = Draft::new(Agent::Plain, &context.stem);
        Self { stem: context.stem, draft, sessions: 0 }
    }

    /// A record that is a session.
    fn session(&mut self, object: &Object<'_>, list: Raw<'_>, spot: Spot, output: &mut Output<'_>) {
        self.sessions += 1;
        let id = object.any_text(&["id", "session_id", "sessionId", "conversation_id"]);
        let id = id.map_or(format!("{}#{}", self.stem, self.sessions), |id| id.into_owned());
        let mut draft = Draft::new(Agent::Plain, &id);
        draft.works_in(object.text("cwd").as_deref(), object.text("branch").as_deref());
        for raw in json::list(list) {
            message(&mut draft, &Object::of(raw), spot, output);
        }
        draft.finish(output);
    }

    fn about(&mut self, object: &Object<'_>) {
        let id = object.any_text(&["session_id", "sessionId", "conversation_id"]);
        self.draft.named(id.as_deref());
        self.draft.works_in(object.text("cwd").as_deref(), object.text("branch").as_deref());
        self.draft.of_repo(object.any_text(&["repo", "repository"]).as_deref());
    }
}

/// One message into a draft; other adapters have messages of this kind as well.
pub(super) fn message(draft: &mut Draft, object: &Object<'_>, spot: Spot, output: &mut Output<'_>) {
    let times = ["timestamp", "created_at", "time", "date", "create_time"];
    let at = times.iter().find_map(|name| object.time(name)).or(spot.at);
    let spot = Spot { at, ..spot };
    let role = object.any_text(&["role", "from", "sender", "author"]).unwrap_or_default();
    let content = object.get("content").or_else(|| object.get("value"));
    let content = content.or_else(|| object.get("text")).or_else(|| object.get("parts"));
    match role.as_ref() {
        "user" | "human" => parts(draft, content, true, spot, output),
        "assistant" | "ai" | "gpt" | "model" | "bot" => {
            if let Some(reasoning) = object.any_text(&["reasoning_content", "reasoning"]) {
                draft.reasoning(&reasoning, spot);
            }
            parts(draft, content, false, spot, output);
            calls(draft, object, spot);
        }
        "tool" | "function" | "toolResult" if has_results(content) => {
            parts(draft, content, false, spot, output);
        }
        "tool" | "function" | "toolResult" => result(draft, object, content, spot),
        "system" | "developer" => {
            draft.text(Speaker::Injected, &content.map(json::words).unwrap_or_default(), spot);
        }
        "" => output.skip(Reason::UnknownType, "message without a role"),
        role => output.skip(Reason::UnknownType, role),
    }
}

/// Whether results are parts of the content, each with its call.
fn has_results(content: Option<Raw<'_>>) -> bool {
    content.filter(|raw| json::is_list(raw)).is_some_and(|raw| {
        let first = json::list(raw).first().and_then(|raw| Object::of(raw).text("type"));
        first.is_some_and(|kind| RESULTS.contains(&kind.as_ref()))
    })
}

/// The content of a message: a text, or parts of which some are calls, results or thoughts.
pub(super) fn parts(
    draft: &mut Draft,
    content: Option<Raw<'_>>,
    by_user: bool,
    spot: Spot,
    output: &mut Output<'_>,
) {
    let Some(content) = content else { return };
    let say = |draft: &mut Draft, text: &str| {
        if by_user {
            draft.said(text, spot);
        } else {
            draft.text(Speaker::Assistant, text, spot);
        }
    };
    if !json::is_list(content) {
        return say(draft, &json::words(content));
    }
    for raw in json::list(content) {
        let part = Object::of(raw);
        let text = part.any_text(&["text", "content", "value"]);
        match part.text("type").as_deref().unwrap_or_default() {
            "thinking" | "reasoning" => {
                let text = part.any_text(&["thinking", "reasoning", "text", "content"]);
                draft.reasoning(&text.unwrap_or_default(), spot);
            }
            "tool_use" | "toolCall" | "tool_call" | "tool-call" => {
                let id = part.any_text(&["id", "toolCallId", "call_id"]).unwrap_or_default();
                let name = part.any_text(&["name", "toolName"]).unwrap_or_default();
                let input = ["input", "arguments", "args"].iter().find_map(|name| part.get(name));
                draft.call(&id, &name, json::arguments(input), spot);
            }
            kind if RESULTS.contains(&kind) => {
                let content = ["content", "response", "result", "output"];
                let content = content.iter().find_map(|name| part.get(name));
                result(draft, &part, content, spot);
            }
            "text" | "input_text" | "output_text" | "" => {
                say(draft, &text.map_or_else(|| json::words(raw), |text| text.into_owned()));
            }
            kind => output.skip(Reason::NotDialogue, kind),
        }
    }
}

/// The calls beside a message's content.
pub(super) fn calls(draft: &mut Draft, object: &Object<'_>, spot: Spot) {
    for raw in object.list("tool_calls") {
        let call = Object::of(raw);
        let function = if call.has("function") { call.object("function") } else { Object::of(raw) };
        let id = call.any_text(&["id", "call_id"]).unwrap_or_default();
        let name = function.text("name").unwrap_or_default();
        let arguments = function.get("arguments").or_else(|| function.get("args"));
        draft.call(&id, &name, json::arguments(arguments), spot);
    }
    let legacy = object.object("function_call");
    if let Some(name) = legacy.text("name") {
        draft.call("", &name, json::arguments(legacy.get("arguments")), spot);
    }
}

/// What a tool returned; where the message holds the call as well, both.
fn result(draft: &mut Draft, object: &Object<'_>, content: Option<Raw<'_>>, spot: Spot) {
    let ids = ["tool_call_id", "tool_use_id", "toolCallId", "call_id", "id"];
    let id = object.any_text(&ids).unwrap_or_default();
    if let Some(input) = object.get("tool_input") {
        let name = object.any_text(&["tool_name", "name"]).unwrap_or_default();
        draft.call(&id, &name, json::arguments(Some(input)), spot);
    }
    let content = content.or_else(|| object.get("tool_output"));
    let text = content.map(json::words).unwrap_or_default();
    let outcome = match object.text("status") {
        Some(status) => outcome::of_status(&status, &text),
        None if object.has("is_error") || object.has("isError") => {
            let is_error = object.is_true("is_error") || object.is_true("isError");
            outcome::of_mark(is_error, &text)
        }
        None => outcome::of_text(&text),
    };
    draft.result(&id, &text, outcome, spot);
}

impl Adapter for Plain {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        let spot = Spot { at: None, place: record.place };
        let is_message = record.list.is_empty() || LISTS.contains(&record.list);
        if let Some(list) = LISTS.iter().find_map(|name| object.get(name))
            && json::is_list(list)
        {
            self.session(&object, list, spot, output);
        } else if is_message && object.any_text(&["role", "from", "sender", "author"]).is_some() {
            message(&mut self.draft, &object, spot, output);
        } else if record.list.is_empty() && object.any_text(&["session_id", "cwd"]).is_some() {
            self.about(&object);
        } else {
            let kind = object.text("type").unwrap_or_default();
            output.skip(Reason::UnknownType, &kind);
        }
        Ok(())
    }

    fn member(&mut self, name: &str, text: &str, _output: &mut Output<'_>) {
        // Only texts name a session or a folder.
        let Ok(value) = serde_json::from_str::<json::Text<'_>>(text) else { return };
        match name {
            "id" | "session_id" | "sessionId" | "conversation_id" => self.draft.named(value.get()),
            "cwd" => self.draft.works_in(value.get(), None),
            "branch" => self.draft.works_in(None, value.get()),
            "repo" | "repository" => self.draft.of_repo(value.get()),
            _ => {}
        }
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let empty = Draft::new(Agent::Plain, &self.stem);
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}
