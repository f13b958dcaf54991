//! What `setup` answers.
//!
//! Knows nothing of configuration files: what was planned and measured comes in, JSON goes out.

use schemars::JsonSchema;
use serde::Serialize;

/// What `setup` answers: what it set up, with `--undo` what it took back, with `--check` what
/// works.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SetupAnswer {
    Setup(SetupOut),
    Undo(SetupUndoOut),
    Check(SetupCheckOut),
}

/// What was set up.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Setup")]
pub(crate) struct SetupOut {
    /// Whether nothing was written.
    pub(crate) dry_run: bool,
    /// The memory that the programs use.
    pub(crate) memory: SetupMemoryOut,
    /// The programs.
    pub(crate) programs: Vec<SetupProgramOut>,
    /// Files of rules of git that got one for the backups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) git_exclude_paths: Vec<String>,
}

/// The memory that programs use.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupMemory")]
pub(crate) struct SetupMemoryOut {
    /// Its capsule.
    pub(crate) capsule_path: String,
    /// Whether this call made it, or would make it.
    pub(crate) created: bool,
}

/// A program and its files.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupProgram")]
pub(crate) struct SetupProgramOut {
    /// Its name, as it is typed.
    pub(crate) program: &'static str,
    /// `global` or `project`.
    pub(crate) scope: &'static str,
    /// Its files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<SetupFileOut>,
    /// What its user has to do once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<&'static str>,
    /// Why nothing of it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<SetupFailureOut>,
}

/// Why a program was not set up, or a file not taken back.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupFailure")]
pub(crate) struct SetupFailureOut {
    /// A stable name of what is wrong.
    pub(crate) code: &'static str,
    /// What is wrong, for people.
    pub(crate) message: String,
}

/// A file and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupFile")]
pub(crate) struct SetupFileOut {
    /// The file.
    pub(crate) file_path: String,
    /// The file that a link leads to, which is the one that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_path: Option<String>,
    /// What it holds: `server`, `hooks` or `passage`; absent with `--undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holds: Option<&'static str>,
    /// `created`, `changed` or `unchanged`; with `--undo` `restored`, `removed`, `ours_removed`,
    /// `kept` or `unchanged`.
    pub(crate) change: &'static str,
    /// What it was before, beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup_path: Option<String>,
    /// With `--undo`, its backups, which go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) removed_paths: Vec<String>,
    /// With `--undo`, folders that setup made, which go once nothing is in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) emptied_paths: Vec<String>,
    /// The change as a unified diff.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) diff: String,
}

/// What was taken back.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupUndo")]
pub(crate) struct SetupUndoOut {
    /// Whether nothing was written.
    pub(crate) dry_run: bool,
    /// The files.
    pub(crate) files: Vec<SetupFileOut>,
    /// Memories, which are never deleted.
    pub(crate) capsule_paths: Vec<String>,
    /// Files of rules of git that lost the one for the backups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) git_exclude_paths: Vec<String>,
    /// Files that could not be taken back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<SetupFailureOut>,
}

/// What works.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupCheck")]
pub(crate) struct SetupCheckOut {
    /// Whether everything works that is set up.
    pub(crate) works: bool,
    /// The programs that are set up.
    pub(crate) programs: Vec<SetupCheckedOut>,
}

/// A program and what was measured of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupChecked")]
pub(crate) struct SetupCheckedOut {
    /// Its name, as it is typed.
    pub(crate) program: &'static str,
    /// `global` or `project`.
    pub(crate) scope: &'static str,
    /// What was tried.
    pub(crate) trials: Vec<SetupTrialOut>,
}

/// One thing that was tried.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SetupTrial")]
pub(crate) struct SetupTrialOut {
    /// What: `configuration`, `memory`, `server`, `tools`, `write`, `find`, `passage`, or `hook`
    /// and the name of an event.
    pub(crate) what: String,
    /// Whether it works.
    pub(crate) works: bool,
    /// What was seen, or why it does not work.
    pub(crate) detail: String,
}
