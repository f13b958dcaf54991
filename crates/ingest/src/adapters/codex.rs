//! Rollouts of Codex, old and paginated, and the events of `codex exec --json`. Knows no file.
//!
//! What was said stands in a rollout twice: as items of the conversation, and as events for the
//! screen. Items come first; events count only where no item of their kind exists.

use serde::Deserialize;

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw, Text};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Outcome, Speaker, Turn, TurnKind};
use crate::skipped::Reason;
use crate::time;

/// Types of items that hold nothing said or done.
const QUIET_ITEMS: [&str; 5] =
    ["compaction", "compaction_summary", "context_compaction", "other", "ghost_snapshot"];
/// The start of what stands for a turn that was stopped.
const ABORTED: &str = "[turn aborted";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexRecord<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    ordinal: Text<'a>,
    #[serde(borrow)]
    payload: Option<Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexItem<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    summary: Option<Raw<'a>>,
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    arguments: Option<Raw<'a>>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
    #[serde(borrow)]
    action: Option<Raw<'a>>,
    #[serde(borrow)]
    output: Option<Raw<'a>>,
    #[serde(borrow)]
    tools: Option<Raw<'a>>,
}

/// What both items and events may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    User,
    Assistant,
    Reasoning,
}

impl Said {
    fn of(turn: &Turn) -> Option<Self> {
        match (turn.speaker, turn.kind) {
            (Speaker::User, TurnKind::Text) => Some(Self::User),
            (Speaker::Assistant, TurnKind::Text) => Some(Self::Assistant),
            (Speaker::Assistant, TurnKind::Reasoning) => Some(Self::Reasoning),
            _ => None,
        }
    }
}

/// Reads one rollout.
pub(super) struct Codex {
    draft: Draft,
    has_meta: bool,
    /// The session was made from another one, whose records it may repeat.
    is_fork: bool,
    /// Records before this ordinal are the other session's.
    starts_at: i64,
    /// The present turn is another session's.
    is_repeated: bool,
    /// The turns of the draft that came as events.
    events: Vec<usize>,
}

impl Codex {
    pub(super) fn new(context: Context) -> Self {
        Self {
            draft: Draft::new(Agent::Codex, &context.stem),
            has_meta: false,
            is_fork: false,
            starts_at: 0,
            is_repeated: false,
            events: Vec::new(),
        }
    }

    fn meta(&mut self, payload: Raw<'_>, spot: Spot, output: &mut Output<'_>) {
        if std::mem::replace(&mut self.has_meta, true) {
            // A fork repeats that of the session that it was made from.
            return output.skip(Reason::Replayed, "session_meta");
        }
        let meta = Object::of(payload);
        self.draft.named(meta.any_text(&["id", "session_id"]).as_deref());
        let git = meta.object("git");
        self.draft.works_in(meta.text("cwd").as_deref(), git.text("branch").as_deref());
        self.draft.of_repo(git.text("repository_url").as_deref());
        self.draft.saw(meta.time("timestamp").or(spot.at));
        let spawned = meta.object("source").object("subagent").object("thread_spawn");
        let parent = meta.text("parent_thread_id").or_else(|| spawned.text("parent_thread_id"));
        self.draft.child_of(parent.as_deref());
        let base = meta.object("history_base");
        let own = meta.number("subagent_history_start_ordinal");
        self.starts_at = own.or_else(|| base.number("end_ordinal_exclusive")).unwrap_or(0);
        self.is_fork = parent.is_some() || meta.has("forked_from_id") || meta.has("history_base");
    }

    fn turn_context(&mut self, payload: Raw<'_>, output: &mut Output<'_>) {
        let context = Object::of(payload);
        self.draft.works_in(context.text("cwd").as_deref(), None);
        if let Some(turn) = context.text("turn_id") {
            let elsewhere = output.seen.elsewhere(&format!("codex turn {turn}"));
            self.is_repeated = self.is_fork && elsewhere;
        }
    }

