//! Which revisions does each record replace, for those who read a whole log from its start? Compaction and salvage do.

use std::collections::HashMap;

use crate::codec::{Body, Operation};
use crate::keys::Replacement;
use crate::lines::Known;
use crate::maintain::Kept;
use crate::record::BranchId;

/// Every revision so far, by the hash of its URI. Two URIs of one hash would hide each other: at 64 bits and a million
/// records the chance is one in 37 million, and this would have to hold every URI to exclude it.
#[derive(Default)]
pub(crate) struct Chronicle {
    revisions: HashMap<u64, Revisions>,
    branches: Known,
}

/// Most URIs have one.
enum Revisions {
    One(Revision),
    Many(Vec<Revision>),
}

struct Revision {
    sequence: u64,
    branch: BranchId,
    beside: Box<[u64]>,
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

impl Chronicle {
    /// For each record of the next batch what it replaces; the batch begins with the sequence `first`.
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
        let known = self.revisions.get(&record.uri.hash()).map(Revisions::as_slice).unwrap_or_default();
        if body.operation == Operation::Purge {
            pairs.extend(known.iter().map(|old| Replacement { old: old.sequence, new: old.sequence }));
        } else if !known.is_empty() {
            let lines = self.branches.lines(record.branch);
            let head = known.iter().rev().find(|old| lines.hold(old.branch, old.sequence));
            let heads = head.iter().flat_map(|head| head.beside.iter().copied().chain([head.sequence]));
            let replaced = heads.filter(|old| !record.beside.contains(old));
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
        let new = Revision { sequence, branch: record.branch, beside: record.beside.clone().into() };
        let hash = record.uri.hash();
        let revisions = match self.revisions.remove(&hash) {
            None => Revisions::One(new),
            Some(known) => known.push(new),
        };
        self.revisions.insert(hash, revisions);
    }
}
