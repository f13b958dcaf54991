//! The branches that a view sees, and how much of each: its own, and its ancestors' up to where the
//! branch left them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::records::codec::Body;
use crate::records::record::BranchId;

/// Most branches between a branch and `main`, itself included.
pub const BRANCH_DEPTH_MAX: usize = 32;

/// One branch, as far as a view sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ancestor {
    pub(crate) branch: BranchId,
    /// First sequence that is not seen any more.
    pub(crate) below: u64,
}

/// What a view sees: the view's own branch first, then its ancestors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// None: every branch.
    ancestors: Option<Arc<[Ancestor]>>,
    below: u64,
}

impl Lineage {
    /// `main`, all of it.
    pub(crate) fn main() -> Lineage {
        Lineage::alone(BranchId::MAIN)
    }

    /// One branch without its ancestors.
    pub(crate) fn alone(branch: BranchId) -> Lineage {
        Lineage::several([branch])
    }

    /// Several branches without their ancestors.
    pub(crate) fn several(branches: impl IntoIterator<Item = BranchId>) -> Lineage {
        let ancestors = branches.into_iter().map(|branch| Ancestor { branch, below: u64::MAX });
        Lineage { ancestors: Some(ancestors.collect()), below: u64::MAX }
    }

    /// Every branch at once.
    pub(crate) fn all() -> Lineage {
        Lineage { ancestors: None, below: u64::MAX }
    }

    /// What the branch `id` sees that left this lineage before the sequence `fork`.
    pub(crate) fn child(&self, id: BranchId, fork: u64) -> Lineage {
        let own = Ancestor { branch: id, below: u64::MAX };
        let inherited =
            self.iter().map(|ancestor| Ancestor { below: ancestor.below.min(fork), ..*ancestor });
        Lineage {
            ancestors: Some(std::iter::once(own).chain(inherited).collect()),
            below: u64::MAX,
        }
    }

    /// The same, as of before the sequence `below`.
    pub(crate) fn before(&self, below: u64) -> Lineage {
        let cut = |all: &Arc<[Ancestor]>| {
            all.iter()
                .map(|ancestor| Ancestor { below: ancestor.below.min(below), ..*ancestor })
                .collect()
        };
        Lineage { ancestors: self.ancestors.as_ref().map(cut), below: self.below.min(below) }
    }

    /// The branches seen; none when every branch is.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Ancestor> {
        self.ancestors.iter().flat_map(|all| all.iter())
    }

    /// Whether every branch is seen.
    pub(crate) fn is_all(&self) -> bool {
        self.ancestors.is_none()
    }

    /// First sequence that is not seen on any branch.
    pub(crate) fn below(&self) -> u64 {
        self.below
    }

    /// Whether some of its branches are seen only as they were once: at a moment, or when a branch
    /// left them.
    pub(crate) fn is_of_the_past(&self) -> bool {
        self.below != u64::MAX || self.iter().any(|ancestor| ancestor.below != u64::MAX)
    }

    /// How much of `branch` is seen: sequences below this; 0 when nothing of it is.
    pub(crate) fn below_on(&self, branch: BranchId) -> u64 {
        if self.is_all() {
            return self.below;
        }
        self.iter().find(|ancestor| ancestor.branch == branch).map_or(0, |ancestor| ancestor.below)
    }

    /// Whether the record `sequence` of `branch` is seen.
    pub(crate) fn hold(&self, branch: BranchId, sequence: u64) -> bool {
        sequence < self.below_on(branch)
    }

    /// The branch itself.
    pub(crate) fn own(&self) -> BranchId {
        self.iter().next().map_or(BranchId::MAIN, |ancestor| ancestor.branch)
    }

    pub(crate) fn depth(&self) -> usize {
        self.iter().count()
    }
}

/// The lineages of branches met so far, for those who read a log from its start.
#[derive(Default)]
pub(crate) struct KnownLineages(HashMap<BranchId, Lineage>);

impl KnownLineages {
    /// Learns a branch when `body` is the record that makes one.
    pub(crate) fn learn(&mut self, body: &Body) {
        if let Some(made) = crate::records::branch::Made::of(&body.record)
            && made.id.0 == body.record.sequence
        {
            let lineage = self.lineage(made.parent).child(made.id, made.fork);
            self.0.insert(made.id, lineage);
        }
    }

    /// What `branch` sees. A branch whose record is lost sees itself only.
    pub(crate) fn lineage(&self, branch: BranchId) -> Lineage {
        self.0.get(&branch).cloned().unwrap_or_else(|| Lineage::alone(branch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_sees_its_ancestors_up_to_where_it_left_them() {
        let (b, c) = (BranchId(5), BranchId(9));
        let lineage = Lineage::main().child(b, 4).child(c, 8);
        for (branch, sequence, seen) in [
            (BranchId::MAIN, 3, true),
            (BranchId::MAIN, 4, false),
            (b, 7, true),
            (b, 8, false),
            (c, 1000, true),
            (BranchId(7), 1, false),
        ] {
            assert_eq!(lineage.hold(branch, sequence), seen, "{branch:?} {sequence}");
            assert!(Lineage::all().hold(branch, sequence));
        }
        let then = lineage.before(6);
        assert!(
            then.hold(b, 5) && !then.hold(b, 6) && !then.hold(c, 9) && then.hold(BranchId::MAIN, 3)
        );
        assert_eq!((lineage.own(), lineage.depth(), then.below()), (c, 3, 6));
        assert!(!Lineage::all().before(6).hold(b, 6));
    }
}
