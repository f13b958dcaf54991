//! When is "as of"? A checkpoint, a sequence or a time becomes the first sequence that is too late.

use super::View;
use super::checkpoints::{self, Checkpoint};
use crate::error::{Error, Result};
use crate::records::record::Micros;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

/// A moment in a capsule's history, as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// After this record.
    Sequence(u64),
    /// After everything committed at this time or before.
    Time(Micros),
    /// At the checkpoint with this id, URI or label; or else, when it can be read as a time as well, at that time.
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

impl View {
    /// First sequence that is later than `as_of`.
    ///
    /// # Errors
    /// `UnknownAsOf` when nothing is meant by it on this branch.
    pub(crate) fn position_after(&self, as_of: &AsOf) -> Result<u64> {
        match as_of {
            AsOf::Sequence(sequence) => {
                let newest = self.store().snapshot().commit().next_sequence - 1;
                if (1..=newest).contains(sequence) {
                    return Ok(sequence + 1);
                }
                Err(self.unknown(&format!("#{sequence}"), format!("the capsule holds #1 to #{newest}")))
            }
            AsOf::Time(time) => self.at_time(*time, "that time"),
            AsOf::Named { name, or } => match (self.checkpoint_named(name)?, or) {
                (Some(found), _) => Ok(found.sequence + 1),
                (None, Some(time)) => self.at_time(*time, name),
                (None, None) => Err(self.unknown(name, "no checkpoint has this id or label".to_string())),
            },
        }
    }

    fn unknown(&self, text: &str, reason: String) -> Error {
        let branch = self.store().branch_name_of(self.lineage().own()).unwrap_or_default();
        Error::UnknownAsOf { text: text.to_string(), branch, reason }
    }

    /// The checkpoint with this id, URI or label that the view sees; of several with one label the newest.
    ///
    /// # Errors
    /// `UnknownAsOf` when there is one, but this view does not see it.
    pub(crate) fn checkpoint_named(&self, name: &str) -> Result<Option<Checkpoint>> {
        if let Some(found) = self.checkpoint_by_id(name)? {
            if self.lineage().hold(found.branch_id, found.sequence) {
                return Ok(Some(found));
            }
            return Err(self.unknown(name, format!("that checkpoint is on {}", found.branch)));
        }
        let seqs = self.store().sequences(self.lineage(), Class::System)?;
        let labelled = checkpoints::labelled(name, seqs);
        if let Some(&sequence) = self.store().searcher()?.newest(&labelled, 1, None, &mut |_| true)?.first() {
            return Ok(Some(self.checkpoint_at(sequence)?));
        }
        let elsewhere = checkpoints::labelled(name, self.store().sequences(&Lineage::all(), Class::System)?);
        match self.store().searcher()?.newest(&elsewhere, 1, None, &mut |_| true)?.first() {
            None => Ok(None),
            Some(&sequence) => {
                let reason = format!("a checkpoint with this label is on {}", self.checkpoint_at(sequence)?.branch);
                Err(self.unknown(name, reason))
            }
        }
    }

    /// First sequence that was committed after `time`. Where clocks ran backwards, one of the places where they passed it.
    fn at_time(&self, time: Micros, text: &str) -> Result<u64> {
        let end = self.store().snapshot().commit().next_sequence;
        let (mut low, mut high) = (1, end);
        while low < high {
            let middle = u64::midpoint(low, high);
            match self.next_dated(middle, high)? {
                Some((sequence, at)) if at <= time => low = sequence + 1,
                _ => high = middle,
            }
        }
        if low > 1 { Ok(low) } else { Err(self.unknown(text, "nothing had been remembered by then".to_string())) }
    }

    /// The first record from `sequence` on, before `end`, whose time is known: an erased one has none.
    fn next_dated(&self, sequence: u64, end: u64) -> Result<Option<(u64, Micros)>> {
        for sequence in sequence..end {
            let record = self.store().record(sequence)?;
            if !record.purged {
                return Ok(Some((sequence, record.committed_at)));
            }
        }
        Ok(None)
    }
}