    fn item(&mut self, payload: Raw<'_>, spot: Spot, output: &mut Output<'_>) {
        let item: CodexItem<'_> = json::shaped(Some(payload));
        let kind = item.kind.get().unwrap_or("message");
        let call_id = item.call_id.get().or(item.id.get()).unwrap_or_default();
        match kind {
            "message" | "agent_message" => self.message(&item, spot, output),
            "reasoning" => self.thought(&item, spot),
            "function_call" | "custom_tool_call" | "tool_search_call" => {
                let arguments = item.arguments.or(item.input);
                let name = item.name.get().unwrap_or(kind);
                self.draft.call(call_id, name, json::arguments(arguments), spot);
                if item.name.is("apply_patch") && item.status.is("failed") {
                    self.draft.result(call_id, "", Outcome::Failed { exit: None }, spot);
                }
            }
            "local_shell_call" | "web_search_call" | "image_generation_call" => {
                self.draft.call(call_id, kind, json::arguments(item.action), spot);
            }
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                let (text, outcome) = result(item.output.or(item.tools));
                self.draft.result(call_id, &text, outcome, spot);
            }
            _ if QUIET_ITEMS.contains(&kind) => output.skip(Reason::NotDialogue, kind),
            _ => output.skip(Reason::UnknownType, kind),
        }
    }

    fn message(&mut self, item: &CodexItem<'_>, spot: Spot, output: &mut Output<'_>) {
        let Some(content) = item.content else {
            return output.skip(Reason::NotDialogue, "message without content");
        };
        match item.role.get().unwrap_or("assistant") {
            "user" if json::is_list(content) => {
                for part in json::list(content) {
                    self.said(&json::words(part), spot);
                }
            }
            "user" => self.said(&json::words(content), spot),
            "assistant" => self.draft.text(Speaker::Assistant, &json::words(content), spot),
            // The program's and the developer's.
            _ => self.draft.text(Speaker::Injected, &json::words(content), spot),
        }
    }

    /// What came as the user's: a sub-agent is spoken to by an agent.
    fn said(&mut self, text: &str, spot: Spot) {
        if self.draft.has_parent() {
            self.draft.text(Speaker::Injected, text, spot);
        } else {
            self.draft.said(text, spot);
        }
    }

    fn thought(&mut self, item: &CodexItem<'_>, spot: Spot) {
        let content = item.content.map(json::words).filter(|text| !text.is_empty());
        let text = content.or_else(|| item.summary.map(json::words));
        self.draft.reasoning(&text.unwrap_or_default(), spot);
    }

    fn event(&mut self, payload: Raw<'_>, spot: Spot, output: &mut Output<'_>) {
        let event = Object::of(payload);
        let kind = event.text("type").unwrap_or_default();
        let before = self.draft.turns().len();
        match kind.as_ref() {
            "user_message" => {
                self.said(&event.any_text(&["message", "text"]).unwrap_or_default(), spot);
            }
            "agent_message" => {
                let text = event.any_text(&["message", "text"]).unwrap_or_default();
                self.draft.text(Speaker::Assistant, &text, spot);
            }
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.draft.reasoning(&event.text("text").unwrap_or_default(), spot);
            }
            "turn_aborted" => {
                let reason = event.text("reason").unwrap_or_default();
                let text = format!("{ABORTED}: {reason}]");
                self.draft.text(Speaker::Injected, &text, spot);
                return;
            }
            "thread_rolled_back" => {
                return self.roll_back(event.number("num_turns").unwrap_or(0), output);
            }
            _ => return output.skip(Reason::NotDialogue, &format!("event {kind}")),
        }
        self.events.extend(before..self.draft.turns().len());
    }

    /// The user took the last turns back.
    fn roll_back(&mut self, turns: i64, output: &mut Output<'_>) {
        let said = self.draft.turns().iter().enumerate();
        let spoken = said.filter(|(index, turn)| {
            turn.speaker == Speaker::User && self.events.binary_search(index).is_err()
        });
        let spoken: Vec<usize> = spoken.map(|(index, _)| index).collect();
        let count = usize::try_from(turns).unwrap_or(0).min(spoken.len());
        let Some(&start) = spoken.get(spoken.len() - count) else { return };
        for _ in start..self.draft.turns().len() {
            output.skip(Reason::TakenBack, "turn");
        }
        self.draft.turns_mut().truncate(start);
        self.events.retain(|&index| index < start);
    }

    /// Drops the events of which items of the same kind exist.
    fn drop_doubles(&mut self) {
        let events = std::mem::take(&mut self.events);
        let mut is_event = vec![false; self.draft.turns().len()];
        for index in events {
            is_event[index] = true;
        }
        let items = self.draft.turns().iter().zip(&is_event).filter(|(_, is_event)| !**is_event);
        let mut kinds: Vec<Said> = items.filter_map(|(turn, _)| Said::of(turn)).collect();
        kinds.dedup();
        let mut index = 0;
        self.draft.turns_mut().retain(|turn| {
            index += 1;
            !is_event[index - 1] || Said::of(turn).is_some_and(|kind| !kinds.contains(&kind))
        });
    }

    /// An event of `codex exec --json`.
    fn exec(&mut self, kind: &str, record: &Record<'_>, output: &mut Output<'_>) {
        let event = Object::parse(record.text).unwrap_or_default();
        let spot = Spot { at: event.time("timestamp"), place: record.place };
        match kind {
            "thread.started" => self.draft.named(event.text("thread_id").as_deref()),
            "item.completed" => self.exec_item(&event.object("item"), spot, output),
            "error" | "turn.failed" => {
                let text = event.get("error").or_else(|| event.get("message"));
                let text = text.map(json::words).unwrap_or_default();
                self.draft.text(Speaker::Injected, &text, spot);
            }
            _ => output.skip(Reason::NotDialogue, kind),
        }
    }

    fn exec_item(&mut self, item: &Object<'_>, spot: Spot, output: &mut Output<'_>) {
        let kind = item.any_text(&["type", "item_type"]).unwrap_or_default();
        let text = item.text("text").unwrap_or_default();
        let id = item.text("id").unwrap_or_default();
        match kind.as_ref() {
            "agent_message" | "assistant_message" => {
                self.draft.text(Speaker::Assistant, &text, spot);
            }
            "user_message" => self.said(&text, spot),
            "reasoning" => self.draft.reasoning(&text, spot),
            "command_execution" => {
                self.draft.call(&id, "shell", json::arguments(item.get("command")), spot);
                let outcome = match item.number("exit_code") {
                    Some(code) => outcome::of_exit(code),
                    None => outcome::of_status(&item.text("status").unwrap_or_default(), ""),
                };
                let text = item.text("aggregated_output").unwrap_or_default();
                self.draft.result(&id, &text, outcome, spot);
            }
            "file_change" | "mcp_tool_call" | "web_search" => {
                let inputs = ["changes", "arguments", "query"];
                let input = inputs.iter().find_map(|name| item.get(name));
                let name = item.any_text(&["tool"]).unwrap_or_else(|| kind.clone());
                self.draft.call(&id, &name, json::arguments(input), spot);
                let text = item.get("result").map(json::words).unwrap_or_default();
                let status = item.text("status").unwrap_or_default();
                self.draft.result(&id, &text, outcome::of_status(&status, &text), spot);
            }
            kind => output.skip(Reason::NotDialogue, kind),
        }
    }
}

