//! What a principal may write: records within its clearance, and nothing else. Its methods are all
//! that a principal may call: what belongs to the owner is not here, so that a forgotten check
//! does not compile.

use std::path::Path;

use super::batch::{Batch, BatchItem};
use super::transaction::{Transaction, Unpublished};
use super::writer::Writer;
use crate::error::{Error, Result, not_found};
use crate::records::access::{self, Classification, Classified, ClearanceProfile};
use crate::records::branch;
use crate::records::codec::Body;
use crate::records::kinds;
use crate::records::owned;
use crate::records::record::NewRecord;
use crate::records::request::Put;
use crate::records::uri::{Uri, refuse_reserved};
use crate::view::View;
use crate::view::raw::RawView;

/// Kinds of what is known to the owner alone, about principals.
const OWN_KINDS: [&str; 2] = ["audit", "clearance"];

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
    /// `BranchNotFound`, also where the principal may not know of branches; `InvalidOperation`
    /// when it is archived.
    pub fn switch(&mut self, name: &str) -> Result<()> {
        let may_know = self.profile.allows("", Classification::Internal, &[]);
        if !may_know && branch::branch_name(name)? != branch::MAIN {
            return Err(Error::BranchNotFound { name: branch::branch_name(name)? });
        }
        self.writer.switch(name)
    }

    /// As [`Writer::leaves_index`].
    #[must_use]
    pub fn leaves_index(&self) -> bool {
        self.writer.leaves_index()
    }

    /// Opens a transaction: everything that is added to it is published in one commit.
    pub fn transaction(&mut self) -> PrincipalTransaction<'_> {
        PrincipalTransaction { transaction: self.writer.transaction(), profile: &self.profile }
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
        let mut transaction = self.transaction();
        for item in batch.all {
            match item {
                BatchItem::Put(record) => transaction.put_again(*record)?,
                BatchItem::Forget(uri) => transaction.forget(&uri)?,
                BatchItem::Note(record) => transaction.note(*record)?,
                BatchItem::RemoveNote(uri) => transaction.remove_note(&uri)?,
            }
        }
        transaction.prepare()?.publish()
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
    /// Adds a record in the principal's own name.
    ///
    /// # Errors
    /// `InvalidRecord`; `AccessDenied`.
    pub fn put(&mut self, record: NewRecord) -> Result<()> {
        record.check()?;
        let view = self.transaction.view()?;
        may_put(self.profile, view, &record)?;
        may_sign(self.profile, view, None, &record)?;
        self.transaction.put(record)
    }

    /// As [`PrincipalTransaction::put`], and may repeat under a name what another agent wrote
    /// there in the same words: for stores that write a record again to change what surrounds
    /// its text.
    fn put_again(&mut self, record: NewRecord) -> Result<()> {
        record.check()?;
        let view = self.transaction.view()?;
        may_put(self.profile, view, &record)?;
        may_sign(self.profile, view, record.uri.as_ref(), &record)?;
        self.transaction.put(record)
    }

    /// Forgets a URI under which the principal knows everything that counts.
    ///
    /// # Errors
    /// `UriNotFound`; `AccessDenied` for the memory of another agent.
    pub fn forget(&mut self, uri: &Uri) -> Result<()> {
        refuse_reserved(uri)?;
        may_forget(self.profile, self.transaction.view()?, uri)?;
        self.transaction.forget(uri)
    }

    /// As [`Transaction::note`]: the note is not the principal's, but what it is about must not be
    /// hidden from it.
    fn note(&mut self, record: NewRecord) -> Result<()> {
        if let Some(uri) = &record.uri {
            may_note(self.profile, self.transaction.view()?, uri)?;
        }
        self.transaction.note(record)
    }

    /// As [`Transaction::remove_note`], for the notes that [`PrincipalTransaction::note`] may
    /// write.
    fn remove_note(&mut self, uri: &Uri) -> Result<()> {
        may_note(self.profile, self.transaction.view()?, uri)?;
        self.transaction.remove_note(uri)
    }

    /// As [`Transaction::prepare`].
    ///
    /// # Errors
    /// As there.
    pub fn prepare(self) -> Result<Unpublished<'w>> {
        self.transaction.prepare()
    }
}

