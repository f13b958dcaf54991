//! OpenTelemetry spans and log records of generative models (`gen_ai.*`), as OTLP JSON or plain.
//! Knows no file.

use std::borrow::Cow;

use super::adapter::{Adapter, Context, NotJson, Record};
use super::plain;
use super::threads::Threads;
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Place, Speaker};
use crate::skipped::Reason;

/// Attributes that hold messages, in the order in which they were said.
const MESSAGES: [(&str, &str); 6] = [
    ("gen_ai.system_instructions", "system"),
    ("gen_ai.input.messages", ""),
    ("gen_ai.prompt", "user"),
    ("input.value", ""),
    ("gen_ai.output.messages", ""),
    ("gen_ai.completion", "assistant"),
];
/// Members in which lists of spans are found, from the outside in.
const LEVELS: [&str; 10] = [
    "resourceSpans",
    "resource_spans",
    "scopeSpans",
    "scope_spans",
    "spans",
    "resourceLogs",
    "scopeLogs",
    "logRecords",
    "log_records",
    "data",
];
/// Members of which a span or a log record has one.
const NAMES: [&str; 4] = ["name", "spanId", "timeUnixNano", "observedTimeUnixNano"];
/// Lists within lists of spans.
const LEVELS_MAX: usize = 4;
/// Messages in attributes of their own: `gen_ai.prompt.0.content`.
const NUMBERED_MAX: usize = 1_000;

/// Reads spans.
pub(super) struct Otel {
    stem: String,
    threads: Threads,
}

impl Otel {
    pub(super) fn new(context: Context) -> Self {
        Self { stem: context.stem, threads: Threads::new(Agent::Otel) }
    }

    /// Finds the spans in an object.
    fn spans(&mut self, object: &Object<'_>, depth: usize, place: Place, output: &mut Output<'_>) {
        if let Some(list) =
            LEVELS.iter().find_map(|name| object.get(name)).filter(|_| depth < LEVELS_MAX)
        {
            for raw in json::list(list) {
                self.spans(&Object::of(raw), depth + 1, place, output);
            }
        } else if object.has("attributes") && NAMES.iter().any(|name| object.has(name)) {
            self.span(object, place, output);
        } else {
            output.skip(Reason::UnknownType, "record");
        }
    }

    fn span(&mut self, span: &Object<'_>, place: Place, output: &mut Output<'_>) {
        let attributes = Attributes::of(span);
        let start = [
            "startTimeUnixNano",
            "start_time_unix_nano",
            "start_time",
            "startTime",
            "timeUnixNano",
            "observedTimeUnixNano",
        ];
        let end = ["endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"];
        let start = start.iter().find_map(|name| span.time(name));
        let end = end.iter().find_map(|name| span.time(name)).or(start);
        let key = attributes
            .text("gen_ai.conversation.id")
            .or_else(|| attributes.text("session.id"))
            .or_else(|| span.any_text(&["traceId", "trace_id"]))
            .or_else(|| span.object("context").any_text(&["trace_id", "traceId"]))
            .unwrap_or_else(|| Cow::Owned(self.stem.clone()));
        let mut asked = Draft::new(Agent::Otel, "");
        let mut answered = Draft::new(Agent::Otel, "");
        for (name, role) in MESSAGES {
            let is_answer = name.contains("output") || name.contains("completion");
            let (draft, at) = if is_answer { (&mut answered, end) } else { (&mut asked, start) };
            let spot = Spot { at, place };
            if let Some(text) = attributes.text(name) {
                messages(draft, &text, role, spot, output);
            }
            numbered(draft, &attributes, name, spot, output);
        }
        for raw in span.list("events") {
            event(&mut asked, &Object::of(raw), Spot { at: start, place }, output);
        }
        log(&mut asked, span, &attributes, Spot { at: start, place }, output);
        tool(&mut answered, &attributes, span, Spot { at: end, place });
        if asked.turns().is_empty() && answered.turns().is_empty() {
            return output.skip(Reason::NotDialogue, &span.text("name").unwrap_or_default());
        }
        self.threads.add(&key, start.unwrap_or(0), asked, output);
        self.threads.add(&key, end.unwrap_or(0), answered, output);
    }
}

/// Messages in JSON, or the words of one.
fn messages(draft: &mut Draft, text: &str, role: &str, spot: Spot, output: &mut Output<'_>) {
    // May be dropped: what is not JSON is words, and they are kept as they stand.
    let raw = serde_json::from_str::<Raw<'_>>(text).ok();
    let Some(raw) = raw.filter(|raw| raw.get().starts_with(['[', '{'])) else {
        return one(draft, role, text, spot);
    };
    let whole = Object::of(raw);
    let list = if json::is_list(raw) { json::list(raw) } else { whole.list("messages") };
    let known = list.iter().filter(|raw| Object::of(raw).has("role")).count();
    if known == 0 {
        return one(draft, role, &json::words(raw), spot);
    }
    for raw in list {
        plain::message(draft, &Object::of(raw), spot, output);
    }
}

/// A message of which the role is known.
fn one(draft: &mut Draft, role: &str, text: &str, spot: Spot) {
    match role {
        "user" => draft.said(text, spot),
        "assistant" => draft.text(Speaker::Assistant, text, spot),
        "system" => draft.text(Speaker::Injected, text, spot),
        _ => {}
    }
}

