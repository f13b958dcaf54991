//! Which branch does a name or a number mean?

use super::{Store, View};
use crate::error::{Error, Result};
use crate::records::branch::{MAIN, Made, branch_name};
use crate::records::record::BranchId;
use crate::records::uri::Uri;
use crate::tables::lineage::Lineage;

impl Store {
    /// The branch called `name`.
    ///
    /// # Errors
    /// `BranchNotFound`, `InvalidOperation` for an impossible name.
    pub(crate) fn branch(&self, name: &str) -> Result<Made> {
        let name = branch_name(name)?;
        if name == MAIN {
            return Ok(Made { id: BranchId::MAIN, parent: BranchId::MAIN, fork: 0, archived: false });
        }
        self.find_branch(&name)?.ok_or(Error::BranchNotFound { name })
    }

    /// The branch called `name`, which is in its kept form; none when there is none.
    pub(crate) fn find_branch(&self, name: &str) -> Result<Option<Made>> {
        let Some(head) = self.newest_under(&Uri::branch(name)?, &Lineage::all())? else { return Ok(None) };
        Ok(Made::of(&self.record(head.sequence)?))
    }

    /// Name of a branch. One whose record is lost goes by its number.
    pub(crate) fn branch_name_of(&self, branch: BranchId) -> Result<String> {
        if branch == BranchId::MAIN {
            return Ok(MAIN.to_string());
        }
        let lost = || format!("lost-branch-{}", branch.0);
        if branch.0 >= self.snapshot().commit().next_sequence {
            return Ok(lost());
        }
        let record = self.record(branch.0)?;
        let name = Made::of(&record).and_then(|_| record.uri.branch_name().map(str::to_string));
        Ok(name.unwrap_or_else(lost))
    }
}

impl View {
    /// What the branch `name` sees now.
    pub(crate) fn lineage_named(&self, name: &str) -> Result<Lineage> {
        self.store().lineage_of(self.store().branch(name)?.id)
    }
}
