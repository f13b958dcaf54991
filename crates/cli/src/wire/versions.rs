//! The JSON of branches, checkpoints, events and the history of records.

use kapsa_memory::event::{RUN_NONE, SPEC_NONE};
use kapsa_memory::{
    Blame, Branch, Checkpoint, Decision, Difference, Event, Origin, Record, Undone, Uri,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Extent, RecordOut, Time, Versions, given};
use crate::args::EventsArgs;

/// A list of branches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BranchesOut<'a> {
    /// The current branch.
    branch: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// The branches.
    branches: Vec<BranchOut<'a>>,
}

/// A branch.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Branch")]
struct BranchOut<'a> {
    /// Its name.
    branch: &'a str,
    /// Name of the branch that it left; `main` left none.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    /// Last sequence of that branch that it sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    fork: Option<u64>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Time>,
    /// Whether it was archived: it can be read and not written.
    archived: bool,
    /// The remote of which it follows a branch, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<&'a str>,
    /// Whether it is the current branch.
    current: bool,
}

impl<'a> BranchOut<'a> {
    fn of(branch: &'a Branch, current: bool) -> BranchOut<'a> {
        let made = branch.parent.is_some();
        BranchOut {
            branch: &branch.name,
            parent: branch.parent.as_deref(),
            fork: made.then_some(branch.fork),
            created_at: made.then_some(Time(branch.created_at)),
            archived: branch.archived,
            remote: branch.remote.as_deref(),
            current,
        }
    }
}

impl<'a> BranchesOut<'a> {
    pub(crate) fn of(current: &'a str, branches: &'a [Branch]) -> BranchesOut<'a> {
        let all =
            branches.iter().map(|branch| BranchOut::of(branch, branch.name == current)).collect();
        BranchesOut { branch: current, extent: Extent::whole(branches.len()), branches: all }
    }
}

/// A branch that was created.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MadeBranch<'a> {
    /// True.
    created: bool,
    #[serde(flatten)]
    branch: BranchOut<'a>,
}

impl<'a> MadeBranch<'a> {
    pub(crate) fn of(branch: &'a Branch, current: bool) -> MadeBranch<'a> {
        MadeBranch { created: true, branch: BranchOut::of(branch, current) }
    }
}

/// A branch that was archived.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArchivedBranch<'a> {
    /// Its name.
    pub(crate) branch: &'a str,
    /// True.
    pub(crate) archived: bool,
}

/// The branch that is the current one now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SwitchedBranch<'a> {
    /// Its name.
    pub(crate) branch: &'a str,
    /// True.
    pub(crate) switched: bool,
}

/// A checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Checkpoint")]
pub(crate) struct CheckpointOut<'a> {
    /// Its id.
    checkpoint_id: &'a str,
    /// Its URI.
    uri: &'a str,
    /// Newest sequence that a reader as of this checkpoint sees.
    sequence: u64,
    /// Its label.
    label: &'a str,
    /// Stage of the run that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    /// What the run works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<&'a str>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    /// Git commit of the work at this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_commit: Option<&'a str>,
    /// When it was created.
    created_at: Time,
    /// Whether somebody asked for it, rather than a stage or a merge.
    is_manual: bool,
    /// Branch that it is on.
    branch: &'a str,
}

impl<'a> From<&'a Checkpoint> for CheckpointOut<'a> {
    fn from(found: &'a Checkpoint) -> CheckpointOut<'a> {
        CheckpointOut {
            checkpoint_id: &found.id,
            uri: found.uri.as_str(),
            sequence: found.sequence,
            label: &found.label,
            stage: given(&found.stage),
            spec: spec(&found.spec),
            run: run(&found.run),
            git_commit: given(&found.git_commit),
            created_at: Time(found.timestamp),
            is_manual: found.manual,
            branch: &found.branch,
        }
    }
}

/// A spec, unless it is the name that stands for none.
fn spec(name: &str) -> Option<&str> {
    given(name).filter(|name| !stands_for_none("spec", name))
}

