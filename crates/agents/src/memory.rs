//! What one agent has for itself: its episodes, its insights, and how it shares them.
//!
//! Whatever is recorded here belongs to the agent, whoever it says it is of, and nothing of another
//! agent is ever recalled.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::bounds;
use super::capsule::{CapsuleEpisodicStore, CapsuleInsightStore};
use super::in_memory::{InMemoryEpisodicStore, InMemoryInsightStore};
use super::location::StoreLocation;
use super::secrets::Secrets;
use super::stores::{EpisodeQuery, EpisodicStore, InsightQuery, InsightStore, result_of};
use super::time::TimeSource;
use super::types::{Episode, Fact, Insight, InsightStatus};
use super::workspace::WorkspaceMemory;
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_memory::record::Micros;
use kapsa_memory::{Error, Result};

/// How much surer an insight is when it is seen again.
pub const CONFIRMED_RISE: f64 = 0.1;
/// Episodes that are recalled by default.
pub const RECALL_DEFAULT: usize = 10;
/// Least confidence of what is published by default.
pub const PUBLISH_CONFIDENCE_MIN: f64 = 0.5;

/// The memory of one agent.
///
/// ```
/// use kapsa_agents::{AgentMemory, Episode, WorkspaceMemory};
/// use kapsa_model::block_on;
/// use std::sync::Arc;
///
/// let clock = || 1_767_225_600_000_000;
/// let workspace = Arc::new(WorkspaceMemory::new(clock));
/// let memory = AgentMemory::new("cro", clock).with_workspace(workspace);
/// for n in 0..3 {
///     let done = Episode {
///         action: "qualify_lead".into(),
///         entity: "acme".into(),
///         output_summary: "score 85".into(),
///         ..Episode::new(format!("ep{n}"), "cro", n)
///     };
///     memory.record_episode(done)?;
/// }
/// let learned = block_on(memory.reflect(None, ""))?;
/// let lesson = "qualify_lead for acme came to the same result again and again: score 85";
/// assert_eq!(learned.new[0].content, lesson);
/// assert_eq!(memory.publish_to_workspace(0.5)?[0].source, "cro");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AgentMemory {
    pub(super) agent_id: String,
    workspace: Option<Arc<WorkspaceMemory>>,
    clearance: ClearanceProfile,
    /// Whether what the agent writes by itself is within its clearance.
    pub(super) is_bound: bool,
    /// What of it was disclosed to a model.
    disclosed: Arc<Mutex<Secrets>>,
    pub(super) episodes: Arc<dyn EpisodicStore>,
    pub(super) insights: Arc<dyn InsightStore>,
    pub(super) clock: TimeSource,
}

impl fmt::Debug for AgentMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentMemory")
            .field("agent_id", &self.agent_id)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

/// An insight as the first interface returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEntry {
    /// Its key.
    pub key: String,
    /// What it says.
    pub content: String,
    /// Whose it is.
    pub namespace: String,
}

impl AgentMemory {
    /// An empty memory that lives as long as the process, of an agent without a team.
    #[must_use]
    pub fn new(agent_id: impl Into<String>, clock: impl Into<TimeSource>) -> AgentMemory {
        let agent_id = agent_id.into();
        AgentMemory {
            clearance: ClearanceProfile::new(&agent_id),
            is_bound: false,
            disclosed: Arc::default(),
            agent_id,
            workspace: None,
            episodes: Arc::new(InMemoryEpisodicStore::new()),
            insights: Arc::new(InMemoryInsightStore::new()),
            clock: clock.into(),
        }
    }

    /// The memory that a capsule keeps, of an agent without a team.
    #[must_use]
    pub fn in_capsule(
        agent_id: impl Into<String>,
        location: &StoreLocation,
        clock: impl Into<TimeSource>,
    ) -> AgentMemory {
        let episodes = Arc::new(CapsuleEpisodicStore::new(location.clone()));
        let insights = Arc::new(CapsuleInsightStore::new(location.clone()));
        AgentMemory::new(agent_id, clock).with_stores(episodes, insights)
    }

    /// The same memory with other stores, which agents may share.
    #[must_use]
    pub fn with_stores(
        self,
        episodes: Arc<dyn EpisodicStore>,
        insights: Arc<dyn InsightStore>,
    ) -> AgentMemory {
        AgentMemory { episodes, insights, ..self }
    }

    /// The same memory as that of a member of a team.
    #[must_use]
    pub fn with_workspace(self, workspace: Arc<WorkspaceMemory>) -> AgentMemory {
        AgentMemory { workspace: Some(workspace), ..self }
    }

    /// The same memory of an agent that may know this of what the team shares, and writes by itself
    /// within it, unless it names no domain. Default: it may know nothing but what is public, and
    /// where it writes is its host's affair.
    #[must_use]
    pub fn with_clearance(self, clearance: ClearanceProfile) -> AgentMemory {
        let is_bound = self.is_bound || !clearance.domains.is_empty();
        AgentMemory { clearance, is_bound, ..self }
    }

