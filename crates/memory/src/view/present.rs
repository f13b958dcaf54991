//! What a principal may know of revisions that are not the newest: a level that was raised since
//! hides what came before it as well.

use kapsa_index::Candidate;

use super::View;
use crate::error::Result;
use crate::records::codec::{Body, Operation};
use crate::records::record::Record;
use crate::records::uri::Uri;

/// The newest of what counts under exactly this URI that whoever looks may know, an alias included:
/// of revisions that contest each other the others speak for one that is hidden.
pub(crate) fn known(view: &View, uri: &Uri) -> Result<Option<Body>> {
    if !view.is_guarded() {
        return view.visible(uri);
    }
    let counting = view.counting(uri)?;
    let known = counting.into_iter().rev().find(|body| view.may_know(&body.record));
    match known {
        Some(body) if view.lineage().is_of_the_past() => {
            Ok(may_still_know(view, &body.record)?.then_some(body))
        }
        known => Ok(known),
    }
}

/// Whether whoever looks may know a revision, by its own level and by that of its URI now, on the
/// branch of the revision. What was forgotten has the level that it had last.
pub(crate) fn may_still_know(view: &View, record: &Record) -> Result<bool> {
    if !view.is_guarded() || !view.may_know(record) {
        return Ok(view.may_know(record));
    }
    let present = view.with(view.store().lineage_of(record.branch)?);
    let (uri, exists) = present.look_up(&record.uri)?;
    if exists {
        return Ok(present.counting(&uri)?.iter().any(|body| view.may_know(&body.record)));
    }
    for sequence in present.revisions(&uri)?.into_iter().rev() {
        let body = view.store().body(sequence)?;
        if body.operation == Operation::Put {
            return Ok(view.may_know(&body.record));
        }
    }
    Ok(true)
}

/// Whether a memory is visible as [`View::is_visible`] says, and still may be.
pub(crate) fn shows(view: &View, candidate: &Candidate<'_>) -> Result<bool> {
    let visible = view.is_visible(candidate)?;
    if !visible || !view.is_guarded() || !view.lineage().is_of_the_past() {
        return Ok(visible);
    }
    may_still_know(view, &view.store().record(candidate.seq())?)
}

/// The newest visible memory that has no segment yet and is the one that is sought, and the first
/// sequence without a segment. Reads the records as they are: nothing is analysed.
pub(crate) fn newest_in_tail(
    view: &View,
    is_sought: &dyn Fn(&Record) -> bool,
) -> Result<(Option<Record>, u64)> {
    let tail = view.store().tail()?;
    for body in tail.bodies.iter().rev().flatten() {
        let record = &body.record;
        let is_candidate = body.operation == Operation::Put
            && !record.system
            && record.provenance.trust >= view.trust_min
            && view.lineage().hold(record.branch, record.sequence)
            && is_sought(record);
        if is_candidate
            && !tail.replaces(&record.uri, record.sequence, view.lineage())
            && may_still_know(view, record)?
        {
            return Ok((Some(record.clone()), tail.first_sequence));
        }
    }
    Ok((None, tail.first_sequence))
}