/// Whether a spec or a run is the name that stands for none.
pub(crate) fn stands_for_none(field: &str, name: &str) -> bool {
    matches!((field, name), ("spec", SPEC_NONE) | ("run", RUN_NONE))
}

/// A run, unless it is the name that stands for none.
fn run(name: &str) -> Option<&str> {
    given(name).filter(|name| !stands_for_none("run", name))
}

/// A list of checkpoints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckpointsOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The checkpoints, oldest first.
    checkpoints: Vec<CheckpointOut<'a>>,
    #[serde(flatten)]
    versions: Versions,
}

impl<'a> CheckpointsOut<'a> {
    pub(crate) fn of(found: &'a [Checkpoint]) -> CheckpointsOut<'a> {
        let checkpoints = found.iter().map(CheckpointOut::from).collect();
        let extent = Extent::whole(found.len());
        CheckpointsOut { extent, checkpoints, versions: Versions::OURS }
    }
}

/// A checkpoint that was created.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MadeCheckpoint<'a> {
    /// True.
    created: bool,
    #[serde(flatten)]
    checkpoint: CheckpointOut<'a>,
    #[serde(flatten)]
    versions: Versions,
}

impl<'a> MadeCheckpoint<'a> {
    pub(crate) fn of(made: &'a Checkpoint) -> MadeCheckpoint<'a> {
        MadeCheckpoint { created: true, checkpoint: made.into(), versions: Versions::OURS }
    }
}

/// An event.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub(crate) struct EventOut<'a> {
    /// Its URI.
    uri: &'a str,
    /// Its sequence.
    sequence: u64,
    /// What happened, such as `GateDecision`.
    event_type: &'static str,
    /// When it happened.
    created_at: Time,
    /// What the run works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<&'a str>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    /// Stage of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    /// The details, as events of this type have them.
    payload: &'a Map<String, Value>,
    /// Branch that it is on.
    branch: &'a str,
    /// Whether a curated merge shows it.
    is_curated_eligible: bool,
    /// Whether audits need it.
    is_audit_critical: bool,
}

impl<'a> From<&'a Event> for EventOut<'a> {
    fn from(event: &'a Event) -> EventOut<'a> {
        EventOut {
            uri: event.uri.as_str(),
            sequence: event.sequence,
            event_type: event.event_type.name(),
            created_at: Time(event.timestamp),
            spec: spec(&event.spec),
            run: run(&event.run),
            stage: given(&event.stage),
            payload: &event.payload,
            branch: &event.branch,
            is_curated_eligible: event.event_type.is_curated_eligible(),
            is_audit_critical: event.event_type.is_audit_critical(),
        }
    }
}

/// A list of events.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventsOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The events, oldest first.
    events: Vec<EventOut<'a>>,
    /// What the list was narrowed down to.
    filters: EventFilters<'a>,
    #[serde(flatten)]
    versions: Versions,
}

/// The flags that narrowed down a list of events.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventFilters<'a> {
    /// Types.
    #[serde(rename = "type", skip_serializing_if = "<[String]>::is_empty")]
    types: &'a [String],
    /// Stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    /// Spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<&'a str>,
    /// Run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    /// Checkpoint that all events are later than.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_checkpoint: Option<&'a str>,
    /// Most events.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
    /// Whether only events that audits need were asked for.
    audit_only: bool,
    /// Whether only events that a curated merge shows were asked for.
    curated_only: bool,
}

