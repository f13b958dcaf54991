//! Sessions of pi. Knows no file.

use super::adapter::{Adapter, Context, NotJson, Record};
use super::plain;
use crate::draft::{Draft, Spot};
use crate::json::{self, Object};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Speaker};
use crate::skipped::Reason;

/// Types of records that hold nothing said or done.
const QUIET: [&str; 6] =
    ["custom", "label", "model_change", "session_info", "thinking_level_change", "branch_summary"];

/// Reads one session.
pub(super) struct Pi {
    draft: Draft,
}

impl Pi {
    pub(super) fn new(context: Context) -> Self {
        Self { draft: Draft::new(Agent::Pi, &context.stem) }
    }

    fn message(&mut self, message: &Object<'_>, spot: Spot, output: &mut Output<'_>) {
        let draft = &mut self.draft;
        match message.text("role").as_deref().unwrap_or_default() {
            "bashExecution" => {
                // The user ran it; its words are a command.
                draft.call("", "bash", json::arguments(message.get("command")), spot);
                let text = message.text("output").unwrap_or_default();
                let outcome = match message.number("exitCode") {
                    Some(code) => outcome::of_exit(code),
                    None => outcome::of_text(&text),
                };
                draft.result("", &text, outcome, spot);
            }
            "custom" | "hookMessage" | "branchSummary" | "compactionSummary" => {
                let text = message.get("content").or_else(|| message.get("summary"));
                draft.text(Speaker::Injected, &text.map(json::words).unwrap_or_default(), spot);
            }
            _ => plain::message(draft, message, spot, output),
        }
        if let Some(error) = message.text("errorMessage") {
            draft.text(Speaker::Injected, &format!("[{error}]"), spot);
        }
    }
}

impl Adapter for Pi {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        let spot = Spot { at: object.time("timestamp"), place: record.place };
        match object.text("type").as_deref().unwrap_or_default() {
            "session" => {
                self.draft.named(object.text("id").as_deref());
                self.draft.works_in(object.text("cwd").as_deref(), None);
                self.draft.saw(spot.at);
            }
            "message" => {
                if let Some(id) = object.text("id")
                    && output
                        .seen
                        .again(&format!("pi {id} {}", object.text("timestamp").unwrap_or_default()))
                {
                    output.skip(Reason::Replayed, "message");
                    return Ok(());
                }
                self.message(&object.object("message"), spot, output);
            }
            "compaction" | "custom_message" => {
                let text = object.get("summary").or_else(|| object.get("content"));
                let text = text.map(json::words).unwrap_or_default();
                self.draft.text(Speaker::Injected, &text, spot);
            }
            kind if QUIET.contains(&kind) => output.skip(Reason::NotDialogue, kind),
            kind => output.skip(Reason::UnknownType, kind),
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let empty = Draft::new(Agent::Pi, "");
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}
