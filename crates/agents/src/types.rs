//! Facts, episodes, insights and traces: plain values. Nothing here stores anything.

use serde_json::{Map, Value};

use kapsa_memory::access::{Classification, Classified};
use kapsa_memory::record::Micros;
use kapsa_memory::{Span, Trust, Uri, Validity};

use super::compare::Verdict;

/// Something that was written down as it is: compared with nothing, and true as far as whoever
/// wrote it is believed.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Where it lies.
    pub uri: Uri,
    /// Title and text.
    pub content: String,
    /// What it is about, may be empty.
    pub entity: String,
    /// Field of knowledge, may be empty.
    pub domain: String,
    /// Tags.
    pub tags: Vec<String>,
    /// How far it may spread.
    pub classification: Classification,
    /// Who wrote it; may be empty.
    pub source: String,
    /// How far it is believed.
    pub trust: Trust,
    /// When it was written.
    pub created_at: Micros,
}

/// Something that is known: the unit of all knowledge.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its id, unique in its store.
    pub id: String,
    /// What is known, in words.
    pub content: String,
    /// What it is about, may be empty.
    pub entity: String,
    /// Which property of the entity it states, may be empty. Two live facts of one entity and
    /// attribute that differ contest each other.
    pub attribute: String,
    /// Field of knowledge, may be empty.
    pub domain: String,
    /// Tags.
    pub tags: Vec<String>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// How often it was added.
    pub evidence_count: u64,
    /// How much it matters, 0 to 1.
    pub importance: f64,
    /// When it was read last by somebody.
    pub last_accessed: Option<Micros>,
    /// How often it was read.
    pub access_count: u64,
    /// How far it may spread.
    pub classification: Classification,
    /// Who may know it when it is restricted.
    pub named: Vec<String>,
    /// Who or what stated it.
    pub source: String,
    /// The principal that brought it; empty for the owner.
    pub principal: String,
    /// How far it is believed, as it was brought; not stored with it.
    pub trust: Trust,
    /// From when on it holds; from ever when none.
    pub valid_from: Option<Micros>,
    /// Until when it holds (exclusive); for ever when none.
    pub valid_to: Option<Micros>,
    /// When it was recorded.
    pub created_at: Micros,
    /// When what it says was changed last.
    pub updated_at: Micros,
    /// Id of the fact whose place it took.
    pub supersedes: Option<String>,
    /// Id of the fact that took its place; such a fact is hidden from recall.
    pub superseded_by: Option<String>,
    /// Ids of live facts that say otherwise, when no rule decided between them.
    pub contested_with: Vec<String>,
    /// What was said of it besides its text: every text, with its source, as it was added.
    pub evidence: Vec<Evidence>,
    /// Times at which another fact holds in its stead; after them it holds again.
    pub interruptions: Vec<Span>,
    /// Ids of the facts that hold in its stead for a time.
    pub interrupted_by: Vec<String>,
    /// What it would be to a known one, when somebody has to decide that.
    pub pending: Option<Pending>,
    /// Ids of facts of which somebody has to decide what they are to this one.
    pub pending_with: Vec<String>,
    /// Whether it was added beside others of its attribute.
    pub coexists: bool,
    /// What somebody decided about it.
    pub decision: Option<FactDecision>,
}

/// Evidence that is kept of a fact: the newest. The count goes on.
pub const EVIDENCE_MAX: usize = 64;

/// A text that says what a fact says, as it was added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The text.
    pub text: String,
    /// Who or what stated it.
    pub source: String,
    /// The principal that brought it; empty for the owner.
    pub principal: String,
    /// Tags that it came with.
    pub tags: Vec<String>,
    /// When it was added; of a session's trace, when it was said.
    pub at: Micros,
    /// Where the source says it, such as a file with its lines; may be empty.
    pub place: String,
}

/// What a fact would be to a known one, as long as nobody has decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    /// The proposed verdict.
    pub verdict: Verdict,
    /// Why that one.
    pub reason: String,
    /// What speaks for it, in single words.
    pub features: Vec<String>,
    /// Model that made the proposal; empty for the rules.
    pub proposed_by: String,
}

/// What somebody decided about a fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactDecision {
    /// What: `accepted`, `coexists`, `same` or `rejected`.
    pub what: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: Micros,
}

impl Fact {
    /// A fact recorded at `now`, with every default: added once, full confidence, internal.
    #[must_use]
    pub fn new(id: impl Into<String>, content: impl Into<String>, now: Micros) -> Fact {
        Fact {
            id: id.into(),
            content: content.into(),
            entity: String::new(),
            attribute: String::new(),
            domain: String::new(),
            tags: Vec::new(),
            confidence: 1.0,
            evidence_count: 1,
            importance: 0.0,
            last_accessed: None,
            access_count: 0,
            classification: Classification::Internal,
            named: Vec::new(),
            source: String::new(),
            principal: String::new(),
            trust: Trust::Owner,
            valid_from: None,
            valid_to: None,
            created_at: now,
            updated_at: now,
            supersedes: None,
            superseded_by: None,
            contested_with: Vec::new(),
            evidence: Vec::new(),
            interruptions: Vec::new(),
            interrupted_by: Vec::new(),
            pending: None,
            pending_with: Vec::new(),
            coexists: false,
            decision: None,
        }
    }

