//! The JSON of `completions`, `man` and `shell`.

use schemars::JsonSchema;
use serde::Serialize;

/// The completions for a shell.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompletionsOut<'a> {
    /// The shell.
    pub(crate) shell: &'a str,
    /// The script.
    pub(crate) text: &'a str,
}

/// A manual page, or the folder that the pages of all verbs were written to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ManOut<'a> {
    /// The page.
    Page {
        /// The page, in the format of `man`.
        text: &'a str,
    },
    /// The pages of all verbs, with `--out`.
    Pages {
        /// The folder.
        output_path: String,
    },
}

/// Each line of a script prints the answer of its verb, and nothing else.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct ShellOut(serde_json::Value);
