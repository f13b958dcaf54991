//! Finds the branch that a name or a number means.

use super::store::Store;
use crate::error::{Error, Result};
use crate::records::branch::{MAIN, Made, branch_name};
use crate::records::record::BranchId;
use crate::records::uri::Uri;
use crate::tables::lineage::Lineage;

/// The branch called `name`.
///
/// # Errors
/// `BranchNotFound`, `InvalidOperation` for an impossible name.
pub(crate) fn named(store: &Store, name: &str) -> Result<Made> {
    let name = branch_name(name)?;
    if name == MAIN {
        return Ok(Made {
            id: BranchId::MAIN,
            parent: BranchId::MAIN,
            fork: 0,
            archived: false,
            tracks: false,
        });
    }
    find(store, &name)?.ok_or(Error::BranchNotFound { name })
}

/// The branch called `name`, which is in its kept form; none when there is none.
pub(crate) fn find(store: &Store, name: &str) -> Result<Option<Made>> {
    let Some(head) = store.newest_under(&Uri::branch(name)?, &Lineage::all())? else {
        return Ok(None);
    };
    Ok(Made::of(&store.record(head.sequence)?))
}

/// Name of a branch. One whose record is lost goes by its number.
pub(crate) fn name_of(store: &Store, branch: BranchId) -> Result<String> {
    if branch == BranchId::MAIN {
        return Ok(MAIN.to_string());
    }
    let lost = || format!("lost-branch-{}", branch.0);
    if branch.0 >= store.snapshot().commit().next_sequence {
        return Ok(lost());
    }
    let record = store.record(branch.0)?;
    let name = Made::of(&record).and_then(|_| record.uri.branch_name().map(str::to_string));
    Ok(name.unwrap_or_else(lost))
}

/// What the branch `name` sees now.
///
/// # Errors
/// As [`named`].
pub(crate) fn lineage_of(store: &Store, name: &str) -> Result<Lineage> {
    store.lineage_of(named(store, name)?.id)
}
