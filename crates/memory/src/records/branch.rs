//! The name of a branch, and what the record that makes one says. Knows nothing of views.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::records::kinds::BRANCH;
use crate::records::record::{BranchId, NewRecord, Record};
use crate::records::uri::Uri;

/// Name of the branch that every capsule begins with.
pub const MAIN: &str = "main";
/// Longest name of a branch, in bytes.
pub const BRANCH_NAME_BYTES_MAX: usize = 200;
/// What the names of branches of runs begin with.
pub const RUN_PREFIX: &str = "run/";

/// What the record of a branch that follows one of another capsule names: the remote.
pub(crate) const TRACKS: &str = "remote";

/// How a branch was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) id: BranchId,
    pub(crate) parent: BranchId,
    /// First sequence of the parent that it does not see.
    pub(crate) fork: u64,
    pub(crate) archived: bool,
    /// Whether it follows a branch of another capsule.
    pub(crate) tracks: bool,
}

impl Made {
    /// What a record says about a branch; none for any other record.
    pub(crate) fn of(record: &Record) -> Option<Made> {
        if !record.system || record.kind != BRANCH {
            return None;
        }
        let number = |name: &str| record.metadata.get(name).and_then(Value::as_u64);
        let id = number("id").unwrap_or(record.sequence);
        let (parent, fork) = (number("parent")?, number("fork")?);
        // A branch comes after its parent and sees nothing later than itself, so that lineage of
        // branches always end.
        let sound = parent < id && fork <= id && id <= record.sequence;
        let archived = record.metadata.get("archived").and_then(Value::as_bool).unwrap_or(false);
        let tracks = record.metadata.contains_key(TRACKS);
        sound.then_some(Made { id: BranchId(id), parent: BranchId(parent), fork, archived, tracks })
    }

    /// Refuses a branch that nobody writes to.
    pub(crate) fn expect_writable(&self, name: &str) -> Result<()> {
        let reason = if self.archived {
            format!("branch {name} is archived: it can be read and not written")
        } else if self.tracks {
            format!("branch {name} follows another capsule: it is written by fetch")
        } else {
            return Ok(());
        };
        Err(Error::InvalidOperation { reason })
    }

    /// The record that makes the branch `name`, or with `id` one that changes it.
    pub(crate) fn record(
        name: &str,
        parent: BranchId,
        fork: u64,
        id: Option<BranchId>,
        archived: bool,
    ) -> Result<NewRecord> {
        let mut metadata = Map::new();
        metadata.extend(id.map(|id| ("id".to_string(), id.0.into())));
        metadata.insert("parent".to_string(), parent.0.into());
        metadata.insert("fork".to_string(), fork.into());
        if archived {
            metadata.insert("archived".to_string(), true.into());
        }
        Ok(NewRecord {
            uri: Some(Uri::branch(name)?),
            kind: BRANCH.to_string(),
            metadata,
            ..NewRecord::text(format!("branch {name}"))
        })
    }
}

/// A branch's name as it is kept: a run's `run/` stands in front once, whatever was typed.
///
/// # Errors
/// `InvalidOperation` when it is not a branch name.
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
    Err(Error::InvalidOperation { reason: format!("`{text}` is not a branch name: {reason}") })
}

/// A run's id without the prefixes that callers put in front of it.
///
/// # Errors
/// `InvalidOperation` when nothing is left.
pub fn run_id(text: &str) -> Result<&str> {
    let mut bare = text.trim();
    // Until none is left: what comes out once must come out of itself, or two runs would share a
    // name.
    while let Some(rest) = bare.strip_prefix(RUN_PREFIX).or_else(|| bare.strip_prefix("run_")) {
        bare = rest;
    }
    if bare.is_empty() {
        Err(Error::InvalidOperation { reason: "the id of a run is empty".to_string() })
    } else {
        Ok(bare)
    }
}

/// A run's name as records, events and checkpoints have it: its bare id. What is no id stays as it
/// is.
#[must_use]
pub fn run_name(text: &str) -> &str {
    // May be dropped: the empty name stands for no run, and is refused by nobody.
    run_id(text).unwrap_or(text)
}

/// The names under which records of a run are found: its bare id, and what was written before names
/// were brought into that form.
pub(crate) fn run_spellings(text: &str) -> Vec<String> {
    let bare = run_name(text);
    let mut all = vec![bare.to_string()];
    if !bare.is_empty() {
        all.extend([format!("run_{bare}"), format!("{RUN_PREFIX}{bare}")]);
    }
    all
}

/// The run that a branch belongs to, as `17` for `run/17` and for `run/17/task-1`; none for other
/// branches.
#[must_use]
pub fn run_of_branch(branch: &str) -> Option<&str> {
    let rest = branch.strip_prefix(RUN_PREFIX)?;
    rest.split('/').next().filter(|run| !run.is_empty())
}

/// Name of the branch of a run.
///
/// # Errors
/// `InvalidOperation` when the id is none.
pub fn run_branch(id: &str) -> Result<String> {
    branch_name(&format!("{RUN_PREFIX}{}", run_id(id)?))
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
        for odd in
            ["", "-x", "a//b", "a/../b", "17", "a b", "a\u{202e}b", "run/", "a@b", &"x".repeat(201)]
        {
            assert!(branch_name(odd).is_err(), "{odd:?}");
        }
        assert_eq!(branch_name("Větev/日本").expect("a name"), "Větev/日本");
    }
}
