//! The records that no index segment covers yet. They are decoded once and searched directly.

use std::collections::HashMap;
use std::sync::Arc;

use kapsa_capsule::{Snapshot, Stored};
use kapsa_index::TailDoc;

use super::store::Head;
use crate::error::Result;
use crate::records::codec::{self, Body, Operation};
use crate::records::record::BranchId;
use crate::records::uri::Uri;
use crate::tables::lineage::Lineage;
use crate::tables::segments::Indexed;

/// The records that no segment covers yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    pub(super) first_sequence: u64,
    /// None where the content was erased.
    pub(super) bodies: Vec<Option<Arc<Body>>>,
    /// Revisions of each URI in the tail, ascending, by the URI's hash.
    pub(super) revisions: HashMap<u64, Vec<u64>>,
    /// Whether all are memories on `main`.
    pub(super) plain: bool,
    /// What a search reads of the first records, as far as it was made for an earlier tail.
    made: Vec<TailDoc>,
}

impl Tail {
    /// Decodes what follows the last segment of a snapshot.
    pub(super) fn read(snapshot: &Snapshot) -> Result<Tail> {
        let first_sequence = snapshot.tail().start;
        let mut tail = Tail { first_sequence, plain: true, ..Tail::default() };
        tail.add(snapshot)?;
        Ok(tail)
    }

    /// What follows the last segment of a snapshot whose history begins with this tail's: records
    /// are decoded once. What is purged is erased when the file is written anew, never in place.
    pub(super) fn grown(mut self, snapshot: &Snapshot) -> Result<Tail> {
        let range = snapshot.tail();
        if self.first_sequence != range.start || self.end() > range.end {
            return Tail::read(snapshot);
        }
        self.add(snapshot)?;
        Ok(self)
    }

    /// The same, with what a search of it has read.
    pub(super) fn with_documents(&self, made: &[TailDoc]) -> Tail {
        Tail { made: made.to_vec(), ..self.clone() }
    }

    fn end(&self) -> u64 {
        self.first_sequence + self.bodies.len() as u64
    }

    /// Decodes the records of a snapshot that follow.
    fn add(&mut self, snapshot: &Snapshot) -> Result<()> {
        if self.end() == snapshot.tail().end {
            return Ok(());
        }
        for stored in snapshot.records(self.end()) {
            let stored = stored?;
            let body = match stored.stored() {
                Stored::Body(bytes) => Some(codec::decode(stored.sequence(), bytes)?),
                Stored::Purged(_) => None,
            };
            if let Some(body) = &body {
                self.revisions.entry(body.record.uri.hash()).or_default().push(stored.sequence());
                self.plain &= !body.record.system && body.record.branch == BranchId::MAIN;
            }
            self.bodies.push(body.map(Arc::new));
        }
        Ok(())
    }

    /// What a search reads of the tail.
    pub(super) fn documents(&self) -> Vec<TailDoc> {
        let blank =
            kapsa_index::Document { title: "", text: "", terms: &[], key_hash: 0, time_us: 0 };
        let document = |(offset, body): (usize, &Option<Arc<Body>>)| {
            let sequence = self.first_sequence + offset as u64;
            let Some(body) = body else { return TailDoc::new(sequence, &blank) };
            let indexed =
                Indexed::of_record(&body.record, body.fresh, body.operation == Operation::Purge);
            TailDoc::new(sequence, &indexed.document(&body.record.text, body.record.uri.hash()))
        };
        let others = self.bodies.iter().enumerate().skip(self.made.len()).map(document);
        self.made.iter().cloned().chain(others).collect()
    }

    pub(super) fn body(&self, sequence: u64) -> Option<&Body> {
        let index = sequence.checked_sub(self.first_sequence)?;
        self.bodies.get(usize::try_from(index).ok()?)?.as_deref()
    }

    /// Revisions of `uri` in the tail, newest first, on any branch.
    pub(super) fn revisions<'a>(&'a self, uri: &'a Uri) -> impl Iterator<Item = &'a Body> {
        let sequences = self.revisions.get(&uri.hash()).map(Vec::as_slice).unwrap_or_default();
        sequences
            .iter()
            .rev()
            .filter_map(|&s| self.body(s))
            .filter(move |body| body.record.uri == *uri)
    }

    /// Newest revision of `uri` that `lineage` sees.
    pub(super) fn newest(&self, uri: &Uri, lineage: &Lineage) -> Option<Head> {
        let body = self
            .revisions(uri)
            .find(|body| lineage.hold(body.record.branch, body.record.sequence))?;
        Some(Head {
            sequence: body.record.sequence,
            conflicts_with: body.record.conflicts_with.clone(),
        })
    }

    /// Whether the revision `sequence` of `uri` was replaced, or purged, by one in the tail.
    pub(super) fn replaces(&self, uri: &Uri, sequence: u64, lineage: &Lineage) -> bool {
        self.revisions(uri).take_while(|body| body.record.sequence > sequence).any(|body| {
            let record = &body.record;
            let seen = lineage.hold(record.branch, record.sequence)
                && !record.conflicts_with.contains(&sequence);
            seen || body.operation == Operation::Purge
        })
    }
}
