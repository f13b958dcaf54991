//! What is a branch? A record that says where it left its parent; everything else follows from it.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::lanes::Class;
use crate::lines::{BRANCH_DEPTH_MAX, Lines};
use crate::record::{BranchId, Micros, NewRecord, Record};
use crate::uri::Uri;
use crate::view::{Store, View};

/// Name of the branch that every capsule begins with.
pub const MAIN: &str = "main";
/// Longest name of a branch, in bytes.
pub const BRANCH_NAME_BYTES_MAX: usize = 200;
/// What the names of branches of runs begin with.
pub const RUN_PREFIX: &str = "run/";
/// Kind of the records that make branches.
pub(crate) const KIND: &str = "branch";

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

/// How a branch was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) id: BranchId,
    pub(crate) parent: BranchId,
    /// First sequence of the parent that it does not see.
    pub(crate) fork: u64,
    pub(crate) archived: bool,
}

impl Made {
    /// What a record says about a branch; none when it is no such record.
    pub(crate) fn of(record: &Record) -> Option<Made> {
        if !record.system || record.kind != KIND {
            return None;
        }
        let number = |name: &str| record.metadata.get(name).and_then(Value::as_u64);
        let id = number("id").unwrap_or(record.sequence);
        let (parent, fork) = (number("parent")?, number("fork")?);
        // A branch comes after its parent and sees nothing later than itself, so that lines of branches always end.
        let sound = parent < id && fork <= id && id <= record.sequence;
        let archived = record.metadata.get("archived").and_then(Value::as_bool).unwrap_or(false);
        sound.then_some(Made { id: BranchId(id), parent: BranchId(parent), fork, archived })
    }

    /// The record that makes the branch `name`, or with `id` one that changes it.
    pub(crate) fn record(name: &str, parent: BranchId, fork: u64, id: Option<BranchId>, archived: bool) -> Result<NewRecord> {
        let mut metadata = Map::new();
        metadata.extend(id.map(|id| ("id".to_string(), id.0.into())));
        metadata.insert("parent".to_string(), parent.0.into());
        metadata.insert("fork".to_string(), fork.into());
        if archived {
            metadata.insert("archived".to_string(), true.into());
        }
        Ok(NewRecord {
            uri: Some(Uri::branch(name)?),
            kind: KIND.to_string(),
            metadata,
            ..NewRecord::text(format!("branch {name}"))
        })
    }
}

/// A branch's name as it is kept: a run's `run/` stands in front once, whatever was typed.
///
/// # Errors
/// `InvalidOperation` when it is no name for a branch.
pub fn branch_name(text: &str) -> Result<String> {
    let trimmed = text.trim();
    let name = match trimmed.strip_prefix(RUN_PREFIX) {
        Some(run) => format!("{RUN_PREFIX}{}", run_id(run)?),
        None => trimmed.to_string(),
    };
    let odd = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > BRANCH_NAME_BYTES_MAX {
        "it is longer than 200 bytes"
    } else if name.contains(odd) {
        "only letters, digits, `.`, `_`, `-` and `/` are allowed"
    } else if name.starts_with('-') {
        "it begins with a dash"
    } else if name.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        "a part between slashes is empty, `.` or `..`"
    } else if name.bytes().all(|b| b.is_ascii_digit()) {
        "a number names a sequence"
    } else {
        return Ok(name);
    };
    Err(Error::InvalidOperation { reason: format!("`{text}` is no name for a branch: {reason}") })
}

/// A run's id without the prefixes that callers put in front of it.
///
/// # Errors
/// `InvalidOperation` when nothing is left.
pub fn run_id(text: &str) -> Result<&str> {
    let mut bare = text.trim();
    // Until none is left: what comes out once must come out of itself, or two runs would share a name.
    while let Some(rest) = bare.strip_prefix(RUN_PREFIX).or_else(|| bare.strip_prefix("run_")) {
        bare = rest;
    }
    if bare.is_empty() { Err(Error::InvalidOperation { reason: "the id of a run is empty".to_string() }) } else { Ok(bare) }
}

/// Name of the branch of a run.
///
/// # Errors
/// `InvalidOperation` when the id is none.
pub fn run_branch(id: &str) -> Result<String> {
    branch_name(&format!("{RUN_PREFIX}{}", run_id(id)?))
}

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
        let Some(head) = self.newest_under(&Uri::branch(name)?, &Lines::all())? else { return Ok(None) };
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
    /// Every branch in the order in which they were made, `main` first.
    pub(crate) fn branches(&self) -> Result<Vec<Branch>> {
        let main = Branch { id: BranchId::MAIN, name: MAIN.to_string(), parent: None, fork: 0, created_at: 0, archived: false };
        let mut branches = vec![main];
        let filter = kapsa_index::Filter {
            all: vec![vec![format!("kind:{KIND}")]],
            seqs: Some(self.sequences(&Lines::all(), Class::System)?),
            ..kapsa_index::Filter::default()
        };
        for sequence in self.searcher()?.oldest(&filter, usize::MAX >> 8, None, &mut |_| true)? {
            let record = self.record(sequence)?;
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
                parent: Some(self.branch_name_of(made.parent)?),
                fork: made.fork.saturating_sub(1),
                created_at: record.committed_at,
                archived: made.archived,
            });
        }
        Ok(branches)
    }

    /// The branch called `name`.
    pub(crate) fn branch_info(&self, name: &str) -> Result<Branch> {
        let made = self.branch(name)?;
        let main = made.id == BranchId::MAIN;
        Ok(Branch {
            id: made.id,
            name: self.branch_name_of(made.id)?,
            parent: if main { None } else { Some(self.branch_name_of(made.parent)?) },
            fork: made.fork.saturating_sub(1),
            created_at: if main { 0 } else { self.record(made.id.0)?.committed_at },
            archived: made.archived,
        })
    }

    /// What the branch `name` sees now.
    pub(crate) fn lines_named(&self, name: &str) -> Result<Lines> {
        self.lines_of(self.branch(name)?.id)
    }
}

/// Refuses a branch that would have too many ancestors.
pub(crate) fn check_depth(parent: &Lines) -> Result<()> {
    if parent.depth() < BRANCH_DEPTH_MAX {
        return Ok(());
    }
    let reason = format!("a branch may have at most {BRANCH_DEPTH_MAX} ancestors");
    Err(Error::InvalidOperation { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs_are_kept_in_one_form() {
        for typed in ["run/17", "run/run_17", " run/17 "] {
            assert_eq!(branch_name(typed).expect("a name"), "run/17", "{typed}");
        }
        for typed in ["17", "run_17", "run/17", "run/run_17", "run_run_17", "run_run/run_17"] {
            assert_eq!(run_branch(typed).expect("a name"), "run/17", "{typed}");
        }
        assert_eq!(run_branch("run_").ok(), None);
        for odd in ["", "-x", "a//b", "a/../b", "17", "a b", "a\u{202e}b", "run/", "a@b", &"x".repeat(201)] {
            assert!(branch_name(odd).is_err(), "{odd:?}");
        }
        assert_eq!(branch_name("Větev/日本").expect("a name"), "Větev/日本");
    }
}
