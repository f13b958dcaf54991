//! What a principal may write: records within its clearance, and nothing else. Its methods are all
//! that a principal may call: what belongs to the owner is not here, so that a forgotten check
//! does not compile.

use std::path::Path;

use super::batch::{Batch, BatchItem};
use super::permit::{Act, name_writer, permit};
use super::transaction::{Transaction, Unpublished};
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::records::access::{Classification, ClearanceProfile};
use crate::records::branch;
use crate::records::record::NewRecord;
use crate::records::request::Put;
use crate::records::uri::Uri;
use crate::view::raw::RawView;

/// The writer of a capsule as one principal may use it. Made by [`Writer::as_principal`].
///
/// What belongs to the owner takes a [`Writer`], which this is not:
///
/// ```compile_fail,E0308
/// # fn f(writer: &mut kapsa_memory::PrincipalWriter) {
/// kapsa_memory::branch::archive(writer, "run/17");
/// # }
/// ```
#[derive(Debug)]
pub struct PrincipalWriter {
    writer: Writer,
    profile: ClearanceProfile,
}

impl PrincipalWriter {
    pub(super) fn new(writer: Writer, profile: ClearanceProfile) -> PrincipalWriter {
        PrincipalWriter { writer, profile }
    }

    /// Path of the capsule.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Writes to the branch `name` from now on.
    ///
    /// # Errors
    /// `BranchNotFound`, also where the principal may not know of branches; `AccessDenied` for the
    /// branch of a run, which the verbs of runs write to; `InvalidOperation` when it is archived.
    pub fn switch(&mut self, name: &str) -> Result<()> {
        let name = branch::branch_name(name)?;
        let may_know = self.profile.allows("", Classification::Internal, &[]);
        if !may_know && name != branch::MAIN {
            return Err(Error::BranchNotFound { name });
        }
        self.writer.switch(&name)?;
        if name.starts_with(branch::RUN_PREFIX) {
            let (principal, what) =
                (self.profile.principal.clone(), "write to the branch of a run");
            return Err(Error::AccessDenied { principal, what });
        }
        Ok(())
    }

    /// As [`Writer::leaves_index`].
    #[must_use]
    pub fn leaves_index(&self) -> bool {
        self.writer.leaves_index()
    }

    /// Opens a transaction: everything that is added to it is published in one commit.
    pub fn transaction(&mut self) -> PrincipalTransaction<'_> {
        let transaction = self.writer.transaction().of(&self.profile);
        PrincipalTransaction { transaction, profile: &self.profile }
    }

    /// As [`Writer::put`].
    ///
    /// # Errors
    /// As there; `AccessDenied`.
    pub fn put(&mut self, record: NewRecord) -> Result<Put> {
        let mut puts = self.put_many(vec![record])?;
        Ok(puts.pop().expect("one record, one answer"))
    }

    /// As [`Writer::put_many`].
    ///
    /// # Errors
    /// As there; `AccessDenied`.
    pub fn put_many(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        let mut transaction = self.transaction();
        records.into_iter().try_for_each(|record| transaction.put(record))?;
        transaction.prepare()?.publish()
    }

    /// As [`Writer::forget`]. What the principal may not know counts as missing.
    ///
    /// # Errors
    /// `UriNotFound`; `AccessDenied` for the memory of another agent.
    pub fn forget(&mut self, uri: &Uri) -> Result<Put> {
        let mut transaction = self.transaction();
        transaction.forget(uri)?;
        Ok(transaction.prepare()?.publish()?.remove(0))
    }

    /// As [`Writer::change`]: `change` sees what the principal may know, and what it adds is
    /// checked. Under a name it may repeat what another agent wrote there.
    ///
    /// # Errors
    /// As there; `AccessDenied`.
    pub fn change(
        &mut self,
        change: impl FnOnce(RawView<'_>, &mut Batch) -> Result<()>,
    ) -> Result<Vec<Put>> {
        let view = self.writer.view()?.guarded(self.profile.clone());
        let mut batch = Batch::default();
        change(RawView::of(&view), &mut batch)?;
        for item in &mut batch.all {
            if let BatchItem::Put(record) = item {
                name_writer(&self.profile, record);
            }
        }
        let mut transaction = self.transaction();
        transaction.permitted_all(&batch.all)?;
        transaction.transaction.put_batch(batch.all)?;
        transaction.transaction.commit_unheld()
    }
}

/// What a principal is to write in one commit: each addition is checked against its profile.
#[derive(Debug)]
#[must_use = "nothing is written before it is prepared and published"]
pub struct PrincipalTransaction<'w> {
    transaction: Transaction<'w>,
    profile: &'w ClearanceProfile,
}

impl<'w> PrincipalTransaction<'w> {
    /// Adds a record in the principal's own name. Where it names no domain or no level, those of
    /// what it takes the place of stay; where it is restricted, it names the principal too.
    ///
    /// # Errors
    /// `InvalidRecord`; `AccessDenied`, `FieldDenied`.
    pub fn put(&mut self, record: NewRecord) -> Result<()> {
        let mut record = self.transaction.keeping(record)?;
        name_writer(self.profile, &mut record);
        self.permitted(Act::Put(&record))?;
        self.transaction.put(record)
    }

    /// Forgets a URI under which the principal knows everything that counts, and may change it.
    ///
    /// # Errors
    /// `UriNotFound`; `AccessDenied` for the memory of another agent, and outside its clearance.
    pub fn forget(&mut self, uri: &Uri) -> Result<()> {
        self.permitted(Act::Forget(uri))?;
        self.transaction.forget(uri, &self.profile.principal)
    }

    /// Whether all of a store's changes are allowed. It may repeat under a name what another agent
    /// wrote there in the same words; a note is not the principal's, but what it is about must not
    /// be hidden from it.
    fn permitted_all(&mut self, items: &[BatchItem]) -> Result<()> {
        items.iter().try_for_each(|item| match item {
            BatchItem::Put(record) => {
                record.check()?;
                self.permitted(Act::Rewrite(record))
            }
            BatchItem::Forget(uri) => self.permitted(Act::Forget(uri)),
            BatchItem::Note(record) => {
                record.uri.as_ref().map_or(Ok(()), |uri| self.permitted(Act::Note(uri)))
            }
            BatchItem::RemoveNote(uri) => self.permitted(Act::Note(uri)),
        })
    }

    fn permitted(&mut self, act: Act<'_>) -> Result<()> {
        permit(self.profile, self.transaction.view()?, act)
    }

    /// As [`Transaction::prepare`].
    ///
    /// # Errors
    /// As there.
    pub fn prepare(self) -> Result<Unpublished<'w>> {
        self.transaction.prepare()
    }
}
