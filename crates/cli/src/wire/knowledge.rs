//! The JSON of `policy`, `graph` and `replay`.

use kapsa_memory::policy::PARTS;
use kapsa_memory::{Captured, PolicySnapshot, REPLAY_STATEMENT, Record, ReplayIssue, Replayed};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::versions::{CheckpointOut, EventOut};
use super::{Extent, Time};

/// A policy that was captured.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapturedOut<'a> {
    /// Whether it differs from the policy in force; if not, nothing was written.
    captured: bool,
    /// Id of the policy in force now.
    policy_id: &'a str,
    /// Its URI.
    uri: &'a str,
    /// SHA-256 of its parts.
    hash: &'a str,
    /// Id of the policy that it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_from: Option<&'a str>,
}

impl<'a> From<&'a Captured> for CapturedOut<'a> {
    fn from(captured: &'a Captured) -> CapturedOut<'a> {
        let policy = &captured.policy;
        CapturedOut {
            captured: captured.changed,
            policy_id: &policy.id,
            uri: policy.uri.as_str(),
            hash: &policy.hash,
            drift_from: policy.drift_from.as_deref(),
        }
    }
}

/// A policy. A part that was not given is null.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PolicyOut<'a> {
    /// Version of the shape of policies.
    schema_version: &'a str,
    /// Its id.
    policy_id: &'a str,
    /// SHA-256 of its parts.
    hash: &'a str,
    /// When it was captured.
    #[schemars(with = "Time")]
    created_at: &'a str,
    /// Id of the policy that it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_from: Option<&'a str>,
    /// Files that it was read from.
    source_files: &'a Value,
    /// Models and their settings.
    model_config: &'a Value,
    /// Weights.
    weights: &'a Value,
    /// Prompts.
    prompts: &'a Value,
    /// Rules of governance.
    governance: &'a Value,
}

/// A part of a policy; null where it was not given.
fn part<'a>(record: &'a Record, name: &str) -> &'a Value {
    record.metadata.get(name).unwrap_or(&Value::Null)
}

/// A text that every policy has.
fn text<'a>(record: &'a Record, name: &str) -> &'a str {
    part(record, name).as_str().unwrap_or_default()
}

impl<'a> From<&'a PolicySnapshot> for PolicyOut<'a> {
    fn from(policy: &'a PolicySnapshot) -> PolicyOut<'a> {
        let record = &policy.record;
        PolicyOut {
            schema_version: text(record, "schema_version"),
            policy_id: &policy.id,
            hash: &policy.hash,
            created_at: text(record, "created_at"),
            drift_from: policy.drift_from.as_deref(),
            source_files: part(record, "source_files"),
            model_config: part(record, "model_config"),
            weights: part(record, "weights"),
            prompts: part(record, "prompts"),
            governance: part(record, "governance"),
        }
    }
}

/// The policies that were captured.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PoliciesOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The policies, oldest first.
    policies: Vec<PolicyLineOut<'a>>,
}

/// A policy in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyLine")]
pub(crate) struct PolicyLineOut<'a> {
    /// Its id.
    pub(crate) policy_id: &'a str,
    /// SHA-256 of its parts.
    pub(crate) hash: &'a str,
    /// When it was captured.
    #[schemars(with = "Time")]
    pub(crate) created_at: &'a str,
    /// Whether it is in force.
    pub(crate) current: bool,
}

impl<'a> PolicyLineOut<'a> {
    /// The policy that a record holds. `current` is the id of the one in force.
    pub(crate) fn of(record: &'a Record, current: Option<&str>) -> PolicyLineOut<'a> {
        let policy_id = text(record, "policy_id");
        PolicyLineOut {
            policy_id,
            hash: text(record, "hash"),
            created_at: text(record, "created_at"),
            current: Some(policy_id) == current,
        }
    }
}

impl<'a> PoliciesOut<'a> {
    pub(crate) fn of(policies: Vec<PolicyLineOut<'a>>, more: bool) -> PoliciesOut<'a> {
        PoliciesOut { extent: Extent::cut(policies.len(), more), policies }
    }
}

/// A policy that is valid; one that is not is an error.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidOut<'a> {
    /// True.
    pub(crate) valid: bool,
    /// SHA-256 of its parts.
    pub(crate) hash: &'a str,
}

/// Which parts of two policies differ.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PolicyDiffOut<'a> {
    /// Id of one policy.
    a: &'a str,
    /// Id of the other.
    b: &'a str,
    /// Whether nothing differs.
    same: bool,
    /// Number of parts that differ.
    count: usize,
    /// The parts that differ.
    pub(crate) differences: Vec<PartOut<'a>>,
}

