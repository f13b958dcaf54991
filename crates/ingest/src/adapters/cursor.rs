//! Conversations of Cursor: bubbles in the order that their conversation gives, and transcripts of
//! its agent. Knows no file.

use std::collections::HashMap;

use super::adapter::{Adapter, Context, NotJson, Record};
use super::plain;
use crate::draft::{Draft, Spot};
use crate::json::{self, Object};
use crate::limits::{KEPT_BYTES_MAX, TURNS_MAX};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Outcome, Speaker};
use crate::skipped::Reason;

/// The folder with the files that Cursor names for a conversation.
pub(super) fn about(draft: &mut Draft, composer: &Object<'_>) {
    draft.named(composer.text("composerId").as_deref());
    let branch = composer.any_text(&["committedToBranch", "createdOnBranch"]);
    draft.works_in(None, branch.as_deref());
    draft.saw(composer.time("createdAt"));
    draft.saw(composer.time("lastUpdatedAt"));
}

/// The ids of a conversation's bubbles, in its order.
pub(super) fn order(composer: &Object<'_>) -> Vec<String> {
    let headers = composer.list("fullConversationHeadersOnly");
    let ids = headers.into_iter().filter_map(|raw| Object::of(raw).text("bubbleId"));
    ids.map(|id| id.into_owned()).collect()
}

/// One bubble: a text of the user (type 1) or of the model, a thought, or a call with its result.
pub(super) fn bubble(draft: &mut Draft, bubble: &Object<'_>, spot: Spot) {
    let at =
        bubble.time("createdAt").or_else(|| bubble.object("timingInfo").time("clientStartTime"));
    let spot = Spot { at: at.or(spot.at), ..spot };
    let text = bubble.any_text(&["text", "rawText"]).unwrap_or_default();
    if matches!(bubble.text("type").as_deref(), Some("1" | "user")) {
        return draft.said(&text, spot);
    }
    draft.reasoning(&bubble.get("thinking").map(json::words).unwrap_or_default(), spot);
    draft.text(Speaker::Assistant, &text, spot);
    let tool = bubble.object("toolFormerData");
    let Some(name) = tool.text("name") else { return };
    let id = tool.text("toolCallId").unwrap_or_default();
    let arguments = ["rawArgs", "params"]
        .iter()
        .find_map(|name| tool.get(name).filter(|raw| raw.get() != "\"\""));
    draft.call(&id, &name, json::arguments(arguments), spot);
    let status = tool.text("status").unwrap_or_default();
    if matches!(status.as_ref(), "loading" | "pending") {
        return;
    }
    let text = tool.get("result").map(json::words).unwrap_or_default();
    let inner = Object::parse(&text).unwrap_or_default();
    let exit = inner.number("exitCode").or_else(|| inner.number("exitCodeV2"));
    let outcome = match (tool.text("userDecision").as_deref(), exit) {
        (Some("rejected"), _) => Outcome::Refused,
        (_, Some(code)) => outcome::of_exit(code),
        _ => outcome::of_status(&status, &text),
    };
    let output = inner.any_text(&["output", "contents", "error"]);
    draft.result(&id, output.as_deref().unwrap_or(&text), outcome, spot);
}

/// Reads the records of one conversation.
pub(super) struct Cursor {
    draft: Draft,
    order: Vec<String>,
    bubbles: Vec<(String, Draft)>,
    kept: usize,
}

impl Cursor {
    pub(super) fn new(context: Context) -> Self {
        let draft = Draft::new(Agent::Cursor, &context.stem);
        Self { draft, order: Vec::new(), bubbles: Vec::new(), kept: 0 }
    }

    fn bubble(&mut self, object: &Object<'_>, spot: Spot, output: &mut Output<'_>) {
        let mut draft = Draft::new(Agent::Cursor, "");
        bubble(&mut draft, object, spot);
        self.kept += draft.kept();
        if self.kept > KEPT_BYTES_MAX || self.bubbles.len() >= TURNS_MAX {
            output.skip(Reason::OverLimit, "bubble");
        } else {
            let id = object.text("bubbleId").unwrap_or_default();
            self.bubbles.push((id.into_owned(), draft));
        }
    }
}

impl Adapter for Cursor {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        let spot = Spot { at: None, place: record.place };
        if object.has("composerId") && !object.has("bubbleId") {
            about(&mut self.draft, &object);
            self.order = order(&object);
            for raw in object.list("conversation") {
                self.bubble(&Object::of(raw), spot, output);
            }
        } else if object.has("bubbleId") {
            self.bubble(&object, spot, output);
        } else {
            output.skip(Reason::UnknownType, "record");
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let ranks: HashMap<&str, usize> =
            self.order.iter().enumerate().map(|(rank, id)| (id.as_str(), rank)).collect();
        // Bubbles that the conversation does not name keep their order, after the others.
        self.bubbles.sort_by_key(|(id, _)| ranks.get(id.as_str()).copied().unwrap_or(usize::MAX));
        let mut draft = std::mem::replace(&mut self.draft, Draft::new(Agent::Cursor, ""));
        for (_, mut bubble) in std::mem::take(&mut self.bubbles) {
            bubble.turns_mut().drain(..).for_each(|turn| draft.push(turn));
        }
        draft.finish(output);
    }
}

/// Reads a transcript of the agent: `{role, message: {content}}`.
pub(super) struct CursorTranscript {
    draft: Draft,
}

impl CursorTranscript {
    pub(super) fn new(context: Context) -> Self {
        Self { draft: Draft::new(Agent::Cursor, &context.stem) }
    }
}

impl Adapter for CursorTranscript {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        let spot = Spot { at: object.time("timestamp"), place: record.place };
        let content = object.object("message").get("content").or_else(|| object.get("content"));
        let role = object.text("role").unwrap_or_default();
        match role.as_ref() {
            "user" | "assistant" => {
                plain::parts(&mut self.draft, content, role == "user", spot, output);
            }
            _ => output.skip(Reason::UnknownType, &role),
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let empty = Draft::new(Agent::Cursor, "");
        std::mem::replace(&mut self.draft, empty).finish(output);
    }
}
