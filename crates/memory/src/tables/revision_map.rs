//! The revisions that each record replaces, for those who read a whole log from its start:
//! compaction and salvage.

use std::collections::HashMap;

use kapsa_capsule::Stored;

use crate::records::codec::{Body, Operation};
use crate::records::record::BranchId;
use crate::tables::keys::Replacement;
use crate::tables::lineage::KnownLineages;

/// Every revision so far, by the hash of its URI. Two URIs of one hash would hide each other: at 64
/// bits and a million records the chance is one in 37 million, and this would have to hold every
/// URI to exclude it.
#[derive(Default)]
pub(crate) struct RevisionMap {
    revisions: HashMap<u64, Revisions>,
    branches: KnownLineages,
}

/// Most URIs have one.
enum Revisions {
    One(Revision),
    Many(Vec<Revision>),
}

struct Revision {
    sequence: u64,
    branch: BranchId,
    conflicts_with: Box<[u64]>,
}

impl Revisions {
    fn as_slice(&self) -> &[Revision] {
        match self {
            Revisions::One(one) => std::slice::from_ref(one),
            Revisions::Many(many) => many,
        }
    }

    fn push(self, new: Revision) -> Revisions {
        match self {
            Revisions::One(one) => Revisions::Many(vec![one, new]),
            Revisions::Many(mut many) => {
                many.push(new);
                Revisions::Many(many)
            }
        }
    }
}

impl RevisionMap {
    /// For each record of the next batch what it replaces; the batch begins with the sequence
    /// `first`.
    pub(crate) fn replacements(&mut self, batch: &[Kept], first: u64) -> Vec<Vec<Replacement>> {
        let of = |(sequence, kept): (u64, &Kept)| match kept {
            Kept::Erased { .. } => Vec::new(),
            Kept::Record { body, .. } => self.replaced_by(sequence, body),
        };
        (first..).zip(batch).map(of).collect()
    }

    fn replaced_by(&mut self, sequence: u64, body: &Body) -> Vec<Replacement> {
        self.branches.learn(body);
        let record = &body.record;
        let mut pairs = Vec::new();
        let known =
            self.revisions.get(&record.uri.hash()).map(Revisions::as_slice).unwrap_or_default();
        if body.operation == Operation::Purge {
            pairs.extend(
                known.iter().map(|old| Replacement { old: old.sequence, new: old.sequence }),
            );
        } else if !known.is_empty() {
            let lineage = self.branches.lineage(record.branch);
            let head = known.iter().rev().find(|old| lineage.hold(old.branch, old.sequence));
            let heads = head
                .iter()
                .flat_map(|head| head.conflicts_with.iter().copied().chain([head.sequence]));
            let replaced = heads.filter(|old| !record.conflicts_with.contains(old));
            pairs.extend(replaced.map(|old| Replacement { old, new: sequence }));
        }
        if body.operation != Operation::Put {
            pairs.push(Replacement { old: sequence, new: sequence });
        }
        self.note(sequence, body);
        pairs
    }

    fn note(&mut self, sequence: u64, body: &Body) {
        let record = &body.record;
        let new = Revision {
            sequence,
            branch: record.branch,
            conflicts_with: record.conflicts_with.clone().into(),
        };
        let hash = record.uri.hash();
        let revisions = match self.revisions.remove(&hash) {
            None => Revisions::One(new),
            Some(known) => known.push(new),
        };
        self.revisions.insert(hash, revisions);
    }
}

/// A record on its way to the new file.
pub(crate) enum Kept {
    Record { bytes: Vec<u8>, body: Box<Body> },
    Erased { hash: [u8; 32], newly: bool },
}

impl Kept {
    /// Bytes that it takes.
    pub(crate) fn len(&self) -> usize {
        if let Kept::Record { bytes, .. } = self { bytes.len() } else { 0 }
    }

    pub(crate) fn stored(&self) -> Stored<'_> {
        match self {
            Kept::Record { bytes, .. } => Stored::Body(bytes),
            Kept::Erased { hash, .. } => Stored::Purged(hash),
        }
    }
}
