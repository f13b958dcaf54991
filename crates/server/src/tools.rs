//! The tools that are offered: names, descriptions, schemas, and what each does. At most eight, so
//! that a model finds the one it wants.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::Problem;
use crate::memory::{Memory, Progress, Session};
use crate::wire::{
    BranchIn, BranchOut, ContextIn, ContextOut, ForgetIn, ProposeIn, ProposeOut, ReadIn, ReadOut,
    SearchIn, SearchOut, TimelineIn, TimelineOut, WriteIn, WrittenOut,
};
use crate::{arguments, branches, context, proposals, reading, searching, writing};

/// What a tool may change.
enum Effect {
    /// Nothing.
    Reads,
    /// It adds; the same call again adds nothing more.
    Adds,
    /// It adds, each time.
    AddsEachTime,
    /// It hides what was there; the same call again changes nothing more.
    Hides,
}

/// What a tool answers: the same twice, for programs and, in the order in which it is best read,
/// for models.
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) text: String,
}

/// Code of arguments that a tool does not take, before the tool is named.
const ARGUMENTS: &str = "arguments";

/// A tool.
struct Offer {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
    takes: fn() -> JsonObject,
    gives: fn() -> JsonObject,
    does: fn(&Memory, &Session, Value, &dyn Progress) -> Result<Answer, Problem>,
}

const OFFERS: [Offer; 8] = [
    Offer {
        name: "memory_search",
        title: "Search the memory",
        description: "Find what earlier sessions and other agents stored: decisions, facts, preferences, how things \
             were done. Ask in plain words, before you assume or ask the user. Returns snippets with URIs; \
             memory_read gives a whole text.",
        effect: Effect::Reads,
        takes: taken::<SearchIn>,
        gives: given::<SearchOut>,
        does: |memory, session, args, _| answer(searching::search(memory, session, read(args)?)?),
    },
    Offer {
        name: "memory_read",
        title: "Read a record",
        description: "Read one record by its URI: the whole text, who wrote it, how far it is trusted. With history: \
             true also its earlier revisions.",
        effect: Effect::Reads,
        takes: taken::<ReadIn>,
        gives: given::<ReadOut>,
        does: |memory, session, args, _| answer(reading::read(memory, session, &read(args)?)?),
    },
    Offer {
        name: "memory_write",
        title: "Write a record",
        description: "Store a note for later sessions and other agents, durably. Without a uri it is a new record. \
             To change a record give its uri and overwrite: true; its history stays. For decisions, preferences and \
             lessons of this session use memory_propose.",
        effect: Effect::AddsEachTime,
        takes: taken::<WriteIn>,
        gives: given::<WrittenOut>,
        does: |memory, session, args, progress| {
            answer(writing::put(memory, session, read(args)?, progress)?)
        },
    },
    Offer {
        name: "memory_forget",
        title: "Forget a record",
        description: "Hide a record that is wrong or no longer wanted: searches and lists show it no more. Its \
             history stays, so that it can be brought back.",
        effect: Effect::Hides,
        takes: taken::<ForgetIn>,
        gives: given::<WrittenOut>,
        does: |memory, session, args, progress| {
            answer(writing::forget(memory, session, &read(args)?, progress)?)
        },
    },
    Offer {
        name: "memory_context",
        title: "What to know now",
        description: "Get what you should know before you begin: insights, facts and recent activity, the most \
             valuable first, within a budget of tokens. Say in query what you are about to do.",
        effect: Effect::Reads,
        takes: taken::<ContextIn>,
        gives: given::<ContextOut>,
        does: |memory, session, args, _| answer(context::context(memory, session, read(args)?)?),
    },
    Offer {
        name: "memory_timeline",
        title: "List records by time",
        description: "List records in the order of time, newest first: what happened since a date, in a run, by an \
             agent, of a kind.",
        effect: Effect::Reads,
        takes: taken::<TimelineIn>,
        gives: given::<TimelineOut>,
        does: |memory, session, args, _| answer(searching::timeline(memory, session, read(args)?)?),
    },
    Offer {
        name: "memory_branch",
        title: "Branches of the memory",
        description: "List branches, create one to try something without touching what is known, diff it, or preview \
             what merging it would do. Nothing is merged here.",
        effect: Effect::Adds,
        takes: taken::<BranchIn>,
        gives: given::<BranchOut>,
        does: |memory, session, args, progress| {
            answer(branches::branch(memory, session, read(args)?, progress)?)
        },
    },
    Offer {
        name: "memory_propose",
        title: "Propose memories",
        description: "Propose what a later session needs: decisions with reasons, preferences, constraints, \
             corrections, procedures, pitfalls. Each is compared with what is known: added, merged, superseding, or \
             pending until somebody decides. Secrets are taken out.",
        effect: Effect::Adds,
        takes: taken::<ProposeIn>,
        gives: given::<ProposeOut>,
        does: |memory, session, args, progress| {
            answer(proposals::propose(memory, session, read(args)?, progress)?)
        },
    },
];

/// Every tool.
pub(crate) fn all() -> Vec<Tool> {
    OFFERS.iter().map(tool).collect()
}

