//! What counts under a name for whoever writes there: of revisions that contest each other a
//! principal knows some, and what is hidden from it is not its to settle. Knows no rule of what may
//! be written.

use super::pending::{Pending, What};
use super::transaction::Transaction;
use crate::error::Result;
use crate::records::access::{Access, Classified, ClearanceProfile, expect_profile};
use crate::records::codec::Envelope;
use crate::records::record::{NewRecord, Record};
use crate::records::uri::Uri;
use crate::view::View;

/// What counts under a name, the newest last.
pub(super) struct Counting {
    /// What whoever acts may know.
    pub(super) known: Vec<Record>,
    pub(super) hidden: Vec<Record>,
}

impl Counting {
    /// Of exactly this URI, for a principal; without one everything is known.
    pub(super) fn of(
        view: &View,
        profile: Option<&ClearanceProfile>,
        uri: &Uri,
    ) -> Result<Counting> {
        let counting = view.counting(uri)?.into_iter().map(|body| body.record);
        let may_know = |record: &Record| profile.is_none_or(|profile| profile.can_access(record));
        let (known, hidden) = counting.partition(may_know);
        Ok(Counting { known, hidden })
    }

    /// Whether all that is there is hidden.
    pub(super) fn is_hidden(&self) -> bool {
        self.known.is_empty() && !self.hidden.is_empty()
    }
}

impl Transaction<'_> {
    /// What counts under exactly this URI before this transaction.
    pub(super) fn counting(&mut self, uri: &Uri) -> Result<Counting> {
        let profile = self.profile.clone();
        Counting::of(self.view()?, profile.as_ref(), uri)
    }

    /// Adds a record that is not kept for review. What is hidden goes on contesting it.
    pub(super) fn add_put(&mut self, record: NewRecord, envelope: Envelope) -> Result<()> {
        expect_profile(&record)?;
        let mut conflicts_with = Vec::new();
        if self.profile.is_some()
            && let Some(uri) = &record.uri
        {
            let (target, _) = self.view()?.look_up(uri)?;
            let hidden = self.counting(&target)?.hidden;
            conflicts_with.extend(hidden.iter().map(|record| record.sequence));
        }
        self.pending.push(Pending::put(record, Envelope { conflicts_with, ..envelope }));
        Ok(())
    }

    /// The record, with the domain and level of what it takes the place of where it names none.
    pub(super) fn keeping(&mut self, mut record: NewRecord) -> Result<NewRecord> {
        record.check()?;
        let is_said = record.access.is_some() && !record.domain.is_empty();
        let Some(uri) = record.uri.clone().filter(|_| !is_said) else { return Ok(record) };
        let Some((domain, access)) = spread_of(self, &uri)? else { return Ok(record) };
        if record.domain.is_empty() {
            record.domain = domain;
        }
        record.access = record.access.or(access);
        Ok(record)
    }
}

/// Domain and level of what counts under a URI, after what the transaction did to it so far.
fn spread_of(
    transaction: &mut Transaction<'_>,
    uri: &Uri,
) -> Result<Option<(String, Option<Access>)>> {
    let here = transaction.pending.iter().rev().find(|pending| pending.is_about(uri));
    match here.map(|pending| &pending.what) {
        Some(What::Put(record)) => {
            return Ok(Some((record.domain.clone(), record.access.clone())));
        }
        Some(_) => return Ok(None),
        None => {}
    }
    let (target, _) = transaction.view()?.look_up(uri)?;
    let widest =
        transaction.counting(&target)?.known.into_iter().max_by_key(Classified::classification);
    Ok(widest.map(|record| (record.domain, record.access)))
}
