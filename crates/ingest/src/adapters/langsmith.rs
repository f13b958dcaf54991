//! Runs of LangSmith: calls of models and tools, each with its inputs and outputs. Knows no file.

use super::adapter::{Adapter, Context, NotJson, Record};
use super::plain;
use super::threads::Threads;
use crate::draft::{Draft, Spot};
use crate::json::{self, Object, Raw};
use crate::outcome;
use crate::output::Output;
use crate::session::{Agent, Speaker};
use crate::skipped::Reason;

/// Members of inputs that are a question by themselves.
const QUESTIONS: [&str; 5] = ["input", "question", "query", "prompt", "text"];
/// Members of outputs that are an answer by themselves.
const ANSWERS: [&str; 5] = ["output", "answer", "text", "content", "result"];
/// Lists within lists of messages.
const NESTED_MAX: usize = 4;

/// Reads runs.
pub(super) struct LangSmith {
    stem: String,
    threads: Threads,
}

impl LangSmith {
    pub(super) fn new(context: Context) -> Self {
        Self { stem: context.stem, threads: Threads::new(Agent::LangSmith) }
    }

    fn run(&mut self, run: &Object<'_>, record: &Record<'_>, output: &mut Output<'_>) {
        let place = record.place;
        let start = run.time("start_time");
        let end = run.time("end_time").or(start);
        let metadata = run.object("extra").object("metadata");
        let key = metadata
            .any_text(&["thread_id", "session_id", "conversation_id"])
            .or_else(|| run.any_text(&["trace_id", "id"]))
            .map_or_else(|| self.stem.clone(), |key| key.into_owned());
        let mut asked = Draft::new(Agent::LangSmith, "");
        let mut answered = Draft::new(Agent::LangSmith, "");
        let (inputs, outputs) = (run.object("inputs"), run.object("outputs"));
        let (began, ended) = (Spot { at: start, place }, Spot { at: end, place });
        let kind = run.text("run_type").unwrap_or_default();
        match kind.as_ref() {
            "llm" | "chat_model" => {
                said(&mut asked, &inputs, "messages", &QUESTIONS, began, output);
                said(&mut answered, &outputs, "generations", &ANSWERS, ended, output);
            }
            "tool" => tool(&mut answered, run, ended),
            "chain" if !run.has("parent_run_id") => {
                said(&mut asked, &inputs, "messages", &QUESTIONS, began, output);
            }
            _ => return output.skip(Reason::NotDialogue, &format!("run {kind}")),
        }
        self.threads.add(&key, start.unwrap_or(0), asked, output);
        self.threads.add(&key, end.unwrap_or(0), answered, output);
    }
}

/// The messages of inputs or outputs; where there are none, their plain words.
fn said(
    draft: &mut Draft,
    holder: &Object<'_>,
    list: &str,
    plain_names: &[&str],
    spot: Spot,
    output: &mut Output<'_>,
) {
    let messages = [list, "messages", "choices"].iter().find_map(|name| holder.get(name));
    if let Some(raw) = messages {
        return nested(draft, raw, 0, spot, output);
    }
    if holder.has("role") || holder.has("kwargs") {
        return message(draft, holder, spot, output);
    }
    let words = plain_names.iter().find_map(|name| holder.get(name)).map(json::words);
    let words = words.unwrap_or_default();
    if plain_names.contains(&"question") {
        draft.said(&words, spot);
    } else {
        draft.text(Speaker::Assistant, &words, spot);
    }
}

fn nested(draft: &mut Draft, raw: Raw<'_>, depth: usize, spot: Spot, output: &mut Output<'_>) {
    if json::is_list(raw) && depth < NESTED_MAX {
        for inner in json::list(raw) {
            nested(draft, inner, depth + 1, spot, output);
        }
        return;
    }
    let object = Object::of(raw);
    let inner = object.object("message");
    if inner.has("kwargs") || inner.has("role") || inner.has("content") {
        message(draft, &inner, spot, output);
    } else {
        message(draft, &object, spot, output);
    }
}

/// A message as services of models have it, or as LangChain writes it.
fn message(draft: &mut Draft, object: &Object<'_>, spot: Spot, output: &mut Output<'_>) {
    if object.has("role") {
        return plain::message(draft, object, spot, output);
    }
    let fields = ["kwargs", "data"].iter().find(|name| object.has(name));
    let fields = fields.map(|name| object.object(name));
    let fields = fields.as_ref().unwrap_or(object);
    let class = object.list("id").last().and_then(|raw| json::string(raw)).unwrap_or_default();
    let kind = object.text("type").filter(|kind| kind != "constructor");
    let kind = kind.or_else(|| fields.text("type")).unwrap_or_default();
    let content = fields.get("content").or_else(|| fields.get("text"));
    match (class.as_ref(), kind.as_ref()) {
        ("HumanMessage" | "HumanMessageChunk", _) | (_, "human" | "user") => {
            plain::parts(draft, content, true, spot, output);
        }
        ("SystemMessage", _) | (_, "system") => {
            draft.text(Speaker::Injected, &content.map(json::words).unwrap_or_default(), spot);
        }
        ("ToolMessage" | "FunctionMessage", _) | (_, "tool" | "function") => {
            let text = content.map(json::words).unwrap_or_default();
            let id = fields.text("tool_call_id").unwrap_or_default();
            let status = fields.text("status").unwrap_or_default();
            draft.result(&id, &text, outcome::of_status(&status, &text), spot);
        }
        _ => {
            plain::parts(draft, content, false, spot, output);
            plain::calls(draft, fields, spot);
        }
    }
}

fn tool(draft: &mut Draft, run: &Object<'_>, spot: Spot) {
    let name = run.text("name").unwrap_or_default();
    let (inputs, outputs) = (run.object("inputs"), run.object("outputs"));
    let id = run.text("id").unwrap_or_default();
    let arguments = inputs.get("input").or_else(|| run.get("inputs"));
    draft.call(&id, &name, json::arguments(arguments), spot);
    let error = run.text("error");
    let output = outputs.get("output").or_else(|| run.get("outputs")).map(json::words);
    let text = error.as_deref().map(str::to_owned).or(output).unwrap_or_default();
    draft.result(&id, &text, outcome::of_mark(error.is_some(), &text), spot);
}

impl Adapter for LangSmith {
    fn record(&mut self, record: &Record<'_>, output: &mut Output<'_>) -> Result<(), NotJson> {
        let object = Object::parse(record.text).ok_or(NotJson)?;
        if object.has("run_type") {
            self.run(&object, record, output);
        } else {
            output.skip(Reason::UnknownType, record.list);
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output<'_>) {
        self.threads.finish(output);
    }
}
