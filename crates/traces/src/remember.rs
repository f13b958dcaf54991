//! Does what was decided, in the memory that a team shares. Knows nothing of files.
//!
//! Everything here may be done twice: a candidate whose session said it before changes nothing, so
//! a run that was stopped is made good by the next one.

use std::collections::BTreeSet;
use std::sync::Arc;

use kapsa_agents::{
    CapsuleFactStore, Fact, FactQuery, FactStore, Pending, StoreLocation, TimeSource,
    WorkspaceMemory, awaiting_review,
};
use kapsa_memory::Error as MemoryError;

use crate::decide::{Action, Decision, Thresholds, decide, merged};
use crate::error::Result;
use crate::known::{Known, Offer, with_evidence};
use crate::preview::PreviewStore;

/// Memories that were superseded among which it is looked for what a session said before.
const FORMER_MAX: usize = 16;
/// What waits for review and is looked through for what was brought before.
const AWAITING_MAX: usize = 10_000;

/// What became of an offer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) decision: Decision,
    /// Id of the fact that is known now; of the pending one where somebody decides.
    pub(crate) id: String,
    /// Whether it waits for review.
    pub(crate) is_held: bool,
}

/// The memory that candidates come to.
pub(crate) struct Memories {
    memory: WorkspaceMemory,
    thresholds: Thresholds,
    /// What waits for review: its fact's name and its text.
    awaiting: BTreeSet<(String, String)>,
}

impl Memories {
    /// Those of a capsule; with `is_dry` nothing is written, and what would be is kept aside.
    pub(crate) fn new(
        location: &StoreLocation,
        clock: &TimeSource,
        thresholds: Thresholds,
        is_dry: bool,
    ) -> Result<Memories> {
        let mut awaiting = BTreeSet::new();
        for item in awaiting_review(location, AWAITING_MAX)? {
            if let Some(uri) = &item.brought.uri {
                awaiting.insert((uri.to_string(), item.record.text.clone()));
            }
        }
        let stored = CapsuleFactStore::new(location.clone());
        let store: Arc<dyn FactStore> = match is_dry {
            true => Arc::new(PreviewStore::over(stored)),
            false => Arc::new(stored),
        };
        let clock = clock.clone();
        let memory = WorkspaceMemory::with_store(store, move || clock.now());
        Ok(Memories { memory, thresholds, awaiting })
    }

    /// Does `work` while nobody else writes.
    pub(crate) fn in_turn(&self, mut work: impl FnMut() -> Result<()>) -> Result<()> {
        let mut failed = None;
        let done = self.memory.store().in_turn(&mut || {
            // The store's own errors are of another type: what failed in here is handed out below.
            failed = work().err();
            Ok(())
        });
        failed.map_or(Ok(()), Err)?;
        Ok(done?)
    }