    /// What says when it holds.
    #[must_use]
    pub fn validity(&self) -> Validity {
        Validity {
            span: Span { from: self.valid_from, until: self.valid_to },
            superseded_by: self.superseded_by.clone(),
            interruptions: self.interruptions.clone(),
        }
    }

    /// Whether it holds at a moment.
    #[must_use]
    pub fn holds_at(&self, at: Micros) -> bool {
        self.validity().holds_at(at)
    }
}

impl Classified for Fact {
    fn domain(&self) -> &str {
        &self.domain
    }

    fn classification(&self) -> Classification {
        self.classification
    }

    fn named(&self) -> &[String] {
        &self.named
    }
}

/// What one step of an agent did.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Its id, unique among those of its agent.
    pub id: String,
    /// The agent.
    pub agent_id: String,
    /// The operator that the step belongs to.
    pub operator_id: String,
    /// The step.
    pub node_name: String,
    /// When it happened.
    pub timestamp: Micros,
    /// What was done.
    pub action: String,
    /// What went in, shortened.
    pub input_summary: String,
    /// What came out, shortened.
    pub output_summary: String,
    /// What came out, by name.
    pub outcome: Map<String, Value>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Tokens that a model read.
    pub tokens_in: u64,
    /// Tokens that a model wrote.
    pub tokens_out: u64,
    /// What it was about, may be empty.
    pub entity: String,
    /// Field of knowledge, may be empty.
    pub domain: String,
    /// Tags.
    pub tags: Vec<String>,
    /// How far what is learned from it may spread.
    pub classification: Classification,
}

impl Episode {
    /// An episode of an agent at `timestamp`, with every default: nothing went in or out, internal.
    #[must_use]
    pub fn new(id: impl Into<String>, agent_id: impl Into<String>, timestamp: Micros) -> Episode {
        Episode {
            id: id.into(),
            agent_id: agent_id.into(),
            operator_id: String::new(),
            node_name: String::new(),
            timestamp,
            action: String::new(),
            input_summary: String::new(),
            output_summary: String::new(),
            outcome: Map::new(),
            duration_ms: 0,
            tokens_in: 0,
            tokens_out: 0,
            entity: String::new(),
            domain: String::new(),
            tags: Vec::new(),
            classification: Classification::Internal,
        }
    }
}

/// Whether an insight still counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InsightStatus {
    /// It does.
    #[default]
    Active,
    /// Evidence against it has come up.
    Weakening,
    /// It does not, and is hidden from recall.
    Retired,
}

impl InsightStatus {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            InsightStatus::Active => "active",
            InsightStatus::Weakening => "weakening",
            InsightStatus::Retired => "retired",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<InsightStatus> {
        [InsightStatus::Active, InsightStatus::Weakening, InsightStatus::Retired]
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// A pattern that was seen across episodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Insight {
    /// Its id, unique among those of its agent.
    pub id: String,
    /// The agent that learned it.
    pub agent_id: String,
    /// What was learned.
    pub content: String,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// How often it was seen.
    pub evidence_count: u64,
    /// Episodes that it comes from.
    pub source_episode_ids: Vec<String>,
    /// When it was learned.
    pub created_at: Micros,
    /// When it was seen again last.
    pub last_confirmed: Option<Micros>,
    /// Whether it still counts.
    pub status: InsightStatus,
    /// What it is about, may be empty.
    pub entity: String,
    /// Field of knowledge, may be empty.
    pub domain: String,
    /// Tags.
    pub tags: Vec<String>,
    /// The highest level of what it comes from: it may spread no further.
    pub classification: Classification,
}

impl Insight {
    /// An insight learned at `now`, with every default: seen once, active, internal.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        agent_id: impl Into<String>,
        content: impl Into<String>,
        now: Micros,
    ) -> Insight {
        Insight {
            id: id.into(),
            agent_id: agent_id.into(),
            content: content.into(),
            confidence: 0.5,
            evidence_count: 1,
            source_episode_ids: Vec::new(),
            created_at: now,
            last_confirmed: None,
            status: InsightStatus::Active,
            entity: String::new(),
            domain: String::new(),
            tags: Vec::new(),
            classification: Classification::Internal,
        }
    }
}

/// Most characters of an episode's summaries.
pub const SUMMARY_CHARS_MAX: usize = 200;

/// What was done to a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceAction {
    /// A folder was listed.
    Browse,
    /// A file was read.
    Read,
    /// Something was searched.
    Search,
    /// Something was written.
    Write,
}

impl TraceAction {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TraceAction::Browse => "browse",
            TraceAction::Read => "read",
            TraceAction::Search => "search",
            TraceAction::Write => "write",
        }
    }
}

/// One access to a memory, as others may observe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrievalTrace {
    /// What was done.
    pub action: TraceAction,
    /// Where.
    pub path: String,
    /// What was searched for, may be empty.
    pub query: String,
    /// How much was found.
    pub results_count: usize,
    /// Tokens that came back, by the estimate of [`kapsa_memory::tokens`].
    pub tokens_loaded: usize,
    /// When.
    pub timestamp: Micros,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl RetrievalTrace {
    /// A trace of what was done there now, which found and loaded nothing and took no time.
    #[must_use]
    pub fn new(action: TraceAction, path: impl Into<String>, now: Micros) -> RetrievalTrace {
        RetrievalTrace {
            action,
            path: path.into(),
            query: String::new(),
            results_count: 0,
            tokens_loaded: 0,
            timestamp: now,
            duration_ms: 0,
        }
    }
}
