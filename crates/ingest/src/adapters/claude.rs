//! Claude Code's transcripts, and those of programs that write as it does (iFlow, Qwen Code). Knows
//! no file but the outputs that a session keeps beside itself.

use std::collections::HashSet;

use serde::Deserialize;

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw, Text};
use crate::outcome;
use crate::output::Output;
use crate::persisted;
use crate::rewinds::{Link, Rewinds};
use crate::session::{Agent, Outcome, Speaker, Turn, TurnKind};
use crate::skipped::Reason;
use crate::time;

/// Types that hold nothing said or done in this session.
const QUIET: [&str; 15] = [
    "agent-name",
    "agent-setting",
    "ai-title",
    "bridge-session",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    // It belongs to another session.
    "summary",
    "tag",
    "task-summary",
    "worktree-state",
];
/// Parts of a message with which the next one is compared.
const PARTS_COMPARED: usize = 64;
/// Turns before a result among which its call is looked for.
const CALLS_LOOKED_AT: usize = 256;
/// The tool that asks the user.
const ASKS_USER: &str = "AskUserQuestion";
/// How the names of tools begin that a server brings.
const OF_SERVERS: &str = "mcp__";
/// How a result begins that stands in a file of its own.
const PERSISTED: &str = "<persisted-output>";
/// Words before the path of such a file.
const PERSISTED_PATH: &str = "saved to: ";
/// The model of messages that the program made itself.
const NO_MODEL: &str = "<synthetic>";

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClaudeRecord<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    uuid: Text<'a>,
    #[serde(borrow)]
    parent_uuid: Text<'a>,
    #[serde(borrow)]
    logical_parent_uuid: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    git_branch: Text<'a>,
    #[serde(borrow)]
    is_sidechain: Text<'a>,
    #[serde(borrow)]
    is_meta: Text<'a>,
    #[serde(borrow)]
    is_compact_summary: Text<'a>,
    #[serde(borrow)]
    is_api_error_message: Text<'a>,
    #[serde(borrow)]
    prompt_source: Text<'a>,
    #[serde(borrow)]
    agent_id: Text<'a>,
    #[serde(borrow)]
    subtype: Text<'a>,
    #[serde(borrow)]
    operation: Text<'a>,
    #[serde(borrow)]
    message: Option<Raw<'a>>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    tool_use_result: Option<Raw<'a>>,
    #[serde(borrow)]
    attachment: Option<Raw<'a>>,
}

impl ClaudeRecord<'_> {
    /// Whether a sub-agent works here.
    fn is_side(&self) -> bool {
        self.is_sidechain.is("true") || self.agent_id.get().is_some()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    parts: Option<Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudePart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    thinking: Text<'a>,
    #[serde(borrow)]
    thought: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
    #[serde(borrow)]
    tool_use_id: Text<'a>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    is_error: Text<'a>,
    #[serde(borrow, rename = "functionCall")]
    function_call: Option<Raw<'a>>,
    #[serde(borrow, rename = "functionResponse")]
    function_response: Option<Raw<'a>>,
}

/// Reads one transcript: a session, and another one if a sub-agent's records are among its own.
pub(super) struct Claude {
    context: Context,
    main: Draft,
    side: Draft,
    /// The last `sessionId`: of a sub-agent's file it is the parent's.
    session: Option<String>,
    /// The message of the model that comes in several records, and where its turns begin.
    message: Option<(String, usize)>,
    /// Prompts that were typed while the agent worked: two records may hold the same one.
    queued: HashSet<[u8; 32]>,
    /// Of the main session.
    rewinds: Rewinds,
}

impl Claude {
    pub(super) fn new(context: Context) -> Self {
        let main = Draft::new(Agent::Claude, &context.stem);
        let side = Draft::new(Agent::Claude, &context.stem);
        Self {
            context,
            main,
            side,
            session: None,
            message: None,
            queued: HashSet::new(),
            rewinds: Rewinds::default(),
        }
    }

