//! What does a team share, and what of it may whom know?
//!
//! The level of a fact is asked in the store, before any limit: a reader of low clearance gets as many facts as any other, and what
//! it may not know is neither returned nor counted as read.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::capsule::{CapsuleFactStore, CapsuleHome};
use super::compare::{Comparison, Preset, Verdict, says_more, strongest};
use super::in_memory::InMemoryFactStore;
use super::stores::{FactQuery, FactStore};
use super::types::Fact;
use crate::access::ClearanceProfile;
use crate::error::Result;
use crate::record::Micros;

/// How much surer a fact is when somebody else tells it as well.
pub const RESTATED_RISE: f64 = 0.1;

/// Facts that a team shares.
pub struct WorkspaceMemory {
    facts: Arc<dyn FactStore>,
    pub(super) clock: fn() -> Micros,
    preset: Preset,
    /// Held while it is looked up and written what is known: two who tell the same at once do not both find that nobody did.
    remembering: Mutex<()>,
}

impl fmt::Debug for WorkspaceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkspaceMemory").field("preset", &self.preset).finish_non_exhaustive()
    }
}

/// What became of a fact that was told.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// What it was to what was known.
    pub comparison: Comparison,
    /// The fact that is now known: the one told, or the one that was there.
    pub fact: Fact,
}

impl WorkspaceMemory {
    /// An empty memory that lives as long as the process.
    #[must_use]
    pub fn new(clock: fn() -> Micros) -> WorkspaceMemory {
        WorkspaceMemory::with_store(Arc::new(InMemoryFactStore::new()), clock)
    }

    /// The memory that a capsule keeps.
    #[must_use]
    pub fn in_capsule(home: CapsuleHome, clock: fn() -> Micros) -> WorkspaceMemory {
        WorkspaceMemory::with_store(Arc::new(CapsuleFactStore::new(home)), clock)
    }

    /// The memory that this store keeps.
    #[must_use]
    pub fn with_store(facts: Arc<dyn FactStore>, clock: fn() -> Micros) -> WorkspaceMemory {
        WorkspaceMemory { facts, clock, preset: Preset::NEAR, remembering: Mutex::default() }
    }

    /// Compares by another preset; default [`Preset::NEAR`].
    #[must_use]
    pub fn with_preset(self, preset: Preset) -> WorkspaceMemory {
        WorkspaceMemory { preset, ..self }
    }

