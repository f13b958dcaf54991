//! The settings of what is done with session traces: from the environment, then the table `traces`
//! of `kapsa.toml`, then the defaults. Knows nothing of traces.
//!
//! A key that is not known there is an error, so that a misspelt one is noticed.

use serde::Deserialize;

use crate::config_file::{ConfigFile, FILE};
use crate::error::{CliError, Result};
use crate::run_config::truth;
use crate::services::variable;

/// Variable over the key `agent_memory_write_v2`.
const WRITES: &str = "KAPSA_TRACES_AGENT_MEMORY_WRITE_V2";
/// Variable that stands for `persist_sessions_in_workspace`.
const PERSISTS: &str = "KAPSA_TRACES_PERSIST_SESSIONS_IN_WORKSPACE";

/// The settings that hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TraceConfig {
    /// Whether what traces bring is written to memory; default yes.
    pub(crate) writes_memory: bool,
    /// Whether a program that answers as a model keeps its sessions in the workspace; default no.
    pub(crate) persists_sessions: bool,
}

/// The table `traces` of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceTable {
    agent_memory_write_v2: Option<bool>,
    persist_sessions_in_workspace: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
struct TraceDocument {
    #[serde(default)]
    traces: TraceTable,
}

impl TraceConfig {
    /// Finds the settings.
    pub(crate) fn find() -> Result<TraceConfig> {
        let document: TraceDocument = match ConfigFile::nearest()? {
            Some(file) => {
                file.parse().map_err(|error| error.hint("docs/traces.md lists the keys"))?
            }
            None => TraceDocument::default(),
        };
        TraceConfig::of(&document.traces, set(WRITES)?, set(PERSISTS)?)
    }

    fn of(file: &TraceTable, writes: Option<bool>, persists: Option<bool>) -> Result<TraceConfig> {
        if file.persist_sessions_in_workspace == Some(true) {
            // The program would take its settings, which can name other programs, from a folder
            // that came with the file.
            let message = format!("{FILE}: traces.persist_sessions_in_workspace cannot be true");
            return Err(CliError::user("invalid_config", message).hint(format!(
                "use --persist-sessions, or set {PERSISTS}, if you trust the folder"
            )));
        }
        Ok(TraceConfig {
            writes_memory: writes.or(file.agent_memory_write_v2).unwrap_or(true),
            persists_sessions: persists.unwrap_or(false),
        })
    }

    /// What those are told who expect that something was written.
    pub(crate) fn no_writes() -> &'static str {
        "agent_memory_write_v2 is false: nothing is written to memory"
    }
}

fn set(name: &str) -> Result<Option<bool>> {
    let Some(text) = variable(name)? else { return Ok(None) };
    let wrong = || CliError::usage(format!("{name} must be true or false, not `{text}`"));
    truth(&text).ok_or_else(wrong).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, writes: Option<bool>) -> Result<TraceConfig, String> {
        let document: TraceDocument =
            toml::from_str(text).map_err(|error| error.message().to_string())?;
        TraceConfig::of(&document.traces, writes, None).map_err(|error| error.message)
    }

    #[test]
    fn memory_is_written_unless_the_file_or_the_environment_says_no() {
        let writes = |text, set| of(text, set).expect("valid").writes_memory;
        let off = "[traces]\nagent_memory_write_v2 = false";
        assert!(writes("", None) && writes("[run]\nx = 1", None));
        assert!(!writes(off, None) && !writes("", Some(false)));
        assert!(writes(off, Some(true)), "the environment stands over the file");
    }

    #[test]
    fn a_file_names_no_folder_that_programs_take_their_settings_from() {
        let error =
            of("[traces]\npersist_sessions_in_workspace = true", None).expect_err("refused");
        assert!(error.contains("persist_sessions_in_workspace"), "{error}");
        let kept = of("[traces]\npersist_sessions_in_workspace = false", None).expect("valid");
        assert!(!kept.persists_sessions);
        let error = of("[traces]\nagent_memory_write = true", None).expect_err("misspelt");
        assert!(error.contains("unknown field `agent_memory_write`"), "{error}");
    }
}
