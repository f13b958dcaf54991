//! What a role needs of a memory: four abilities, each a trait; how a memory keeps or finds
//! anything is not known here.

use std::sync::Arc;

use super::scope::Scope;
use kapsa_agents::{AgentMemory, Episode, Insight, ReflectError, Reflection, Secrets};
use kapsa_memory::Result;
use kapsa_memory::access::{Classification, ClearanceProfile};
use kapsa_model::{BoxFuture, LanguageModel};

/// What a node should know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    /// For the prompt; empty when there is nothing to know.
    pub text: String,
    /// The levels and domains of what is in it: what comes of it spreads no further.
    pub secrets: Secrets,
}

impl From<String> for Assembled {
    /// Internal, as everything of which nothing else is said.
    fn from(text: String) -> Assembled {
        Assembled { text, secrets: Secrets::of("", Classification::Internal) }
    }
}

/// Puts together what a node should know.
pub trait ContextAssembler: Send + Sync {
    /// What the memory has in this scope, at most `token_budget` tokens by the estimate of
    /// [`kapsa_memory::tokens`]; empty when nothing.
    ///
    /// # Errors
    /// What the memory says. The node is not run then: it would answer without what it needs to
    /// know.
    fn assemble(&self, scope: &Scope, token_budget: usize) -> Result<Assembled>;
}

/// Keeps what was done.
pub trait EpisodeRecorder: Send + Sync {
    /// Keeps an episode.
    ///
    /// # Errors
    /// What the memory says. The answer of the node is not lost by that.
    fn record(&self, episode: Episode) -> Result<()>;
}

/// Knows what was learned.
pub trait InsightSource: Send + Sync {
    /// At most `limit` insights that still count and have words of `text` in them, those with most
    /// of them first.
    ///
    /// # Errors
    /// What the memory says.
    fn matching(&self, text: &str, limit: usize) -> Result<Vec<Insight>>;
}

/// Learns from what was done.
pub trait Reflect: Send + Sync {
    /// Finds out what the episodes teach, by asking the model or, without one, by rules of its own,
    /// and keeps it. Without episodes nothing is asked.
    ///
    /// # Errors
    /// What the model or the memory says.
    fn reflect<'a>(
        &'a self,
        model: Option<&'a dyn LanguageModel>,
        role_context: &'a str,
    ) -> BoxFuture<'a, Result<Reflection, ReflectError>>;
}

/// A memory that a role can have: whatever has all four abilities.
pub trait RoleMemory: ContextAssembler + EpisodeRecorder + InsightSource + Reflect {
    /// The memory as that of an agent, for what a role does not ask of every memory: publishing,
    /// browsing. None unless it is one.
    fn agent(&self) -> Option<&AgentMemory> {
        None
    }
}

/// Gives each role its memory. What the roles share, such as a workspace, is known to the factory
/// alone.
///
/// A function of the role's id and clearance is one.
pub trait MemoryFactory: Send + Sync {
    /// The memory of this role, which shows no more than the clearance allows. A role without
    /// clearance has an empty one.
    ///
    /// # Errors
    /// What the memory says.
    fn memory(&self, role_id: &str, clearance: &ClearanceProfile) -> Result<Arc<dyn RoleMemory>>;
}

impl<F> MemoryFactory for F
where
    F: Fn(&str, &ClearanceProfile) -> Result<Arc<dyn RoleMemory>> + Send + Sync,
{
    fn memory(&self, role_id: &str, clearance: &ClearanceProfile) -> Result<Arc<dyn RoleMemory>> {
        self(role_id, clearance)
    }
}
