//! The JSON of branches, checkpoints, events, merges and what else tells of history.

use kapsa_memory::merge::{MergeItem, MergeOutcome};
use kapsa_memory::{
    Blame, Branch, Checkpoint, Choice, Decision, Difference, Event, MergePlan, Merged, Origin, Record, Undone, Uri,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::RecordOut;
use crate::args::EventsArgs;
use crate::moment::rfc3339;

/// `branch list`: `{"current","count","branches":[{"name","id","parent"?,"fork"?,"created_at"?,"archived","current"}]}`.
#[derive(Debug, Serialize)]
pub(crate) struct BranchesOut<'a> {
    current: &'a str,
    count: usize,
    branches: Vec<BranchOut<'a>>,
}

#[derive(Debug, Serialize)]
struct BranchOut<'a> {
    name: &'a str,
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    archived: bool,
    current: bool,
}

impl<'a> BranchOut<'a> {
    fn of(branch: &'a Branch, current: bool) -> BranchOut<'a> {
        let made = branch.parent.is_some();
        BranchOut {
            name: &branch.name,
            id: branch.id.0,
            parent: branch.parent.as_deref(),
            fork: made.then_some(branch.fork),
            created_at: made.then(|| rfc3339(branch.created_at)),
            archived: branch.archived,
            current,
        }
    }
}

impl<'a> BranchesOut<'a> {
    pub(crate) fn of(current: &'a str, branches: &'a [Branch]) -> BranchesOut<'a> {
        let all = branches.iter().map(|branch| BranchOut::of(branch, branch.name == current)).collect();
        BranchesOut { current, count: branches.len(), branches: all }
    }
}

/// `branch create`: the branch, and `created`: true.
#[derive(Debug, Serialize)]
pub(crate) struct MadeBranch<'a> {
    created: bool,
    #[serde(flatten)]
    branch: BranchOut<'a>,
}

impl<'a> MadeBranch<'a> {
    pub(crate) fn of(branch: &'a Branch, current: bool) -> MadeBranch<'a> {
        MadeBranch { created: true, branch: BranchOut::of(branch, current) }
    }
}

/// A checkpoint. `git_commit` and `commit_hash` are the same, for programs that know it by either name.
#[derive(Debug, Serialize)]
pub(crate) struct CheckpointOut<'a> {
    checkpoint_id: &'a str,
    uri: &'a str,
    sequence: u64,
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_hash: Option<&'a str>,
    timestamp: String,
    is_manual: bool,
    branch: &'a str,
}

fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

impl<'a> From<&'a Checkpoint> for CheckpointOut<'a> {
    fn from(found: &'a Checkpoint) -> CheckpointOut<'a> {
        CheckpointOut {
            checkpoint_id: &found.id,
            uri: found.uri.as_str(),
            sequence: found.sequence,
            label: &found.label,
            stage: given(&found.stage),
            spec_id: given(&found.spec),
            run_id: given(&found.run),
            git_commit: given(&found.git_commit),
            commit_hash: given(&found.git_commit),
            timestamp: rfc3339(found.timestamp),
            is_manual: found.manual,
            branch: &found.branch,
        }
    }
}

/// `checkpoints`: `{"checkpoints":[checkpoint],"count"}`.
#[derive(Debug, Serialize)]
pub(crate) struct CheckpointsOut<'a> {
    checkpoints: Vec<CheckpointOut<'a>>,
    count: usize,
}

impl<'a> CheckpointsOut<'a> {
    pub(crate) fn of(found: &'a [Checkpoint]) -> CheckpointsOut<'a> {
        CheckpointsOut { checkpoints: found.iter().map(CheckpointOut::from).collect(), count: found.len() }
    }
}

/// `commit`: the checkpoint, and `created`: true.
#[derive(Debug, Serialize)]
pub(crate) struct MadeCheckpoint<'a> {
    created: bool,
    #[serde(flatten)]
    checkpoint: CheckpointOut<'a>,
}