    fn dispatch(&mut self, record: &ClaudeRecord<'_>, spot: Spot, output: &mut Output<'_>) {
        let kind = record.kind.or_empty();
        match kind {
            "user" | "human" | "tool_result" => self.user(record, spot, output),
            "assistant" | "gemini" => self.assistant(record, spot, output),
            "attachment" => self.attachment(record, spot, output),
            "queue-operation" => self.queue(record, spot, output),
            "system" => {
                output.skip(Reason::NotDialogue, &format!("system {}", record.subtype.or_empty()));
            }
            _ if QUIET.contains(&kind) => output.skip(Reason::NotDialogue, kind),
            _ => output.skip(Reason::UnknownType, kind),
        }
    }

    /// Notes which record one follows, whose turns begin at `start`.
    fn link(&mut self, record: &ClaudeRecord<'_>, start: usize) {
        let Some(uuid) = record.uuid.get().filter(|_| !record.is_side()) else { return };
        let turns = &self.main.turns()[start..];
        let is_heard = |speaker| turns.iter().any(|turn| turn.speaker == speaker);
        let link = if is_heard(Speaker::Assistant) {
            Link::Answer
        } else if record.kind.is("user") && is_heard(Speaker::User) && !is_heard(Speaker::Tool) {
            Link::Prompt
        } else {
            Link::Other
        };
        let before = [record.parent_uuid.get(), record.logical_parent_uuid.get()];
        self.rewinds.note(uuid, before, link, start..start + turns.len());
    }

    fn draft(&mut self, record: &ClaudeRecord<'_>) -> &mut Draft {
        if record.is_side() { &mut self.side } else { &mut self.main }
    }

    fn user(&mut self, record: &ClaudeRecord<'_>, spot: Spot, output: &mut Output<'_>) {
        self.message = None;
        let message: ClaudeMessage<'_> = json::shaped(record.message);
        let Some(content) = message.content.or(message.parts) else {
            return output.skip(Reason::NotDialogue, "user without content");
        };
        if !json::is_list(content) {
            let text = json::string(content).unwrap_or_default();
            return self.spoken(record, &text, spot);
        }
        for raw in json::list(content) {
            let part: ClaudePart<'_> = json::shaped(Some(raw));
            match part.kind.or_empty() {
                "tool_result" => self.result(record, &part, spot),
                "text" => self.spoken(record, part.text.or_empty(), spot),
                "" if part.function_response.is_some() => self.response(record, &part, spot),
                "" => {
                    let plain = json::string(raw).unwrap_or_default();
                    self.spoken(record, part.text.get().unwrap_or(&plain), spot);
                }
                kind @ ("image" | "document") => output.skip(Reason::NotDialogue, kind),
                kind => output.skip(Reason::UnknownType, kind),
            }
        }
    }

    /// What came as the user's: a sub-agent is spoken to by an agent, and a part by the program.
    fn spoken(&mut self, record: &ClaudeRecord<'_>, text: &str, spot: Spot) {
        let by_program = record.is_side()
            || record.is_meta.is("true")
            || record.is_compact_summary.is("true")
            || record.prompt_source.is("system");
        let draft = self.draft(record);
        if by_program {
            draft.text(Speaker::Injected, text, spot);
        } else {
            draft.said(text, spot);
        }
    }

    fn result(&mut self, record: &ClaudeRecord<'_>, part: &ClaudePart<'_>, spot: Spot) {
        let mut text = part.content.map(json::words).unwrap_or_default();
        let details = record.tool_use_result.map(Object::of).unwrap_or_default();
        if let Some(whole) = self.persisted(&text, &details) {
            text = whole;
        }
        let interrupted = details.is_true("interrupted");
        let outcome = match outcome::of_mark(part.is_error.is("true"), &text) {
            Outcome::Ok if interrupted => Outcome::Failed { exit: None },
            known => known,
        };
        let id = part.tool_use_id.or_empty();
        let draft = self.draft(record);
        let tool = tool_of(draft, id).unwrap_or_default().to_owned();
        draft.result(id, &text, outcome, spot);
        if record.is_side() {
            return;
        }
        // A tool can print anything. A refusal is marked as an error by the program, and what comes
        // from a server of tools is never taken for a person's words.
        let is_programs = part.is_error.is("true") && !tool.starts_with(OF_SERVERS);
        if outcome == Outcome::Refused
            && is_programs
            && let Some(reason) = outcome::refusal_reason(&text)
        {
            draft.said(reason, spot);
        }
        if tool == ASKS_USER {
            for (_, answer) in details.object("answers").members() {
                draft.said(&json::words(answer), spot);
            }
        }
    }

