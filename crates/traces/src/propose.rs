//! What an agent itself proposes to remember: decided as what is found in its trace would be, and
//! believed no further.

use kapsa_agents::{StoreLocation, TimeSource};
use kapsa_extract::{BODY_CHARS_MAX, Candidate, MemoryType, TITLE_CHARS_MAX};
use kapsa_ingest::Speaker;
use kapsa_memory::Micros;
use kapsa_memory::tokens::first_chars;
use kapsa_redact::redact;

use crate::decide::{Action, Thresholds};
use crate::error::Result;
use crate::known::{Offer, Origin};
use crate::remember::Memories;

/// Something that an agent holds a later session to need.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// What it is.
    pub kind: MemoryType,
    /// It in one line; what is longer than [`TITLE_CHARS_MAX`] is cut.
    pub title: String,
    /// The rule, why, and how to apply it; what is longer than [`BODY_CHARS_MAX`] is cut.
    pub body: String,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

/// Who proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposer {
    /// Name of the session: what it says twice counts once.
    pub session: String,
    /// The repository that it is about; empty for everything.
    pub repository: String,
    /// When.
    pub at: Micros,
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposed {
    /// Its title as it is kept: redacted.
    pub title: String,
    /// What was done.
    pub action: Action,
    /// Id of the fact that is known now.
    pub id: String,
    /// Id of another fact that it is about.
    pub other: Option<String>,
    /// Why.
    pub reason: String,
    /// Whether somebody decides or reviews before it counts.
    pub is_pending: bool,
}

/// Compares proposals with what is known, and does what is decided: each is an offer as a session's
/// candidates are, said by the assistant.
///
/// # Errors
/// What the capsule says.
pub fn propose(
    location: &StoreLocation,
    clock: impl Into<TimeSource>,
    proposals: &[Proposal],
    proposer: &Proposer,
) -> Result<Vec<Proposed>> {
    let memories = Memories::new(location, &clock.into(), Thresholds::default(), false)?;
    let (session, repository) = (redact(&proposer.session), redact(&proposer.repository));
    let origin =
        Origin { source: &session.text, repository: &repository.text, path: "", at: proposer.at };
    let mut decided = Vec::new();
    memories.in_turn(|| {
        for proposal in proposals {
            let offer = Offer::of(&candidate(proposal, proposer.at), &origin);
            let outcome = memories.remember(&offer)?;
            decided.push(Proposed {
                title: offer.title,
                action: outcome.decision.action,
                is_pending: outcome.is_held || outcome.decision.proposed.is_some(),
                other: outcome.decision.other.filter(|other| *other != outcome.id),
                id: outcome.id,
                reason: outcome.decision.reason,
            });
        }
        Ok(())
    })?;
    Ok(decided)
}

/// Secrets go before long texts are cut, so that no part of one is kept.
fn candidate(proposal: &Proposal, at: Micros) -> Candidate {
    Candidate {
        kind: proposal.kind,
        title: cut_title(&redact(&proposal.title).text),
        body: first_chars(&redact(&proposal.body).text, BODY_CHARS_MAX).to_string(),
        confidence: proposal.confidence,
        said_by: Speaker::Assistant,
        evidence: Vec::new(),
        at: Some(at),
        tags: Vec::new(),
        reversed: false,
    }
}

/// At most [`TITLE_CHARS_MAX`] characters of a title. What is cut, is cut between words and says
/// so, that whoever reads on in the body knows where it goes on.
fn cut_title(title: &str) -> String {
    let short = first_chars(title, TITLE_CHARS_MAX);
    if short.len() == title.len() {
        return title.to_string();
    }
    let short = first_chars(short, TITLE_CHARS_MAX - 1);
    let words = short.rfind(char::is_whitespace).map_or(short, |end| &short[..end]);
    format!("{}…", words.trim_end())
}
