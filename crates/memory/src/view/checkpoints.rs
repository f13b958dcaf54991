//! Finds the record of the checkpoint that is meant, and reads what it says.

use kapsa_index::Sequences;
use serde_json::Value;

use super::{View, branches};
use crate::error::Result;
use crate::records::kinds::CHECKPOINT;
use crate::records::record::{BranchId, Micros, Record};
use crate::records::request::LIMIT_NONE;
use crate::records::uri::{self, Uri};
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

/// A checkpoint as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
    pub id: String,
    /// Its URI, `mv2://default/checkpoint/<id>`.
    pub uri: Uri,
    /// Its place: a view as of it sees everything up to here.
    pub sequence: u64,
    /// Label.
    pub label: String,
    /// Stage, may be empty.
    pub stage: String,
    /// What the run works on, may be empty.
    pub spec: String,
    /// The run, may be empty.
    pub run: String,
    /// The git commit, may be empty.
    pub git_commit: String,
    /// When it was made.
    pub timestamp: Micros,
    /// Whether somebody asked for it, rather than a stage or a merge making it.
    pub manual: bool,
    /// Branch that it is on.
    pub branch: String,
    /// Number of that branch.
    pub(crate) branch_id: BranchId,
}

/// Filter for checkpoints with a label.
pub(crate) fn labelled(label: &str, seqs: Sequences) -> kapsa_index::Filter {
    let all = vec![vec![format!("kind:{CHECKPOINT}")], vec![format!("label:{label}")]];
    kapsa_index::Filter { all, seqs: Some(seqs), ..kapsa_index::Filter::default() }
}

/// Checkpoints made on one branch, or on all, as far as this view goes; oldest first.
pub(crate) fn list(view: &View, all_branches: bool) -> Result<Vec<Checkpoint>> {
    let lineage = if all_branches { Lineage::all() } else { Lineage::alone(view.lineage().own()) };
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("kind:{CHECKPOINT}")]],
        seqs: Some(view.store().sequences(&lineage.before(view.lineage().below()), Class::System)?),
        ..kapsa_index::Filter::default()
    };
    let sequences = view.store().searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)?;
    sequences.into_iter().map(|sequence| at(view, sequence)).collect()
}

/// The checkpoint with this id or URI, on any branch.
pub(crate) fn by_id(view: &View, name: &str) -> Result<Option<Checkpoint>> {
    let uri = if name.starts_with(uri::SCHEME) || name.starts_with("checkpoint/") {
        Uri::parse(name)
    } else {
        Uri::parse(&format!("checkpoint/{name}"))
    };
    let Some(uri) = uri.ok().filter(|uri| uri.checkpoint_id().is_some()) else { return Ok(None) };
    match view.store().newest_under(&uri, &Lineage::all())? {
        Some(head) => Ok(Some(at(view, head.sequence)?)),
        None => Ok(None),
    }
}

/// The checkpoint that the record `sequence` is.
pub(crate) fn at(view: &View, sequence: u64) -> Result<Checkpoint> {
    let record = view.store().record(sequence)?;
    let branch = branches::name_of(view.store(), record.branch)?;
    Ok(of(record, branch))
}

/// The checkpoint that a record on this branch is.
pub(crate) fn of(record: Record, branch: String) -> Checkpoint {
    let text = |name: &str| {
        record.metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    Checkpoint {
        id: record.uri.checkpoint_id().unwrap_or_default().to_string(),
        sequence: record.sequence,
        stage: text("stage"),
        spec: text("spec_id"),
        git_commit: text("git_commit"),
        manual: record.metadata.get("manual").and_then(Value::as_bool).unwrap_or(false),
        label: record.label,
        run: record.run,
        timestamp: record.committed_at,
        branch,
        branch_id: record.branch,
        uri: record.uri,
    }
}
