//! JSON of `fact`, `episode` and `insight`.

use kapsa_agents::{Comparison, Context, ContextLine, Episode, Fact, Insight, Section};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::moment::rfc3339;

/// A fact: `fact get`, and in all other answers of `fact`.
#[derive(Debug, Serialize)]
pub(crate) struct FactOut<'a> {
    id: &'a str,
    content: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    attribute: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    confidence: f64,
    evidence_count: u64,
    importance: f64,
    classification: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    named: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_to: Option<String>,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    contested_with: &'a [String],
    access_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<String>,
}

impl<'a> From<&'a Fact> for FactOut<'a> {
    fn from(fact: &'a Fact) -> FactOut<'a> {
        FactOut {
            id: &fact.id,
            content: &fact.content,
            entity: &fact.entity,
            attribute: &fact.attribute,
            domain: &fact.domain,
            tags: &fact.tags,
            confidence: fact.confidence,
            evidence_count: fact.evidence_count,
            importance: fact.importance,
            classification: fact.classification.name(),
            named: &fact.named,
            source: &fact.source,
            valid_from: fact.valid_from.map(rfc3339),
            valid_to: fact.valid_to.map(rfc3339),
            created_at: rfc3339(fact.created_at),
            updated_at: rfc3339(fact.updated_at),
            supersedes: fact.supersedes.as_deref(),
            superseded_by: fact.superseded_by.as_deref(),
            contested_with: &fact.contested_with,
            access_count: fact.access_count,
            last_accessed: fact.last_accessed.map(rfc3339),
        }
    }
}

/// `fact contest`, `fact resolve`, `insight publish`: `{"count","facts":[fact]}`.
pub(crate) fn facts(facts: &[Fact]) -> Value {
    json!({ "count": facts.len(), "facts": facts.iter().map(FactOut::from).collect::<Vec<_>>() })
}

/// `fact list`, `fact query`: as above, with `"more"`: whether there are others beyond the limit.
pub(crate) fn listed(all: &[Fact], more: bool) -> Value {
    let mut value = facts(all);
    value["more"] = more.into();
    value
}

/// `fact add`, `fact supersede`: `{"verdict","reason","other"?,"likeness"?,"fact","embedding"?}`, verdict one of `new`, `same`, `restated`,
/// `supersedes`, `contests`, `revised` for one whose id is known, and `stored` where nothing was compared. `fact` is the one that is known now.
#[derive(Debug, Serialize)]
pub(crate) struct ToldOut<'a> {
    pub(crate) verdict: &'static str,
    pub(crate) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) likeness: Option<f64>,
    pub(crate) fact: FactOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embedding: Option<String>,
}

impl<'a> ToldOut<'a> {
    pub(crate) fn of(comparison: &'a Comparison, fact: &'a Fact, embedding: Option<String>) -> ToldOut<'a> {
        ToldOut {
            verdict: comparison.verdict.name(),
            reason: comparison.reason,
            other: comparison.other.as_deref(),
            likeness: comparison.other.as_ref().map(|_| comparison.likeness),
            fact: fact.into(),
            embedding,
        }
    }
}

/// An episode: `episode add`, with `embedding` where that failed, and in `episode list`.
#[derive(Debug, Serialize)]
pub(crate) struct EpisodeOut<'a> {
    id: &'a str,
    agent: &'a str,
    timestamp: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    action: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    operator: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    node: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    input: &'a str,
    output: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    outcome: &'a Map<String, Value>,
    duration_ms: u64,
    tokens_in: u64,
    tokens_out: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    classification: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<String>,
}

impl EpisodeOut<'_> {
    /// The same, with why it has no vectors.
    pub(crate) fn stored(self, embedding: Option<String>) -> Self {
        Self { embedding, ..self }
    }
}

