//! What a principal may know of revisions that are not the newest: a level that was raised since
//! hides what came before it as well.

use kapsa_index::Candidate;

use super::View;
use crate::error::Result;
use crate::records::codec::Operation;
use crate::records::record::Record;

impl View {
    /// Whether whoever looks may know a revision, by its own level and by that of its URI now, on
    /// the branch of the revision. What was forgotten has the level that it had last.
    pub(crate) fn may_still_know(&self, record: &Record) -> Result<bool> {
        if !self.is_guarded() || !self.may_know(record) {
            return Ok(self.may_know(record));
        }
        let present = self.with(self.store.lineage_of(record.branch)?);
        let (uri, exists) = present.look_up(&record.uri)?;
        if exists {
            return Ok(present.counting(&uri)?.iter().any(|body| self.may_know(&body.record)));
        }
        for sequence in present.revisions(&uri)?.into_iter().rev() {
            let body = self.store.body(sequence)?;
            if body.operation == Operation::Put {
                return Ok(self.may_know(&body.record));
            }
        }
        Ok(true)
    }

    /// Whether a memory is visible as [`View::is_visible`] says, and still may be.
    pub(crate) fn shows(&self, candidate: &Candidate<'_>) -> Result<bool> {
        let visible = self.is_visible(candidate)?;
        if !visible || !self.is_guarded() || !self.is_of_the_past() {
            return Ok(visible);
        }
        self.may_still_know(&self.store.record(candidate.seq())?)
    }

    /// Whether this view is of a moment that has passed, so that there may be newer revisions.
    pub(super) fn is_of_the_past(&self) -> bool {
        self.lineage.below() != u64::MAX
    }
}