/// A part of two policies that differs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyPart")]
pub(crate) struct PartOut<'a> {
    /// Its name.
    #[schemars(extend("enum" = ["source_files", "model_config", "weights", "prompts", "governance"]))]
    pub(crate) part: &'static str,
    /// Its value in one policy.
    pub(crate) a: &'a Value,
    /// Its value in the other.
    pub(crate) b: &'a Value,
}

impl<'a> PolicyDiffOut<'a> {
    pub(crate) fn of(a: &'a PolicySnapshot, b: &'a PolicySnapshot) -> PolicyDiffOut<'a> {
        let one = |name| PartOut { part: name, a: part(&a.record, name), b: part(&b.record, name) };
        let differences: Vec<_> =
            PARTS.into_iter().map(one).filter(|part| part.a != part.b).collect();
        PolicyDiffOut {
            a: &a.id,
            b: &b.id,
            same: differences.is_empty(),
            count: differences.len(),
            differences,
        }
    }
}

/// What happened in a run, in order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayOut<'a> {
    /// The run.
    run: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// What the replay can and cannot show.
    statement: &'static str,
    /// Its events and checkpoints.
    entries: Vec<ReplayedOut<'a>>,
}

/// An event or a checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Replayed")]
enum ReplayedOut<'a> {
    /// An event.
    Event(EventOut<'a>),
    /// A checkpoint.
    Checkpoint(CheckpointOut<'a>),
}

impl<'a> ReplayOut<'a> {
    pub(crate) fn of(run: &'a str, timeline: &'a [Replayed]) -> ReplayOut<'a> {
        let one = |entry: &'a Replayed| match entry {
            Replayed::Event(event) => ReplayedOut::Event(event.into()),
            Replayed::Checkpoint(checkpoint) => ReplayedOut::Checkpoint(checkpoint.into()),
        };
        let extent = Extent::whole(timeline.len());
        ReplayOut {
            run,
            extent,
            statement: REPLAY_STATEMENT,
            entries: timeline.iter().map(one).collect(),
        }
    }
}

/// Whether the events of a run fit together. If not, the exit code is 1.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayVerifyOut<'a> {
    /// Whether they do: there is no issue of level `error`.
    passed: bool,
    #[serde(flatten)]
    extent: Extent,
    /// What does not fit.
    issues: Vec<IssueOut<'a>>,
}

/// Something in a run that does not fit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayIssue")]
struct IssueOut<'a> {
    /// Which check found it.
    check: &'static str,
    /// How bad it is.
    #[schemars(extend("enum" = ["warning", "error"]))]
    level: &'static str,
    /// What does not fit.
    message: &'a str,
    /// URI of the event.
    event_uri: &'a str,
}

/// The name of how bad an issue is.
pub(crate) fn issue_level(issue: &ReplayIssue) -> &'static str {
    if issue.is_error { "error" } else { "warning" }
}

impl<'a> ReplayVerifyOut<'a> {
    pub(crate) fn of(passed: bool, issues: &'a [ReplayIssue]) -> ReplayVerifyOut<'a> {
        let one = |issue: &'a ReplayIssue| IssueOut {
            check: issue.check,
            level: issue_level(issue),
            message: &issue.message,
            event_uri: issue.event.as_str(),
        };
        ReplayVerifyOut {
            passed,
            extent: Extent::whole(issues.len()),
            issues: issues.iter().map(one).collect(),
        }
    }
}
