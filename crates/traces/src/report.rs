//! What a sync tells. Plain data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kapsa_ingest::Skipped;
use kapsa_memory::Micros;
use serde::{Deserialize, Serialize};

/// How far a sync has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many files of so many were looked at.
    Files(u64, u64),
    /// So many sessions of so many were gone through.
    Sessions(u64, u64),
}

/// What became of one candidate, as it is noted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptDecision {
    /// Id of the fact that it would be.
    pub id: String,
    /// What was done: `add`, `update`, `no_op`, `supersede` or `precede`.
    pub action: String,
    /// Id of the known memory that it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub other: String,
    /// How much the two overlap, in thousandths.
    pub score: u32,
    /// Why.
    pub reason: String,
    /// Whether somebody has to decide.
    #[serde(skip_serializing_if = "is_false")]
    pub pending: bool,
    /// Whether it waits for review.
    #[serde(skip_serializing_if = "is_false")]
    pub held: bool,
}

impl KeptDecision {
    /// Whether the candidate of this id became a fact of its own.
    pub(crate) fn made(&self, id: &str) -> bool {
        let is_kept = matches!(self.action.as_str(), "add" | "supersede" | "precede");
        self.id == id && !self.held && (is_kept || self.pending)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A candidate, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Its type.
    pub kind: &'static str,
    /// It in one line.
    pub title: String,
    /// Where it stands: a file with its lines.
    pub place: String,
    /// The session, as `agent/id`.
    pub source: String,
    /// The repository, may be empty.
    pub repository: String,
    /// When it was said.
    pub at: Micros,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// What was done.
    pub decision: KeptDecision,
    /// Whether a known memory got one more witness.
    pub confirms: bool,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedFile {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub message: String,
}

/// What a sync did, or would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Whether nothing was written.
    pub is_dry: bool,
    /// Files that hold traces and were read.
    pub read: u64,
    /// Files that are as they were when they were read last.
    pub unchanged: u64,
    /// Files that hold no traces.
    pub others: u64,
    /// Files beyond the limit of a walk.
    pub over: u64,
    /// Files that are left for another time, by a limit or a window of time.
    pub left: u64,
    /// Files that are not tried any more, until they change or everything is forced.
    pub given_up: u64,
    /// Of the files that were read, those that their program is about to delete.
    pub expiring: u64,
    /// Sessions that were gone through.
    pub sessions: u64,
    /// Sessions that were left out: made by this program's own extraction, of another agent, or of
    /// another time.
    pub sessions_own: u64,
    /// Of another agent.
    pub sessions_of_others: u64,
    /// Of another time.
    pub sessions_of_other_time: u64,
    /// Originals that were new.
    pub originals: u64,
    /// Bytes of those, before the capsule compressed them.
    pub original_bytes: u64,
    /// Originals of which something was left out.
    pub originals_cut: u64,
    /// Records that were skipped in the files.
    pub skipped: Skipped,
    /// Files whose last record is still being written.
    pub waiting: Vec<PathBuf>,
    /// Files that could not be read.
    pub failed: Vec<FailedFile>,
    /// What the sessions offered, in the order of time.
    pub kept: Vec<Kept>,
    /// Memories that ended because their session took them back.
    pub taken_back: u64,
}

impl Report {
    /// How often each action was taken.
    #[must_use]
    pub fn actions(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for kept in &self.kept {
            *counts.entry(kept.decision.action.as_str()).or_default() += 1;
        }
        counts
    }

    /// How many wait for somebody to decide.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.kept.iter().filter(|kept| kept.decision.pending).count() as u64
    }

    /// How many wait for review.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.kept.iter().filter(|kept| kept.decision.held).count() as u64
    }
}
