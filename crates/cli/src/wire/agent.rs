//! The JSON of `fact`, `episode`, `insight` and `context`.

use kapsa_agents::{
    AttributeDeclared, Comparison, Context, ContextLine, EntityNames, Episode, Evidence, Fact,
    FactDecision, Insight, Pending, Reflection, Section, Verdict,
};
use kapsa_memory::Span;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::record::low_trust;
use super::{Extent, Time};

/// A fact.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Fact")]
pub(crate) struct FactOut<'a> {
    /// Its id.
    id: &'a str,
    /// What is known, in words.
    text: &'a str,
    /// What it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    /// The property of the entity that it gives a value to.
    #[serde(skip_serializing_if = "str::is_empty")]
    attribute: &'a str,
    /// Field of knowledge.
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    /// How sure it is, from 0 to 1.
    confidence: f64,
    /// How often it was added.
    evidence_count: u64,
    /// How much it matters, from 0 to 1.
    importance: f64,
    /// Who may read it.
    #[schemars(extend("enum" = ["public", "internal", "confidential", "restricted"]))]
    classification: &'static str,
    /// Principals that may read it while it is restricted.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    named: &'a [String],
    /// Who or what it comes from.
    #[serde(skip_serializing_if = "str::is_empty")]
    source: &'a str,
    /// The principal that brought it; left out for the owner.
    #[serde(skip_serializing_if = "str::is_empty")]
    principal: &'a str,
    /// How far it is believed, by who brought it; left out for what the owner wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["tool", "import", "trace", "model", "principal"]))]
    trust: Option<&'static str>,
    /// Start of its validity.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<Time>,
    /// End of its validity.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_to: Option<Time>,
    /// When it was first added.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
    /// Id of the fact whose place it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<&'a str>,
    /// Id of the fact that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'a str>,
    /// Ids of facts that contradict it, where nothing says which one holds.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    conflicts_with: &'a [String],
    /// Every text that was added for it, the newest last; left out if it was added once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<EvidenceOut<'a>>,
    /// Set while somebody has to decide what it is to the facts of `pending_with`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<PendingOut<'a>>,
    /// Ids of facts about which somebody has to decide what they are to this one, or this one to
    /// them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pending_with: &'a [String],
    /// Periods in which another fact holds in its stead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interruptions: Vec<PeriodOut>,
    /// What somebody decided about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<FactDecisionOut<'a>>,
    /// How often it was read.
    access_count: u64,
    /// When it was last read.
    #[serde(skip_serializing_if = "Option::is_none")]
    accessed_at: Option<Time>,
}

impl<'a> From<&'a Fact> for FactOut<'a> {
    fn from(fact: &'a Fact) -> FactOut<'a> {
        FactOut {
            id: &fact.id,
            text: &fact.content,
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
            principal: &fact.principal,
            trust: low_trust(fact.trust),
            valid_from: fact.valid_from.map(Time),
            valid_to: fact.valid_to.map(Time),
            created_at: Time(fact.created_at),
            updated_at: Time(fact.updated_at),
            supersedes: fact.supersedes.as_deref(),
            superseded_by: fact.superseded_by.as_deref(),
            conflicts_with: &fact.contested_with,
            evidence: fact.evidence.iter().map(EvidenceOut::from).collect(),
            pending: fact.pending.as_ref().map(PendingOut::from),
            pending_with: &fact.pending_with,
            interruptions: fact.interruptions.iter().map(PeriodOut::from).collect(),
            decision: fact.decision.as_ref().map(FactDecisionOut::from),
            access_count: fact.access_count,
            accessed_at: fact.last_accessed.map(Time),
        }
    }
}

/// A text that was added for a fact that is known.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
struct EvidenceOut<'a> {
    /// The text.
    text: &'a str,
    /// Who or what it comes from.
    #[serde(skip_serializing_if = "str::is_empty")]
    source: &'a str,
    /// The principal that brought it; left out for the owner.
    #[serde(skip_serializing_if = "str::is_empty")]
    principal: &'a str,
    /// Tags that it came with.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    /// When it was added; of a session's trace, when it was said.
    created_at: Time,
    /// Where the source says it, such as a file with its lines.
    #[serde(skip_serializing_if = "str::is_empty")]
    place: &'a str,
}