    /// The output that a result only points at.
    fn persisted(&self, text: &str, details: &Object<'_>) -> Option<String> {
        let folder = self.context.outputs.as_ref()?;
        if let Some(path) = details.text("persistedOutputPath") {
            return persisted::read(folder, &path);
        }
        let pointer = text.trim_start().strip_prefix(PERSISTED)?;
        let (_, path) = pointer.split_once(PERSISTED_PATH)?;
        persisted::read(folder, path.lines().next()?.trim())
    }

    fn response(&mut self, record: &ClaudeRecord<'_>, part: &ClaudePart<'_>, spot: Spot) {
        let response = part.function_response.map(Object::of).unwrap_or_default();
        let inner = response.object("response");
        let text = response.get("response").map(json::words).unwrap_or_default();
        let outcome = outcome::of_mark(inner.has("error"), &text);
        let id = response.text("id").unwrap_or_default();
        self.draft(record).result(&id, &text, outcome, spot);
    }

    fn assistant(&mut self, record: &ClaudeRecord<'_>, spot: Spot, output: &mut Output<'_>) {
        let message: ClaudeMessage<'_> = json::shaped(record.message);
        let Some(content) = message.content.or(message.parts) else {
            return output.skip(Reason::NotDialogue, "assistant without content");
        };
        self.continue_message(message.id.get(), record);
        let by_program = record.is_api_error_message.is("true") || message.model.is(NO_MODEL);
        if !json::is_list(content) {
            let text = json::string(content).unwrap_or_default();
            return self.model_said(record, TurnKind::Text, &text, by_program, spot);
        }
        for raw in json::list(content) {
            let part: ClaudePart<'_> = json::shaped(Some(raw));
            self.model_part(record, &part, by_program, spot, output);
        }
    }

    fn model_part(
        &mut self,
        record: &ClaudeRecord<'_>,
        part: &ClaudePart<'_>,
        by_program: bool,
        spot: Spot,
        output: &mut Output<'_>,
    ) {
        let is_thought = part.thought.is("true");
        match part.kind.or_empty() {
            "thinking" => {
                let text = part.thinking.or_empty();
                self.model_said(record, TurnKind::Reasoning, text, by_program, spot);
            }
            "text" | "" if part.text.get().is_some() => {
                let kind = if is_thought { TurnKind::Reasoning } else { TurnKind::Text };
                self.model_said(record, kind, part.text.or_empty(), by_program, spot);
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                self.call(record, part.id.or_empty(), part.name.or_empty(), part.input, spot)
            }
            "" if part.function_call.is_some() => {
                let call = part.function_call.map(Object::of).unwrap_or_default();
                let (id, name) = (call.text("id"), call.text("name"));
                let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
                self.call(record, &id, &name, call.get("args"), spot);
            }
            "tool_result" | "web_search_tool_result" | "mcp_tool_result" => {
                self.result(record, part, spot);
            }
            "text" | "" | "redacted_thinking" => output.skip(Reason::NotDialogue, "empty part"),
            kind => output.skip(Reason::UnknownType, kind),
        }
    }

    /// Where the turns of the present message begin: a message may come in several records, some of
    /// which repeat what came before.
    fn continue_message(&mut self, id: Option<&str>, record: &ClaudeRecord<'_>) {
        let is_same = match (&self.message, id) {
            (Some((known, _)), Some(id)) => known == id,
            _ => false,
        };
        if !is_same {
            let start = self.draft(record).turns().len();
            self.message = id.map(|id| (id.to_owned(), start));
        }
    }

    fn model_said(
        &mut self,
        record: &ClaudeRecord<'_>,
        kind: TurnKind,
        text: &str,
        by_program: bool,
        spot: Spot,
    ) {
        let text = text.trim();
        let known = self.known(record, |turn| {
            turn.kind == kind && !turn.text.is_empty() && text.starts_with(&turn.text)
        });
        let draft = self.draft(record);
        if let Some(index) = known {
            draft.grow_text(index, text, spot.place);
        } else if by_program {
            draft.text(Speaker::Injected, text, spot);
        } else if kind == TurnKind::Reasoning {
            draft.reasoning(text, spot);
        } else {
            draft.text(Speaker::Assistant, text, spot);
        }
    }

