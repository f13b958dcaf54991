//! Forgets a URI for good: markers on every branch that wrote it; compaction erases what they ask
//! for.

use super::pending::Pending;
use super::writer::Writer;
use crate::error::{Result, not_found};
use crate::records::codec::{Envelope, Operation};
use crate::records::uri::{Uri, refuse_reserved};
use crate::tables::lineage::Lineage;

/// Forgets a URI on every branch and marks every revision of it for true erasure at the next
/// compaction. Returns how many.
///
/// # Errors
/// `UriNotFound` when there never was anything under it; what the disk reports.
pub fn purge(writer: &mut Writer, uri: &Uri) -> Result<u64> {
    refuse_reserved(uri)?;
    let mut branches = vec![writer.branch_id()];
    let mut erasable = 0;
    // What is erased is never brought again: the marker goes on knowing it.
    let mut erased = Vec::new();
    for sequence in writer.view()?.store().revisions_under(uri, &Lineage::all())? {
        let store = writer.view()?.store();
        let body = store.body(sequence)?;
        erased.push(store.identity(sequence)?);
        erased.extend(body.erased);
        erasable += u64::from(body.operation == Operation::Put);
        branches.push(body.record.branch);
    }
    if erasable == 0 {
        return Err(not_found(uri));
    }
    branches.sort_unstable();
    branches.dedup();
    erased.sort_unstable();
    erased.dedup();
    let marker = |branch| {
        let envelope = Envelope { branch, erased: erased.clone(), ..Envelope::default() };
        Pending::bury(Operation::Purge, uri.clone(), envelope)
    };
    writer.write(branches.into_iter().map(marker).collect())?;
    Ok(erasable)
}
