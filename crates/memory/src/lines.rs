//! Which branches does a view see, and how much of each? Its own, and its ancestors' up to where the line left them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::Body;
use crate::record::BranchId;

/// Most branches between a branch and `main`, itself included.
pub const BRANCH_DEPTH_MAX: usize = 32;

/// One branch, as far as a view sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) branch: BranchId,
    /// First sequence that is not seen any more.
    pub(crate) below: u64,
}

/// What a view sees: the view's own branch first, then its ancestors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    /// None: every branch.
    lines: Option<Arc<[Line]>>,
    below: u64,
}

impl Lines {
    /// `main`, all of it.
    pub(crate) fn main() -> Lines {
        Lines::alone(BranchId::MAIN)
    }

    /// One branch without its ancestors.
    pub(crate) fn alone(branch: BranchId) -> Lines {
        Lines::several([branch])
    }

    /// Several branches without their ancestors.
    pub(crate) fn several(branches: impl IntoIterator<Item = BranchId>) -> Lines {
        let lines = branches.into_iter().map(|branch| Line { branch, below: u64::MAX });
        Lines { lines: Some(lines.collect()), below: u64::MAX }
    }

    /// Every branch at once.
    pub(crate) fn all() -> Lines {
        Lines { lines: None, below: u64::MAX }
    }

    /// What the branch `id` sees that left this line before the sequence `fork`.
    pub(crate) fn child(&self, id: BranchId, fork: u64) -> Lines {
        let own = Line { branch: id, below: u64::MAX };
        let inherited = self.iter().map(|line| Line { below: line.below.min(fork), ..*line });
        Lines { lines: Some(std::iter::once(own).chain(inherited).collect()), below: u64::MAX }
    }

    /// The same, as of before the sequence `below`.
    pub(crate) fn before(&self, below: u64) -> Lines {
        let cut = |lines: &Arc<[Line]>| lines.iter().map(|line| Line { below: line.below.min(below), ..*line }).collect();
        Lines { lines: self.lines.as_ref().map(cut), below: self.below.min(below) }
    }

    /// The branches seen; none when every branch is.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().flat_map(|lines| lines.iter())
    }

    /// Whether every branch is seen.
    pub(crate) fn is_all(&self) -> bool {
        self.lines.is_none()
    }

    /// First sequence that is not seen on any branch.
    pub(crate) fn below(&self) -> u64 {
        self.below
    }

    /// How much of `branch` is seen: sequences below this; 0 when nothing of it is.
    pub(crate) fn below_on(&self, branch: BranchId) -> u64 {
        if self.is_all() {
            return self.below;
        }
        self.iter().find(|line| line.branch == branch).map_or(0, |line| line.below)
    }

    /// Whether the record `sequence` of `branch` is seen.
    pub(crate) fn hold(&self, branch: BranchId, sequence: u64) -> bool {
        sequence < self.below_on(branch)
    }

    /// The branch itself.
    pub(crate) fn own(&self) -> BranchId {
        self.iter().next().map_or(BranchId::MAIN, |line| line.branch)
    }

    pub(crate) fn depth(&self) -> usize {
        self.iter().count()
    }
}

/// The lines of branches met so far, for those who read a log from its start.
#[derive(Default)]
pub(crate) struct Known(HashMap<BranchId, Lines>);

impl Known {
    /// Learns a branch when `body` is the record that makes one.
    pub(crate) fn learn(&mut self, body: &Body) {
        if let Some(made) = crate::branch::Made::of(&body.record)
            && made.id.0 == body.record.sequence
        {
            let lines = self.lines(made.parent).child(made.id, made.fork);
            self.0.insert(made.id, lines);
        }
    }

    /// What `branch` sees. A branch whose record is lost sees itself only.
    pub(crate) fn lines(&self, branch: BranchId) -> Lines {
        self.0.get(&branch).cloned().unwrap_or_else(|| Lines::alone(branch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_sees_its_ancestors_up_to_where_it_left_them() {
        let (b, c) = (BranchId(5), BranchId(9));
        let lines = Lines::main().child(b, 4).child(c, 8);
        for (branch, sequence, seen) in [
            (BranchId::MAIN, 3, true),
            (BranchId::MAIN, 4, false),
            (b, 7, true),
            (b, 8, false),
            (c, 1000, true),
            (BranchId(7), 1, false),
        ] {
            assert_eq!(lines.hold(branch, sequence), seen, "{branch:?} {sequence}");
            assert!(Lines::all().hold(branch, sequence));
        }
        let then = lines.before(6);
        assert!(then.hold(b, 5) && !then.hold(b, 6) && !then.hold(c, 9) && then.hold(BranchId::MAIN, 3));
        assert_eq!((lines.own(), lines.depth(), then.below()), (c, 3, 6));
        assert!(!Lines::all().before(6).hold(b, 6));
    }
}
