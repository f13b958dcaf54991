//! What `redact` answers.
//!
//! Knows nothing of files: what was found comes in, JSON goes out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// A text without what must not be kept.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Redaction")]
pub(crate) struct RedactOut<'a> {
    /// The file, or `standard input`.
    pub(crate) source: &'a str,
    /// The version of the rules.
    pub(crate) rules_version: u32,
    /// How often each rule found something.
    pub(crate) counts: BTreeMap<&'static str, usize>,
    /// What was found, in the order of the text.
    pub(crate) found: Vec<RedactionFoundOut>,
    /// The text with `[REDACTED:rule]` in its place; absent with `--check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// Where something is that must not be kept, never what it is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RedactionFound")]
pub(crate) struct RedactionFoundOut {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Its column in characters, from 1; in JSON that of the string that holds it.
    pub(crate) column: usize,
    /// The rule that found it, such as `github_token`.
    pub(crate) rule: &'static str,
    /// Its length in bytes; in JSON that of the string.
    pub(crate) bytes: usize,
}