    /// Compares an offer with what is known, and does what is decided.
    pub(crate) fn remember(&self, offer: &Offer) -> Result<Outcome> {
        if self.memory.store().get(&offer.id)?.is_some() {
            return Ok(done(Decision::told_before(&offer.id), &offer.id));
        }
        if self.is_awaited(offer) {
            let decision = Decision::told_before(&offer.id);
            return Ok(Outcome { is_held: true, ..done(decision, &offer.id) });
        }
        let known = self.beside(offer)?;
        let decision = decide(offer, &known, &self.thresholds);
        if decision.action != Action::NoOp
            && let Some(former) = self.told_formerly(offer)?
        {
            return Ok(done(Decision::told_before(&former), &former));
        }
        match self.carry_out(offer, &known, &decision) {
            Ok(id) => Ok(done(decision, &id)),
            Err(MemoryError::HeldForReview { reasons, .. }) => {
                let reason = format!("waits for review: {reasons}");
                Ok(Outcome { is_held: true, ..done(Decision { reason, ..decision }, &offer.id) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What would become of an offer. Writes nothing.
    pub(crate) fn look(&self, offer: &Offer) -> Result<Decision> {
        if self.memory.store().get(&offer.id)?.is_some() {
            return Ok(Decision::told_before(&offer.id));
        }
        Ok(decide(offer, &self.beside(offer)?, &self.thresholds))
    }

    /// Ends what a session has taken back since it was read: the memory holds no more, where this
    /// session alone said it. Returns whether there was one.
    pub(crate) fn take_back(&self, offer: &Offer) -> Result<bool> {
        let Some(fact) = self.memory.store().get(&offer.id)? else { return Ok(false) };
        let is_alone = fact.evidence.iter().all(|one| one.source == offer.source);
        if fact.valid_to.is_some() || fact.superseded_by.is_some() || !is_alone {
            return Ok(false);
        }
        let valid_to = Some(fact.valid_from.map_or(offer.at, |from| from.max(offer.at)));
        self.memory.update_fact(&Fact { valid_to, ..fact })?;
        Ok(true)
    }

    /// Whether there is a memory of this name, whether it holds or not.
    pub(crate) fn knows(&self, id: &str) -> Result<bool> {
        Ok(self.memory.store().get(id)?.is_some())
    }

    fn is_awaited(&self, offer: &Offer) -> bool {
        let uri = kapsa_memory::owned::fact_uri_of(&offer.id);
        uri.is_some_and(|uri| self.awaiting.contains(&(uri.to_string(), offer.content())))
    }

    /// What an offer is compared with: what is known of its repository, and of none.
    fn beside(&self, offer: &Offer) -> Result<Vec<Known>> {
        let store = self.memory.store();
        let mut all = store.near(&offer.fact())?;
        if !offer.repository.is_empty() {
            all.extend(store.near(&Fact { entity: String::new(), ..offer.fact() })?);
        }
        let mut seen = BTreeSet::new();
        all.retain(|fact| {
            let is_scoped = fact.entity.is_empty() || fact.entity == offer.repository;
            let holds = fact.valid_to.is_none_or(|to| offer.at < to);
            is_scoped && holds && fact.pending.is_none() && seen.insert(fact.id.clone())
        });
        Ok(all.into_iter().map(Known::of).collect())
    }

    /// The memory that this session's words went into and that another took the place of since.
    fn told_formerly(&self, offer: &Offer) -> Result<Option<String>> {
        let query = FactQuery {
            entity: Some(offer.repository.clone()),
            domain: Some(String::new()),
            superseded: true,
            limit: FORMER_MAX,
            ..FactQuery::default()
        };
        let former = self.memory.store().likely(&query, &offer.content())?;
        let told = former.into_iter().map(Known::of).find(|known| known.was_told(offer));
        Ok(told.map(|known| known.fact.id))
    }

    /// Returns the id of the fact that is known then.
    fn carry_out(
        &self,
        offer: &Offer,
        known: &[Known],
        decision: &Decision,
    ) -> kapsa_memory::Result<String> {
        let other = || known.iter().find(|known| decision.other.as_ref() == Some(&known.fact.id));
        match (decision.action, other()) {
            (Action::NoOp, Some(other)) if decision.confirms => self.confirm(offer, other, None),
            (Action::Update, Some(other)) => self.confirm(offer, other, merged(offer, other)),
            (Action::NoOp, Some(other)) if decision.proposed.is_some() => {
                self.propose(offer, other, decision)
            }
            (Action::NoOp, _) => Ok(decision.other.clone().unwrap_or_default()),
            (Action::Supersede, Some(other)) => {
                let fact = Fact { valid_from: Some(offer.at), ..offer.fact() };
                Ok(self.memory.supersede(&other.fact.id, fact)?.id)
            }
            (Action::Precede, Some(other)) => self.precede(offer, other),
            (Action::Add | Action::Update | Action::Supersede | Action::Precede, _) => {
                self.memory.store_fact(&offer.fact())?;
                Ok(offer.id.clone())
            }
        }
    }

    /// Adds the session to a known memory's evidence, with another text where one is given.
    fn confirm(
        &self,
        offer: &Offer,
        other: &Known,
        text: Option<String>,
    ) -> kapsa_memory::Result<String> {
        let fact = confirmed(&other.fact, offer, text);
        if fact != other.fact {
            self.memory.update_fact(&fact)?;
        }
        Ok(fact.id)
    }

    /// Stores an offer beside the memory that it may take the place of, for somebody to decide.
    fn propose(
        &self,
        offer: &Offer,
        other: &Known,
        decision: &Decision,
    ) -> kapsa_memory::Result<String> {
        let Some(proposed) = &decision.proposed else { return Ok(offer.id.clone()) };
        let verdict = proposed.proposed.unwrap_or(proposed.verdict);
        let pending = Pending {
            verdict,
            reason: decision.reason.clone(),
            features: proposed.features.clone(),
            proposed_by: String::new(),
        };
        let mut old = other.fact.clone();
        old.pending_with.push(offer.id.clone());
        let new =
            Fact { pending: Some(pending), pending_with: vec![old.id.clone()], ..offer.fact() };
        self.memory.store().store_many(&[new, old])?;
        Ok(offer.id.clone())
    }

    /// Stores an offer as what held before a known memory that a later session brought.
    fn precede(&self, offer: &Offer, other: &Known) -> kapsa_memory::Result<String> {
        let mut new = other.fact.clone();
        new.supersedes.get_or_insert_with(|| offer.id.clone());
        let from = *new.valid_from.get_or_insert(other.said_at());
        let old =
            Fact { superseded_by: Some(new.id.clone()), valid_to: Some(from), ..offer.fact() };
        self.memory.store().store_many(&[old, new])?;
        Ok(offer.id.clone())
    }
}

fn done(decision: Decision, id: &str) -> Outcome {
    Outcome { decision, id: id.to_string(), is_held: false }
}

/// A known memory with one more piece of evidence. A session that repeats itself is one witness.
fn confirmed(known: &Fact, offer: &Offer, text: Option<String>) -> Fact {
    let is_witness = !Known::of(known.clone()).has_witness(&offer.source);
    let evidence = if is_witness { vec![offer.evidence()] } else { Vec::new() };
    let mut fact = with_evidence(known, &evidence);
    fact.content = text.unwrap_or(fact.content);
    fact.updated_at = fact.updated_at.max(offer.at);
    fact
}
