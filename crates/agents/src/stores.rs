//! What a store of facts, episodes or insights must be able to do. Whoever implements these traits
//! passes one suite of tests (`tests/it/agent`), so that all stores answer alike.
//!
//! Rules of every query: filters are joined by "and"; tags match when one of them does; text is
//! looked for as a part of the content, upper and lower case alike; an empty name as an entity or a
//! domain asks for what has none; what comes back is a copy. Ids are the agent's own: no agent can
//! replace what another one has by using its ids.

use super::compare::Vocabulary;
use super::types::{Episode, Fact, Insight, Note};
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::record::Micros;
use kapsa_memory::{Error, Result};

/// Facts that a query returns by default.
pub const FACTS_DEFAULT: usize = 10;
/// Episodes that a query returns by default.
pub const EPISODES_DEFAULT: usize = 50;
/// Insights that a query returns by default.
pub const INSIGHTS_DEFAULT: usize = 10;

/// Which facts are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct FactQuery {
    /// About this entity.
    pub entity: Option<String>,
    /// This property of it.
    pub attribute: Option<String>,
    /// Of this field of knowledge.
    pub domain: Option<String>,
    /// With one of these tags; any when empty.
    pub tags: Vec<String>,
    /// With this text in it; any when empty.
    pub text: String,
    /// At least so sure.
    pub confidence_min: f64,
    /// Holding at this moment, also those that held until another took their place; the ones that
    /// hold at any time when none.
    pub valid_at: Option<Micros>,
    /// Whether facts whose place another took are wanted as well; default no.
    pub superseded: bool,
    /// Whether only facts that contest others are wanted; default no.
    pub contested: bool,
    /// Whether only facts about which somebody has to decide are wanted; default no.
    pub pending: bool,
    /// Of what was taken from sessions, only what is about one of these repositories or about
    /// nothing; everything when none.
    pub sessions_about: Option<Vec<String>>,
    /// Only what this profile may know, decided before the limit: a reader of low clearance gets as
    /// many as any other.
    pub clearance: Option<ClearanceProfile>,
    /// Most facts; default [`FACTS_DEFAULT`].
    pub limit: usize,
}

impl Default for FactQuery {
    fn default() -> FactQuery {
        FactQuery {
            entity: None,
            attribute: None,
            domain: None,
            tags: Vec::new(),
            text: String::new(),
            confidence_min: 0.0,
            valid_at: None,
            superseded: false,
            contested: false,
            pending: false,
            sessions_about: None,
            clearance: None,
            limit: FACTS_DEFAULT,
        }
    }
}

/// Keeps facts.
pub trait FactStore: Send + Sync {
    /// The principal in whose name facts are stored; empty for the owner.
    fn principal(&self) -> String {
        String::new()
    }

    /// Whether whoever stores may change this fact. Marks on one that may only be read are left
    /// out: see [`WorkspaceMemory::remember`](super::WorkspaceMemory::remember).
    fn may_change(&self, _fact: &Fact) -> bool {
        true
    }

    /// Stores a fact; one with the same id is replaced.
    ///
    /// # Errors
    /// What the store says.
    fn store(&self, fact: &Fact) -> Result<()>;

    /// Stores facts that belong together: all or none, in a store that can.
    ///
    /// # Errors
    /// What the store says.
    fn store_many(&self, facts: &[Fact]) -> Result<()> {
        facts.iter().try_for_each(|fact| self.store(fact))
    }

    /// Facts that fit, in the order in which they were first stored.
    ///
    /// # Errors
    /// What the store says.
    fn query(&self, query: &FactQuery) -> Result<Vec<Fact>>;

    /// Facts that fit, from which the best are to be chosen, in any order: at most as many as the
    /// query's limit that have most of these words, and as many that were written last. A store
    /// without such an order returns all that fit.
    ///
    /// # Errors
    /// What the store says.
    fn likely(&self, query: &FactQuery, _words: &str) -> Result<Vec<Fact>> {
        self.query(&FactQuery { limit: usize::MAX, ..query.clone() })
    }

    /// The same for notes that lie beside the facts: of the query, what is asked of the entity,
    /// domain, tags, sessions and clearance. A store of facts alone has none.
    ///
    /// # Errors
    /// What the store says.
    fn likely_notes(&self, _query: &FactQuery, _words: &str) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    /// The live facts that one must be compared with before it is written, in the order in which
    /// they were first stored: of its entity and domain, all of them or, in a store that holds
    /// many, those of its attribute and those that have the most words in common.
    ///
    /// # Errors
    /// What the store says.
    fn near(&self, fact: &Fact) -> Result<Vec<Fact>> {
        let (entity, domain) = (Some(fact.entity.clone()), Some(fact.domain.clone()));
        self.query(&FactQuery { entity, domain, limit: usize::MAX, ..FactQuery::default() })
    }

    /// What is declared of the attribute and of the entity of a fact.
    ///
    /// # Errors
    /// What the store says.
    fn vocabulary(&self, _fact: &Fact) -> Result<Vocabulary> {
        Ok(Vocabulary::default())
    }

    /// The fact with this id.
    ///
    /// # Errors
    /// What the store says; a missing one is none.
    fn get(&self, id: &str) -> Result<Option<Fact>>;