impl<'a> From<&'a Evidence> for EvidenceOut<'a> {
    fn from(evidence: &'a Evidence) -> EvidenceOut<'a> {
        EvidenceOut {
            text: &evidence.text,
            source: &evidence.source,
            principal: &evidence.principal,
            tags: &evidence.tags,
            created_at: Time(evidence.at),
            place: &evidence.place,
        }
    }
}

/// What a fact would be to a known one if nobody decided otherwise.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PendingVerdict")]
struct PendingOut<'a> {
    /// The proposed verdict.
    #[schemars(extend("enum" = [
        "same", "supersedes", "corrects", "refines", "retracts", "contests"
    ]))]
    verdict: &'static str,
    /// Why.
    reason: &'a str,
    /// What speaks for it, such as `cue change` or `values differ`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    features: &'a [String],
    /// Model that made the proposal; left out if the built-in rules did.
    #[serde(skip_serializing_if = "str::is_empty")]
    proposed_by: &'a str,
}

impl<'a> From<&'a Pending> for PendingOut<'a> {
    fn from(pending: &'a Pending) -> PendingOut<'a> {
        PendingOut {
            verdict: pending.verdict.name(),
            reason: &pending.reason,
            features: &pending.features,
            proposed_by: &pending.proposed_by,
        }
    }
}

/// A period of time.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Period")]
struct PeriodOut {
    /// Its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<Time>,
    /// Its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_to: Option<Time>,
}

impl From<&Span> for PeriodOut {
    fn from(span: &Span) -> PeriodOut {
        PeriodOut { valid_from: span.from.map(Time), valid_to: span.until.map(Time) }
    }
}

/// What somebody decided about a pending fact.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FactDecision")]
struct FactDecisionOut<'a> {
    /// What.
    #[schemars(extend("enum" = ["accepted", "coexists", "same", "rejected"]))]
    answer: &'a str,
    /// Who.
    #[serde(skip_serializing_if = "str::is_empty")]
    by: &'a str,
    /// When.
    decided_at: Time,
}

impl<'a> From<&'a FactDecision> for FactDecisionOut<'a> {
    fn from(decision: &'a FactDecision) -> FactDecisionOut<'a> {
        FactDecisionOut { answer: &decision.what, by: &decision.by, decided_at: Time(decision.at) }
    }
}

/// A list of facts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FactsOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The facts.
    facts: Vec<FactOut<'a>>,
}

impl<'a> FactsOut<'a> {
    pub(crate) fn of(facts: &'a [Fact], more: bool) -> FactsOut<'a> {
        FactsOut {
            extent: Extent::cut(facts.len(), more),
            facts: facts.iter().map(FactOut::from).collect(),
        }
    }
}

/// What became of a fact that was added.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RememberedOut<'a> {
    /// How it relates to what was known: `stored` if it was not compared, `revised` if its id was
    /// known.
    #[schemars(extend("enum" = ["new", "same", "supersedes", "corrects", "refines", "retracts", "coexists", "contests", "pending", "revised", "stored"]))]
    pub(crate) verdict: &'static str,
    /// Why.
    pub(crate) reason: &'static str,
    /// What a pending one would be if nobody decided otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [
        "same", "supersedes", "corrects", "refines", "retracts", "contests"
    ]))]
    pub(crate) proposed: Option<&'static str>,
    /// Id of the fact that was closest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<&'a str>,
    /// How similar the two are, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) similarity: Option<f64>,
    /// The fact that is known now.
    pub(crate) fact: FactOut<'a>,
    /// Why the fact, which is stored, has no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embedding: Option<String>,
}

impl<'a> RememberedOut<'a> {
    pub(crate) fn of(
        comparison: &'a Comparison,
        fact: &'a Fact,
        embedding: Option<String>,
    ) -> RememberedOut<'a> {
        RememberedOut {
            verdict: comparison.verdict.name(),
            reason: comparison.reason,
            proposed: comparison.proposed.map(Verdict::name),
            other: comparison.other.as_deref(),
            similarity: comparison.other.as_ref().map(|_| comparison.likeness),
            fact: fact.into(),
            embedding,
        }
    }
}

/// An entity with its names.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Entity")]
pub(crate) struct EntityOut<'a> {
    /// Its name.
    name: &'a str,
    /// What it is also called.
    aliases: &'a [String],
}

impl<'a> From<&'a EntityNames> for EntityOut<'a> {
    fn from(entity: &'a EntityNames) -> EntityOut<'a> {
        EntityOut { name: &entity.name, aliases: &entity.aliases }
    }
}

