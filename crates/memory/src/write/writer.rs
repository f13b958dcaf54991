//! The one writer of a capsule, which holds its lock: for the owner. What is written goes through a
//! [`Transaction`](super::transaction::Transaction).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_capsule::Volume;

use super::batch::Batch;
use super::later::Later;
use super::options::{Progress, WriteOptions};
use super::pending::Pending;
use super::principal::PrincipalWriter;
use super::transaction::Transaction;
use crate::error::Result;
use crate::records::access::ClearanceProfile;
use crate::records::codec::Envelope;
use crate::records::ids;
use crate::records::provenance::Trust;
use crate::records::record::{BranchId, NewRecord};
use crate::records::request::{MaintenanceReport, Put};
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::view::raw::RawView;
use crate::view::{View, branches};
use crate::write::maintain;

/// Most records that one call of [`Writer::put_many`] should bring: one commit each.
pub const BATCH_RECORDS_MAX: usize = 65_536;
/// Most bytes of text that one call of [`Writer::put_many`] should bring.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

/// The one writer of a capsule, for its owner. Holds the lock until dropped.
///
/// What else an owner may write is a function of the module that it is about:
/// [`crate::branch::create`], [`crate::merge::merge`], [`crate::event::emit`] and so on take a
/// `Writer`.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    pub(super) options: WriteOptions,
    pub(super) capsule: kapsa_capsule::Writer,
    /// The branch that is written to.
    branch: BranchId,
    /// Whether that branch was archived by this writer.
    pub(super) is_archived: bool,
    /// View of the newest commit on that branch; dropped by everything that commits.
    pub(super) view: Option<View>,
    /// A view of an earlier commit, of which is taken over what did not change since.
    earlier: Option<View>,
    /// The last field: what it does when it is dropped needs the lock to be free.
    pub(crate) later: Later,
}

impl Writer {
    /// Opens a capsule for writing, waiting for another writer up to the timeout.
    ///
    /// # Errors
    /// `LockedByWriter`, `NotFound`, `NotACapsule`, `VersionMismatch`, `Truncated`, `Corrupt`, or
    /// what the system reports.
    pub fn open(path: &Path, options: WriteOptions) -> Result<Writer> {
        let capsule = kapsa_capsule::Writer::open(path, &options.capsule())?;
        Ok(opened(path, options, capsule))
    }

