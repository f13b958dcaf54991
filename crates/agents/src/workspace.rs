//! What a team shares, and who may know which part of it.
//!
//! The level of a fact is asked in the store, before any limit: a reader of low clearance gets as
//! many facts as any other, and what it may not know is neither returned nor counted as read.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::capsule::CapsuleFactStore;
use super::compare::{Comparison, Preset, Verdict, has_same_readers, strongest};
use super::in_memory::InMemoryFactStore;
use super::location::StoreLocation;
use super::records;
use super::relations::forget_hidden;
use super::settle::{brings_nothing, dated, restated, settled, supersede};
use super::stores::{FactQuery, FactStore, result_of};
use super::time::TimeSource;
use super::types::Fact;
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::{Error, Result};

/// Rise of confidence when another source states the same fact.
pub const RESTATED_RISE: f64 = 0.1;

/// Facts that a team shares.
pub struct WorkspaceMemory {
    facts: Arc<dyn FactStore>,
    pub(super) clock: TimeSource,
    preset: Preset,
    /// Held while what is known is looked up and written: two who add the same fact at once do not
    /// both find it missing.
    remembering: Mutex<()>,
}

impl fmt::Debug for WorkspaceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkspaceMemory").field("preset", &self.preset).finish_non_exhaustive()
    }
}

/// What became of a fact that was added.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// How it compares with what was known.
    pub comparison: Comparison,
    /// The fact that is now known: the one added, or the one that was there.
    pub fact: Fact,
}

impl WorkspaceMemory {
    /// An empty memory that lives as long as the process.
    #[must_use]
    pub fn new(clock: impl Into<TimeSource>) -> WorkspaceMemory {
        WorkspaceMemory::with_store(Arc::new(InMemoryFactStore::new()), clock)
    }

    /// The memory that a capsule keeps.
    #[must_use]
    pub fn in_capsule(location: StoreLocation, clock: impl Into<TimeSource>) -> WorkspaceMemory {
        WorkspaceMemory::with_store(Arc::new(CapsuleFactStore::new(location)), clock)
    }

    /// The memory that this store keeps.
    #[must_use]
    pub fn with_store(facts: Arc<dyn FactStore>, clock: impl Into<TimeSource>) -> WorkspaceMemory {
        WorkspaceMemory {
            facts,
            clock: clock.into(),
            preset: Preset::Near,
            remembering: Mutex::default(),
        }
    }

    /// Compares by another preset; default [`Preset::Near`].
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

    /// What of the facts that fit this profile may know, in the order in which they were first
    /// stored. Those count as read.
    ///
    /// # Errors
    /// What the store says.
    pub fn query(&self, clearance: &ClearanceProfile, query: &FactQuery) -> Result<Vec<Fact>> {
        let query = FactQuery { clearance: Some(clearance.clone()), ..query.clone() };
        self.read(clearance, self.facts.query(&query)?)
    }

    /// The fact with this id, if this profile may know it. It counts as read.
    ///
    /// # Errors
    /// What the store says; a missing one and one that may not be known are none.
    pub fn get(&self, clearance: &ClearanceProfile, id: &str) -> Result<Option<Fact>> {
        let fact = self.facts.get(id)?.filter(|fact| clearance.can_access(fact));
        Ok(self.read(clearance, Vec::from_iter(fact))?.pop())
    }

    /// Counts that these were read, and shows it. Relations to facts that may not be known are left
    /// out.
    fn read(&self, clearance: &ClearanceProfile, mut facts: Vec<Fact>) -> Result<Vec<Fact>> {
        let now = self.clock.now();
        self.facts.touch(&facts.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>(), now)?;
        for fact in &mut facts {
            fact.access_count = fact.access_count.saturating_add(1);
            fact.last_accessed = fact.last_accessed.max(Some(now));
            forget_hidden(fact, |id| {
                Ok(self.facts.get(id)?.is_some_and(|other| clearance.can_access(&other)))
            })?;
        }
        Ok(facts)
    }

