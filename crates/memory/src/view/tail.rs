//! What do the records say that no index segment covers yet? They are decoded once and searched directly.

use std::collections::HashMap;

use super::Head;
use crate::records::codec::{Body, Operation};
use crate::records::uri::Uri;
use crate::tables::lineage::Lineage;

/// The records that no segment covers yet.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) first_sequence: u64,
    /// None where the content was erased.
    pub(super) bodies: Vec<Option<Body>>,
    /// Revisions of each URI in the tail, ascending, by the URI's hash.
    pub(super) revisions: HashMap<u64, Vec<u64>>,
    /// Whether all are memories on `main`.
    pub(super) plain: bool,
}

impl Tail {
    pub(super) fn body(&self, sequence: u64) -> Option<&Body> {
        let index = sequence.checked_sub(self.first_sequence)?;
        self.bodies.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// Revisions of `uri` in the tail, newest first, on any branch.
    pub(super) fn revisions<'a>(&'a self, uri: &'a Uri) -> impl Iterator<Item = &'a Body> {
        let sequences = self.revisions.get(&uri.hash()).map(Vec::as_slice).unwrap_or_default();
        sequences.iter().rev().filter_map(|&s| self.body(s)).filter(move |body| body.record.uri == *uri)
    }

    /// Newest revision of `uri` that `lineage` see.
    pub(super) fn newest(&self, uri: &Uri, lineage: &Lineage) -> Option<Head> {
        let body = self.revisions(uri).find(|body| lineage.hold(body.record.branch, body.record.sequence))?;
        Some(Head { sequence: body.record.sequence, conflicts_with: body.record.conflicts_with.clone() })
    }

    /// Whether the revision `sequence` of `uri` was replaced, or purged, by one in the tail.
    pub(super) fn replaces(&self, uri: &Uri, sequence: u64, lineage: &Lineage) -> bool {
        self.revisions(uri).take_while(|body| body.record.sequence > sequence).any(|body| {
            let record = &body.record;
            let seen = lineage.hold(record.branch, record.sequence) && !record.conflicts_with.contains(&sequence);
            seen || body.operation == Operation::Purge
        })
    }
}
