//! Checkpoints: small records on a branch whose place in the log is the moment that they name.

use serde_json::Map;

use crate::error::{Error, Result, misuse};
use crate::records::branch::run_name;
use crate::records::codec::Envelope;
use crate::records::kinds::CHECKPOINT;
use crate::records::record::{BranchId, NewRecord};
use crate::records::uri::{self, Uri};
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::event::{self, EventType, NewEvent};
use crate::versions::policy;
use crate::view::as_of::{self, AsOf};
pub use crate::view::checkpoints::Checkpoint;
use crate::view::checkpoints::{self, labelled};
use crate::write::pending::{Name, Pending, What};
use crate::write::whole;
use crate::write::writer::{Writer, fresh_id};

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

/// Checkpoints made on the branch that is seen, or on all of them, oldest first.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn list(reader: &Reader, all_branches: bool) -> Result<Vec<Checkpoint>> {
    checkpoints::list(reader.view(), all_branches)
}

/// The checkpoint with this id, URI or label that the reader sees.
///
/// # Errors
/// `UnknownAsOf` when there is none.
pub fn named(reader: &Reader, name: &str) -> Result<Checkpoint> {
    let below = as_of::position_after(reader.view(), &AsOf::checkpoint(name))?;
    checkpoints::at(reader.view(), below - 1)
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
            return Err(misuse(&format!(
                "`{label}` cannot label a checkpoint: a number names a sequence"
            )));
        }
        [self.spec.as_str(), run_name(&self.run)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .try_for_each(uri::check_component)
    }

    /// The record on disk, under the id given.
    pub(crate) fn pending(&self, id: &str, manual: bool, branch: BranchId) -> Result<Pending> {
        let mut metadata = Map::new();
        for (name, value) in
            [("stage", &self.stage), ("spec_id", &self.spec), ("git_commit", &self.git_commit)]
        {
            if !value.is_empty() {
                metadata.insert(name.to_string(), value.clone().into());
            }
        }
        if manual {
            metadata.insert("manual".to_string(), true.into());
        }
        let label = self.full_label();
        let record = NewRecord {
            kind: CHECKPOINT.to_string(),
            run: run_name(&self.run).to_string(),
            tags: event::tags(&[("stage", &self.stage), ("spec", &self.spec)]),
            metadata,
            ..NewRecord::text(format!("checkpoint {label}"))
        };
        let record = NewRecord { label, ..record };
        record.check_fields()?;
        let envelope = Envelope { branch, system: true, ..Envelope::default() };
        Ok(Pending {
            name: Name::Given(Uri::checkpoint(id)),
            what: What::Put(Box::new(record)),
            envelope,
        })
    }
}

/// Gives this moment on the current branch a name. A stage's checkpoint brings its
/// `StageTransition` event with it.
///
/// # Errors
/// `DuplicateLabel` when the label is taken on this branch and that is not forced;
/// `InvalidOperation` without label and stage.
pub fn make(writer: &mut Writer, new: &NewCheckpoint) -> Result<Checkpoint> {
    new.check()?;
    let manual = new.stage.is_empty() || !new.label.is_empty();
    let label = new.full_label();
    if manual && !new.force {
        let view = writer.view()?;
        let lineage = Lineage::alone(view.lineage().own());
        let taken = labelled(&label, view.store().sequences(&lineage, Class::System)?);
        if !view.store().searcher()?.newest(&taken, 1, None, &mut |_| true)?.is_empty() {
            return Err(Error::DuplicateLabel { label, branch: writer.branch()? });
        }
    }
    let id = fresh_id(writer, &label)?;
    let branch = writer.branch_id();
    let mut all = vec![new.pending(&id, manual, branch)?];
    if !new.stage.is_empty() {
        let mut payload = vec![("stage", new.stage.clone()), ("checkpoint_id", id.clone())];
        if let Some(policy) = policy::unchanged(writer.view()?)? {
            payload.extend([
                ("policy_id", policy.id),
                ("policy_hash", policy.hash),
                ("policy_uri", policy.uri.to_string()),
            ]);
        }
        let payload =
            payload.into_iter().map(|(name, value)| (name.to_string(), value.into())).collect();
        let event = NewEvent {
            spec: new.spec.clone(),
            run: new.run.clone(),
            stage: new.stage.clone(),
            payload,
            ..NewEvent::new(EventType::StageTransition)
        };
        all.push(event.pending(branch)?);
    }
    let on = writer.branch()?;
    let made = whole::write(writer, all)?.swap_remove(0);
    Ok(checkpoints::of(made, on))
}