    /// Stores a fact unless it is known, and settles what it is to what is known:
    ///
    /// - the same: the known fact was added once more; text, source and tags are kept as evidence,
    ///   and it is surer when the source is another. Nothing is written when they are known;
    /// - superseding, correcting, refining, retracting: what it takes the place of is hidden from
    ///   recall. It ends when this one begins, if that is given, and holds again when this one
    ///   ends;
    /// - coexisting: both stay;
    /// - contesting: both stay, and each names the other;
    /// - pending: both stay, each names the other, and the new one says what is proposed.
    ///
    /// A fact that says when it begins or ends, without a validity of its own, gets it from its
    /// words: see [`Fact::valid_from`].
    ///
    /// A fact with an id that is taken replaces that one and is compared with the others: see
    /// [`FactStore::near`]. Two processes that add the same at the same time may both store it.
    ///
    /// What whoever adds it may not change is not compared with it, and keeps its marks.
    ///
    /// # Errors
    /// What the store says.
    pub fn remember(&self, fact: Fact) -> Result<Remembered> {
        self.in_turn(|| self.remember_now(fact))
    }

    fn remember_now(&self, fact: Fact) -> Result<Remembered> {
        let fact = if self.preset == Preset::Exact { fact } else { dated(fact, self.clock.now()) };
        let fact = Fact { principal: self.facts.principal(), ..fact };
        let mut known = self.facts.near(&fact)?;
        let before = self.facts.get(&fact.id)?;
        // What it contested before may be about something else than what it says now.
        let named =
            before.iter().flat_map(|one| one.contested_with.iter().chain(&one.pending_with));
        for id in named {
            if !known.iter().any(|other| other.id == *id) {
                known.extend(self.facts.get(id)?);
            }
        }
        known.retain(|other| self.facts.may_change(other));
        let vocabulary = self.facts.vocabulary(&fact)?;
        let each = self.preset.compare_each(&fact, &known, &vocabulary);
        let comparison = strongest(&each);
        let other = known.iter().find(|old| comparison.other.as_ref() == Some(&old.id));
        match (comparison.verdict, other) {
            // A fact that is added again under its own id replaces itself, whoever says the same.
            (Verdict::Same, Some(other)) if before.is_none() => {
                if brings_nothing(other, &fact) {
                    return Ok(Remembered { comparison, fact: other.clone() });
                }
                let fact = restated(other, &fact, self.clock.now());
                self.facts.update(&fact)?;
                Ok(Remembered { comparison, fact })
            }
            _ => {
                let (fact, mut all) = settled(fact, &each, &known, self.clock.now());
                all.insert(0, fact.clone());
                self.facts.store_many(&all)?;
                Ok(Remembered { comparison, fact })
            }
        }
    }
}

/// What is to become of facts that contest each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// This one holds; those that it contests are superseded by it.
    Holds,
    /// All of them hold, each in its own sense.
    AllHold,
}

/// What somebody decided, where no rule does.
impl WorkspaceMemory {
    /// Stores a fact in the place of another, which is hidden from recall from now on and ends when
    /// the new one begins. Whatever of `fact` is about the matter rather than the value (entity,
    /// attribute, domain, level and names) is taken from the old one: the same people may know
    /// both. Returns the new one as it is stored.
    ///
    /// # Errors
    /// `UriNotFound` when there is no such fact; `InvalidOperation` when another took its place
    /// already, or the two are one.
    pub fn supersede(&self, old: &str, fact: Fact) -> Result<Fact> {
        self.in_turn(|| self.supersede_now(old, fact))
    }

    fn supersede_now(&self, old: &str, fact: Fact) -> Result<Fact> {
        let mut old = self.there(old)?;
        if old.id != fact.id && self.facts.get(&fact.id)?.is_some() {
            return Err(misuse(format!("fact {} already exists", fact.id)));
        }
        if let Some(by) = &old.superseded_by
            && self.facts.get(by)?.is_some()
        {
            return Err(misuse(format!("fact {} was already superseded by {by}", old.id)));
        }
        let mut new = Fact {
            entity: old.entity.clone(),
            attribute: old.attribute.clone(),
            domain: old.domain.clone(),
            classification: old.classification,
            named: old.named.clone(),
            supersedes: Some(old.id.clone()),
            principal: self.facts.principal(),
            ..fact
        };
        two(&new, &old)?;
        let others = std::mem::take(&mut old.contested_with);
        let mut all = without(self, &others, std::slice::from_ref(&old.id))?;
        new.contested_with = all.iter().map(|other| other.id.clone()).collect();
        all.retain(|other| self.facts.may_change(other));
        all.iter_mut().for_each(|other| other.contested_with.push(new.id.clone()));
        supersede(&mut old, &new, self.clock.now());
        all.extend([old, new.clone()]);
        self.facts.store_many(&all)?;
        Ok(new)
    }

