//! Who reads and writes a capsule's stores: its owner or a principal. The one place of this crate
//! that distinguishes the two.

use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::{
    AsOf, Batch, PrincipalReader, PrincipalWriter, RawView, Reader, Result, Writer,
};

/// A reader of whoever acts.
pub(super) enum ActingReader {
    Owner(Reader),
    Principal(PrincipalReader),
}

impl ActingReader {
    /// The same, as a principal may know it; without one as it is.
    pub(super) fn new(reader: Reader, principal: Option<&ClearanceProfile>) -> ActingReader {
        match principal {
            Some(profile) => ActingReader::Principal(reader.as_principal(profile.clone())),
            None => ActingReader::Owner(reader),
        }
    }

    /// As seen from `branch`, as of then where that is given.
    pub(super) fn on(&self, branch: &str, as_of: Option<&AsOf>) -> Result<ActingReader> {
        Ok(match self {
            ActingReader::Owner(reader) => ActingReader::Owner(reader.on(branch, as_of)?),
            ActingReader::Principal(reader) => ActingReader::Principal(reader.on(branch, as_of)?),
        })
    }

    /// The owner's reader, guarded by a profile; what a principal guards already stays as it is.
    pub(super) fn cleared(self, clearance: Option<&ClearanceProfile>) -> ActingReader {
        match self {
            ActingReader::Owner(reader) => ActingReader::new(reader, clearance),
            guarded @ ActingReader::Principal(_) => guarded,
        }
    }

    pub(super) fn raw(&self) -> RawView<'_> {
        match self {
            ActingReader::Owner(reader) => reader.raw(),
            ActingReader::Principal(reader) => reader.raw(),
        }
    }
}

/// A writer of whoever acts.
#[derive(Debug)]
pub(super) enum ActingWriter {
    Owner(Writer),
    Principal(PrincipalWriter),
}

impl ActingWriter {
    /// The same, as a principal may write; without one as it is.
    pub(super) fn new(writer: Writer, principal: Option<&ClearanceProfile>) -> ActingWriter {
        match principal {
            Some(profile) => ActingWriter::Principal(writer.as_principal(profile.clone())),
            None => ActingWriter::Owner(writer),
        }
    }

    /// Writes to the branch `name` from now on.
    pub(super) fn switch(&mut self, name: &str) -> Result<()> {
        match self {
            ActingWriter::Owner(writer) => writer.switch(name),
            ActingWriter::Principal(writer) => writer.switch(name),
        }
    }

    /// Writes what `change` makes of what whoever acts may know, in one commit.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(RawView<'_>, &mut Batch) -> Result<()>,
    ) -> Result<()> {
        match self {
            ActingWriter::Owner(writer) => writer.change(change).map(drop),
            ActingWriter::Principal(writer) => writer.change(change).map(drop),
        }
    }
}