/// The text and the outcome of a call.
fn result(output: Option<Raw<'_>>) -> (String, Outcome) {
    let text = output.map(json::words).unwrap_or_default();
    if let Some(unwrapped) = outcome::unwrapped(&text) {
        return unwrapped;
    }
    let marked = output.map(Object::of).unwrap_or_default();
    let outcome = match marked.text("success").as_deref() {
        Some(success) => outcome::of_mark(success == "false", &text),
        None => outcome::of_text(&text),
    };
    (text, outcome)
}

impl Adapter for Codex {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let line: CodexRecord<'_> = serde_json::from_str(record.text).map_err(|_| NotJson)?;
        let spot = Spot { at: line.timestamp.get().and_then(time::micros), place: record.place };
        let kind = line.kind.or_empty();
        // What is no number is as if it were missing.
        let ordinal: Option<i64> = line.ordinal.get().and_then(|text| text.parse().ok());
        if ordinal.is_some_and(|ordinal| ordinal < self.starts_at) {
            output.skip(Reason::Replayed, kind);
            return Ok(());
        }
        let Some(payload) = line.payload else {
            match kind {
                "message" | "reasoning" | "function_call" | "function_call_output" => {
                    let whole = serde_json::from_str(record.text).map_err(|_| NotJson)?;
                    self.item(whole, spot, output);
                }
                _ if kind.contains('.') || kind == "error" => self.exec(kind, record, output),
                _ => self.headless(record.text, output),
            }
            return Ok(());
        };
        match kind {
            "session_meta" => self.meta(payload, spot, output),
            "turn_context" => {
                self.turn_context(payload, output);
                output.skip(Reason::NotDialogue, kind);
            }
            "response_item" | "event_msg" if self.is_repeated => {
                output.skip(Reason::Replayed, kind)
            }
            "response_item" => self.item(payload, spot, output),
            "event_msg" => self.event(payload, spot, output),
            "compacted"
            | "world_state"
            | "inter_agent_communication"
            | "inter_agent_communication_metadata" => output.skip(Reason::NotDialogue, kind),
            _ => output.skip(Reason::UnknownType, kind),
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        self.drop_doubles();
        let empty = Draft::new(Agent::Codex, "");
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}

impl Codex {
    /// A record of the oldest rollouts, which have no payloads: the first one says what the session
    /// is.
    fn headless(&mut self, text: &str, output: &mut Output<'_>) {
        let object = Object::parse(text).unwrap_or_default();
        if object.has("id") && !self.has_meta {
            self.has_meta = true;
            self.draft.named(object.text("id").as_deref());
            self.draft.of_repo(object.object("git").text("repository_url").as_deref());
            self.draft.saw(object.time("timestamp"));
        } else {
            output.skip(Reason::NotDialogue, "state");
        }
    }
}