    /// Whose memory it is.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// What the team shares.
    #[must_use]
    pub fn workspace(&self) -> Option<&Arc<WorkspaceMemory>> {
        self.workspace.as_ref()
    }

    /// What the agent may know of what the team shares.
    #[must_use]
    pub fn clearance(&self) -> &ClearanceProfile {
        &self.clearance
    }

    /// Notes that this was disclosed to a model: from then on what comes of it is no more open than
    /// that.
    pub fn note_disclosed(&self, secrets: &Secrets) {
        self.disclosed.lock().unwrap_or_else(PoisonError::into_inner).join(secrets);
    }

    /// What was disclosed to a model since this memory was opened.
    #[must_use]
    pub fn disclosed(&self) -> Secrets {
        self.disclosed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records what the agent did.
    ///
    /// # Errors
    /// What the store says.
    pub fn record_episode(&self, mut episode: Episode) -> Result<()> {
        episode.agent_id.clone_from(&self.agent_id);
        self.episodes.store(&episode)
    }

    /// The question for the agent's newest [`RECALL_DEFAULT`] episodes, to be narrowed down.
    #[must_use]
    pub fn episode_query(&self) -> EpisodeQuery {
        EpisodeQuery { limit: RECALL_DEFAULT, ..EpisodeQuery::of(&self.agent_id) }
    }

    /// What the agent lived through, the newest first. Whose episodes the query asks for does not
    /// count.
    ///
    /// # Errors
    /// What the store says.
    pub fn recall_episodes(&self, query: &EpisodeQuery) -> Result<Vec<Episode>> {
        self.episodes.query(&EpisodeQuery { agent_id: self.agent_id.clone(), ..query.clone() })
    }

    /// The agent's episode with this id.
    ///
    /// # Errors
    /// What the store says; a missing one is none.
    pub fn episode(&self, id: &str) -> Result<Option<Episode>> {
        self.episodes.get(&self.agent_id, id)
    }

    /// Records what the agent learned; an insight with the same id is replaced.
    ///
    /// # Errors
    /// What the store says.
    pub fn store_insight(&self, mut insight: Insight) -> Result<()> {
        insight.agent_id.clone_from(&self.agent_id);
        self.insights.store(&insight)
    }

    /// The question for the agent's first insights that still count, to be narrowed down.
    #[must_use]
    pub fn insight_query(&self) -> InsightQuery {
        InsightQuery::of(&self.agent_id)
    }

    /// What the agent learned. Whose insights the query asks for does not count.
    ///
    /// # Errors
    /// What the store says.
    pub fn recall_insights(&self, query: &InsightQuery) -> Result<Vec<Insight>> {
        self.insights.query(&InsightQuery { agent_id: self.agent_id.clone(), ..query.clone() })
    }

    /// The agent's insight with this id, retired or not.
    ///
    /// # Errors
    /// What the store says; a missing one is none.
    pub fn insight(&self, id: &str) -> Result<Option<Insight>> {
        self.insights.get(&self.agent_id, id)
    }

    /// Notes that an insight was seen again: confidence up by [`CONFIRMED_RISE`] to at most 1, seen
    /// once more, confirmed now. One that was weakening counts again.
    ///
    /// # Errors
    /// What the store says; `InvalidOperation` when it has retired. A missing one is none.
    pub fn confirm(&self, id: &str) -> Result<Option<Insight>> {
        self.change(id, |insight, now| {
            insight.confidence = (insight.confidence + CONFIRMED_RISE).min(1.0);
            insight.evidence_count = insight.evidence_count.saturating_add(1);
            insight.last_confirmed = Some(now);
            insight.status = InsightStatus::Active;
        })
    }

    /// Notes that evidence against an insight has come up: confidence down by [`CONFIRMED_RISE`] to
    /// at least 0.
    ///
    /// # Errors
    /// As [`AgentMemory::confirm`].
    pub fn weaken(&self, id: &str) -> Result<Option<Insight>> {
        self.change(id, |insight, _| {
            insight.confidence = (insight.confidence - CONFIRMED_RISE).max(0.0);
            insight.status = InsightStatus::Weakening;
        })
    }

    /// Lets an insight count no more: it is hidden from recall, and its history stays.
    ///
    /// # Errors
    /// As [`AgentMemory::confirm`].
    pub fn retire(&self, id: &str) -> Result<Option<Insight>> {
        self.change(id, |insight, _| insight.status = InsightStatus::Retired)
    }

    /// Does something that reads and writes insights while nobody else writes; see
    /// [`InsightStore::in_turn`].
    pub(super) fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.insights.in_turn(work)
    }

    fn change(
        &self,
        id: &str,
        change: impl FnOnce(&mut Insight, Micros),
    ) -> Result<Option<Insight>> {
        let work = || {
            let Some(mut insight) = self.insight(id)? else { return Ok(None) };
            if insight.status == InsightStatus::Retired {
                return Err(Error::InvalidOperation {
                    reason: format!("insight {id} has retired"),
                });
            }
            change(&mut insight, self.clock.now());
            self.insights.update(&insight)?;
            Ok(Some(insight))
        };
        result_of(|work| self.insights.in_turn(work), work)
    }

