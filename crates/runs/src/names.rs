//! The names of runs, tasks and roles. Each name is brought into one form when it comes in, and
//! used in that form in every path and record, so that two runs never share anything and one run
//! never falls apart.

use std::fmt;

use kapsa_memory::branch::{self, RUN_PREFIX};
use kapsa_memory::{Error, Result};

/// Longest id of a run or a task, in bytes.
pub const ID_BYTES_MAX: usize = 80;
/// Longest name of a role, in bytes.
pub const ROLE_BYTES_MAX: usize = 40;

/// Id of a run: ASCII letters, digits, `.`, `_` and `-`, without `run/` or `run_` before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Reads an id; spaces around it and the prefixes `run/` and `run_` fall away.
    ///
    /// # Errors
    /// `InvalidOperation` naming what is wrong with it.
    pub fn parse(text: &str) -> Result<RunId> {
        let bare = branch::run_id(text)?;
        check("run", bare, ID_BYTES_MAX)?;
        Ok(RunId(bare.to_string()))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the run's branch.
    #[must_use]
    pub fn branch(&self) -> String {
        format!("{RUN_PREFIX}{}", self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Id of a task, unique within its run: ASCII letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(String);

impl TaskId {
    /// Reads an id; spaces around it fall away.
    ///
    /// # Errors
    /// `InvalidOperation` naming what is wrong with it.
    pub fn parse(text: &str) -> Result<TaskId> {
        let bare = text.trim();
        check("task", bare, ID_BYTES_MAX)?;
        Ok(TaskId(bare.to_string()))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the task's branch.
    #[must_use]
    pub fn branch(&self, run: &RunId) -> String {
        format!("{}/{}", run.branch(), self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an agent does in a run, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(String);

impl Role {
    /// Reads a role: `planner`, `builder`, `reviewer` or any other name.
    ///
    /// # Errors
    /// `InvalidOperation` naming what is wrong with it.
    pub fn parse(text: &str) -> Result<Role> {
        let bare = text.trim().to_ascii_lowercase();
        check("role", &bare, ROLE_BYTES_MAX)?;
        Ok(Role(bare))
    }

    /// The role that plans.
    #[must_use]
    pub fn planner() -> Role {
        Role("planner".to_string())
    }

    /// The role that builds.
    #[must_use]
    pub fn builder() -> Role {
        Role("builder".to_string())
    }

    /// The role that reviews.
    #[must_use]
    pub fn reviewer() -> Role {
        Role("reviewer".to_string())
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its name as titles show it: the first letter in upper case.
    #[must_use]
    pub fn title(&self) -> String {
        let mut chars = self.0.chars();
        chars.next().map_or_else(String::new, |first| {
            first.to_ascii_uppercase().to_string() + chars.as_str()
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rules that make a name a file name, a part of a branch's name and a part of a URI alike.
fn check(what: &str, text: &str, bytes_max: usize) -> Result<()> {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    let reason = if text.is_empty() {
        "it is empty".to_string()
    } else if text.len() > bytes_max {
        format!("it is longer than {bytes_max} bytes")
    } else if text.contains(odd) {
        "only ASCII letters, digits, `.`, `_` and `-` are allowed".to_string()
    } else if text.starts_with(['.', '-']) || text.ends_with('.') {
        "it begins with `.` or `-`, or ends with `.`".to_string()
    } else {
        return Ok(());
    };
    let shown: String = text.chars().take(ID_BYTES_MAX).collect();
    Err(Error::InvalidOperation {
        reason: format!("`{shown}` is not an id or name of a {what}: {reason}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_id_whatever_was_typed() {
        for typed in ["17", " 17 ", "run/17", "run_17", "run/run_17"] {
            let run = RunId::parse(typed).expect("an id");
            assert_eq!((run.as_str(), run.branch().as_str()), ("17", "run/17"), "{typed}");
        }
        let task = TaskId::parse(" task-3 ").expect("an id");
        assert_eq!(
            task.branch(&RunId::parse("S-1_1700000000_ab12").expect("an id")),
            "run/S-1_1700000000_ab12/task-3"
        );
    }

    #[test]
    fn what_could_leave_its_folder_or_look_like_another_is_refused() {
        let long = "x".repeat(ID_BYTES_MAX + 1);
        for odd in [
            "",
            " ",
            "a/b",
            "..",
            ".a",
            "-a",
            "a.",
            "a b",
            "a\\b",
            "a\nb",
            "a:b",
            "ä",
            "a\u{202e}",
            "a\0",
            long.as_str(),
        ] {
            assert!(RunId::parse(odd).is_err(), "{odd:?}");
            assert!(TaskId::parse(odd).is_err(), "{odd:?}");
            assert!(Role::parse(odd).is_err(), "{odd:?}");
        }
        assert!(RunId::parse("run_").is_err());
    }

    #[test]
    fn a_role_is_lower_case_and_titled() {
        let role = Role::parse(" Second-Opinion").expect("a role");
        assert_eq!((role.as_str(), role.title().as_str()), ("second-opinion", "Second-opinion"));
        assert_eq!(Role::parse("BUILDER").expect("a role"), Role::builder());
    }
}