impl<'a> MadeCheckpoint<'a> {
    pub(crate) fn of(made: &'a Checkpoint) -> MadeCheckpoint<'a> {
        MadeCheckpoint { created: true, checkpoint: made.into() }
    }
}

/// An event: `{"uri","event_type","timestamp","spec_id","run_id","stage"?,"payload","branch_id","sequence","is_curated_eligible","is_audit_critical"}`.
#[derive(Debug, Serialize)]
pub(crate) struct EventOut<'a> {
    uri: &'a str,
    sequence: u64,
    event_type: &'static str,
    timestamp: String,
    spec_id: &'a str,
    run_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    payload: &'a Map<String, Value>,
    branch_id: &'a str,
    is_curated_eligible: bool,
    is_audit_critical: bool,
}

impl<'a> EventOut<'a> {
    pub(crate) fn of(event: &'a Event) -> EventOut<'a> {
        EventOut {
            uri: event.uri.as_str(),
            sequence: event.sequence,
            event_type: event.event_type.name(),
            timestamp: rfc3339(event.timestamp),
            spec_id: &event.spec,
            run_id: &event.run,
            stage: given(&event.stage),
            payload: &event.payload,
            branch_id: &event.branch,
            is_curated_eligible: event.event_type.is_curated_eligible(),
            is_audit_critical: event.event_type.is_audit_critical(),
        }
    }
}

/// `events`: `{"events":[event],"count","filters"}`.
#[derive(Debug, Serialize)]
pub(crate) struct EventsOut<'a> {
    events: Vec<EventOut<'a>>,
    count: usize,
    filters: Filters<'a>,
}

/// The filters that were asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Filters<'a> {
    #[serde(rename = "type", skip_serializing_if = "<[String]>::is_empty")]
    types: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since_checkpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
    audit_only: bool,
    curated_only: bool,
}

impl<'a> Filters<'a> {
    pub(crate) fn of(args: &'a EventsArgs) -> Filters<'a> {
        Filters {
            types: &args.types,
            stage: args.stage.as_deref(),
            spec: args.spec.as_deref(),
            run: args.run.as_deref(),
            since_checkpoint: args.since_checkpoint.as_deref(),
            limit: args.limit,
            audit_only: args.audit_only,
            curated_only: args.curated_only,
        }
    }
}

impl<'a> EventsOut<'a> {
    pub(crate) fn of(events: &'a [Event], filters: Filters<'a>) -> EventsOut<'a> {
        EventsOut { events: events.iter().map(EventOut::of).collect(), count: events.len(), filters }
    }
}

/// Where a revision came from that was not simply put.
#[derive(Debug, Serialize)]
pub(crate) struct OriginOut<'a> {
    sequence: u64,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

impl<'a> From<&'a Origin> for OriginOut<'a> {
    fn from(origin: &'a Origin) -> OriginOut<'a> {
        let decision = decision_name(origin.decision);
        OriginOut { sequence: origin.sequence, decision, by: given(&origin.by), note: given(&origin.note) }
    }
}

/// The name of a decision.
pub(crate) fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Merged => "merged",
        Decision::Theirs => "theirs",
        Decision::Ours => "ours",
        Decision::Contested => "contested",
        Decision::Edited => "edited",
        Decision::Picked => "picked",
        Decision::Reverted => "reverted",
    }
}

/// `diff`: `{"count","differences":[{"uri","change","a"?,"b"?}]}`, change one of `added`, `removed`, `changed`.
#[derive(Debug, Serialize)]
pub(crate) struct DiffOut<'a> {
    count: usize,
    differences: Vec<DifferenceOut<'a>>,
}

#[derive(Debug, Serialize)]
struct DifferenceOut<'a> {
    uri: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<RecordOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<RecordOut<'a>>,
}

impl<'a> DiffOut<'a> {
    pub(crate) fn of(found: &'a [Difference], names: bool) -> DiffOut<'a> {
        let side = |record: &'a Option<Record>| record.as_ref().filter(|_| !names).map(RecordOut::whole);
        let one = |found: &'a Difference| DifferenceOut {
            uri: found.uri.as_str(),
            change: match (&found.a, &found.b) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            },
            a: side(&found.a),
            b: side(&found.b),
        };
        DiffOut { count: found.len(), differences: found.iter().map(one).collect() }
    }
}