    /// Publishes to the team every insight that still counts and is at least so sure, and returns
    /// the facts. A fact may spread as far as what it was learned from and no further: it has the
    /// level of the insight, or the higher one that it had. When that is restricted, it names the
    /// agent. Published again, a fact keeps what has become of it in the team. What the agent may
    /// not write ([`bounds::may_write`]) is left out.
    ///
    /// Its id is `pub_` and that of the insight; where another source has that, the agent's id
    /// comes in between.
    ///
    /// # Errors
    /// What the stores say.
    pub fn publish_to_workspace(&self, confidence_min: f64) -> Result<Vec<Fact>> {
        let query = InsightQuery { confidence_min, limit: usize::MAX, ..self.insight_query() };
        let mut insights = self.insights.query(&query)?;
        insights.retain(|one| bounds::may_write(self, &one.domain, one.classification).is_ok());
        self.publish(&insights, None)
    }

    /// Publishes these insights of the agent, as [`AgentMemory::publish_to_workspace`], at a level
    /// that is no lower than theirs.
    ///
    /// # Errors
    /// What the stores say; `AccessDenied` when one may not spread as far as `level`, or the agent
    /// may not write in its domain. Then nothing is published.
    pub fn publish(
        &self,
        insights: &[Insight],
        level: Option<Classification>,
    ) -> Result<Vec<Fact>> {
        let Some(workspace) = &self.workspace else { return Ok(Vec::new()) };
        let work = || {
            let mut facts = Vec::new();
            for insight in insights {
                if level.is_some_and(|level| level < insight.classification) {
                    let (principal, what) =
                        (self.agent_id.clone(), "let more people read this than now");
                    return Err(Error::AccessDenied { principal, what });
                }
                let insight = Insight {
                    classification: level.unwrap_or(insight.classification),
                    ..insight.clone()
                };
                let fact = self.published(workspace, &insight)?;
                bounds::may_write(self, &fact.domain, fact.classification)?;
                facts.push(fact);
            }
            workspace.store().store_many(&facts)?;
            Ok(facts)
        };
        result_of(|work| workspace.store().in_turn(work), work)
    }

    fn published(&self, workspace: &WorkspaceMemory, insight: &Insight) -> Result<Fact> {
        let now = self.clock.now();
        let mut id = format!("pub_{}", insight.id);
        let mut known = workspace.store().get(&id)?;
        if known.as_ref().is_some_and(|fact| fact.source != self.agent_id) {
            id = format!("pub_{}_{}", self.agent_id, insight.id);
            known = workspace.store().get(&id)?;
        }
        let mut fact = known.unwrap_or_else(|| Fact::new(id, "", now));
        fact.classification = fact.classification.max(insight.classification);
        if fact.classification == Classification::Restricted && !fact.named.contains(&self.agent_id)
        {
            fact.named.push(self.agent_id.clone());
        }
        Ok(Fact {
            content: insight.content.clone(),
            entity: insight.entity.clone(),
            domain: insight.domain.clone(),
            tags: insight.tags.clone(),
            confidence: insight.confidence,
            evidence_count: insight.evidence_count,
            source: self.agent_id.clone(),
            updated_at: now,
            ..fact
        })
    }
}

/// The first interface, which knew texts under keys.
impl AgentMemory {
    /// Keeps a value as an insight of full confidence under this key. A value that is not a text is
    /// kept as JSON.
    ///
    /// A namespace is the agent's own id; any other is a part of its memory, which no other agent
    /// sees.
    ///
    /// # Errors
    /// What the store says; an empty text is refused.
    pub fn store(&self, namespace: &str, key: &str, value: &Value) -> Result<()> {
        let content = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let insight = Insight::new(key, self.owner_of(namespace), content, self.clock.now());
        self.insights.store(&Insight { confidence: 1.0, ..insight })
    }

    /// What was kept or learned that has `query` as a part of it; when nothing has, all of it. At
    /// most `limit`.
    ///
    /// # Errors
    /// What the store says.
    pub fn recall(&self, namespace: &str, query: &str, limit: usize) -> Result<Vec<MemoryEntry>> {
        let all = InsightQuery { limit, ..InsightQuery::of(self.owner_of(namespace)) };
        let mut found =
            self.insights.query(&InsightQuery { text: query.to_string(), ..all.clone() })?;
        if found.is_empty() {
            found = self.insights.query(&all)?;
        }
        let entry = |insight: Insight| MemoryEntry {
            key: insight.id,
            content: insight.content,
            namespace: namespace.to_string(),
        };
        Ok(found.into_iter().map(entry).collect())
    }

    /// Does nothing: insights retire, and are not deleted.
    pub fn delete(&self, _namespace: &str, _key: &str) {}

    fn owner_of(&self, namespace: &str) -> String {
        if namespace == self.agent_id {
            self.agent_id.clone()
        } else {
            format!("{}/{namespace}", self.agent_id)
        }
    }
}
