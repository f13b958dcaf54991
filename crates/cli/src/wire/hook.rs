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

impl PreToolUseOut {
    pub(crate) fn deny(reason: String) -> PreToolUseOut {
        PreToolUseOut {
            hook_specific_output: PermissionDecisionOut {
                hook_event_name: "PreToolUse",
                permission_decision: "deny",
                permission_decision_reason: reason,
            },
        }
    }
}

/// That a hook has nothing to say, to programs that ask for an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Nothing")]
pub(crate) struct NothingOut {}

/// What a session is told. Nothing else is in it: some programs take no answer with more.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HookContext")]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookContextOut<'a> {
    /// What is told; left out if there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hook_specific_output: Option<AdditionalContextOut<'a>>,
}

/// What the model of a session reads.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AdditionalContext")]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdditionalContextOut<'a> {
    /// `SessionStart` or `UserPromptSubmit`.
    #[schemars(extend("enum" = ["SessionStart", "UserPromptSubmit"]))]
    pub(crate) hook_event_name: &'static str,
    /// The text.
    pub(crate) additional_context: &'a str,
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
