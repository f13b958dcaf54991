//! The part of an agent's memory that a model may ask for by itself: tools that search, read and
//! write it within the agent's clearance.
//!
//! What they give is bounded, and marks what a model writes: an insight has at least the level of
//! what was disclosed to a model of this memory, and is restricted in another domain than that of
//! its secrets, so that nothing becomes more open by being written down again.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::tool::{Tool, ToolError};
use kapsa_agents::bounds;
use kapsa_agents::{
    AgentMemory, ContextOptions, Found, INSIGHT_CHARS_MAX, Insight, Scope, Secrets, TimeSource,
    fresh_id,
};
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::uri::Uri;
use kapsa_model::{BoxFuture, ToolSpec};

/// Most tokens of what one search gives.
pub const SEARCH_TOKENS_MAX: usize = 1000;
/// Most tags of an insight that a model writes.
const TAGS_MAX: usize = 16;

/// The tools `memory_search`, `memory_read` and `memory_write` over the memory of an agent and what
/// its clearance allows of its team's.
#[must_use]
pub fn memory_tools(memory: &Arc<AgentMemory>, clock: impl Into<TimeSource>) -> Vec<Arc<dyn Tool>> {
    let clock = clock.into();
    let tool =
        |name: &str, description: &str, parameters: Value, handler: Handler| -> Arc<dyn Tool> {
            let spec =
                ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters };
            Arc::new(MemoryTool {
                spec,
                memory: Arc::clone(memory),
                clock: clock.clone(),
                handle: handler,
            })
        };
    let text = |description: &str| json!({"type": "string", "description": description});
    let about = [("entity", text("what it is about")), ("domain", text("field of knowledge"))];
    let object = |more: &[(&str, Value)], required: &str| {
        let properties: Map<String, Value> = more
            .iter()
            .chain(&about)
            .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
            .collect();
        json!({"type": "object", "properties": properties, "required": [required]})
    };
    let tags = json!({"type": "array", "items": {"type": "string"}});
    let confidence = json!({"type": "number", "minimum": 0, "maximum": 1});
    vec![
        tool(
            "memory_search",
            "Looks for insights, facts and recent work, what fits best first. Each line ends with its URI in brackets.",
            object(&[("query", text("words to look for"))], "query"),
            search,
        ),
        tool(
            "memory_read",
            "Reads all of what a line of memory_search stands for.",
            json!({"type": "object", "properties": {"uri": text("such as fact/f1")}, "required": ["uri"]}),
            read,
        ),
        tool(
            "memory_write",
            "Keeps something learned as an insight of your own.",
            object(
                &[("content", text("one sentence")), ("confidence", confidence), ("tags", tags)],
                "content",
            ),
            write,
        ),
    ]
}

type Handler = fn(&MemoryTool, &Map<String, Value>) -> Result<String, ToolError>;

struct MemoryTool {
    spec: ToolSpec,
    memory: Arc<AgentMemory>,
    clock: TimeSource,
    handle: Handler,
}

impl Tool for MemoryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn secrets(&self) -> Secrets {
        self.memory.disclosed()
    }

    fn within(&self, clearance: &ClearanceProfile) -> Option<Arc<dyn Tool>> {
        let lower = self.memory.clearance().within(clearance);
        if lower == *self.memory.clearance() {
            return None;
        }
        let memory = AgentMemory::clone(&self.memory).with_clearance(lower);
        let spec = self.spec.clone();
        Some(Arc::new(MemoryTool {
            spec,
            memory: Arc::new(memory),
            clock: self.clock.clone(),
            handle: self.handle,
        }))
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move { (self.handle)(self, arguments) })
    }
}