/// `log`: `{"count","records":[record without text, with "branch"]}`, newest first.
#[derive(Debug, Serialize)]
pub(crate) struct LogOut<'a> {
    count: usize,
    records: Vec<RecordOut<'a>>,
}

impl<'a> LogOut<'a> {
    pub(crate) fn of(lines: &'a [(String, Record)]) -> LogOut<'a> {
        let records = lines.iter().map(|(branch, record)| RecordOut::without_text(record).on(branch)).collect();
        LogOut { count: lines.len(), records }
    }
}

/// `blame`: `{"uri","count","revisions":[{"current", …record, "origin"?, "from_branch"?, "from"?, "checkpoint"?}]}`, oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct BlameOut<'a> {
    uri: &'a str,
    count: usize,
    revisions: Vec<LifeOut<'a>>,
}

#[derive(Debug, Serialize)]
struct LifeOut<'a> {
    current: bool,
    #[serde(flatten)]
    record: RecordOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_branch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<RecordOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<CheckpointOut<'a>>,
}

impl<'a> BlameOut<'a> {
    pub(crate) fn of(uri: &'a Uri, lives: &'a [Blame]) -> BlameOut<'a> {
        let one = |life: &'a Blame| LifeOut {
            current: life.current,
            record: RecordOut::whole(&life.record).on(&life.branch),
            from_branch: life.from.as_ref().map(|(branch, _)| branch.as_str()),
            from: life.from.as_ref().map(|(_, record)| RecordOut::whole(record)),
            checkpoint: life.checkpoint.as_ref().map(CheckpointOut::from),
        };
        BlameOut { uri: uri.as_str(), count: lives.len(), revisions: lives.iter().map(one).collect() }
    }
}

/// `revert`: `{"restored":[uri],"removed":[uri],"kept":[uri]}`.
#[derive(Debug, Serialize)]
pub(crate) struct RevertOut<'a> {
    restored: Vec<&'a str>,
    removed: Vec<&'a str>,
    kept: Vec<&'a str>,
}

impl<'a> RevertOut<'a> {
    pub(crate) fn of(undone: &'a Undone) -> RevertOut<'a> {
        let names = |uris: &'a [Uri]| uris.iter().map(Uri::as_str).collect();
        RevertOut { restored: names(&undone.restored), removed: names(&undone.removed), kept: names(&undone.kept) }
    }
}

/// `resolve-uri`: `uri` is what `asked` stands for.
#[derive(Debug, Serialize)]
pub(crate) struct Resolved<'a> {
    pub(crate) uri: &'a str,
    pub(crate) asked: &'a str,
    pub(crate) as_of: Option<&'a str>,
    pub(crate) sequence: u64,
    pub(crate) size_bytes: usize,
    pub(crate) content_preview: &'a str,
    pub(crate) out_path: Option<String>,
}

/// `merge`: `{"merged","from","to","mode","uris_merged","left_out","same","events_merged","conflict_count","items":[item],"checkpoint_id"?,"event_uri"?}`.
#[derive(Debug, Serialize)]
pub(crate) struct MergeOut<'a> {
    merged: bool,
    from: &'a str,
    to: &'a str,
    mode: &'static str,
    uris_merged: u64,
    left_out: u64,
    same: u64,
    events_merged: u64,
    conflict_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_uri: Option<&'a str>,
    items: Vec<ItemOut<'a>>,
}

#[derive(Debug, Serialize)]
struct ItemOut<'a> {
    uri: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    theirs: RecordOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ours: Option<RecordOut<'a>>,
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
    /// What a merge would do. Only the conflicts are shown in full when `conflicts_only`.
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
            checkpoint_id: Some(&merged.checkpoint),
            event_uri: Some(merged.event.as_str()),
            ..MergeOut::planned(&merged.plan)
        }
    }
}