impl<'a> EventFilters<'a> {
    pub(crate) fn of(args: &'a EventsArgs) -> EventFilters<'a> {
        EventFilters {
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
    pub(crate) fn of(events: &'a [Event], more: bool, filters: EventFilters<'a>) -> EventsOut<'a> {
        let extent = Extent::cut(events.len(), more);
        let events = events.iter().map(EventOut::from).collect();
        EventsOut { extent, events, filters, versions: Versions::OURS }
    }
}

/// Where a revision comes from that was not simply put.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Origin")]
pub(crate) struct OriginOut<'a> {
    /// Sequence of the revision that it comes from.
    sequence: u64,
    /// What was decided.
    #[schemars(extend("enum" = ["merged", "theirs", "ours", "contested", "edited", "picked", "reverted"]))]
    decision: &'static str,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

impl<'a> From<&'a Origin> for OriginOut<'a> {
    fn from(origin: &'a Origin) -> OriginOut<'a> {
        let decision = decision_name(origin.decision);
        OriginOut {
            sequence: origin.sequence,
            decision,
            by: given(&origin.by),
            note: given(&origin.note),
        }
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

/// How two branches or moments differ.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DiffOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The differences, by URI.
    differences: Vec<DifferenceOut<'a>>,
}

/// A record that differs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Difference")]
struct DifferenceOut<'a> {
    /// URI of the record.
    uri: &'a str,
    /// What side `b` did to side `a`.
    #[schemars(extend("enum" = ["added", "removed", "changed"]))]
    change: &'static str,
    /// The record on side `a`; left out with `--names`.
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<RecordOut<'a>>,
    /// The record on side `b`; left out with `--names`.
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<RecordOut<'a>>,
}

impl<'a> DiffOut<'a> {
    pub(crate) fn of(found: &'a [Difference], names: bool) -> DiffOut<'a> {
        let side =
            |record: &'a Option<Record>| record.as_ref().filter(|_| !names).map(RecordOut::whole);
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
        DiffOut { extent: Extent::whole(found.len()), differences: found.iter().map(one).collect() }
    }
}

/// What was written, newest first. The records have no text, and name their branch.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LogOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The records; the capsule's own, such as branches and checkpoints, are among them.
    records: Vec<RecordOut<'a>>,
}

impl<'a> LogOut<'a> {
    pub(crate) fn of(lines: &'a [(String, Record)], more: bool) -> LogOut<'a> {
        let records = lines
            .iter()
            .map(|(branch, record)| RecordOut::without_text(record).on(branch))
            .collect();
        LogOut { extent: Extent::cut(lines.len(), more), records }
    }
}

/// How a record came to be what it is, oldest revision first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BlameOut<'a> {
    /// URI of the record.
    uri: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// The revisions.
    revisions: Vec<LifeOut<'a>>,
}

/// A revision of a record, and where it comes from.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Revision")]
struct LifeOut<'a> {
    /// Whether it is the current revision.
    current: bool,
    #[serde(flatten)]
    record: RecordOut<'a>,
    /// Branch of the revision that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_branch: Option<&'a str>,
    /// The revision that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<RecordOut<'a>>,
    /// Checkpoint of the merge that brought it.
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
        let extent = Extent::whole(lives.len());
        BlameOut { uri: uri.as_str(), extent, revisions: lives.iter().map(one).collect() }
    }
}

/// What was undone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RevertOut<'a> {
    /// URIs that are again what they were before.
    restored: Vec<&'a str>,
    /// URIs that were not there before and are forgotten.
    removed: Vec<&'a str>,
    /// URIs that were left alone, since they changed again later.
    kept: Vec<&'a str>,
}

impl<'a> RevertOut<'a> {
    pub(crate) fn of(undone: &'a Undone) -> RevertOut<'a> {
        let names = |uris: &'a [Uri]| uris.iter().map(Uri::as_str).collect();
        RevertOut {
            restored: names(&undone.restored),
            removed: names(&undone.removed),
            kept: names(&undone.kept),
        }
    }
}

/// What a URI names.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Resolved<'a> {
    /// The URI that `asked` stands for.
    pub(crate) uri: &'a str,
    /// The URI that was asked for.
    pub(crate) asked: &'a str,
    /// The moment that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) as_of: Option<&'a str>,
    /// Sequence of the revision.
    pub(crate) sequence: u64,
    /// Size of its content.
    pub(crate) size_bytes: u64,
    /// The first 200 bytes of its content; U+FFFD stands for what is not text.
    pub(crate) preview: &'a str,
    /// The file that the content was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_path: Option<String>,
    #[serde(flatten)]
    pub(crate) versions: Versions,
}