impl<'a> From<&'a Episode> for EpisodeOut<'a> {
    fn from(episode: &'a Episode) -> EpisodeOut<'a> {
        EpisodeOut {
            id: &episode.id,
            agent: &episode.agent_id,
            timestamp: rfc3339(episode.timestamp),
            action: &episode.action,
            operator: &episode.operator_id,
            node: &episode.node_name,
            input: &episode.input_summary,
            output: &episode.output_summary,
            outcome: &episode.outcome,
            duration_ms: episode.duration_ms,
            tokens_in: episode.tokens_in,
            tokens_out: episode.tokens_out,
            entity: &episode.entity,
            domain: &episode.domain,
            tags: &episode.tags,
            classification: episode.classification.name(),
            embedding: None,
        }
    }
}

/// `episode list`: `{"agent","count","more","episodes":[episode]}`.
pub(crate) fn episodes(agent: &str, episodes: &[Episode], more: bool) -> Value {
    json!({ "agent": agent, "count": episodes.len(), "more": more, "episodes": episodes.iter().map(EpisodeOut::from).collect::<Vec<_>>() })
}

/// An insight: `insight add`, `confirm`, `weaken`, `retire`, with `embedding` where that failed, and in `insight list`.
#[derive(Debug, Serialize)]
pub(crate) struct InsightOut<'a> {
    id: &'a str,
    agent: &'a str,
    content: &'a str,
    confidence: f64,
    evidence_count: u64,
    status: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    source_episodes: &'a [String],
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_confirmed: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    classification: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<String>,
}

impl InsightOut<'_> {
    /// The same, with why it has no vectors.
    pub(crate) fn stored(self, embedding: Option<String>) -> Self {
        Self { embedding, ..self }
    }
}

impl<'a> From<&'a Insight> for InsightOut<'a> {
    fn from(insight: &'a Insight) -> InsightOut<'a> {
        InsightOut {
            id: &insight.id,
            agent: &insight.agent_id,
            content: &insight.content,
            confidence: insight.confidence,
            evidence_count: insight.evidence_count,
            status: insight.status.name(),
            source_episodes: &insight.source_episode_ids,
            created_at: rfc3339(insight.created_at),
            last_confirmed: insight.last_confirmed.map(rfc3339),
            entity: &insight.entity,
            domain: &insight.domain,
            tags: &insight.tags,
            classification: insight.classification.name(),
            embedding: None,
        }
    }
}

/// `insight list`: `{"agent","count","more","insights":[insight]}`.
pub(crate) fn insights(agent: &str, insights: &[Insight], more: bool) -> Value {
    json!({ "agent": agent, "count": insights.len(), "more": more, "insights": insights.iter().map(InsightOut::from).collect::<Vec<_>>() })
}

/// `insight reflect`: `{"agent","new":[insight],"strengthened":[insight]}`.
pub(crate) fn reflected(agent: &str, new: &[Insight], strengthened: &[Insight]) -> Value {
    let all = |insights: &[Insight]| serde_json::to_value(insights.iter().map(InsightOut::from).collect::<Vec<_>>());
    json!({ "agent": agent, "new": all(new).unwrap_or_default(), "strengthened": all(strengthened).unwrap_or_default() })
}

/// `context`: `{"agent"?,"context","lines":[{"section","id","text","uri","contested"?}],"left_out","tokens","budget"}`; `context` is null
/// when there is nothing to tell, and sections are `insights`, `facts` and `episodes`.
pub(crate) fn context(agent: Option<&str>, context: &Context, budget: usize) -> Value {
    let text = Some(context.text()).filter(|text| !text.is_empty());
    let mut value = json!({
        "context": text,
        "lines": context.lines.iter().map(line).collect::<Vec<_>>(),
        "left_out": context.left_out,
        "tokens": context.tokens(),
        "budget": budget,
    });
    if let Some(agent) = agent {
        value["agent"] = agent.into();
    }
    value
}

fn line(line: &ContextLine) -> Value {
    let section = match line.section {
        Section::Insights => "insights",
        Section::Facts => "facts",
        Section::Activity => "episodes",
    };
    let mut value = json!({ "section": section, "id": line.id, "text": line.text, "uri": line.uri.to_string() });
    if line.contested {
        value["contested"] = true.into();
    }
    value
}