fn denied<T>(profile: &ClearanceProfile, what: &'static str) -> Result<T> {
    Err(Error::AccessDenied { principal: profile.principal.clone(), what })
}

/// Whether a URI is nobody's memory, or that of a principal; an agent's namespaces
/// (`agent/namespace`) are its own.
fn is_own(uri: &Uri, principal: &str) -> bool {
    owned::owner_of(uri).is_none_or(|owner| owner.split('/').next() == Some(principal))
}

/// Whether a principal may put a record: it must be cleared for its level in its domain, for what
/// is public as for what is internal; and what the record would replace must be known to it and
/// spread no less than the new one.
fn may_put(profile: &ClearanceProfile, view: &View, record: &NewRecord) -> Result<()> {
    let access = record.access.clone().unwrap_or_default();
    let mut named = access.named.clone();
    named.push(profile.principal.clone());
    if !profile.allows(&record.domain, access.level.max(Classification::Internal), &named) {
        return denied(profile, "write at this level in this domain");
    }
    if OWN_KINDS.contains(&record.kind.as_str()) {
        return denied(profile, "write what only the owner writes");
    }
    let Some(uri) = &record.uri else { return Ok(()) };
    if access::is_policy(uri) {
        return denied(profile, "write policies");
    }
    if !is_own(uri, &profile.principal) {
        return denied(profile, "write into the memory of another agent");
    }
    let Some(mut there) = view.newest(uri)? else { return Ok(()) };
    if view.store().record(there.sequence)?.alias.is_some() {
        let (target, _) = view.look_up(uri)?;
        let Some(head) = view.newest(&target)? else { return Ok(()) };
        there = head;
    }
    for sequence in there.all() {
        // Whoever replaces what counts under a name replaces all of it.
        let there = view.store().record(sequence)?;
        if there.tombstone {
            continue;
        }
        if !profile.can_access(&there) {
            return denied(profile, "write under this name");
        }
        let widens = access.level == Classification::Restricted
            && !access.named.iter().all(|name| there.named().contains(name));
        if there.classification() > access.level
            || there.classification() == Classification::Restricted && widens
        {
            return denied(profile, "let more people read this than now");
        }
    }
    Ok(())
}

/// Whether a principal may write in this agent's name: its own, or that of whoever wrote the same
/// words under `uri` before.
fn may_sign(
    profile: &ClearanceProfile,
    view: &View,
    uri: Option<&Uri>,
    record: &NewRecord,
) -> Result<()> {
    if record.agent.is_empty() || record.agent == profile.principal {
        return Ok(());
    }
    let there = uri.map(|uri| view.visible(uri)).transpose()?.flatten();
    let repeats =
        |there: &Body| there.record.agent == record.agent && there.record.text == record.text;
    if there.is_some_and(|there| repeats(&there)) {
        return Ok(());
    }
    denied(profile, "write in the name of another agent")
}

/// Whether the fact that a note is about is not hidden from a principal.
fn may_note(profile: &ClearanceProfile, view: &View, note: &Uri) -> Result<()> {
    let Some(rest) = note.short().strip_prefix(kinds::ACCESS) else { return Ok(()) };
    let fact = Uri::parse(&format!("{}{rest}", kinds::FACT))?;
    let is_hidden = |body: Body| !profile.can_access(&body.record);
    if view.visible(&fact)?.is_some_and(is_hidden) { Err(not_found(note)) } else { Ok(()) }
}

/// Whether a principal knows all that counts under this name, and may end it.
fn may_forget(profile: &ClearanceProfile, view: &View, uri: &Uri) -> Result<()> {
    let mut counting = view.counting(uri)?;
    if let Some(alias) = counting.last().and_then(|body| body.record.alias.clone()) {
        // Whoever may not know what a name stands for does not know of the name.
        let (target, _) = view.look_up(&alias)?;
        counting.extend(view.counting(&target)?);
    }
    let known = |body: &Body| body.record.alias.is_some() || profile.can_access(&body.record);
    if counting.is_empty() || !counting.iter().all(known) {
        return Err(not_found(uri));
    }
    if is_own(uri, &profile.principal) {
        Ok(())
    } else {
        denied(profile, "write into the memory of another agent")
    }
}
