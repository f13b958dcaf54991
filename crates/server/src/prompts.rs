//! Prompts: how a person asks for the memory in a client that has a menu of them.

use rmcp::model::{JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Value, json};

use crate::host::Problem;
use crate::memory::{Memory, Session};
use crate::wire::{ContextIn, SearchIn, TimelineIn};
use crate::{context, searching};

/// Hits that `recall` brings along.
const RECALLED: u64 = 8;
/// Tokens of the context that `hand_over` brings along.
const HANDED_OVER_TOKENS: u64 = 3000;
/// Records that `hand_over` brings along.
const HANDED_OVER_RECORDS: u64 = 10;

/// Every prompt.
pub(crate) fn all() -> Vec<Prompt> {
    let topic = PromptArgument::new("topic").with_description("What to recall").with_required(true);
    let to = PromptArgument::new("to").with_description("Who goes on").with_required(false);
    vec![
        Prompt::new("recall", Some("Recall what is known about a topic"), Some(vec![topic]))
            .with_title("Recall"),
        Prompt::new("reflect", Some("Keep what a later session needs of this one"), None)
            .with_title("Reflect on this session"),
        Prompt::new("hand_over", Some("Write what whoever goes on must know"), Some(vec![to]))
            .with_title("Hand over"),
    ]
}

/// A prompt with what it needs of the memory; none where there is none of this name.
pub(crate) fn prompt(
    memory: &Memory,
    session: &Session,
    name: &str,
    arguments: Option<&JsonObject>,
) -> Option<Result<Vec<PromptMessage>, Problem>> {
    let argument = |name: &str| {
        let text = arguments?.get(name)?.as_str()?.trim().to_string();
        Some(text).filter(|text| !text.is_empty())
    };
    Some(match name {
        "recall" => match argument("topic") {
            Some(topic) => recall(memory, session, topic),
            None => Err(Problem::new("invalid_argument", "recall: topic is missing")),
        },
        "reflect" => Ok(reflect()),
        "hand_over" => hand_over(memory, session, argument("to").as_deref()),
        _ => return None,
    })
}

fn recall(
    memory: &Memory,
    session: &Session,
    topic: String,
) -> Result<Vec<PromptMessage>, Problem> {
    let asked = format!(
        "Recall what is known about: {topic}\n\nBelow is what a search of the memory found. Use what answers, name \
         the URIs it comes from, and say so if nothing does. memory_search and memory_read give more."
    );
    let args = SearchIn { query: topic, limit: Some(RECALLED), ..SearchIn::default() };
    let found = searching::search(memory, session, args)?;
    messages(asked, json!(found))
}

fn hand_over(
    memory: &Memory,
    session: &Session,
    to: Option<&str>,
) -> Result<Vec<PromptMessage>, Problem> {
    let to = to.unwrap_or("whoever goes on");
    let asked = format!(
        "Hand this work over to {to}. Write with memory_write one record of kind summary that says what was to be \
         done, what is done, what is open, what was decided and why, and what to watch out for. Leave out what \
         the memory below says already, and name the record's URI when you are done."
    );
    let context = ContextIn { budget: Some(HANDED_OVER_TOKENS), ..ContextIn::default() };
    let timeline = TimelineIn { limit: Some(HANDED_OVER_RECORDS), ..TimelineIn::default() };
    let known = json!({
        "known": context::context(memory, session, context)?,
        "latest": searching::timeline(memory, session, timeline)?,
    });
    messages(asked, known)
}

fn reflect() -> Vec<PromptMessage> {
    let asked = "Look back on this session. Propose with memory_propose what a later session needs and could not find \
         in the files: decisions of the user with their reasons, preferences and constraints that they stated, \
         corrections, steps that worked after others had failed, pitfalls. Each must be understood alone. Leave out \
         what was only true for this task, what is in the repository already, and every secret. If there is nothing, \
         propose nothing.";
    vec![PromptMessage::new_text(Role::User, asked)]
}

/// What is asked, and what is known, as data in a message of its own.
fn messages(asked: String, known: Value) -> Result<Vec<PromptMessage>, Problem> {
    let known = serde_json::to_string(&known)
        .map_err(|error| Problem::new("internal", error.to_string()))?;
    Ok(vec![PromptMessage::new_text(Role::User, asked), PromptMessage::new_text(Role::User, known)])
}
