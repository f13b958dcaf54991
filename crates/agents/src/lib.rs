//! Knows no prompt, operator, run, index, network, terminal, environment or wall clock: a clock is
//! passed in, and a capsule is read and written only through what `kapsa-memory` makes public.
//!
//! The memory of agents: what they know, what they did, what they learned, and how far each of it
//! may spread.
//!
//! *Facts* are what is known, *episodes* what happened, *insights* what was learned from that.
//! Stores keep them: in memory, or in a capsule where they survive, branch and have a history.
//! [`WorkspaceMemory`] is what a team shares, behind clearances; [`AgentMemory`] is what one agent
//! has for itself.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod acting;
pub mod bounds;
mod capsule;
mod compare;
mod context;
mod decide;
mod files;
mod in_memory;
mod kind_index;
mod location;
mod matching;
mod memory;
mod memory_tool;
mod records;
mod reflect;
mod relations;
mod review;
mod secrets;
mod settle;
mod stores;
mod time;
mod types;
mod vocabulary;
mod workspace;

pub use capsule::{
    CapsuleEpisodicStore, CapsuleFactStore, CapsuleInsightStore, NEAR_BY_ATTRIBUTE_MAX,
    NEAR_BY_WORDS_MAX, TOUCHES_UNSAVED_MAX,
};
pub use compare::{Comparison, LIKENESS_RELATED, Preset, Verdict, Vocabulary};
pub use context::{
    CONTEXT_EPISODES_MAX, CONTEXT_FACTS_MAX, CONTEXT_INSIGHTS_MAX, CONTEXT_NOTES_MAX,
    CONTEXT_TOKENS_DEFAULT, Context, ContextLine, ContextOptions, Found, LIKELY_MAX, Reranks,
    Scope, Section, matching_insights,
};
pub use decide::Answer;
pub use files::{
    Details, ENTRIES_DEFAULT, Entry, EntryKind, FileError, FileHit, FilesFound, HITS_DEFAULT,
    Listing, MemoryFilesystem, PATH_BYTES_MAX, PATH_PARTS_MAX, PREVIEW_CHARS_MAX, PathFault,
    SEARCH_BYTES_MAX, TRACES_MAX, TREE_ENTRIES_MAX, Written,
};
pub use in_memory::{InMemoryEpisodicStore, InMemoryFactStore, InMemoryInsightStore};
pub use location::StoreLocation;
pub use matching::SHARED_WORDS_MIN;
pub use memory::{
    AgentMemory, CONFIRMED_RISE, MemoryEntry, PUBLISH_CONFIDENCE_MIN, RECALL_DEFAULT,
};
pub use memory_tool::{
    MEMORY_FILE_BYTES_MAX, MEMORY_FILE_LINES_MAX, MEMORY_PATH_BYTES_MAX, MemoryCommand, MemoryTool,
    Refusal,
};
pub use records::fresh_id;
pub use reflect::{
    CONFIDENCE_DEFAULT, INSIGHT_CHARS_MAX, LEARNED_MAX, REFLECTED_EPISODES_MAX, REPEATED_MIN,
    ReflectError, Reflection, SOURCES_MAX,
};
pub use review::{accept, awaiting_review};
pub use secrets::Secrets;
pub use stores::{
    EPISODES_DEFAULT, EpisodeQuery, EpisodicStore, FACTS_DEFAULT, FactQuery, FactStore,
    INSIGHTS_DEFAULT, InsightQuery, InsightStore,
};
pub use time::TimeSource;
pub use types::{
    EVIDENCE_MAX, Episode, Evidence, Fact, FactDecision, Insight, InsightStatus, Note, Pending,
    RetrievalTrace, SUMMARY_CHARS_MAX, TraceAction,
};
pub use vocabulary::{
    ALIASES_MAX, AttributeDeclared, EntityNames, VOCABULARY, VOCABULARY_MAX, VocabularyStore,
};
pub use workspace::{RESTATED_RISE, Remembered, Resolution, WorkspaceMemory};