    fn call(
        &mut self,
        record: &ClaudeRecord<'_>,
        id: &str,
        name: &str,
        input: Option<Raw<'_>>,
        spot: Spot,
    ) {
        let known = self.known(record, |turn| {
            !id.is_empty() && turn.call.as_ref().is_some_and(|call| call.id == id)
        });
        let draft = self.draft(record);
        match known {
            Some(index) => draft.grow_call(index, json::arguments(input), spot.place),
            None => draft.call(id, name, json::arguments(input), spot),
        }
    }

    /// The turn of the present message that a part of it repeats, or continues.
    fn known(&mut self, record: &ClaudeRecord<'_>, is_it: impl Fn(&Turn) -> bool) -> Option<usize> {
        let start = self.message.as_ref().map(|(_, start)| *start)?;
        let turns = self.draft(record).turns();
        let start = start.max(turns.len().saturating_sub(PARTS_COMPARED));
        let found = turns.iter().skip(start).position(is_it)?;
        Some(start + found)
    }

    fn attachment(&mut self, record: &ClaudeRecord<'_>, spot: Spot, output: &mut Output<'_>) {
        let attachment = record.attachment.map(Object::of).unwrap_or_default();
        let kind = attachment.text("type").unwrap_or_default();
        if kind != "queued_command" {
            return output.skip(Reason::NotDialogue, &format!("attachment {kind}"));
        }
        let prompt = attachment.get("prompt").map(json::words).unwrap_or_default();
        self.typed_meanwhile(record, &prompt, spot, output);
    }

    fn queue(&mut self, record: &ClaudeRecord<'_>, spot: Spot, output: &mut Output<'_>) {
        match record.operation.or_empty() {
            // It went to the model while that worked: no record of a user holds it.
            "remove" if record.content.is_some() => {
                let text = record.content.map(json::words).unwrap_or_default();
                self.typed_meanwhile(record, &text, spot, output);
            }
            operation => output.skip(Reason::NotDialogue, &format!("queue {operation}")),
        }
    }

    fn typed_meanwhile(
        &mut self,
        record: &ClaudeRecord<'_>,
        text: &str,
        spot: Spot,
        output: &mut Output<'_>,
    ) {
        if self.queued.insert(*blake3::hash(text.trim().as_bytes()).as_bytes()) {
            self.spoken(record, text, spot);
        } else {
            output.skip(Reason::Replayed, "queued prompt");
        }
    }
}

impl Adapter for Claude {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let place = record.place;
        let record: ClaudeRecord<'_> = serde_json::from_str(record.text).map_err(|_| NotJson)?;
        if let Some(uuid) = record.uuid.get()
            && output.seen.again(uuid)
        {
            output.skip(Reason::Replayed, record.kind.or_empty());
            return Ok(());
        }
        let spot = Spot { at: record.timestamp.get().and_then(time::micros), place };
        if let Some(session) = record.session_id.get()
            && self.session.as_deref() != Some(session)
        {
            self.session = Some(session.to_owned());
        }
        let branch = record.git_branch.get();
        self.draft(&record).works_in(record.cwd.get(), branch);
        let start = self.main.turns().len();
        self.dispatch(&record, spot, output);
        self.link(&record, start);
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let left = self.rewinds.left();
        left.iter().for_each(|_| output.skip(Reason::TakenBack, "turn"));
        let mut at = 0;
        self.main.turns_mut().retain(|_| {
            at += 1;
            left.binary_search(&(at - 1)).is_err()
        });
        let empty = || Draft::new(Agent::Claude, "");
        let main = std::mem::replace(&mut self.main, empty());
        let mut side = std::mem::replace(&mut self.side, empty());
        if main.turns().is_empty() {
            side.child_of(self.session.as_deref());
        } else {
            side.child_of(Some(&self.context.stem));
            side.named(Some(&format!("{}/sidechain", self.context.stem)));
        }
        main.finish(output);
        side.finish(output);
    }
}

/// The tool of a call that was made not long ago.
fn tool_of<'d>(draft: &'d Draft, id: &str) -> Option<&'d str> {
    let calls = draft.turns().iter().rev().take(CALLS_LOOKED_AT);
    let call = calls.filter_map(|turn| turn.call.as_ref()).find(|call| call.id == id);
    call.map(|call| call.name.as_str())
}
