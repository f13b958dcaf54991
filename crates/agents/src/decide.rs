//! What somebody decides about a fact that is pending: the proposal is taken, the two hold side by
//! side, they say the same, or the new one is not so. Who decided is recorded, and nothing is lost.

use kapsa_memory::{Error, Result};

use super::compare::Verdict;
use super::settle::{restated, supersede};
use super::types::{Fact, FactDecision};
use super::workspace::WorkspaceMemory;

/// What is to become of a fact that is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What was proposed.
    Accept,
    /// Both hold.
    Coexist,
    /// It says the same as the known one.
    Same,
    /// It is not so; the known one holds.
    Reject,
}

impl Answer {
    fn name(self) -> &'static str {
        match self {
            Answer::Accept => "accepted",
            Answer::Coexist => "coexists",
            Answer::Same => "same",
            Answer::Reject => "rejected",
        }
    }
}

impl WorkspaceMemory {
    /// Decides about a pending fact, in the name of `by`. Returns all that changed, that fact
    /// first.
    ///
    /// # Errors
    /// `UriNotFound`; `InvalidOperation` when it is not pending.
    pub fn decide(&self, id: &str, answer: Answer, by: &str) -> Result<Vec<Fact>> {
        self.in_turn(|| self.decide_now(id, answer, by))
    }

    fn decide_now(&self, id: &str, answer: Answer, by: &str) -> Result<Vec<Fact>> {
        let mut fact = self.there(id)?;
        let Some(pending) = fact.pending.take() else {
            return Err(Error::InvalidOperation { reason: format!("fact {id} is not pending") });
        };
        let now = self.clock.now();
        fact.updated_at = now;
        fact.decision =
            Some(FactDecision { what: answer.name().to_string(), by: by.to_string(), at: now });
        let verdict = match answer {
            Answer::Accept => pending.verdict,
            Answer::Coexist => Verdict::Coexists,
            Answer::Same | Answer::Reject => Verdict::Same,
        };
        let mut changed = Vec::new();
        for other in std::mem::take(&mut fact.pending_with) {
            let Some(mut other) = self.store().get(&other)? else { continue };
            other.pending_with.retain(|pending| *pending != fact.id);
            match verdict {
                _ if answer == Answer::Reject => {
                    fact.superseded_by.get_or_insert_with(|| other.id.clone());
                }
                Verdict::Same => {
                    other = restated(&other, &fact, now);
                    fact.superseded_by.get_or_insert_with(|| other.id.clone());
                }
                Verdict::Contests => {
                    other.contested_with.push(fact.id.clone());
                    fact.contested_with.push(other.id.clone());
                }
                Verdict::Coexists => fact.coexists = true,
                verdict if verdict.replaces() => {
                    supersede(&mut other, &fact, now);
                    fact.supersedes.get_or_insert_with(|| other.id.clone());
                }
                _ => {}
            }
            changed.push(other);
        }
        changed.insert(0, fact);
        self.store().store_many(&changed)?;
        Ok(changed)
    }
}
