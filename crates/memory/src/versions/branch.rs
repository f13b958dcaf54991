//! Which branches are there? Each is a record that says where it left its parent; everything else follows from it.

use crate::error::{Error, Result};
use crate::records::branch::Made;
use crate::records::kinds::BRANCH;
use crate::records::record::{BranchId, Micros};
use crate::tables::branch_table::Class;
use crate::tables::lineage::{BRANCH_DEPTH_MAX, Lineage};
use crate::view::View;

pub use crate::records::branch::{BRANCH_NAME_BYTES_MAX, MAIN, RUN_PREFIX, branch_name, run_branch, run_id};

/// A branch as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its number: the sequence of the record that made it.
    pub id: BranchId,
    /// Its name.
    pub name: String,
    /// Name of the branch that it left, none for `main`.
    pub parent: Option<String>,
    /// Last sequence of the parent that it sees.
    pub fork: u64,
    /// When it was made; 0 for `main`.
    pub created_at: Micros,
    /// Whether it was archived: it can be read and not written.
    pub archived: bool,
}

impl View {
    /// Every branch in the order in which they were made, `main` first.
    pub(crate) fn branches(&self) -> Result<Vec<Branch>> {
        let main = Branch { id: BranchId::MAIN, name: MAIN.to_string(), parent: None, fork: 0, created_at: 0, archived: false };
        let mut branches = vec![main];
        let filter = kapsa_index::Filter {
            all: vec![vec![format!("kind:{BRANCH}")]],
            seqs: Some(self.store().sequences(&Lineage::all(), Class::System)?),
            ..kapsa_index::Filter::default()
        };
        for sequence in self.store().searcher()?.oldest(&filter, usize::MAX >> 8, None, &mut |_| true)? {
            let record = self.store().record(sequence)?;
            let Some(made) = Made::of(&record) else { continue };
            if made.id.0 != sequence {
                if let Ok(at) = branches.binary_search_by_key(&made.id, |branch| branch.id) {
                    branches[at].archived = made.archived;
                }
                continue;
            }
            branches.push(Branch {
                id: made.id,
                name: record.uri.branch_name().unwrap_or_default().to_string(),
                parent: Some(self.store().branch_name_of(made.parent)?),
                fork: made.fork.saturating_sub(1),
                created_at: record.committed_at,
                archived: made.archived,
            });
        }
        Ok(branches)
    }

    /// The branch called `name`.
    pub(crate) fn branch_info(&self, name: &str) -> Result<Branch> {
        let made = self.store().branch(name)?;
        let main = made.id == BranchId::MAIN;
        Ok(Branch {
            id: made.id,
            name: self.store().branch_name_of(made.id)?,
            parent: if main { None } else { Some(self.store().branch_name_of(made.parent)?) },
            fork: made.fork.saturating_sub(1),
            created_at: if main { 0 } else { self.store().record(made.id.0)?.committed_at },
            archived: made.archived,
        })
    }
}

/// Refuses a branch that would have too many ancestors.
pub(crate) fn check_depth(parent: &Lineage) -> Result<()> {
    if parent.depth() < BRANCH_DEPTH_MAX {
        return Ok(());
    }
    let reason = format!("a branch may have at most {BRANCH_DEPTH_MAX} ancestors");
    Err(Error::InvalidOperation { reason })
}
