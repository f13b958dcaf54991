//! What the roles of a runtime have in common.

use std::sync::Arc;

use kapsa_model::LanguageModel;

use super::memory::MemoryFactory;
use super::notes::NoteSource;
use super::schedule::Scheduler;

/// What the roles of a runtime have in common. A role that has its own keeps it.
#[derive(Clone, Default)]
pub struct Shared {
    /// Who is asked. Default: nobody.
    pub model: Option<Arc<dyn LanguageModel>>,
    /// Gives each role its memory, with or without a clearance. Default: a
    /// [`TeamMemories`](crate::TeamMemories) of their own that lives as long as the process; none
    /// where there are notes.
    pub memories: Option<Arc<dyn MemoryFactory>>,
    /// Notes of roles without a memory. Default: none.
    pub notes: Option<Arc<dyn NoteSource>>,
    /// Decides what the roles do by themselves. Default: nothing.
    pub scheduler: Option<Arc<dyn Scheduler>>,
}
