//! What a principal may write: the one decision that every addition to its transactions passes.
//! Knows what is there and a profile, and nothing of transactions.
//!
//! Whoever changes or forgets something needs clearance for its level and domain as they are, and
//! for those that it is given. What is hidden is not there: where revisions contest each other,
//! those that it may know are replaced, and the others stay beside the new one
//! ([`Transaction::put`](super::transaction::Transaction::put)).

use super::counting::Counting;
use crate::error::{Error, Result, not_found};
use crate::records::access::{Access, Classification, Classified, ClearanceProfile};
use crate::records::codec::Body;
use crate::records::kinds;
use crate::records::owned;
use crate::records::protected;
use crate::records::record::{NewRecord, Record};
use crate::records::uri::{Uri, refuse_reserved};
use crate::view::View;

/// What a principal is about to add to a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act<'a> {
    /// A record that it brings.
    Put(&'a NewRecord),
    /// A record that a store writes again to change what surrounds its text: what another agent
    /// wrote there may stay in that agent's name, and the counts are the store's.
    Rewrite(&'a NewRecord),
    /// A tombstone.
    Forget(&'a Uri),
    /// A note beside the fact that it is about, or its removal.
    Note(&'a Uri),
}

/// Whether a principal may do this.
///
/// # Errors
/// `AccessDenied`, `FieldDenied`; `UriNotFound` where it may not know of what it would end.
pub(super) fn permit(profile: &ClearanceProfile, view: &View, act: Act<'_>) -> Result<()> {
    let permit = Permit { profile, view };
    match act {
        Act::Put(record) => {
            if let Some(field) = protected::own_field(record) {
                return permit.refuse(field.name, field.why);
            }
            permit.put(record)?;
            permit.sign(None, record)
        }
        Act::Rewrite(record) => {
            permit.put(record)?;
            permit.sign(record.uri.as_ref(), record)
        }
        Act::Forget(uri) => permit.forget(uri),
        Act::Note(uri) => permit.note(uri),
    }
}

/// What a principal writes as restricted names the principal: nobody writes what it may not read.
pub(super) fn name_writer(profile: &ClearanceProfile, record: &mut NewRecord) {
    let Some(access) = &mut record.access else { return };
    if access.level == Classification::Restricted && !access.named.contains(&profile.principal) {
        access.named.push(profile.principal.clone());
    }
}

struct Permit<'a> {
    profile: &'a ClearanceProfile,
    view: &'a View,
}

impl Permit<'_> {
    fn deny<T>(&self, what: &'static str) -> Result<T> {
        Err(Error::AccessDenied { principal: self.profile.principal.clone(), what })
    }

    fn refuse<T>(&self, field: String, why: &'static str) -> Result<T> {
        let principal = self.profile.principal.clone();
        Err(Error::FieldDenied { principal, field, why })
    }

    /// The level and domain of what is written, its name, and everything that it would replace.
    fn put(&self, record: &NewRecord) -> Result<()> {
        let access = record.access.clone().unwrap_or_default();
        if !self.profile.may_write(&record.domain, access.level, &access.named) {
            return self.deny("write at this level in this domain");
        }
        if protected::is_owners_kind(&record.kind) {
            return self.deny("write what only the owner writes");
        }
        let Some(uri) = &record.uri else { return Ok(()) };
        self.name(uri)?;
        // What is put under another name of something goes there.
        let (target, _) = self.view.look_up(uri)?;
        self.name(&target)?;
        let counting = self.counting(&target)?;
        if counting.is_hidden() {
            return self.deny("write under this name");
        }
        counting.known.iter().try_for_each(|there| self.replace(there, &access))
    }

    /// Whether it may write under a name.
    fn name(&self, uri: &Uri) -> Result<()> {
        if protected::is_owners_name(uri) {
            return self.deny("write what only the owner writes");
        }
        // An agent's namespaces (`agent/namespace`) are its own.
        let is_own = |owner: String| owner.split('/').next() == Some(&*self.profile.principal);
        if owned::owner_of(uri).is_none_or(is_own) {
            return Ok(());
        }
        self.deny("write into the memory of another agent")
    }

    fn counting(&self, uri: &Uri) -> Result<Counting> {
        Counting::of(self.view, Some(self.profile), uri)
    }

    fn replace(&self, there: &Record, access: &Access) -> Result<()> {
        self.change(there)?;
        let widens = access.level == Classification::Restricted
            && !access.named.iter().all(|name| there.named().contains(name));
        if there.classification() > access.level
            || there.classification() == Classification::Restricted && widens
        {
            return self.deny("let more people read this than now");
        }
        Ok(())
    }

    /// Whether it may change or end something that it may read.
    fn change(&self, there: &Record) -> Result<()> {
        if protected::is_owners_kind(&there.kind) {
            return self.deny("change what only the owner writes");
        }
        if self.profile.may_change(there) {
            return Ok(());
        }
        self.deny("change what it may only read")
    }

    /// Whether it may write in this agent's name: its own, or that of whoever wrote the same words
    /// under `uri` before.
    fn sign(&self, uri: Option<&Uri>, record: &NewRecord) -> Result<()> {
        if record.agent.is_empty() || record.agent == self.profile.principal {
            return Ok(());
        }
        let known =
            uri.map(|uri| self.counting(uri)).transpose()?.and_then(|mut all| all.known.pop());
        if known.is_some_and(|there| there.agent == record.agent && there.text == record.text) {
            return Ok(());
        }
        self.refuse("agent".to_string(), "a principal writes in its own name only")
    }

    /// Whether it knows all that counts under this name, and may end it.
    fn forget(&self, uri: &Uri) -> Result<()> {
        refuse_reserved(uri)?;
        let mut counting = self.view.counting(uri)?;
        let alias = counting.last().and_then(|body| body.record.alias.clone());
        if let Some(alias) = &alias {
            // Whoever may not know what a name stands for does not know of the name.
            let (target, _) = self.view.look_up(alias)?;
            counting = self.view.counting(&target)?;
        }
        let known = |body: &Body| self.profile.can_access(&body.record);
        if counting.is_empty() || !counting.iter().all(known) {
            return Err(not_found(uri));
        }
        if alias.is_some() {
            return self.deny("change what only the owner writes");
        }
        self.name(uri)?;
        counting.iter().try_for_each(|body| self.change(&body.record))
    }

    /// Whether the fact that a note is about is not hidden from it. Other notes are the owner's.
    fn note(&self, note: &Uri) -> Result<()> {
        let Some(rest) = note.short().strip_prefix(kinds::ACCESS) else {
            return self.deny("change what only the owner writes");
        };
        let fact = Uri::parse(&format!("{}{rest}", kinds::FACT))?;
        if self.counting(&fact)?.is_hidden() { Err(not_found(note)) } else { Ok(()) }
    }
}
