//! Roles as their users see them: a scripted model, and a memory that is nothing but lists.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::new_without_default)]

mod agent;
mod authority;
mod config;
mod failures;
#[path = "../../../memory/tests/it/fixture.rs"]
mod fixture;
mod integration;
mod respond;
mod roles;
mod scope;
mod team;

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use kapsa_agents::{Episode, Insight, ReflectError, Reflection};
use kapsa_memory::Result;
use kapsa_model::{BoxFuture, ChatReply, ChatRequest, LanguageModel, ScriptedModel, Usage};
use kapsa_roles::{
    Assembled, ContextAssembler, EpisodeRecorder, InsightSource, MemoryScope, Node, Operator,
    Reflect,
};
use kapsa_roles::{OperatorRuntime, RoleMemory, Scope, State, Text, llm_node, text_at};
use serde_json::Value;

pub use fixture::Fixture;

pub const NOW: i64 = 1_767_225_600_000_000;

thread_local! {
    static LOOKS: Cell<i64> = const { Cell::new(0) };
}

/// A clock that goes on by 40 milliseconds at each look; each thread has its own.
pub fn clock() -> i64 {
    LOOKS.with(|looks| looks.replace(looks.get() + 1)) * 40_000 + NOW
}

/// The next look gives [`NOW`].
pub fn set_clock() {
    LOOKS.set(0);
}

pub fn state(value: Value) -> State {
    value.as_object().expect("an object").clone()
}

pub fn reply(text: &str, tokens_in: u64, tokens_out: u64) -> ChatReply {
    ChatReply { usage: Usage { tokens_in, tokens_out }, ..ChatReply::text(text) }
}

/// A model that says the same to everything, for 10 tokens in and 20 out.
pub fn saying(text: &str) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new().rule("", reply(text, 10, 20)))
}

/// What the model was asked last.
pub fn last(model: &ScriptedModel) -> ChatRequest {
    model.requests().pop().expect("it was asked")
}

/// The seed's operator with a scope.
pub fn qualify() -> Node {
    let scope = MemoryScope::new()
        .domain("revenue")
        .entity(Text::with(|state| text_at(state, "company")))
        .tags(["qualification"]);
    llm_node(
        "qualify",
        Text::with(|state| format!("Score: {}", text_at(state, "lead").unwrap_or_default())),
    )
    .system("You are a lead qualifier.")
    .model("sonnet")
    .output("score")
    .scope(scope)
}

pub fn scoped() -> Operator {
    Operator::new("scoped", [qualify()]).expect("an operator")
}

pub fn runtime(operator: Operator, model: &Arc<ScriptedModel>) -> OperatorRuntime {
    OperatorRuntime::new(operator, clock).with_model(Arc::clone(model) as Arc<dyn LanguageModel>)
}

/// A memory of lists. It notes what it is asked.
#[derive(Default)]
pub struct Lists {
    pub insights: Mutex<Vec<Insight>>,
    pub episodes: Mutex<Vec<Episode>>,
    pub scopes: Mutex<Vec<(Scope, usize)>>,
    pub contexts: Mutex<Vec<String>>,
    /// Whether it is broken: reading, and writing.
    pub unreadable: bool,
    pub unwritable: bool,
}

impl Lists {
    pub fn new() -> Arc<Lists> {
        Arc::new(Lists::default())
    }

    pub fn of(insights: &[(&str, &str)]) -> Arc<Lists> {
        let insight = |(domain, content): &(&str, &str)| Insight {
            domain: (*domain).to_owned(),
            confidence: 0.9,
            ..Insight::new("ins1", "cro", *content, NOW)
        };
        Arc::new(Lists {
            insights: Mutex::new(insights.iter().map(insight).collect()),
            ..Lists::default()
        })
    }

    pub fn episodes(&self) -> Vec<Episode> {
        self.episodes.lock().unwrap().clone()
    }

    pub fn scopes(&self) -> Vec<(Scope, usize)> {
        self.scopes.lock().unwrap().clone()
    }
}

pub fn broken() -> kapsa_memory::Error {
    kapsa_memory::Error::InvalidOperation { reason: "the disk is full".into() }
}

impl ContextAssembler for Lists {
    fn assemble(&self, scope: &Scope, token_budget: usize) -> Result<Assembled> {
        self.scopes.lock().unwrap().push((scope.clone(), token_budget));
        if self.unreadable {
            return Err(broken());
        }
        let insights = self.insights.lock().unwrap();
        let fitting = insights
            .iter()
            .filter(|insight| scope.domain.is_empty() || insight.domain == scope.domain);
        let lines: Vec<String> = fitting
            .map(|insight| format!("- {} (confidence: {:.1})", insight.content, insight.confidence))
            .collect();
        Ok(if lines.is_empty() {
            String::new()
        } else {
            format!("## Insights\n{}", lines.join("\n"))
        }
        .into())
    }
}

impl EpisodeRecorder for Lists {
    fn record(&self, episode: Episode) -> Result<()> {
        if self.unwritable {
            return Err(broken());
        }
        self.episodes.lock().unwrap().push(episode);
        Ok(())
    }
}

impl InsightSource for Lists {
    fn matching(&self, text: &str, limit: usize) -> Result<Vec<Insight>> {
        if self.unreadable {
            return Err(broken());
        }
        let text = text.to_lowercase();
        let insights = self.insights.lock().unwrap();
        Ok(insights
            .iter()
            .filter(|insight| insight.content.to_lowercase().contains(&text))
            .take(limit)
            .cloned()
            .collect())
    }
}

impl Reflect for Lists {
    fn reflect<'a>(
        &'a self,
        model: Option<&'a dyn LanguageModel>,
        role_context: &'a str,
    ) -> BoxFuture<'a, std::result::Result<Reflection, ReflectError>> {
        Box::pin(async move {
            if self.unreadable {
                return Err(broken().into());
            }
            self.contexts.lock().unwrap().push(role_context.to_owned());
            let told = match model {
                Some(model) => model.complete(&ChatRequest::default()).await?.text,
                None => "by rule".to_owned(),
            };
            Ok(Reflection {
                new: vec![Insight::new("ins_1", "cro", told, NOW)],
                ..Reflection::default()
            })
        })
    }
}

impl RoleMemory for Lists {}

pub fn shared(lists: &Arc<Lists>) -> Arc<dyn RoleMemory> {
    Arc::clone(lists) as Arc<dyn RoleMemory>
}