/// Entities that have other names.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Entities")]
pub(crate) struct EntitiesOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The entities.
    entities: Vec<EntityOut<'a>>,
}

impl<'a> EntitiesOut<'a> {
    pub(crate) fn of(entities: &'a [EntityNames]) -> EntitiesOut<'a> {
        EntitiesOut {
            extent: Extent::cut(entities.len(), false),
            entities: entities.iter().map(EntityOut::from).collect(),
        }
    }
}

/// Whether an entity can have many values of an attribute.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Attribute")]
pub(crate) struct AttributeOut<'a> {
    /// Its name.
    attribute: &'a str,
    /// Field of knowledge in which that holds; left out if everywhere.
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    /// True if an entity can have many values of it.
    many: bool,
}

impl<'a> From<&'a AttributeDeclared> for AttributeOut<'a> {
    fn from(attribute: &'a AttributeDeclared) -> AttributeOut<'a> {
        AttributeOut { attribute: &attribute.name, domain: &attribute.domain, many: attribute.many }
    }
}

/// Declared attributes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Attributes")]
pub(crate) struct AttributesOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The attributes.
    attributes: Vec<AttributeOut<'a>>,
}

impl<'a> AttributesOut<'a> {
    pub(crate) fn of(attributes: &'a [AttributeDeclared]) -> AttributesOut<'a> {
        AttributesOut {
            extent: Extent::cut(attributes.len(), false),
            attributes: attributes.iter().map(AttributeOut::from).collect(),
        }
    }
}

/// An episode: something that an agent did.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Episode")]
pub(crate) struct EpisodeOut<'a> {
    /// Its id.
    id: &'a str,
    /// Who did it.
    agent: &'a str,
    /// When it happened.
    created_at: Time,
    /// What was done, such as `qualify_lead`.
    #[serde(skip_serializing_if = "str::is_empty")]
    action: &'a str,
    /// Operator that the step belongs to.
    #[serde(skip_serializing_if = "str::is_empty")]
    operator: &'a str,
    /// Node that ran.
    #[serde(skip_serializing_if = "str::is_empty")]
    node: &'a str,
    /// What went in, in short.
    #[serde(skip_serializing_if = "str::is_empty")]
    input: &'a str,
    /// What came out, in words.
    text: &'a str,
    /// What came out, by name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    outcome: &'a Map<String, Value>,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// Tokens that a model read.
    tokens_in: u64,
    /// Tokens that a model wrote.
    tokens_out: u64,
    /// What it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    /// Field of knowledge.
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    /// Who may read what is learned from it.
    #[schemars(extend("enum" = ["public", "internal", "confidential", "restricted"]))]
    classification: &'static str,
    /// Why the episode, which is stored, has no vectors.
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
            created_at: Time(episode.timestamp),
            action: &episode.action,
            operator: &episode.operator_id,
            node: &episode.node_name,
            input: &episode.input_summary,
            text: &episode.output_summary,
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

/// What an agent did, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EpisodesOut<'a> {
    /// The agent.
    agent: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// The episodes.
    episodes: Vec<EpisodeOut<'a>>,
}

impl<'a> EpisodesOut<'a> {
    pub(crate) fn of(agent: &'a str, episodes: &'a [Episode], more: bool) -> EpisodesOut<'a> {
        let extent = Extent::cut(episodes.len(), more);
        EpisodesOut { agent, extent, episodes: episodes.iter().map(EpisodeOut::from).collect() }
    }
}

/// An insight: something that an agent learned.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Insight")]
pub(crate) struct InsightOut<'a> {
    /// Its id.
    id: &'a str,
    /// Who learned it.
    agent: &'a str,
    /// What was learned, in words.
    text: &'a str,
    /// How sure it is, from 0 to 1.
    confidence: f64,
    /// How often it was seen.
    evidence_count: u64,
    /// Whether it counts: evidence against it makes it weakening, and a retired one does not
    /// count.
    #[schemars(extend("enum" = ["active", "weakening", "retired"]))]
    status: &'static str,
    /// Ids of the episodes that it comes from.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    source_episodes: &'a [String],
    /// When it was first learned.
    created_at: Time,
    /// When it was last confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<Time>,
    /// What it is about.
    #[serde(skip_serializing_if = "str::is_empty")]
    entity: &'a str,
    /// Field of knowledge.
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    /// Who may read it once it is published.
    #[schemars(extend("enum" = ["public", "internal", "confidential", "restricted"]))]
    classification: &'static str,
    /// Why the insight, which is stored, has no vectors.
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
            text: &insight.content,
            confidence: insight.confidence,
            evidence_count: insight.evidence_count,
            status: insight.status.name(),
            source_episodes: &insight.source_episode_ids,
            created_at: Time(insight.created_at),
            confirmed_at: insight.last_confirmed.map(Time),
            entity: &insight.entity,
            domain: &insight.domain,
            tags: &insight.tags,
            classification: insight.classification.name(),
            embedding: None,
        }
    }
}

