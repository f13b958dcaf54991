//! What is a checkpoint? A small record on a branch whose place in the log is the moment that it names.

use kapsa_index::Sequences;
use serde_json::{Map, Value};

use crate::codec::Envelope;
use crate::error::{Error, Result};
use crate::event::{self, EventType, NewEvent};
use crate::lanes::Class;
use crate::lines::Lines;
use crate::pending::{Name, Pending, What};
use crate::record::{BranchId, Micros, NewRecord, Record};
use crate::uri::{self, Uri};
use crate::view::View;
use crate::write::{Writer, misuse};

pub(crate) const KIND: &str = "checkpoint";
/// What the label of a stage's checkpoint begins with.
pub const STAGE_LABEL_PREFIX: &str = "stage:";
/// What the label of a merge's checkpoint begins with.
pub const MERGE_LABEL_PREFIX: &str = "merge:";

/// What the caller knows of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewCheckpoint {
    /// Name for people; unique on its branch unless forced. Needed unless a stage is given.
    pub label: String,
    /// Stage of a run that ended.
    pub stage: String,
    /// What the run works on.
    pub spec: String,
    /// The run.
    pub run: String,
    /// The git commit of the work at this moment.
    pub git_commit: String,
    /// Whether a label may be used again.
    pub force: bool,
}

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
    let all = vec![vec![format!("kind:{KIND}")], vec![format!("label:{label}")]];
    kapsa_index::Filter { all, seqs: Some(seqs), ..kapsa_index::Filter::default() }
}

impl View {
    pub(crate) fn checkpoint_by_id(&self, name: &str) -> Result<Option<Checkpoint>> {
        let uri = if name.starts_with(uri::SCHEME) || name.starts_with("checkpoint/") {
            Uri::parse(name)
        } else {
            Uri::parse(&format!("checkpoint/{name}"))
        };
        let Some(uri) = uri.ok().filter(|uri| uri.checkpoint_id().is_some()) else { return Ok(None) };
        match self.newest_under(&uri, &Lines::all())? {
            Some(head) => Ok(Some(self.checkpoint_at(head.sequence)?)),
            None => Ok(None),
        }
    }

    pub(crate) fn checkpoint_at(&self, sequence: u64) -> Result<Checkpoint> {
        self.checkpoint_of(self.record(sequence)?)
    }

    fn checkpoint_of(&self, record: Record) -> Result<Checkpoint> {
        let text = |name: &str| record.metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        Ok(Checkpoint {
            id: record.uri.checkpoint_id().unwrap_or_default().to_string(),
            sequence: record.sequence,
            stage: text("stage"),
            spec: text("spec_id"),
            git_commit: text("git_commit"),
            manual: record.metadata.get("manual").and_then(Value::as_bool).unwrap_or(false),
            label: record.label,
            run: record.run,
            timestamp: record.committed_at,
            branch: self.branch_name_of(record.branch)?,
            branch_id: record.branch,
            uri: record.uri,
        })
    }

    /// Checkpoints made on one branch, or on all, as far as this view goes; oldest first.
    pub(crate) fn checkpoints(&self, all_branches: bool) -> Result<Vec<Checkpoint>> {
        let lines = if all_branches { Lines::all() } else { Lines::alone(self.lines().own()) };
        let filter = kapsa_index::Filter {
            all: vec![vec![format!("kind:{KIND}")]],
            seqs: Some(self.sequences(&lines.before(self.lines().below()), Class::System)?),
            ..kapsa_index::Filter::default()
        };
        let sequences = self.searcher()?.oldest(&filter, usize::MAX >> 8, None, &mut |_| true)?;
        sequences.into_iter().map(|sequence| self.checkpoint_at(sequence)).collect()
    }
}

impl NewCheckpoint {
    /// The label in full.
    pub(crate) fn full_label(&self) -> String {
        if self.label.is_empty() && !self.stage.is_empty() {
            return format!("{STAGE_LABEL_PREFIX}{}", self.stage);
        }
        self.label.clone()
    }

    fn check(&self) -> Result<()> {
        let label = self.full_label();
        if label.trim().is_empty() {
            return Err(misuse("a checkpoint needs a label or a stage"));
        }
        if label.trim_start_matches('#').bytes().all(|b| b.is_ascii_digit()) {
            return Err(misuse(&format!("`{label}` is no label for a checkpoint: a number names a sequence")));
        }
        [&self.spec, &self.run].into_iter().filter(|part| !part.is_empty()).try_for_each(|part| uri::check_component(part))
    }

    /// The record on disk, under the id given.
    pub(crate) fn pending(&self, id: &str, manual: bool, branch: BranchId) -> Result<Pending> {
        let mut metadata = Map::new();
        for (name, value) in [("stage", &self.stage), ("spec_id", &self.spec), ("git_commit", &self.git_commit)] {
            if !value.is_empty() {
                metadata.insert(name.to_string(), value.clone().into());
            }
        }
        if manual {
            metadata.insert("manual".to_string(), true.into());
        }
        let label = self.full_label();
        let record = NewRecord {
            kind: KIND.to_string(),
            run: self.run.clone(),
            tags: event::tags(&[("stage", &self.stage), ("spec", &self.spec)]),
            metadata,
            ..NewRecord::text(format!("checkpoint {label}"))
        };
        let record = NewRecord { label, ..record };
        record.check_fields()?;
        let envelope = Envelope { branch, system: true, ..Envelope::default() };
        Ok(Pending { name: Name::Given(Uri::checkpoint(id)), what: What::Put(Box::new(record)), envelope })
    }
}

impl Writer {
    /// Gives this moment on the current branch a name. A stage's checkpoint brings its `StageTransition` event with it.
    ///
    /// # Errors
    /// `DuplicateLabel` when the label is taken on this branch and that is not forced; `InvalidOperation` without label and stage.
    pub fn checkpoint(&mut self, new: &NewCheckpoint) -> Result<Checkpoint> {
        self.for_owner("make a checkpoint")?;
        new.check()?;
        let manual = new.stage.is_empty() || !new.label.is_empty();
        let label = new.full_label();
        if manual && !new.force {
            let view = self.view()?;
            let lines = Lines::alone(view.lines().own());
            let taken = labelled(&label, view.sequences(&lines, Class::System)?);
            if !view.searcher()?.newest(&taken, 1, None, &mut |_| true)?.is_empty() {
                return Err(Error::DuplicateLabel { label, branch: self.branch()? });
            }
        }
        let id = self.fresh_id(&label)?;
        let branch = self.branch_id();
        let mut all = vec![new.pending(&id, manual, branch)?];
        if !new.stage.is_empty() {
            let mut payload = vec![("stage", new.stage.clone()), ("checkpoint_id", id.clone())];
            if let Some(policy) = self.view()?.current_policy()? {
                payload.extend([("policy_id", policy.id), ("policy_hash", policy.hash), ("policy_uri", policy.uri.to_string())]);
            }
            let payload = payload.into_iter().map(|(name, value)| (name.to_string(), value.into())).collect();
            let event = NewEvent {
                spec: new.spec.clone(),
                run: new.run.clone(),
                stage: new.stage.clone(),
                payload,
                ..NewEvent::new(EventType::StageTransition)
            };
            all.push(event.pending(branch)?);
        }
        let puts = self.write(all)?;
        self.view()?.checkpoint_at(puts[0].sequence)
    }
}
