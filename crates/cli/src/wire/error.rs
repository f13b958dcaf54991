//! The JSON of a failure.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Time;
use super::Versions;
use super::WarningOut;
use super::fs::TraceOut;
use crate::error::CliError;

/// A failure, on standard error. Standard output is empty, except where a verb says otherwise.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorOut<'a> {
    /// What went wrong.
    pub(crate) error: ErrorBody<'a>,
    #[serde(flatten)]
    versions: Versions,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(skip)]
    warnings: &'a [WarningOut],
}

/// What went wrong. Which of the optional fields are present depends on `code`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody<'a> {
    /// A stable name of the failure, such as `uri_not_found`.
    code: &'static str,
    /// The failure in one line, for people.
    message: &'a str,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(flatten)]
    #[schemars(with = "ErrorFields")]
    fields: &'a Map<String, Value>,
}

impl<'a> From<&'a CliError> for ErrorOut<'a> {
    fn from(error: &'a CliError) -> ErrorOut<'a> {
        let hint = error.hint.as_deref();
        ErrorOut {
            error: ErrorBody {
                code: error.code,
                message: &error.message,
                hint,
                fields: &error.fields,
            },
            versions: Versions::OURS,
            warnings: &error.warnings,
        }
    }
}

/// What an error may hold besides its code, its message and its hint.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(default)]
struct ErrorFields {
    /// `taken`: the URI of the record that has this path already.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Column of the input, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    /// `chain_mismatch`: number of the commit whose hash does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<u64>,
    /// Number of records that were stored before the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed: Option<u64>,
    /// `merge_conflicts`: number of conflicts to resolve.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict_count: Option<u64>,
    /// Nodes that ran before the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<Vec<String>>,
    /// `duplicate_label`: always `DUPLICATE_LABEL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    /// `invalid_record`: the field of the record that is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// `locked_by_writer`: state of the process that holds the lock: `running`, `stopped`,
    /// `ended`, `other_host`, `other_namespace` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    /// `locked_by_writer`: the host of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// Id of the fact, insight or episode.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Label of the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Line of the input, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Name of the mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    mount: Option<String>,
    /// Name of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// Byte offset at which the file or the text is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// The path.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// `held_for_review`: URI under which it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<String>,
    /// `locked_by_writer`: id of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u64>,
    /// `policy_changed`: id of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// Number of lines that are not records and were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_count: Option<u64>,
    /// Line of the input to go on from, once the failure is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_line: Option<u64>,
    /// Id of the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The sequence; with `stored`, that of what was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    /// `locked_by_writer`: when that process took the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Time>,
    /// True when what was asked for was committed before the failure: a second call would do it
    /// twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<bool>,
    /// Tokens that the model read before the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_in: Option<u64>,
    /// Tokens that the model wrote before the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_out: Option<u64>,
    /// `fs --trace`: what was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    traces: Option<Vec<TraceOut<'static>>>,
    /// The URI.
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    /// `locked_by_writer`: the user of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// `unknown_event_type`: the types that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_types: Option<Vec<String>>,
}