    /// Replaces a fact, or stores it when there is none.
    ///
    /// # Errors
    /// What the store says.
    fn update(&self, fact: &Fact) -> Result<()>;

    /// Does something that reads and then writes what it makes of that, while nobody else writes,
    /// in a store that others share. What it calls is called once.
    ///
    /// # Errors
    /// Those of `work`, and what the store says.
    fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    /// Removes a fact; a missing one is not an error.
    ///
    /// # Errors
    /// What the store says.
    fn delete(&self, id: &str) -> Result<()>;

    /// Counts that facts were read, without rewriting them; missing ones are passed over. What is
    /// stored afterwards brings its own counts, in whose place they come.
    ///
    /// # Errors
    /// What the store says.
    fn touch(&self, ids: &[&str], at: Micros) -> Result<()>;
}

/// Which episodes are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeQuery {
    /// Of this agent.
    pub agent_id: String,
    /// About this entity.
    pub entity: Option<String>,
    /// Of this field of knowledge.
    pub domain: Option<String>,
    /// With one of these tags; any when empty.
    pub tags: Vec<String>,
    /// At this moment or later.
    pub since: Option<Micros>,
    /// Most episodes; default [`EPISODES_DEFAULT`].
    pub limit: usize,
}

impl EpisodeQuery {
    /// Every episode of an agent, up to the default limit.
    #[must_use]
    pub fn of(agent_id: impl Into<String>) -> EpisodeQuery {
        EpisodeQuery {
            agent_id: agent_id.into(),
            entity: None,
            domain: None,
            tags: Vec::new(),
            since: None,
            limit: EPISODES_DEFAULT,
        }
    }
}

/// Keeps episodes.
pub trait EpisodicStore: Send + Sync {
    /// Stores an episode; one of the same agent with the same id is replaced.
    ///
    /// # Errors
    /// What the store says.
    fn store(&self, episode: &Episode) -> Result<()>;

    /// Episodes that fit, the newest first; of those of one moment the one that was stored last.
    ///
    /// # Errors
    /// What the store says.
    fn query(&self, query: &EpisodeQuery) -> Result<Vec<Episode>>;

    /// The agent's episode with this id.
    ///
    /// # Errors
    /// What the store says; a missing one is none.
    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Episode>>;
}

/// Which insights are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct InsightQuery {
    /// Of this agent.
    pub agent_id: String,
    /// About this entity.
    pub entity: Option<String>,
    /// Of this field of knowledge.
    pub domain: Option<String>,
    /// With one of these tags; any when empty.
    pub tags: Vec<String>,
    /// With this text in it; any when empty.
    pub text: String,
    /// At least so sure.
    pub confidence_min: f64,
    /// Whether retired ones are wanted as well; default no.
    pub retired: bool,
    /// Most insights; default [`INSIGHTS_DEFAULT`].
    pub limit: usize,
}

impl InsightQuery {
    /// Every insight of an agent that still counts, up to the default limit.
    #[must_use]
    pub fn of(agent_id: impl Into<String>) -> InsightQuery {
        InsightQuery {
            agent_id: agent_id.into(),
            entity: None,
            domain: None,
            tags: Vec::new(),
            text: String::new(),
            confidence_min: 0.0,
            retired: false,
            limit: INSIGHTS_DEFAULT,
        }
    }
}

/// Keeps insights.
pub trait InsightStore: Send + Sync {
    /// Stores an insight; one of the same agent with the same id is replaced.
    ///
    /// # Errors
    /// What the store says.
    fn store(&self, insight: &Insight) -> Result<()>;

    /// Insights that fit, in the order in which they were first stored.
    ///
    /// # Errors
    /// What the store says.
    fn query(&self, query: &InsightQuery) -> Result<Vec<Insight>>;

    /// Insights that fit, from which the best are to be chosen; see [`FactStore::likely`].
    ///
    /// # Errors
    /// What the store says.
    fn likely(&self, query: &InsightQuery, _words: &str) -> Result<Vec<Insight>> {
        self.query(&InsightQuery { limit: usize::MAX, ..query.clone() })
    }

    /// The agent's insight with this id.
    ///
    /// # Errors
    /// What the store says; a missing one is none.
    fn get(&self, agent_id: &str, id: &str) -> Result<Option<Insight>>;

    /// Replaces an insight, or stores it when there is none.
    ///
    /// # Errors
    /// What the store says.
    fn update(&self, insight: &Insight) -> Result<()>;

    /// Does something that reads and then writes what it makes of that, while nobody else writes,
    /// in a store that others share. What it calls is called once.
    ///
    /// # Errors
    /// Those of `work`, and what the store says.
    fn in_turn(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    /// The first insight of the agent that still counts and says about the same as `content`; never
    /// for a text of fewer than three different words.
    ///
    /// # Errors
    /// What the store says.
    fn find_similar(&self, agent_id: &str, content: &str) -> Result<Option<Insight>>;
}

/// The result of something that is done in a turn of a store.
pub(super) fn result_of<T, E: From<Error>>(
    in_turn: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<()>,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let (mut work, mut result) = (Some(work), None);
    in_turn(&mut || {
        if let Some(work) = work.take() {
            result = Some(work());
        }
        Ok(())
    })?;
    result.unwrap_or_else(|| {
        Err(Error::InvalidOperation { reason: "the store did not take its turn".to_string() }
            .into())
    })
}
