//! What does an agent know, what did it live through, what did it learn, and what may the others know of it?
//!
//! *Facts* are what is known, *episodes* what happened, *insights* what was learned from that. Stores keep them: in memory, or in a
//! capsule where they survive, branch and have a history. `WorkspaceMemory` is what a team shares, behind clearances; `AgentMemory`
//! is what one agent has for itself.

mod capsule;
mod in_memory;
mod matching;
mod records;
mod shelf;
mod stores;
mod types;

pub use capsule::{CapsuleEpisodicStore, CapsuleFactStore, CapsuleHome, CapsuleInsightStore, TOUCHES_UNSAVED_MAX};
pub use in_memory::{InMemoryEpisodicStore, InMemoryFactStore, InMemoryInsightStore};
pub use matching::SHARED_WORDS_MIN;
pub use stores::{
    EPISODES_DEFAULT, EpisodeQuery, EpisodicStore, FACTS_DEFAULT, FactQuery, FactStore, INSIGHTS_DEFAULT, InsightQuery,
    InsightStore,
};
pub use types::{Episode, Fact, Insight, InsightStatus, RetrievalTrace, TraceAction};
