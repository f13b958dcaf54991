//! Chats of VS Code: a document, or a journal of changes to it. Knows no file.

use super::adapter::{Adapter, Context, NotJson, Record};
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw, Text};
use crate::limits::{KEPT_BYTES_MAX, TURNS_MAX};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Outcome, Place, Speaker};
use crate::skipped::Reason;

/// Kinds of parts that hold nothing said or done.
const QUIET: [&str; 12] = [
    "codeblockUri",
    "confirmation",
    "elicitation",
    "mcpServersStarting",
    "notebookEditGroup",
    "prepareToolInvocation",
    "progressMessage",
    "progressTask",
    "progressTaskSerialized",
    "references",
    "textEditGroup",
    "undoStop",
];
/// How the user answered the question whether a tool may run: no, or not now.
const NOT_CONFIRMED: [&str; 3] = ["0", "5", "false"];

/// A question and its answer, as the JSON of the parts that count.
#[derive(Default)]
struct VsCodeRequest {
    message: String,
    response: Vec<String>,
    result: String,
    timestamp: Option<i64>,
    place: Option<Place>,
}

/// Reads one chat.
pub(super) struct VsCode {
    draft: Draft,
    requests: Vec<VsCodeRequest>,
    kept: usize,
}

impl VsCode {
    pub(super) fn new(context: Context) -> Self {
        let draft = Draft::new(Agent::Copilot, &context.stem);
        Self { draft, requests: Vec::new(), kept: 0 }
    }

    fn about(&mut self, root: &Object<'_>) {
        self.draft.named(root.text("sessionId").as_deref());
        self.draft.saw(root.time("creationDate"));
    }

    /// Whether so much more may be kept.
    fn fits(&mut self, raw: Raw<'_>, output: &mut Output<'_>) -> bool {
        let fits = self.kept + raw.get().len() <= KEPT_BYTES_MAX;
        if fits {
            self.kept += raw.get().len();
        } else {
            output.skip(Reason::OverLimit, "part");
        }
        fits
    }

    fn request(&mut self, raw: Raw<'_>, place: Place, output: &mut Output<'_>) {
        if self.requests.len() >= TURNS_MAX {
            return output.skip(Reason::OverLimit, "request");
        }
        self.requests.push(VsCodeRequest { place: Some(place), ..VsCodeRequest::default() });
        let index = self.requests.len() - 1;
        for (name, value) in Object::of(raw).members() {
            self.set(index, name, value, output);
        }
    }

    fn set(&mut self, index: usize, name: &str, value: Raw<'_>, output: &mut Output<'_>) {
        if !matches!(name, "message" | "response" | "result" | "timestamp") {
            return;
        }
        if !self.fits(value, output) {
            return;
        }
        let Some(request) = self.requests.get_mut(index) else { return };
        match name {
            "message" => value.get().clone_into(&mut request.message),
            "result" => value.get().clone_into(&mut request.result),
            "timestamp" => {
                request.timestamp = json::string(value).and_then(|text| crate::time::micros(&text));
            }
            _ => {
                request.response =
                    json::list(value).iter().map(|raw| raw.get().to_owned()).collect();
            }
        }
    }

    /// A change: of the root, of what is at a path, or of a list that grows.
    fn change(&mut self, change: &Object<'_>, place: Place, output: &mut Output<'_>) {
        let Some(value) = change.get("v") else { return };
        let path = change.list("k");
        let path: Vec<_> =
            path.into_iter().map(|step| json::string(step).unwrap_or_default()).collect();
        let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
        let grows = change.text("kind").as_deref() == Some("2");
        match path.as_slice() {
            [] => {
                let root = Object::of(value);
                self.about(&root);
                self.requests.clear();
                root.list("requests").into_iter().for_each(|raw| self.request(raw, place, output));
            }
            ["requests"] => {
                if !grows {
                    self.requests.clear();
                }
                json::list(value).into_iter().for_each(|raw| self.request(raw, place, output));
            }
            ["requests", index, rest @ ..] => {
                let Ok(index) = index.parse::<usize>() else { return };
                self.change_request(index, rest, value, grows, output);
            }
            _ => output.skip(Reason::NotDialogue, path[0]),
        }
    }

    fn change_request(
        &mut self,
        index: usize,
        path: &[&str],
        value: Raw<'_>,
        grows: bool,
        output: &mut Output<'_>,
    ) {
        match path {
            [name] if !grows => self.set(index, name, value, output),
            ["response"] => {
                if !self.fits(value, output) {
                    return;
                }
                let Some(request) = self.requests.get_mut(index) else { return };
                request.response.extend(json::list(value).iter().map(|raw| raw.get().to_owned()));
            }
            ["response", part] if !grows && self.fits(value, output) => {
                let Ok(part) = part.parse::<usize>() else { return };
                let request = self.requests.get_mut(index);
                if let Some(known) = request.and_then(|request| request.response.get_mut(part)) {
                    value.get().clone_into(known);
                }
            }
            _ => output.skip(Reason::NotDialogue, path.first().copied().unwrap_or("request")),
        }
    }
}

