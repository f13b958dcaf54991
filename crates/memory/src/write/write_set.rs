//! How does a crate with kinds of its own write what follows from what is there? It looks and collects, and all of it is one commit.

use super::pending::Pending;
use super::writer::Writer;
use crate::error::Result;
use crate::records::codec::{Envelope, Operation};
use crate::records::record::NewRecord;
use crate::records::request::Put;
use crate::records::uri::Uri;
use crate::view::raw::RawView;

/// What is to be written in one commit.
#[derive(Debug)]
pub struct WriteSet {
    all: Vec<Pending>,
    envelope: Envelope,
}

impl WriteSet {
    /// Puts a memory, as [`Writer::put`].
    pub fn put(&mut self, record: NewRecord) {
        self.all.push(Pending::put(record, self.envelope.clone()));
    }

    /// Forgets the memory under a URI, as [`Writer::forget`].
    pub fn forget(&mut self, uri: Uri) {
        self.all.push(Pending::bury(Operation::Tombstone, uri, self.envelope.clone()));
    }

    /// Puts a record that the crate itself notes beside a memory: nobody needs a clearance for it, and no list shows it.
    pub fn note(&mut self, record: NewRecord) {
        let envelope = Envelope { system: true, ..self.envelope.clone() };
        self.all.push(Pending::put(record, envelope));
    }

    /// Forgets such a note.
    pub fn forget_note(&mut self, uri: Uri) {
        let envelope = Envelope { system: true, ..self.envelope.clone() };
        self.all.push(Pending::bury(Operation::Tombstone, uri, envelope));
    }
}

impl Writer {
    /// Writes what `change` makes of the branch as it is, in one commit; in none when that is nothing. A principal must be allowed to
    /// put and to forget those memories, and `change` sees what the principal may know.
    ///
    /// # Errors
    /// What `change` says; as [`Writer::put`] and [`Writer::forget`]. Then nothing was written.
    pub fn change(&mut self, change: impl FnOnce(RawView<'_>, &mut WriteSet) -> Result<()>) -> Result<Vec<Put>> {
        let envelope = Envelope { branch: self.branch_id(), ..Envelope::default() };
        let mut writes = WriteSet { all: Vec::new(), envelope };
        let guarded = match self.principal() {
            Some(profile) => Some(self.view()?.guarded(profile)),
            None => None,
        };
        change(RawView::of(guarded.as_ref().map_or(self.view(), Ok)?), &mut writes)?;
        self.write_noted(writes.all)
    }
}
