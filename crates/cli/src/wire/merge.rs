//! The JSON of `merge`.

use kapsa_memory::merge::{MergeItem, MergeOutcome};
use kapsa_memory::{Choice, MergePlan, Merged};
use schemars::JsonSchema;
use serde::Serialize;

use super::RecordOut;

/// What `merge` prints: what it did or would do, or the review file that it wrote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the two are printed on their own; together they describe the verb")]
pub(crate) enum MergeAnswer<'a> {
    /// The merge.
    Merge(MergeOut<'a>),
    /// The review file, with `--plan`.
    Plan(PlanOut),
}

/// What a merge did, or would do. With conflicts nothing is merged, the exit code is 1, and the
/// error is on standard error, too.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Merge")]
pub(crate) struct MergeOut<'a> {
    /// Whether it was done.
    merged: bool,
    /// Branch to merge.
    from: &'a str,
    /// Branch to merge into.
    to: &'a str,
    /// How much is merged.
    #[schemars(extend("enum" = ["curated", "full"]))]
    mode: &'static str,
    /// Number of revisions written.
    uris_merged: u64,
    /// Number of URIs left out by the mode or by selectors.
    left_out: u64,
    /// Number of URIs with nothing new.
    same: u64,
    /// Number of events of the branch that are visible on the other from now on.
    events_merged: u64,
    /// Number of conflicts that nothing resolves.
    conflict_count: usize,
    /// Id of the checkpoint that the merge made.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<&'a str>,
    /// URI of the event that records the merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_uri: Option<&'a str>,
    /// The records to merge, by URI.
    items: Vec<ItemOut<'a>>,
}

/// A record to merge.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MergeItem")]
struct ItemOut<'a> {
    /// URI of the record.
    uri: &'a str,
    /// What the branch did to it.
    #[schemars(extend("enum" = ["added", "changed", "forgotten", "conflict"]))]
    outcome: &'static str,
    /// How the conflict is resolved; left out while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["ours", "theirs", "contested", "edited", "skip"]))]
    decision: Option<&'static str>,
    /// The record on the branch to merge.
    theirs: RecordOut<'a>,
    /// The record on the branch to merge into.
    #[serde(skip_serializing_if = "Option::is_none")]
    ours: Option<RecordOut<'a>>,
    /// The record when the branches parted.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<RecordOut<'a>>,
}

/// The name of an outcome.
pub(crate) fn outcome_name(outcome: MergeOutcome) -> &'static str {
    match outcome {
        MergeOutcome::Added => "added",
        MergeOutcome::Changed => "changed",
        MergeOutcome::Forgotten => "forgotten",
        MergeOutcome::Conflict => "conflict",
    }
}

/// The name of a choice; an edited text is named as such.
pub(crate) fn choice_name(choice: &Choice) -> &'static str {
    match choice {
        Choice::Ours => "ours",
        Choice::Theirs => "theirs",
        Choice::Contested => "contested",
        Choice::Edited(_) => "edited",
        Choice::Skip => "skip",
    }
}

impl<'a> ItemOut<'a> {
    fn of(item: &'a MergeItem) -> ItemOut<'a> {
        ItemOut {
            uri: item.uri.as_str(),
            outcome: outcome_name(item.outcome),
            decision: item.choice.as_ref().map(choice_name),
            theirs: RecordOut::whole(&item.theirs),
            ours: item.ours.as_ref().map(RecordOut::whole),
            base: item.base.as_ref().map(RecordOut::whole),
        }
    }
}

impl<'a> MergeOut<'a> {
    /// What a merge would do.
    pub(crate) fn planned(plan: &'a MergePlan) -> MergeOut<'a> {
        MergeOut {
            merged: false,
            from: &plan.from,
            to: &plan.to,
            mode: plan.mode.name(),
            uris_merged: 0,
            left_out: plan.left_out,
            same: plan.same,
            events_merged: plan.events,
            conflict_count: plan.conflicts().count(),
            checkpoint_id: None,
            event_uri: None,
            items: plan.items.iter().map(ItemOut::of).collect(),
        }
    }

    /// What a merge did.
    pub(crate) fn done(merged: &'a Merged) -> MergeOut<'a> {
        MergeOut {
            merged: true,
            uris_merged: merged.written,
            checkpoint_id: merged.checkpoint.as_deref(),
            event_uri: merged.event.as_ref().map(|uri| uri.as_str()),
            ..MergeOut::planned(&merged.plan)
        }
    }
}

/// A review file that was written. Nothing was merged.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MergePlan")]
pub(crate) struct PlanOut {
    /// The file.
    pub(crate) plan_path: String,
    /// Number of records in it.
    pub(crate) count: usize,
    /// Number of conflicts to resolve in it.
    pub(crate) conflict_count: usize,
}