fn tell(draft: &mut Draft, request: &VsCodeRequest, output: &mut Output<'_>) {
    let Some(place) = request.place else { return };
    let spot = Spot { at: request.timestamp, place };
    let message = Object::parse(&request.message).unwrap_or_default();
    let plain = serde_json::from_str::<Text<'_>>(&request.message).unwrap_or_default();
    let text = message.text("text");
    draft.said(text.as_deref().unwrap_or(plain.or_empty()), spot);
    let result = Object::parse(&request.result).unwrap_or_default();
    let metadata = result.object("metadata");
    let rounds = metadata.list("toolCallRounds");
    if rounds.is_empty() {
        answer(draft, &request.response, spot, output);
    }
    for raw in rounds {
        round(draft, &Object::of(raw), &metadata.object("toolCallResults"), spot);
    }
    let error = result.object("errorDetails").text("message");
    draft.text(Speaker::Injected, &error.unwrap_or_default(), spot);
}

/// What the model said at once, and the calls that it made.
fn round(draft: &mut Draft, round: &Object<'_>, results: &Object<'_>, spot: Spot) {
    draft.reasoning(&round.get("thinking").map(json::words).unwrap_or_default(), spot);
    draft.text(Speaker::Assistant, &round.text("response").unwrap_or_default(), spot);
    for raw in round.list("toolCalls") {
        let call = Object::of(raw);
        let id = call.text("id").unwrap_or_default();
        let name = call.text("name").unwrap_or_default();
        draft.call(&id, &name, json::arguments(call.get("arguments")), spot);
        if let Some(result) = results.get(&id) {
            let text = json::words(result);
            draft.result(&id, &text, outcome::of_text(&text), spot);
        }
    }
}

/// The answer as it was shown: pieces of one text, between what tools did.
fn answer(draft: &mut Draft, response: &[String], spot: Spot, output: &mut Output<'_>) {
    let mut words = String::new();
    for text in response {
        let part = Object::parse(text).unwrap_or_default();
        match part.text("kind").as_deref().unwrap_or_default() {
            "" => words.push_str(&part.text("value").unwrap_or_default()),
            "markdownContent" => {
                words.push_str(&part.get("content").map(json::words).unwrap_or_default())
            }
            "inlineReference" => {
                let reference = part.object("inlineReference");
                let path = reference.text("path").or_else(|| part.text("name"));
                words.push_str(&path.unwrap_or_default());
            }
            "thinking" => {
                draft.text(Speaker::Assistant, &std::mem::take(&mut words), spot);
                draft.reasoning(&part.get("value").map(json::words).unwrap_or_default(), spot);
            }
            "toolInvocation" | "toolInvocationSerialized" => {
                draft.text(Speaker::Assistant, &std::mem::take(&mut words), spot);
                invocation(draft, &part, spot);
            }
            kind if QUIET.contains(&kind) => output.skip(Reason::NotDialogue, kind),
            kind => output.skip(Reason::UnknownType, kind),
        }
    }
    draft.text(Speaker::Assistant, &words, spot);
}

fn invocation(draft: &mut Draft, part: &Object<'_>, spot: Spot) {
    let id = part.text("toolCallId").unwrap_or_default();
    let name = part.text("toolId").unwrap_or_default();
    let data = part.get("toolSpecificData").or_else(|| part.get("invocationMessage"));
    draft.call(&id, &name, json::arguments(data), spot);
    let confirmed = part.object("isConfirmed").text("type").or_else(|| part.text("isConfirmed"));
    let outcome = match confirmed.as_deref() {
        Some(answer) if NOT_CONFIRMED.contains(&answer) => Outcome::Refused,
        _ => Outcome::Unknown,
    };
    let text = part.get("pastTenseMessage").map(json::words).unwrap_or_default();
    draft.result(&id, &text, outcome, spot);
}

impl Adapter for VsCode {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        if record.list == "requests" {
            let raw: Raw<'_> = serde_json::from_str(record.text).map_err(|_| NotJson)?;
            self.request(raw, record.place, output);
        } else if object.has("kind") {
            self.change(&object, record.place, output);
        } else if object.has("requests") {
            self.about(&object);
            let requests = object.list("requests");
            requests.into_iter().for_each(|raw| self.request(raw, record.place, output));
        } else {
            output.skip(Reason::UnknownType, record.list);
        }
        Ok(())
    }

    fn member(&mut self, name: &str, text: &str, _output: &mut Output<'_>) {
        // Only texts say something about the session.
        let Ok(value) = serde_json::from_str::<Text<'_>>(text) else { return };
        match name {
            "sessionId" => self.draft.named(value.get()),
            "creationDate" => self.draft.saw(value.get().and_then(crate::time::micros)),
            _ => {}
        }
    }

    fn end(&mut self, output: &mut Output<'_>) {
        let empty = Draft::new(Agent::Copilot, "");
        let mut draft = std::mem::replace(&mut self.draft, empty);
        for request in std::mem::take(&mut self.requests) {
            tell(&mut draft, &request, output);
        }
        draft.finish(output);
    }
}