    /// The store, which knows no clearance but that of a query.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn FactStore> {
        &self.facts
    }

    /// Stores a fact as it is; one with the same id is replaced.
    ///
    /// # Errors
    /// What the store says.
    pub fn store_fact(&self, fact: &Fact) -> Result<()> {
        self.facts.store(fact)
    }

    /// Replaces a fact, or stores it when there is none.
    ///
    /// # Errors
    /// What the store says.
    pub fn update_fact(&self, fact: &Fact) -> Result<()> {
        self.facts.update(fact)
    }

    /// What of the facts that fit this profile may know, in the order in which they were first stored. Those count as read.
    ///
    /// # Errors
    /// What the store says.
    pub fn query(&self, clearance: &ClearanceProfile, query: &FactQuery) -> Result<Vec<Fact>> {
        let query = FactQuery { clearance: Some(clearance.clone()), ..query.clone() };
        self.read(self.facts.query(&query)?)
    }

    /// The fact with this id, if this profile may know it. It counts as read.
    ///
    /// # Errors
    /// What the store says; a missing one and one that may not be known are none.
    pub fn get(&self, clearance: &ClearanceProfile, id: &str) -> Result<Option<Fact>> {
        let fact = self.facts.get(id)?.filter(|fact| clearance.can_access(fact));
        Ok(self.read(Vec::from_iter(fact))?.pop())
    }

    /// Counts that these were read, and shows it.
    fn read(&self, mut facts: Vec<Fact>) -> Result<Vec<Fact>> {
        let now = (self.clock)();
        self.facts.touch(&facts.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>(), now)?;
        for fact in &mut facts {
            fact.access_count = fact.access_count.saturating_add(1);
            fact.last_accessed = fact.last_accessed.max(Some(now));
        }
        Ok(facts)
    }

    /// Stores a fact unless it is known, and settles what it is to what is known:
    ///
    /// - told in the same words: nothing is written;
    /// - restated: what is known was told once more, and is surer when somebody else told it; of one source the text that says more
    ///   takes the place of the one that says less;
    /// - superseding: what it supersedes is hidden from recall, and ends when this one begins, if that is told;
    /// - contesting: both stay, and each names the other.
    ///
    /// A fact with an id that is taken replaces that one and is compared with the others. It is compared with all facts of its entity
    /// and domain. Two processes that tell the same at the same moment may both store it.
    ///
    /// # Errors
    /// What the store says.
    pub fn remember(&self, fact: Fact) -> Result<Remembered> {
        let _turn = self.remembering.lock().unwrap_or_else(PoisonError::into_inner);
        let (entity, domain) = (Some(fact.entity.clone()), Some(fact.domain.clone()));
        let known = self.facts.query(&FactQuery { entity, domain, limit: usize::MAX, ..FactQuery::default() })?;
        let each = self.preset.compare_each(&fact, &known);
        let comparison = strongest(&each);
        let other = known.iter().find(|old| comparison.other.as_ref() == Some(&old.id));
        match (comparison.verdict, other) {
            (Verdict::Same, Some(other)) => Ok(Remembered { comparison, fact: other.clone() }),
            (Verdict::Restated, Some(other)) => {
                let fact = restated(other, &fact, (self.clock)());
                self.facts.update(&fact)?;
                Ok(Remembered { comparison, fact })
            }
            _ => {
                let (fact, mut all) = settled(fact, &each, &known, (self.clock)());
                all.insert(0, fact.clone());
                self.facts.store_many(&all)?;
                Ok(Remembered { comparison, fact })
            }
        }
    }
}

/// What is known, told once more.
fn restated(known: &Fact, again: &Fact, now: Micros) -> Fact {
    let mut fact = known.clone();
    fact.evidence_count = fact.evidence_count.saturating_add(1);
    // Who repeats itself is no second witness; of whom nothing is known may be one.
    if again.source.is_empty() || again.source != known.source {
        fact.confidence = (fact.confidence + RESTATED_RISE).min(1.0);
    }
    // Nobody puts words into the mouth of another.
    if again.source == known.source && says_more(&again.content, &known.content) {
        fact.content = again.content.clone();
    }
    let new_tags = again.tags.iter().filter(|tag| !known.tags.contains(tag));
    fact.tags.extend(new_tags.cloned());
    fact.updated_at = now;
    fact
}

/// A fact that comes to what is known, and what changes by that.
fn settled(mut fact: Fact, each: &[Comparison], known: &[Fact], now: Micros) -> (Fact, Vec<Fact>) {
    let with = |verdict| {
        let those = each.iter().filter(move |comparison| comparison.verdict == verdict);
        those.filter_map(|comparison| comparison.other.clone()).collect::<Vec<String>>()
    };
    let (superseded, contested) = (with(Verdict::Supersedes), with(Verdict::Contests));
    fact.supersedes = superseded.first().cloned().or(fact.supersedes);
    fact.contested_with.clone_from(&contested);
    let mut changed = Vec::new();
    for old in known.iter().filter(|old| old.id != fact.id) {
        let mut new = old.clone();
        if superseded.contains(&old.id) {
            new.superseded_by = Some(fact.id.clone());
            new.contested_with.clear();
            new.valid_to = fact.valid_from.filter(|from| old.valid_to.is_none_or(|to| *from < to)).or(old.valid_to);
        } else {
            new.contested_with.retain(|id| *id != fact.id && !superseded.contains(id));
            new.contested_with.extend(contested.contains(&old.id).then(|| fact.id.clone()));
        }
        if new != *old {
            new.updated_at = now;
            changed.push(new);
        }
    }
    (fact, changed)
}
