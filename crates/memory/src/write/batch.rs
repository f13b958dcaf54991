//! What is to change, collected first and written in one commit: for crates with kinds of records
//! of their own, whose changes follow from what is there. Knows nothing of who writes.

use super::pending::Pending;
use super::screen::POLICY;
use super::transaction::Transaction;
use crate::error::{Error, Result};
use crate::records::codec::Envelope;
use crate::records::held::{Reason, reasons_of};
use crate::records::provenance::Trust;
use crate::records::record::NewRecord;
use crate::records::request::{Change, Put};
use crate::records::uri::Uri;

/// What is to be written in one commit.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) all: Vec<BatchItem>,
}

/// One change of a [`Batch`].
#[derive(Debug)]
pub(super) enum BatchItem {
    Put(Box<NewRecord>),
    Forget(Uri),
    Note(Box<NewRecord>),
    RemoveNote(Uri),
}

impl Batch {
    /// Puts a memory.
    pub fn put(&mut self, record: NewRecord) {
        self.all.push(BatchItem::Put(Box::new(record)));
    }

    /// Forgets the memory under a URI.
    pub fn forget(&mut self, uri: Uri) {
        self.all.push(BatchItem::Forget(uri));
    }

    /// Adds a note of the memory's own, as [`crate::Transaction::note`].
    pub fn note(&mut self, record: NewRecord) {
        self.all.push(BatchItem::Note(Box::new(record)));
    }

    /// Removes such a note.
    pub fn forget_note(&mut self, uri: Uri) {
        self.all.push(BatchItem::RemoveNote(uri));
    }
}

/// Refuses to hide what a rule of review holds back when it is written: hiding a text changes what
/// is known as much as another text does.
pub(super) fn may_hide(
    transaction: &mut Transaction<'_>,
    uri: &Uri,
    envelope: &Envelope,
) -> Result<()> {
    if envelope.provenance.trust == Trust::Owner {
        return Ok(());
    }
    let Some(there) = transaction.counting(uri)?.known.pop() else { return Ok(()) };
    let reasons = transaction.screened(&there.as_new(), envelope)?;
    match reasons.into_iter().find(|reason| reason.flag == POLICY) {
        None => Ok(()),
        Some(Reason { reason, .. }) => Err(Error::InvalidOperation {
            reason: format!("{} stays: {reason}; the owner forgets it", uri.short()),
        }),
    }
}

/// A record of a store, where it is kept for review: for a text that is not there yet.
fn held_back(transaction: &mut Transaction<'_>, record: &NewRecord) -> Result<Option<Pending>> {
    let envelope = transaction.writer.envelope_of(record);
    let reasons = transaction.screened(record, &envelope)?;
    if reasons.is_empty() {
        return Ok(None);
    }
    if let Some(uri) = &record.uri
        && let Some(there) = transaction.counting(uri)?.known.pop()
        && there.text == record.text
    {
        let known = transaction.screened(&there.as_new(), &envelope)?;
        if reasons.iter().all(|reason| known.contains(reason)) {
            return Ok(None);
        }
    }
    Ok(Some(Pending::held(record.clone(), &reasons, envelope)))
}

impl Transaction<'_> {
    /// Adds what a store makes of one thing that it was given, together or not at all: where a part
    /// of it is kept for review, that alone is kept, and the rest is dropped with what it follows
    /// from. What a record says again in the words that are there is trusted as far as those.
    pub(super) fn put_batch(&mut self, items: Vec<BatchItem>) -> Result<()> {
        let mut held = Vec::new();
        for item in &items {
            let BatchItem::Put(record) = item else { continue };
            record.check()?;
            if let Some(pending) = held_back(self, record)? {
                held.push(pending);
            }
        }
        if !held.is_empty() {
            self.pending.extend(held);
            return Ok(());
        }
        items.into_iter().try_for_each(|item| match item {
            BatchItem::Put(record) => self.put_known(*record),
            BatchItem::Forget(uri) => self.forget(&uri, ""),
            BatchItem::Note(record) => self.note(*record),
            BatchItem::RemoveNote(uri) => self.remove_note(&uri),
        })
    }

    /// Puts a record; one in the words that are there already is trusted as far as those.
    pub(super) fn put_known(&mut self, record: NewRecord) -> Result<()> {
        record.check()?;
        let mut envelope = self.writer.envelope_of(&record);
        let is_owners = envelope.provenance.trust == Trust::Owner;
        if let Some(uri) = record.uri.as_ref().filter(|_| !is_owners)
            && let Some(there) = self.counting(uri)?.known.pop()
            && there.text == record.text
        {
            envelope.provenance.trust = there.provenance.trust;
        }
        self.add_put(record, envelope)
    }

    /// Prepares and publishes what a store makes of one thing.
    ///
    /// # Errors
    /// As [`Transaction::commit`]; `HeldForReview` when it is kept for review: that is published,
    /// and nothing of it is visible.
    pub(super) fn commit_unheld(self) -> Result<Vec<Put>> {
        let held = self.pending.iter().filter_map(Pending::held_record);
        let reasons: Vec<String> = held.flat_map(reasons_of).map(|one| one.reason).collect();
        let puts = self.commit()?;
        match puts.iter().find(|put| put.change == Change::Held) {
            None => Ok(puts),
            Some(put) => {
                let (item, reasons) = (put.uri.clone(), reasons.join("; "));
                Err(Error::HeldForReview { item, reasons })
            }
        }
    }
}
