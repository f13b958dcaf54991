//! Messages and parts of OpenCode, as its exports and its database hold them. Knows no file.

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Outcome, Speaker};
use crate::skipped::Reason;

/// Types of parts that hold nothing said or done.
const QUIET: [&str; 8] =
    ["agent", "compaction", "file", "patch", "retry", "snapshot", "step-finish", "step-start"];
/// The tool that stands for one that does not exist; its calls say that they were completed.
const NO_TOOL: &str = "invalid";

/// Reads one exported session.
pub(super) struct OpenCode {
    draft: Draft,
}

impl OpenCode {
    pub(super) fn new(context: Context) -> Self {
        Self { draft: Draft::new(Agent::OpenCode, &context.stem) }
    }
}

/// Who says a message's parts, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Role {
    pub(super) is_user: bool,
    pub(super) spot: Spot,
}

/// What a message's record says about its parts.
pub(super) fn role(draft: &mut Draft, info: &Object<'_>, spot: Spot) -> Role {
    draft.works_in(info.object("path").text("cwd").as_deref(), None);
    let at = info.object("time").time("created").or(spot.at);
    Role { is_user: info.text("role").as_deref() == Some("user"), spot: Spot { at, ..spot } }
}

/// What a session's record says.
pub(super) fn about(draft: &mut Draft, info: &Object<'_>) {
    draft.named(info.text("id").as_deref());
    draft.works_in(info.text("directory").as_deref(), None);
    draft.child_of(info.any_text(&["parentID", "parent_id"]).as_deref());
    let time = info.object("time");
    draft.saw(time.time("created"));
    draft.saw(time.time("updated"));
}

/// One part of a message.
pub(super) fn part(draft: &mut Draft, part: &Object<'_>, role: Role, output: &mut Output<'_>) {
    let time = part.object("time");
    let spot = Spot { at: time.time("start").or(role.spot.at), ..role.spot };
    let text = part.text("text").unwrap_or_default();
    match part.text("type").as_deref().unwrap_or_default() {
        // A sub-agent is spoken to by an agent.
        "text" if part.is_true("synthetic") || (role.is_user && draft.has_parent()) => {
            draft.text(Speaker::Injected, &text, spot);
        }
        "text" if role.is_user => draft.said(&text, spot),
        "text" => draft.text(Speaker::Assistant, &text, spot),
        "reasoning" => draft.reasoning(&text, spot),
        "tool" => tool(draft, part, spot),
        "subtask" => {
            let prompt = part.text("prompt").unwrap_or_default();
            draft.text(Speaker::Injected, &prompt, spot);
        }
        kind if QUIET.contains(&kind) => output.skip(Reason::NotDialogue, kind),
        kind => output.skip(Reason::UnknownType, kind),
    }
}

fn tool(draft: &mut Draft, part: &Object<'_>, spot: Spot) {
    let state = part.object("state");
    let time = state.object("time");
    let name = part.text("tool").unwrap_or_default();
    let id = part.any_text(&["callID", "id"]).unwrap_or_default();
    let began = Spot { at: time.time("start").or(spot.at), ..spot };
    draft.call(&id, &name, json::arguments(state.get("input")), began);
    let status = state.text("status").unwrap_or_default();
    if matches!(status.as_ref(), "pending" | "running") {
        return;
    }
    let text = state.get("output").or_else(|| state.get("error"));
    let text = text.map(json::words).unwrap_or_default();
    let exit = state.object("metadata").number("exit");
    let outcome = match exit {
        Some(code) => outcome::of_exit(code),
        None if name == NO_TOOL => Outcome::Failed { exit: None },
        None => outcome::of_status(&status, &text),
    };
    draft.result(&id, &text, outcome, Spot { at: time.time("end").or(began.at), ..spot });
}

impl Adapter for OpenCode {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let message = Object::parse(record.text).ok_or(NotJson)?;
        if message.has("messages") {
            about(&mut self.draft, &message.object("info"));
        }
        let list = message.list("messages");
        let messages = list.into_iter().map(Object::of);
        for message in messages.chain([message]) {
            let spot = Spot { at: None, place: record.place };
            let role = role(&mut self.draft, &message.object("info"), spot);
            for raw in message.list("parts") {
                part(&mut self.draft, &Object::of(raw), role, output);
            }
        }
        Ok(())
    }

    fn member(&mut self, name: &str, text: &str, _output: &mut Output<'_>) {
        if name == "info" {
            about(&mut self.draft, &Object::parse(text).unwrap_or_default());
        }
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let empty = Draft::new(Agent::OpenCode, "");
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}