    /// Marks two live facts as contesting each other.
    ///
    /// # Errors
    /// `UriNotFound`; `InvalidOperation` when they are one, one was superseded, or not the same
    /// people may know both.
    pub fn contest(&self, a: &str, b: &str) -> Result<[Fact; 2]> {
        self.in_turn(|| self.contest_now(a, b))
    }

    fn contest_now(&self, a: &str, b: &str) -> Result<[Fact; 2]> {
        let mut pair = [self.there(a)?, self.there(b)?];
        two(&pair[0], &pair[1])?;
        if !has_same_readers(&pair[0], &pair[1]) {
            return Err(misuse(
                "facts that different people may know cannot name each other".to_string(),
            ));
        }
        if let Some(gone) = pair.iter().find(|fact| fact.superseded_by.is_some()) {
            return Err(misuse(format!("fact {} was superseded", gone.id)));
        }
        let ids = pair.each_ref().map(|fact| fact.id.clone());
        let now = self.clock.now();
        for (fact, other) in pair.iter_mut().zip([&ids[1], &ids[0]]) {
            if !fact.contested_with.contains(other) {
                fact.contested_with.push(other.clone());
                fact.updated_at = now;
            }
        }
        self.facts.store_many(&pair)?;
        Ok(pair)
    }

    /// Decides between a fact and those that it contests. Returns all of them as they are now, that
    /// one first.
    ///
    /// # Errors
    /// `UriNotFound`; `InvalidOperation` when it contests nothing.
    pub fn resolve(&self, id: &str, resolution: Resolution) -> Result<Vec<Fact>> {
        self.in_turn(|| self.resolve_now(id, resolution))
    }

    fn resolve_now(&self, id: &str, resolution: Resolution) -> Result<Vec<Fact>> {
        let mut fact = self.there(id)?;
        if fact.contested_with.is_empty() {
            return Err(misuse(format!("fact {id} is not contested")));
        }
        let now = self.clock.now();
        let with = std::mem::take(&mut fact.contested_with);
        let mut gone = with.clone();
        gone.push(fact.id.clone());
        fact.updated_at = now;
        let mut changed = Vec::new();
        for mut other in without(self, &with, std::slice::from_ref(&fact.id))? {
            if resolution == Resolution::Holds {
                // What the superseded one contested besides does not concern this one.
                let besides = std::mem::take(&mut other.contested_with);
                let besides: Vec<String> =
                    besides.into_iter().filter(|id| !with.contains(id)).collect();
                let mut besides = without(self, &besides, &gone)?;
                besides.retain(|other| self.facts.may_change(other));
                changed.extend(besides);
                supersede(&mut other, &fact, now);
                fact.supersedes.get_or_insert_with(|| other.id.clone());
            }
            changed.push(other);
        }
        changed.insert(0, fact);
        self.facts.store_many(&changed)?;
        Ok(changed)
    }

    /// Looks up and writes what is known while nobody else does.
    pub(super) fn in_turn<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _turn = self.remembering.lock().unwrap_or_else(PoisonError::into_inner);
        result_of(|work| self.facts.in_turn(work), work)
    }

    pub(super) fn there(&self, id: &str) -> Result<Fact> {
        let missing = || Ok(Error::UriNotFound { uri: records::fact_uri(id)?.to_string() });
        match self.facts.get(id)? {
            Some(fact) => Ok(fact),
            None => missing().and_then(Err),
        }
    }
}

fn two(a: &Fact, b: &Fact) -> Result<()> {
    if a.id == b.id { Err(misuse(format!("fact {} cannot contest itself", a.id))) } else { Ok(()) }
}

/// Those of these facts that are there, without `gone` among what they contest.
fn without(memory: &WorkspaceMemory, ids: &[String], gone: &[String]) -> Result<Vec<Fact>> {
    let mut all = Vec::new();
    for id in ids {
        if let Some(mut other) = memory.facts.get(id)? {
            other.contested_with.retain(|id| !gone.contains(id));
            other.updated_at = memory.clock.now();
            all.push(other);
        }
    }
    Ok(all)
}

fn misuse(reason: String) -> Error {
    Error::InvalidOperation { reason }
}
