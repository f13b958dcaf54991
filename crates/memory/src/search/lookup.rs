//! Single reads and lists, for the owner and for principals alike: a record by URI or sequence, its
//! history, a timeline.
//!
//! What a view's guard hides is not there; nothing in an answer shows that it exists.

use super::listing::Listing;
use crate::error::{Error, Result};
use crate::records::branch as names;
use crate::records::owned;
use crate::records::record::Record;
use crate::records::request::TimelineRequest;
use crate::records::uri::Uri;
use crate::view::View;
use crate::view::as_of::{self, AsOf};
use crate::view::{branches, present};

/// The same capsule at the same moment as seen from `branch`, as of then where that is given.
///
/// # Errors
/// `BranchNotFound`; `UnknownAsOf` when nothing is meant by `as_of` on that branch.
pub(crate) fn on(view: &View, branch: &str, as_of: Option<&AsOf>) -> Result<View> {
    if !view.may_know_system() && names::branch_name(branch)? != names::MAIN {
        return Err(Error::BranchNotFound { name: names::branch_name(branch)? });
    }
    let view = view.with(branches::lineage_of(view.store(), branch)?);
    let Some(as_of) = as_of else { return Ok(view) };
    let below = position_after(&view, as_of)?;
    Ok(view.with(view.lineage().before(below)))
}

/// First sequence that is later than a moment. To a principal every sequence and every time is a
/// moment, whether or not the capsule goes as far: what it sees is what it may know until then.
/// Whoever may not know of checkpoints cannot tell one from a name that nobody gave.
fn position_after(view: &View, as_of: &AsOf) -> Result<u64> {
    if !view.is_guarded() {
        return as_of::position_after(view, as_of);
    }
    let name = match as_of {
        AsOf::Sequence(sequence) if *sequence > 0 => return Ok(sequence.saturating_add(1)),
        AsOf::Sequence(sequence) => format!("#{sequence}"),
        AsOf::Time(time) => return as_of::first_after(view, *time),
        AsOf::Named { name, or } => {
            let named = view.may_know_system().then(|| as_of::checkpoint_named(view, name));
            match (named, or) {
                (Some(Ok(Some(checkpoint))), _) => return Ok(checkpoint.sequence + 1),
                (_, Some(time)) => return as_of::first_after(view, *time),
                (Some(Err(error)), None) if !matches!(error, Error::UnknownAsOf { .. }) => {
                    return Err(error);
                }
                _ => name.clone(),
            }
        }
    };
    let reason = "there is no such moment".to_string();
    Err(Error::UnknownAsOf { text: name, branch: names::MAIN.to_string(), reason })
}

/// The newest revision of a URI, or of what it is an alias of. When [`Record::conflicts_with`] is
/// not empty, those are contested revisions that count as much.
///
/// # Errors
/// `UriNotFound` when there is none or it was forgotten.
pub(crate) fn get(view: &View, uri: &Uri) -> Result<Record> {
    let missing = || Error::UriNotFound { uri: uri.to_string() };
    let (mut target, mut record) = (uri.clone(), view.visible(uri)?.ok_or_else(missing)?.record);
    if record.alias.is_some() {
        target = view.resolve(uri)?.ok_or_else(missing)?;
        record = view.visible(&target)?.ok_or_else(missing)?.record;
    }
    if view.is_guarded() {
        record = present::known(view, &target)?.ok_or_else(missing)?.record;
    }
    shown(view, record)
}

/// One revision by its sequence. An erased one comes back without content and says so.
///
/// # Errors
/// `NoSuchRecord` outside the capsule.
pub(crate) fn record(view: &View, sequence: u64) -> Result<Record> {
    let record = view.store().record(sequence)?;
    if !view.is_guarded() {
        return Ok(record);
    }
    // An erased record and a tombstone say nothing of whom they concern.
    if record.tombstone || record.alias.is_some() || !present::may_still_know(view, &record)? {
        return Err(Error::Capsule(kapsa_capsule::Error::NoSuchRecord { sequence }));
    }
    shown(view, record)
}

/// Every revision of a URI, oldest first, tombstones included. Each is read when it is asked for.
///
/// # Errors
/// `UriNotFound` when there never was one.
pub(crate) fn revisions<'a>(view: &'a View, uri: &Uri) -> Result<Listing<'a>> {
    let mut sequences = view.revisions(uri)?;
    if view.is_guarded() {
        let mut known = Vec::new();
        for sequence in sequences {
            let record = view.store().record(sequence)?;
            if !record.tombstone
                && record.alias.is_none()
                && present::may_still_know(view, &record)?
            {
                known.push(sequence);
            }
        }
        sequences = known;
    }
    if sequences.is_empty() {
        return Err(Error::UriNotFound { uri: uri.to_string() });
    }
    Ok(Listing::of_sequences(view, sequences))
}

/// Lists visible records by sequence.
///
/// # Errors
/// Only what the disk or a damaged file says.
pub(crate) fn timeline(view: &View, request: &TimelineRequest) -> Result<Vec<Record>> {
    Listing::of(view, request)?.collect()
}

/// A record as whoever looks may see it: nothing in it refers to what is hidden.
pub(super) fn shown(view: &View, mut record: Record) -> Result<Record> {
    if !view.is_guarded() {
        return Ok(record);
    }
    let mut known_others = Vec::new();
    let all = record.conflicts_with.len();
    for sequence in std::mem::take(&mut record.conflicts_with) {
        if view.may_know(&view.store().record(sequence)?) {
            known_others.push(sequence);
        }
    }
    if known_others.len() < all {
        // How it came to conflict with what is hidden would show that something is.
        record.origin = None;
    }
    record.conflicts_with = known_others;
    if let Some(origin) = &record.origin
        && !view.may_know(&view.store().record(origin.sequence)?)
    {
        record.origin = None;
    }
    let known = |uri: &Uri| Ok(view.visible(uri)?.is_some_and(|body| view.may_know(&body.record)));
    owned::without_hidden(&mut record, known)?;
    Ok(record)
}
