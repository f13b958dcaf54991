//! Events of Copilot's command line, which VS Code writes as well. Knows no file.

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Speaker};
use crate::skipped::Reason;

/// Reads one session.
pub(super) struct Copilot {
    draft: Draft,
    /// The calls of the last message: their starts repeat them.
    asked: Vec<String>,
}

impl Copilot {
    pub(super) fn new(context: Context) -> Self {
        Self { draft: Draft::new(Agent::Copilot, &context.stem), asked: Vec::new() }
    }

    fn start(&mut self, data: &Object<'_>) {
        self.draft.named(data.text("sessionId").as_deref());
        let context = data.object("context");
        self.draft.works_in(context.text("cwd").as_deref(), context.text("branch").as_deref());
        self.draft.of_repo(context.text("repository").as_deref());
        self.draft.saw(data.time("startTime"));
    }

    fn answer(&mut self, data: &Object<'_>, spot: Spot) {
        let thought = data.any_text(&["reasoningText", "reasoning"]);
        self.draft.reasoning(&thought.unwrap_or_default(), spot);
        let text = data.get("content").map(json::words).unwrap_or_default();
        self.draft.text(Speaker::Assistant, &text, spot);
        self.asked.clear();
        for raw in data.list("toolRequests") {
            let call = Object::of(raw);
            let id = call.text("toolCallId").unwrap_or_default();
            let name = call.text("name").unwrap_or_default();
            self.draft.call(&id, &name, json::arguments(call.get("arguments")), spot);
            self.asked.push(id.into_owned());
        }
    }

    fn tool_starts(&mut self, data: &Object<'_>, spot: Spot) {
        let id = data.text("toolCallId").unwrap_or_default();
        if !self.asked.iter().any(|asked| *asked == id) {
            let name = data.text("toolName").unwrap_or_default();
            self.draft.call(&id, &name, json::arguments(data.get("arguments")), spot);
        }
    }

    fn tool_ends(&mut self, data: &Object<'_>, spot: Spot) {
        let id = data.text("toolCallId").unwrap_or_default();
        let result = data.object("result");
        let texts = ["text_result_for_llm", "content", "detailedContent"];
        let text = texts.iter().find_map(|name| result.get(name)).or_else(|| data.get("error"));
        let text = text.map(json::words).unwrap_or_default();
        let status = result.any_text(&["result_type", "resultType"]);
        let outcome = match (data.text("success").as_deref(), status) {
            (Some(success), _) => outcome::of_mark(success == "false", &text),
            (None, Some(status)) => outcome::of_status(&status, &text),
            (None, None) => outcome::of_text(&text),
        };
        self.draft.result(&id, &text, outcome, spot);
    }
}

impl Adapter for Copilot {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let event = Object::parse(record.text).ok_or(NotJson)?;
        let spot = Spot { at: event.time("timestamp"), place: record.place };
        let data = event.object("data");
        match event.text("type").as_deref().unwrap_or_default() {
            "session.start" | "session.resume" => self.start(&data),
            "user.message" => {
                self.draft.said(&data.get("content").map(json::words).unwrap_or_default(), spot);
            }
            "assistant.message" => self.answer(&data, spot),
            "assistant.reasoning" => {
                self.draft.reasoning(&data.text("content").unwrap_or_default(), spot);
            }
            "tool.execution_start" => self.tool_starts(&data, spot),
            "tool.execution_complete" => self.tool_ends(&data, spot),
            "system.message" | "abort" | "session.error" => {
                let text = ["content", "message", "reason"].iter().find_map(|name| data.text(name));
                self.draft.text(Speaker::Injected, &text.unwrap_or_default(), spot);
            }
            kind if KNOWN_STARTS.iter().any(|start| kind.starts_with(start)) => {
                output.skip(Reason::NotDialogue, kind);
            }
            kind => output.skip(Reason::UnknownType, kind),
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let empty = Draft::new(Agent::Copilot, "");
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}

/// How the types of events begin that hold nothing said or done.
const KNOWN_STARTS: [&str; 6] = ["session.", "assistant.", "tool.", "hook.", "subagent.", "skill."];
