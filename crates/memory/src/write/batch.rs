//! What is to change, collected first and written in one commit: for crates with kinds of records
//! of their own, whose changes follow from what is there. Knows nothing of who writes.

use crate::records::record::NewRecord;
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