/// The tool of this name.
pub(crate) fn named(name: &str) -> Option<Tool> {
    OFFERS.iter().find(|offer| offer.name == name).map(tool)
}

fn tool(offer: &Offer) -> Tool {
    let (reads, hides, again) = match offer.effect {
        Effect::Reads => (true, false, true),
        Effect::Adds => (false, false, true),
        Effect::AddsEachTime => (false, false, false),
        Effect::Hides => (false, true, true),
    };
    Tool::new(offer.name, offer.description, Arc::new((offer.takes)()))
        .with_title(offer.title)
        .with_raw_output_schema(Arc::new((offer.gives)()))
        .with_annotations(ToolAnnotations::from_raw(
            Some(offer.title.to_string()),
            Some(reads),
            Some(hides),
            Some(again),
            Some(false),
        ))
}

/// Calls a tool; none where there is no tool of this name.
pub(crate) fn call(
    memory: &Memory,
    session: &Session,
    name: &str,
    args: Value,
    progress: &dyn Progress,
) -> Option<Result<Answer, Problem>> {
    let offer = OFFERS.iter().find(|offer| offer.name == name)?;
    let asked = args.get("uri").and_then(Value::as_str).map(str::to_string);
    Some((offer.does)(memory, session, args, progress).map_err(|problem| {
        if problem.code == ARGUMENTS {
            let hint = problem.hint.filter(|hint| !hint.is_empty());
            let hint = hint.unwrap_or_else(|| format!("the schema of {name} says what it takes"));
            let message = format!("{name}: {}", problem.message);
            return Problem::new("invalid_argument", message).hint(hint);
        }
        // May be dropped: that there is no capsule is what the call failed with.
        let capsule = memory.host().capsule(session.folder.as_deref()).ok();
        memory.host().failed(capsule.as_deref(), name, asked.as_deref(), problem)
    }))
}

fn read<T: DeserializeOwned + JsonSchema>(args: Value) -> Result<T, Problem> {
    let args = arguments::checked(&taken::<T>(), args);
    let args = args.map_err(|problem| Problem { code: ARGUMENTS.to_string(), ..problem })?;
    serde_json::from_value(args).map_err(|error| Problem::new(ARGUMENTS, error.to_string()))
}

fn answer<T: Serialize>(answer: T) -> Result<Answer, Problem> {
    let failed = |error: serde_json::Error| Problem::new("internal", error.to_string());
    let text = serde_json::to_string(&answer).map_err(failed)?;
    Ok(Answer { value: serde_json::to_value(answer).map_err(failed)?, text })
}

/// The schema of a type as clients of all kinds read it: one object without references, and
/// without formats that none of them knows.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(plain).transform(&mut schema);
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.remove("title");
    object.remove("description");
    object
}

fn taken<T: JsonSchema>() -> JsonObject {
    schema::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn given<T: JsonSchema>() -> JsonObject {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn plain(schema: &mut Schema) {
    for gone in ["format", "default", "$schema"] {
        schema.remove(gone);
    }
    if let Some(closed) = schema.remove("unevaluatedProperties") {
        schema.insert("additionalProperties".to_string(), closed);
    }
    // What may be left out need not be null.
    let kinds = schema.get("type").and_then(Value::as_array).cloned();
    if let Some(kinds) = kinds {
        let mut kinds: Vec<Value> = kinds.into_iter().filter(|kind| kind != "null").collect();
        if kinds.len() == 1 {
            schema.insert("type".to_string(), kinds.remove(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a description, so that a list of tools stays small.
    const DESCRIPTION_WORDS_MAX: usize = 60;

    #[test]
    fn tools_are_few_and_described_in_few_words() {
        let tools = all();
        assert!(tools.len() <= 8);
        for tool in &tools {
            let words = tool.description.as_deref().unwrap_or_default().split_whitespace().count();
            assert!((5..DESCRIPTION_WORDS_MAX).contains(&words), "{}: {words}", tool.name);
        }
    }

    #[test]
    fn schemas_are_objects_that_every_client_reads() {
        for tool in all() {
            let schemas = [Some(tool.input_schema.clone()), tool.output_schema.clone()];
            for schema in schemas.into_iter().flatten() {
                assert_eq!(schema.get("type"), Some(&Value::from("object")), "{}", tool.name);
                let text = serde_json::to_string(&schema).expect("JSON");
                for unknown in ["$ref", "\"format\"", "unevaluated", "\"null\"", "anyOf", "allOf"] {
                    assert!(!text.contains(unknown), "{}: {unknown} in {text}", tool.name);
                }
            }
        }
    }

    #[test]
    fn what_only_reads_says_so_and_what_hides_too() {
        let hints = |name: &str| {
            let hints = named(name).and_then(|tool| tool.annotations).expect("annotations");
            (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint)
        };
        assert_eq!(hints("memory_search"), (Some(true), Some(false), Some(true)));
        assert_eq!(hints("memory_write"), (Some(false), Some(false), Some(false)));
        assert_eq!(hints("memory_forget"), (Some(false), Some(true), Some(true)));
    }
}
