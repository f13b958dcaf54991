//! The moment of "as of": a checkpoint, a sequence or a time becomes the first sequence that is too
//! late.

use super::checkpoints::{self, Checkpoint};
use super::{View, branches};
use crate::error::{Error, Result};
use crate::records::record::Micros;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

/// A moment in a capsule's history, as a caller names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// After this record.
    Sequence(u64),
    /// After everything committed at this time or before.
    Time(Micros),
    /// At the checkpoint with this id, URI or label; or else, when it can be read as a time as
    /// well, at that time.
    Named {
        /// Id, URI or label.
        name: String,
        /// The time that it may mean.
        or: Option<Micros>,
    },
}

impl AsOf {
    /// At a checkpoint.
    #[must_use]
    pub fn checkpoint(name: impl Into<String>) -> AsOf {
        AsOf::Named { name: name.into(), or: None }
    }
}

/// First sequence that is later than `as_of`.
///
/// # Errors
/// `UnknownAsOf` when nothing is meant by it on this branch.
pub(crate) fn position_after(view: &View, as_of: &AsOf) -> Result<u64> {
    match as_of {
        AsOf::Sequence(sequence) => {
            let newest = view.store().snapshot().commit().next_sequence - 1;
            if (1..=newest).contains(sequence) {
                return Ok(sequence + 1);
            }
            Err(unknown(
                view,
                &format!("#{sequence}"),
                format!("the capsule holds #1 to #{newest}"),
            ))
        }
        AsOf::Time(time) => at_time(view, *time, "that time"),
        AsOf::Named { name, or } => match (checkpoint_named(view, name)?, or) {
            (Some(found), _) => Ok(found.sequence + 1),
            (None, Some(time)) => at_time(view, *time, name),
            (None, None) => {
                Err(unknown(view, name, "no checkpoint has this id or label".to_string()))
            }
        },
    }
}

fn unknown(view: &View, text: &str, reason: String) -> Error {
    let branch = branches::name_of(view.store(), view.lineage().own()).unwrap_or_default();
    Error::UnknownAsOf { text: text.to_string(), branch, reason }
}

/// The checkpoint with this id, URI or label that the view sees; of several with one label the
/// newest.
///
/// # Errors
/// `UnknownAsOf` when there is one, but this view does not see it.
pub(crate) fn checkpoint_named(view: &View, name: &str) -> Result<Option<Checkpoint>> {
    if let Some(found) = checkpoints::by_id(view, name)? {
        if view.lineage().hold(found.branch_id, found.sequence) {
            return Ok(Some(found));
        }
        return Err(unknown(view, name, format!("that checkpoint is on {}", found.branch)));
    }
    let seqs = view.store().sequences(view.lineage(), Class::System)?;
    let labelled = checkpoints::labelled(name, seqs);
    if let Some(&sequence) =
        view.store().searcher()?.newest(&labelled, 1, None, &mut |_| true)?.first()
    {
        return Ok(Some(checkpoints::at(view, sequence)?));
    }
    let elsewhere =
        checkpoints::labelled(name, view.store().sequences(&Lineage::all(), Class::System)?);
    match view.store().searcher()?.newest(&elsewhere, 1, None, &mut |_| true)?.first() {
        None => Ok(None),
        Some(&sequence) => {
            let reason = format!(
                "a checkpoint with this label is on {}",
                checkpoints::at(view, sequence)?.branch
            );
            Err(unknown(view, name, reason))
        }
    }
}

/// First sequence that was committed after `time`, which must not be the first of all.
fn at_time(view: &View, time: Micros, text: &str) -> Result<u64> {
    match first_after(view, time)? {
        1 => Err(unknown(view, text, "nothing had been remembered by then".to_string())),
        first => Ok(first),
    }
}

/// First sequence that was committed after `time`, 1 when all were. Where clocks ran backwards, one
/// of the places where they passed it.
pub(crate) fn first_after(view: &View, time: Micros) -> Result<u64> {
    let end = view.store().snapshot().commit().next_sequence;
    let (mut low, mut high) = (1, end);
    while low < high {
        let middle = u64::midpoint(low, high);
        match next_dated(view, middle, high)? {
            Some((sequence, at)) if at <= time => low = sequence + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The first record from `sequence` on, before `end`, whose time is known: an erased one has none.
fn next_dated(view: &View, sequence: u64, end: u64) -> Result<Option<(u64, Micros)>> {
    for sequence in sequence..end {
        let record = view.store().record(sequence)?;
        if !record.purged {
            return Ok(Some((sequence, record.committed_at)));
        }
    }
    Ok(None)
}
