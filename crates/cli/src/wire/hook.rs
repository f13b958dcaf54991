//! What hooks answer, in the names of the programs that call them.
//!
//! Knows nothing of what is decided.

use schemars::JsonSchema;
use serde::Serialize;

/// That a tool may not be used. Where it may, nothing is printed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PreToolUse")]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreToolUseOut {
    /// The decision.
    pub(crate) hook_specific_output: PermissionDecisionOut,
}

/// A decision about one use of a tool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PermissionDecision")]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionDecisionOut {
    /// `PreToolUse`.
    pub(crate) hook_event_name: &'static str,
    /// `deny`.
    pub(crate) permission_decision: &'static str,
    /// Why, such as `write_outside_allowed_roots:` and the path.
    pub(crate) permission_decision_reason: String,
}