fn search(tool: &MemoryTool, arguments: &Map<String, Value>) -> Result<String, ToolError> {
    let query = needed(arguments, "query")?;
    let (entity, domain) = (optional(arguments, "entity"), optional(arguments, "domain"));
    let scope = Scope { entity, domain, query, ..Scope::default() };
    let context = tool
        .memory
        .context(
            &scope,
            &ContextOptions {
                tokens_max: SEARCH_TOKENS_MAX,
                uris: true,
                ..ContextOptions::default()
            },
        )
        .map_err(failed)?;
    tool.memory.count_as_read(&context).map_err(failed)?;
    tool.memory.note_disclosed(&context.secrets());
    let text = context.text();
    Ok(if text.is_empty() { "nothing is known".to_owned() } else { text })
}

fn read(tool: &MemoryTool, arguments: &Map<String, Value>) -> Result<String, ToolError> {
    let named = needed(arguments, "uri")?;
    let uri = Uri::parse(&named).map_err(failed)?;
    let (text, domain, level) = match tool.memory.look_up(&uri).map_err(failed)? {
        Some(Found::Fact(fact)) => {
            let contested = if fact.contested_with.is_empty() { "" } else { ", contested" };
            (
                format!("{}\n(confidence {:.2}{contested})", fact.content, fact.confidence),
                fact.domain,
                fact.classification,
            )
        }
        Some(Found::Insight(insight)) => {
            let seen = format!(
                "confidence {:.2}, seen {} times",
                insight.confidence, insight.evidence_count
            );
            (format!("{}\n({seen})", insight.content), insight.domain, insight.classification)
        }
        Some(Found::Episode(episode)) => {
            let outcome = Value::Object(episode.outcome);
            let (action, input, output) =
                (episode.action, episode.input_summary, episode.output_summary);
            (
                format!("{action}\nin: {input}\nout: {output}\noutcome: {outcome}"),
                episode.domain,
                episode.classification,
            )
        }
        // What may not be known and what never was get the same answer.
        None => {
            return Err(format!(
                "there is nothing under `{}`",
                kapsa_memory::tokens::first_chars(&named, 100)
            )
            .into());
        }
    };
    tool.memory.note_disclosed(&Secrets::of(&domain, level));
    Ok(text)
}

fn write(tool: &MemoryTool, arguments: &Map<String, Value>) -> Result<String, ToolError> {
    let content = needed(arguments, "content")?;
    if content.chars().nth(INSIGHT_CHARS_MAX).is_some() {
        return Err(format!("`content` is longer than {INSIGHT_CHARS_MAX} characters").into());
    }
    let confidence = match arguments.get("confidence") {
        None | Some(Value::Null) => None,
        Some(value) => Some(
            value
                .as_f64()
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or("`confidence` is 0 to 1")?,
        ),
    };
    let tags =
        arguments.get("tags").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tags: Vec<String> = tags.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if tags.len() > TAGS_MAX {
        return Err(format!("there are more than {TAGS_MAX} tags").into());
    }
    let secrets = tool.memory.disclosed();
    let mut domain = secrets.domain_for(&optional(arguments, "domain"));
    if domain.is_empty() {
        bounds::domain_unnamed(&tool.memory).clone_into(&mut domain);
    }
    let classification = secrets.level_in(&domain).max(Classification::Internal);
    bounds::may_write(&tool.memory, &domain, classification).map_err(failed)?;
    let id = fresh_id("ins_");
    let insight = Insight::new(&id, tool.memory.agent_id(), content, tool.clock.now());
    let insight = Insight {
        confidence: confidence.unwrap_or(insight.confidence),
        entity: optional(arguments, "entity"),
        classification,
        domain,
        tags,
        ..insight
    };
    tool.memory.store_insight(insight).map_err(failed)?;
    Ok(format!("kept as insight/{}/{id}", tool.memory.agent_id()))
}

fn needed(arguments: &Map<String, Value>, name: &str) -> Result<String, ToolError> {
    let text = optional(arguments, name);
    if text.trim().is_empty() {
        Err(format!("`{name}` must be a text, and not an empty one").into())
    } else {
        Ok(text)
    }
}

fn optional(arguments: &Map<String, Value>, name: &str) -> String {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn failed(error: kapsa_memory::Error) -> ToolError {
    ToolError(error.to_string())
}