    /// Opens the capsule of a reader for writing. What the reader knows and nobody changed since is
    /// not read again.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_after(reader: &Reader, options: WriteOptions) -> Result<Writer> {
        let earlier = Some(reader.view().clone());
        let path = reader.view().store().snapshot().path();
        Ok(Writer { earlier, ..Writer::open(path, options)? })
    }

    /// Opens a capsule of `volume` without a lock: for volumes that only one process uses.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_unlocked(
        volume: Arc<dyn Volume>,
        path: &Path,
        options: WriteOptions,
    ) -> Result<Writer> {
        let capsule = kapsa_capsule::Writer::open_unlocked(volume, path)?;
        Ok(Writer { later: Later::never(), ..opened(path, options, capsule) })
    }

    /// Writes as a principal from now on: only what its profile allows it to know, and only where
    /// it knows what is there.
    #[must_use]
    pub fn as_principal(mut self, profile: ClearanceProfile) -> PrincipalWriter {
        let provenance = &mut self.options.provenance;
        provenance.principal.clone_from(&profile.principal);
        provenance.trust = provenance.trust.min(Trust::Principal);
        PrincipalWriter::new(self, profile)
    }

    /// Path of the capsule.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes to the branch `name` from now on.
    ///
    /// # Errors
    /// `BranchNotFound`; `InvalidOperation` when it is archived.
    pub fn switch(&mut self, name: &str) -> Result<()> {
        let view = self.view()?;
        let made = branches::named(view.store(), name)?;
        made.expect_writable(name)?;
        let view = view.with(view.store().lineage_of(made.id)?);
        (self.branch, self.is_archived, self.view) = (made.id, false, Some(view));
        Ok(())
    }

    /// Name of the branch that is written to.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn branch(&mut self) -> Result<String> {
        let branch = self.branch;
        branches::name_of(self.view()?.store(), branch)
    }

    /// Whether a large record waits for its segment, which it gets when this writer is dropped and
    /// the lock is free.
    #[must_use]
    pub fn leaves_index(&self) -> bool {
        self.later.is_due()
    }

    /// Opens a transaction: everything that is added to it is published in one commit.
    pub fn transaction(&mut self) -> Transaction<'_> {
        Transaction::new(self)
    }

    /// Puts one record: one commit, durable when this returns.
    ///
    /// # Errors
    /// `InvalidRecord`, or what the disk reports; then nothing was stored.
    pub fn put(&mut self, record: NewRecord) -> Result<Put> {
        let mut puts = self.put_many(vec![record])?;
        Ok(puts.pop().expect("one record, one answer"))
    }

    /// Puts many records in one commit: all or none. See [`BATCH_RECORDS_MAX`].
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_many(&mut self, records: Vec<NewRecord>) -> Result<Vec<Put>> {
        let mut transaction = self.transaction();
        records.into_iter().try_for_each(|record| transaction.put(record))?;
        transaction.commit()
    }

    /// Forgets a URI: a tombstone; history stays.
    ///
    /// # Errors
    /// `UriNotFound` when nothing is visible under it; what the disk reports.
    pub fn forget(&mut self, uri: &Uri) -> Result<Put> {
        let mut transaction = self.transaction();
        transaction.forget(uri, "")?;
        Ok(transaction.commit()?.remove(0))
    }

    /// Lets `old` stand for `new` from now on: whoever asks for the one gets the other.
    ///
    /// # Errors
    /// `UriNotFound` when nothing is visible under `new`; `InvalidOperation` when `new` leads back
    /// to `old`.
    pub fn alias(&mut self, old: &Uri, new: &Uri) -> Result<Put> {
        let mut transaction = self.transaction();
        transaction.alias(old, new)?;
        Ok(transaction.commit()?.remove(0))
    }

    /// Writes what `change` makes of the branch as it is, in one commit; in none when that is
    /// nothing.
    ///
    /// # Errors
    /// What `change` returns; as [`Writer::put`] and [`Writer::forget`]. Then nothing was written.
    pub fn change(
        &mut self,
        change: impl FnOnce(RawView<'_>, &mut Batch) -> Result<()>,
    ) -> Result<Vec<Put>> {
        let mut batch = Batch::default();
        change(RawView::of(self.view()?), &mut batch)?;
        let mut transaction = self.transaction();
        transaction.put_batch(batch.all)?;
        transaction.commit_unheld()
    }

    /// The branch as it is now.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn reader(&mut self) -> Result<Reader> {
        Ok(Reader::of(self.view()?.clone()))
    }

    /// Writes what the crate itself made, in one commit.
    pub(crate) fn write(&mut self, all: Vec<Pending>) -> Result<Vec<Put>> {
        let mut transaction = self.transaction();
        transaction.add(all);
        transaction.commit()
    }

    /// Indexes the tail and merges all index segments into few, while the lock is held.
    /// [`crate::optimize`] holds it for moments only.
    ///
    /// # Errors
    /// What the disk reports; the capsule is whole whatever happens.
    pub fn optimize(&mut self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        // What follows commits past this type, so the view of before must not outlive it.
        self.view = None;
        maintain::optimize_held(&mut self.capsule, (self.options.clock)(), progress)
    }

    /// Writes a new, packed file without what was purged and renames it into place.
    ///
    /// # Errors
    /// What the disk reports; the old file stays whole until the new one is.
    pub fn compact(mut self, progress: Progress<'_>) -> Result<MaintenanceReport> {
        maintain::compact(&mut self.capsule, progress)
    }

    /// The branch that is written to.
    pub(crate) fn branch_id(&self) -> BranchId {
        self.branch
    }

    /// The envelope of a record on that branch.
    pub(crate) fn envelope(&self) -> Envelope {
        let provenance = self.options.provenance.clone();
        Envelope { branch: self.branch, provenance, ..Envelope::default() }
    }

    /// The envelope of this record on that branch.
    pub(crate) fn envelope_of(&self, record: &NewRecord) -> Envelope {
        let envelope = self.envelope();
        Envelope { provenance: envelope.provenance.at_most(record.trust), ..envelope }
    }

    /// The file itself, for what commits past this type: the view of before does not outlive it.
    pub(crate) fn capsule_mut(&mut self) -> &mut kapsa_capsule::Writer {
        self.view = None;
        &mut self.capsule
    }

    /// The branch as it is now.
    pub(crate) fn view(&mut self) -> Result<&View> {
        if self.view.is_none() {
            let snapshot = self.capsule.snapshot()?;
            let main = match &self.earlier {
                Some(earlier) => earlier.main_of(snapshot)?,
                None => View::new(snapshot),
            };
            let lineage = main.store().lineage_of(self.branch)?;
            self.view = Some(main.with(lineage));
            self.earlier.clone_from(&self.view);
        }
        Ok(self.view.as_ref().expect("made above"))
    }
}

/// A writer whose lock was just taken, with what an earlier view has read when nothing was
/// committed since.
pub(super) fn locked(
    mut capsule: kapsa_capsule::Writer,
    options: WriteOptions,
    earlier: &View,
) -> Result<Writer> {
    let snapshot = capsule.snapshot()?;
    let path = snapshot.path().to_path_buf();
    let view = Some(earlier.main_of(snapshot)?);
    Ok(Writer { view, ..opened(&path, options, capsule) })
}

fn opened(path: &Path, options: WriteOptions, capsule: kapsa_capsule::Writer) -> Writer {
    let later = Later::at(path, &options);
    let (branch, path) = (BranchId::MAIN, path.to_path_buf());
    Writer { path, options, capsule, branch, is_archived: false, view: None, earlier: None, later }
}

/// An id that nothing else has, for what is about to be written.
pub(crate) fn fresh_id(writer: &mut Writer, text: &str) -> Result<String> {
    let snapshot = writer.capsule.snapshot()?;
    let now = (writer.options.clock)();
    Ok(ids::fresh_id(&snapshot.file().capsule_id, snapshot.commit().next_sequence, now, text))
}
