//! An agent's memory as the memory of a role, and a memory for each role of a team. Knows no prompt
//! and no model.

use std::fmt;
use std::sync::Arc;

use super::memory::{
    Assembled, ContextAssembler, EpisodeRecorder, InsightSource, MemoryFactory, Reflect, RoleMemory,
};
use super::scope::Scope;
use kapsa_agents::bounds;
use kapsa_agents::{
    AgentMemory, CapsuleEpisodicStore, CapsuleInsightStore, ContextOptions, Episode, EpisodicStore,
    InMemoryEpisodicStore, InMemoryInsightStore, Insight, InsightStore, ReflectError, Reflection,
    StoreLocation, TimeSource, WorkspaceMemory,
};
use kapsa_memory::Result;
use kapsa_memory::access::ClearanceProfile;
use kapsa_model::{BoxFuture, LanguageModel};

/// The context of [`AgentMemory::context`]. The facts in it count as read.
impl ContextAssembler for AgentMemory {
    fn assemble(&self, scope: &Scope, token_budget: usize) -> Result<Assembled> {
        let context = self.context(
            scope,
            &ContextOptions { tokens_max: token_budget, ..ContextOptions::default() },
        )?;
        self.count_as_read(&context)?;
        let secrets = context.secrets();
        self.note_disclosed(&secrets);
        Ok(Assembled { text: context.text(), secrets })
    }
}

/// In a domain that the agent may not write to, nobody but the agent itself reads the episode.
impl EpisodeRecorder for AgentMemory {
    fn record(&self, episode: Episode) -> Result<()> {
        let classification = bounds::level_of_own(self, &episode.domain, episode.classification);
        self.record_episode(Episode { classification, ..episode })
    }
}

impl InsightSource for AgentMemory {
    fn matching(&self, text: &str, limit: usize) -> Result<Vec<Insight>> {
        kapsa_agents::matching_insights(self, text, limit)
    }
}

impl Reflect for AgentMemory {
    fn reflect<'a>(
        &'a self,
        model: Option<&'a dyn LanguageModel>,
        role_context: &'a str,
    ) -> BoxFuture<'a, Result<Reflection, ReflectError>> {
        Box::pin(AgentMemory::reflect(self, model, role_context))
    }
}

impl RoleMemory for AgentMemory {
    fn agent(&self) -> Option<&AgentMemory> {
        Some(self)
    }
}

/// Gives each role a memory of its own beside one workspace, which shows a role no more than its
/// clearance allows.
///
/// ```
/// use std::sync::Arc;
///
/// use kapsa_model::{ChatReply, ScriptedModel, block_on};
/// use kapsa_roles::{Role, RoleRuntime, Shared, TeamMemories};
///
/// let clock = || 1_767_225_600_000_000;
/// let team = TeamMemories::new(clock);
/// let model = ScriptedModel::new().rule("", ChatReply::text("Hello."));
/// let shared = Shared {
///     model: Some(Arc::new(model)),
///     memories: Some(Arc::new(team.clone())),
///     ..Shared::default()
/// };
/// let runtime = RoleRuntime::new([Role::builder("cro", clock).build()?], &shared)?;
/// let cro = runtime.role("cro")?;
/// block_on(cro.respond("hello"))?;
/// let memory = cro.agent_memory().expect("every role of a team has one");
/// assert_eq!(memory.recall_episodes(&memory.episode_query())?[0].output_summary, "Hello.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TeamMemories {
    workspace: Arc<WorkspaceMemory>,
    episodes: Arc<dyn EpisodicStore>,
    insights: Arc<dyn InsightStore>,
    clock: TimeSource,
}

impl TeamMemories {
    /// Memories that live as long as the process. The clock gives microseconds since 1970.
    #[must_use]
    pub fn new(clock: impl Into<TimeSource>) -> TeamMemories {
        let clock = clock.into();
        TeamMemories {
            workspace: Arc::new(WorkspaceMemory::new(clock.clone())),
            episodes: Arc::new(InMemoryEpisodicStore::new()),
            insights: Arc::new(InMemoryInsightStore::new()),
            clock,
        }
    }

    /// Memories that a capsule keeps.
    #[must_use]
    pub fn in_capsule(location: &StoreLocation, clock: impl Into<TimeSource>) -> TeamMemories {
        let clock = clock.into();
        TeamMemories {
            workspace: Arc::new(WorkspaceMemory::in_capsule(location.clone(), clock.clone())),
            episodes: Arc::new(CapsuleEpisodicStore::new(location.clone())),
            insights: Arc::new(CapsuleInsightStore::new(location.clone())),
            clock,
        }
    }

    /// The same with another workspace.
    #[must_use]
    pub fn with_workspace(self, workspace: Arc<WorkspaceMemory>) -> TeamMemories {
        TeamMemories { workspace, ..self }
    }

    /// What the team shares.
    #[must_use]
    pub fn workspace(&self) -> &Arc<WorkspaceMemory> {
        &self.workspace
    }

    /// The memory of one agent, the same however often it is asked for.
    #[must_use]
    pub fn agent(&self, clearance: &ClearanceProfile) -> AgentMemory {
        AgentMemory::new(&clearance.principal, self.clock.clone())
            .with_stores(Arc::clone(&self.episodes), Arc::clone(&self.insights))
            .with_workspace(Arc::clone(&self.workspace))
            .with_clearance(clearance.clone())
    }
}

impl fmt::Debug for TeamMemories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamMemories").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

impl MemoryFactory for TeamMemories {
    fn memory(&self, _role_id: &str, clearance: &ClearanceProfile) -> Result<Arc<dyn RoleMemory>> {
        Ok(Arc::new(self.agent(clearance)))
    }
}