/// Messages in attributes of their own.
fn numbered(
    draft: &mut Draft,
    attributes: &Attributes<'_>,
    name: &str,
    spot: Spot,
    output: &mut Output<'_>,
) {
    if !matches!(name, "gen_ai.prompt" | "gen_ai.completion") {
        return;
    }
    for number in 0..NUMBERED_MAX {
        let Some(role) = attributes.text(&format!("{name}.{number}.role")) else { break };
        let text = attributes.text(&format!("{name}.{number}.content")).unwrap_or_default();
        match role.as_ref() {
            "user" | "assistant" | "system" => one(draft, &role, &text, spot),
            "tool" => draft.result("", &text, outcome::of_text(&text), spot),
            role => output.skip(Reason::UnknownType, role),
        }
    }
}

/// An event of a span that is a message, as older conventions have it.
fn event(draft: &mut Draft, event: &Object<'_>, spot: Spot, output: &mut Output<'_>) {
    let name = event.text("name").unwrap_or_default();
    message(draft, &name, &Attributes::of(event), spot, output);
}

/// A log record that is a message, as older conventions have it: its words are in its body.
fn log(
    draft: &mut Draft,
    record: &Object<'_>,
    attributes: &Attributes<'_>,
    spot: Spot,
    output: &mut Output<'_>,
) {
    let name = record.text("eventName").or_else(|| attributes.text("event.name"));
    let Some(name) = name.filter(|_| record.has("body")) else { return };
    let body = record.object("body");
    message(draft, &name, &Attributes::in_list(&body.object("kvlistValue")), spot, output);
}

fn message(
    draft: &mut Draft,
    name: &str,
    attributes: &Attributes<'_>,
    spot: Spot,
    output: &mut Output<'_>,
) {
    let text = ["content", "gen_ai.prompt", "gen_ai.completion", "message"]
        .iter()
        .find_map(|name| attributes.text(name))
        .unwrap_or_default();
    match name {
        "gen_ai.user.message" | "gen_ai.content.prompt" => draft.said(&text, spot),
        "gen_ai.system.message" => draft.text(Speaker::Injected, &text, spot),
        "gen_ai.assistant.message" | "gen_ai.choice" | "gen_ai.content.completion" => {
            let parsed = Object::parse(&text).unwrap_or_default();
            let inner = parsed.get("content").map(json::words);
            draft.text(Speaker::Assistant, inner.as_deref().unwrap_or(&text), spot);
        }
        "gen_ai.tool.message" => {
            let id = attributes.text("id").unwrap_or_default();
            draft.result(&id, &text, outcome::of_text(&text), spot);
        }
        _ => output.skip(Reason::NotDialogue, &format!("event {name}")),
    }
}

/// A span that is a call.
fn tool(draft: &mut Draft, attributes: &Attributes<'_>, span: &Object<'_>, spot: Spot) {
    let Some(name) = attributes.text("gen_ai.tool.name") else { return };
    let id = attributes.text("gen_ai.tool.call.id").unwrap_or_default();
    let arguments = attributes.text("gen_ai.tool.call.arguments");
    let arguments = arguments.map(|text| json::decoded(&text)).unwrap_or_default();
    draft.call(&id, &name, arguments, spot);
    let text = attributes.text("gen_ai.tool.call.result").unwrap_or_default();
    let status = span.object("status").any_text(&["code", "status_code"]).unwrap_or_default();
    let is_error = matches!(status.as_ref(), "2" | "ERROR" | "STATUS_CODE_ERROR")
        || attributes.text("error.type").is_some();
    let outcome = outcome::of_mark(is_error, &text);
    draft.result(&id, &text, outcome, spot);
}

/// Attributes: a list of keys with typed values, or an object.
struct Attributes<'a> {
    values: Vec<(Cow<'a, str>, Raw<'a>)>,
}

impl<'a> Attributes<'a> {
    fn of(span: &Object<'a>) -> Self {
        Self::in_member(span, "attributes")
    }

    /// Of a list of keys and values that is itself a value.
    fn in_list(list: &Object<'a>) -> Self {
        Self::in_member(list, "values")
    }

    fn in_member(object: &Object<'a>, name: &str) -> Self {
        let Some(raw) = object.get(name) else { return Self { values: Vec::new() } };
        let values = if json::is_list(raw) {
            let pairs = json::list(raw).into_iter().map(Object::of);
            pairs.filter_map(|pair| Some((pair.text("key")?, pair.get("value")?))).collect()
        } else {
            Object::of(raw).into_members()
        };
        Self { values }
    }

    /// A value as a text: JSON, where it is a list or an object.
    fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let (_, raw) = self.values.iter().find(|(key, _)| key == name)?;
        let typed = Object::of(raw);
        let inner = ["stringValue", "string_value", "intValue", "boolValue", "doubleValue"];
        let inner = inner.iter().find_map(|kind| typed.get(kind));
        let lists = ["arrayValue", "kvlistValue"].iter().find_map(|kind| typed.get(kind));
        let value = inner.or(lists).unwrap_or(raw);
        json::string(value)
            .or_else(|| Some(Cow::Borrowed(value.get())))
            .filter(|text| !text.is_empty())
    }
}

impl Adapter for Otel {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        self.spans(&object, 0, record.place, output);
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        self.threads.finish(output);
    }
}