/// What an agent learned.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InsightsOut<'a> {
    /// The agent.
    agent: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// The insights.
    insights: Vec<InsightOut<'a>>,
}

impl<'a> InsightsOut<'a> {
    pub(crate) fn of(agent: &'a str, insights: &'a [Insight], more: bool) -> InsightsOut<'a> {
        let extent = Extent::cut(insights.len(), more);
        InsightsOut { agent, extent, insights: insights.iter().map(InsightOut::from).collect() }
    }
}

/// What an agent learned from what it did.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Reflected")]
pub(crate) struct ReflectedOut<'a> {
    /// The agent.
    agent: &'a str,
    /// Insights that are new.
    new: Vec<InsightOut<'a>>,
    /// Insights that were known and were seen again.
    strengthened: Vec<InsightOut<'a>>,
    /// Tokens that the model read; 0 without a model.
    tokens_in: u64,
    /// Tokens that the model wrote.
    tokens_out: u64,
    /// Why nothing was learned, if the reply of the model could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

impl<'a> ReflectedOut<'a> {
    pub(crate) fn of(agent: &'a str, learned: &'a Reflection) -> ReflectedOut<'a> {
        let all = |insights: &'a [Insight]| insights.iter().map(InsightOut::from).collect();
        ReflectedOut {
            agent,
            new: all(&learned.new),
            strengthened: all(&learned.strengthened),
            tokens_in: learned.usage.tokens_in,
            tokens_out: learned.usage.tokens_out,
            problem: learned.problem.as_deref(),
        }
    }
}

/// What an agent should know before its next step, within a budget.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextOut<'a> {
    /// The agent; left out if none was named, so that only facts are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    /// All lines as one text for a prompt; null if there are none.
    text: Option<String>,
    #[serde(flatten)]
    extent: Extent,
    /// The lines, the most valuable of each section first.
    lines: Vec<ContextLineOut<'a>>,
    /// Number of lines that did not fit the budget.
    left_out: usize,
    /// Tokens of `text`: a quarter of its bytes.
    tokens: usize,
    /// The budget, in tokens.
    budget: usize,
    /// Re-ranker that put the best insights and facts in order; left out if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    reranked: Option<&'a str>,
}

/// A line of a context.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ContextLine")]
struct ContextLineOut<'a> {
    /// Where it stands in the text.
    #[schemars(extend("enum" = ["insights", "facts", "notes", "episodes"]))]
    section: &'static str,
    /// Id of the insight, fact or episode.
    id: &'a str,
    /// The line.
    text: &'a str,
    /// URI of the record that holds all of it.
    uri: &'a str,
    /// True if a fact that holds as much contradicts it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    contested: bool,
    /// True if somebody has to decide what it is to another fact.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pending: bool,
}

impl<'a> ContextOut<'a> {
    pub(crate) fn of(
        agent: Option<&'a str>,
        context: &'a Context,
        budget: usize,
    ) -> ContextOut<'a> {
        let count = context.lines.len();
        ContextOut {
            agent,
            text: Some(context.text()).filter(|text| !text.is_empty()),
            extent: Extent::of(count, count + context.left_out),
            lines: context.lines.iter().map(ContextLineOut::from).collect(),
            left_out: context.left_out,
            tokens: context.tokens(),
            budget,
            reranked: context.reranked.as_deref(),
        }
    }
}

impl<'a> From<&'a ContextLine> for ContextLineOut<'a> {
    fn from(line: &'a ContextLine) -> ContextLineOut<'a> {
        let section = match line.section {
            Section::Insights => "insights",
            Section::Facts => "facts",
            Section::Notes => "notes",
            Section::Activity => "episodes",
        };
        ContextLineOut {
            section,
            id: &line.id,
            text: &line.text,
            uri: line.uri.as_str(),
            contested: line.contested,
            pending: line.pending,
        }
    }
}
