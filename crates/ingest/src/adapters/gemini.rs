//! Chats of Gemini CLI: one document, or lines with patches that change what came before. Knows no
//! file.

use std::collections::HashMap;

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw, Text};
use crate::limits::{KEPT_BYTES_MAX, TURNS_MAX};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Place, Speaker};
use crate::skipped::Reason;

/// Parts of a user's message that the program adds after this one.
const REFERENCED: &str = "--- Content from referenced files ---";

/// A message, which a later record may replace or take back.
struct GeminiMessage {
    id: String,
    turns: Draft,
    place: Place,
}

/// Reads one chat.
pub(super) struct Gemini {
    draft: Draft,
    messages: Vec<GeminiMessage>,
    /// Where the message of an id stands.
    positions: HashMap<String, usize>,
    /// Bytes that the messages keep.
    kept: usize,
}

impl Gemini {
    pub(super) fn new(context: Context) -> Self {
        let draft = Draft::new(Agent::Gemini, &context.stem);
        Self { draft, messages: Vec::new(), positions: HashMap::new(), kept: 0 }
    }

    fn about(&mut self, object: &Object<'_>) {
        self.draft.named(object.text("sessionId").as_deref());
        self.draft.saw(object.time("startTime"));
        self.draft.saw(object.time("lastUpdated"));
        if let Some(folder) = object.list("directories").first() {
            self.draft.works_in(json::string(folder).as_deref(), None);
        }
    }

    /// Takes a message; one with the same id is replaced where it stands.
    fn message(&mut self, object: &Object<'_>, place: Place, output: &mut Output<'_>) {
        let id = object.text("id").unwrap_or_default().into_owned();
        let turns = turns(object, place, output);
        let known = self.positions.get(&id).copied().filter(|_| !id.is_empty());
        let freed = known.map_or(0, |index| self.messages[index].turns.kept());
        let kept = self.kept - freed + turns.kept();
        if kept > KEPT_BYTES_MAX || self.messages.len() >= TURNS_MAX {
            return output.skip(Reason::OverLimit, "message");
        }
        self.kept = kept;
        if let Some(index) = known {
            self.messages[index].turns = turns;
            return;
        }
        self.positions.insert(id.clone(), self.messages.len());
        self.messages.push(GeminiMessage { id, turns, place });
    }

    fn patch(&mut self, patch: &Object<'_>, place: Place, output: &mut Output<'_>) {
        self.about(patch);
        if let Some(messages) = patch.get("messages") {
            // The whole list anew; messages that stay keep their places.
            let old = std::mem::take(&mut self.messages);
            let positions = std::mem::take(&mut self.positions);
            self.kept = 0;
            for raw in json::list(messages) {
                let message = Object::of(raw);
                let id = message.text("id").unwrap_or_default();
                let known = positions.get(id.as_ref()).filter(|_| !id.is_empty());
                let place = known.map_or(place, |&index| old[index].place);
                self.message(&message, place, output);
            }
        }
    }

    /// Drops a message and all after it; all, if it is not known.
    fn rewind(&mut self, id: &str, output: &mut Output<'_>) {
        let start = self.positions.get(id).copied().unwrap_or(0);
        for message in self.messages.drain(start..) {
            output.skip(Reason::TakenBack, "message");
            self.kept -= message.turns.kept();
            self.positions.remove(&message.id);
        }
    }
}

fn turns(object: &Object<'_>, place: Place, output: &mut Output<'_>) -> Draft {
    let mut draft = Draft::new(Agent::Gemini, "");
    let spot = Spot { at: object.time("timestamp"), place };
    let content = object.get("content");
    match object.text("type").as_deref().unwrap_or_default() {
        "user" => {
            if let Some(content) = content {
                user(&mut draft, content, spot);
            }
        }
        "gemini" | "model" | "assistant" => {
            for raw in object.list("thoughts") {
                let thought = Object::of(raw);
                let subject = thought.text("subject").unwrap_or_default();
                let text = thought.any_text(&["description", "text"]).unwrap_or_default();
                draft.reasoning(&format!("{subject}\n{text}"), spot);
            }
            let text = content.map(json::words).unwrap_or_default();
            draft.text(Speaker::Assistant, &text, spot);
            object.list("toolCalls").into_iter().for_each(|raw| tool(&mut draft, raw, spot));
        }
        "info" | "error" | "warning" => {
            let text = content.map(json::words).unwrap_or_default();
            draft.text(Speaker::Injected, &text, spot);
        }
        kind => output.skip(Reason::UnknownType, kind),
    }
    draft
}

/// A text, or parts of which the program added those after a mark.
fn user(draft: &mut Draft, content: Raw<'_>, spot: Spot) {
    if !json::is_list(content) {
        return draft.said(&json::words(content), spot);
    }
    let mut is_referenced = false;
    for part in json::list(content) {
        let text = json::words(part);
        is_referenced |= text.trim_start().starts_with(REFERENCED);
        if is_referenced {
            draft.text(Speaker::Injected, &text, spot);
        } else {
            draft.said(&text, spot);
        }
    }
}

fn tool(draft: &mut Draft, raw: Raw<'_>, spot: Spot) {
    let call = Object::of(raw);
    let id = call.text("id").unwrap_or_default();
    let name = call.text("name").unwrap_or_default();
    let spot = Spot { at: call.time("timestamp").or(spot.at), ..spot };
    draft.call(&id, &name, json::arguments(call.get("args")), spot);
    let status = call.text("status").unwrap_or_default();
    let result = call.get("result").or_else(|| call.get("resultDisplay"));
    let text = result.map(json::words).unwrap_or_default();
    draft.result(&id, &text, outcome::of_status(&status, &text), spot);
}

impl Adapter for Gemini {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        if let Some(id) = object.text("$rewindTo") {
            self.rewind(&id, output);
        } else if object.has("$set") {
            self.patch(&object.object("$set"), record.place, output);
        } else if object.has("type") && (object.has("content") || object.has("toolCalls")) {
            self.message(&object, record.place, output);
        } else if object.has("sessionId") {
            self.about(&object);
            for raw in object.list("messages") {
                self.message(&Object::of(raw), record.place, output);
            }
        } else {
            output.skip(Reason::UnknownType, &object.text("type").unwrap_or_default());
        }
        Ok(())
    }

    fn member(&mut self, name: &str, text: &str, _output: &mut Output<'_>) {
        // Only texts say something about the session.
        let Ok(value) = serde_json::from_str::<Text<'_>>(text) else { return };
        match name {
            "sessionId" => self.draft.named(value.get()),
            "startTime" | "lastUpdated" => {
                self.draft.saw(value.get().and_then(crate::time::micros))
            }
            _ => {}
        }
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let empty = Draft::new(Agent::Gemini, "");
        let mut draft = std::mem::replace(&mut self.draft, empty);
        for mut message in std::mem::take(&mut self.messages) {
            message.turns.turns_mut().drain(..).for_each(|turn| draft.push(turn));
        }
        draft.finish(output);
    }
}
