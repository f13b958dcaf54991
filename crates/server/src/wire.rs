//! What tools take and give, as JSON. The descriptions here are what a model reads.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arguments of `memory_search`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchIn {
    /// What to look for: a question or words. "phrases", +must, -not and field:value work.
    pub(crate) query: String,
    /// Most hits, 1 to 50; default 10.
    #[serde(default)]
    pub(crate) limit: Option<u64>,
    #[serde(flatten)]
    pub(crate) within: WithinIn,
    /// Goes on after an answer: its next_cursor.
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// Which records are meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct WithinIn {
    /// Only these kinds, such as note, fact, decision, episode, insight.
    #[serde(default)]
    pub(crate) kinds: Vec<String>,
    /// Only records with these tags; an empty value stands for any.
    #[serde(default)]
    pub(crate) tags: BTreeMap<String, String>,
    /// Only about this entity, such as a project or a customer.
    #[serde(default)]
    pub(crate) entity: Option<String>,
    /// Only of this domain.
    #[serde(default)]
    pub(crate) domain: Option<String>,
    /// Only by this agent.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// Only of this run.
    #[serde(default)]
    pub(crate) run: Option<String>,
    /// Only since then: RFC 3339, a date, or an age such as 7d.
    #[serde(default)]
    pub(crate) since: Option<String>,
    /// Only before then.
    #[serde(default)]
    pub(crate) until: Option<String>,
    /// The memory as it was at a checkpoint, a sequence (#12) or a time.
    #[serde(default)]
    pub(crate) as_of: Option<String>,
    /// Another branch than the current one.
    #[serde(default)]
    pub(crate) branch: Option<String>,
    /// True to include what sessions in other repositories left; default false: only what is about
    /// this workspace's repository, or about none.
    #[serde(default)]
    pub(crate) all_projects: bool,
}

/// Arguments of `memory_read`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadIn {
    /// URI of the record, as a search or a list gives it.
    pub(crate) uri: String,
    /// Lists its earlier revisions as well; default false.
    #[serde(default)]
    pub(crate) history: bool,
    /// Goes on in a long text: next_offset of the answer before.
    #[serde(default)]
    pub(crate) offset: Option<u64>,
    /// The memory as it was at a checkpoint, a sequence (#12) or a time.
    #[serde(default)]
    pub(crate) as_of: Option<String>,
    /// Another branch than the current one.
    #[serde(default)]
    pub(crate) branch: Option<String>,
}

/// Arguments of `memory_write`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteIn {
    /// The text: one thing, so that it can be understood alone.
    pub(crate) text: String,
    /// Name of the record, such as note/deploy-steps; without one it gets a new one.
    #[serde(default)]
    pub(crate) uri: Option<String>,
    /// True to revise a record that exists (its earlier text stays in its history); default false:
    /// an existing name is refused.
    #[serde(default)]
    pub(crate) overwrite: bool,
    /// With overwrite: the sequence that was read, so that nobody's change in between is lost.
    #[serde(default)]
    pub(crate) expected_sequence: Option<u64>,
    /// Short title.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// Kind; default note.
    #[serde(default)]
    pub(crate) kind: Option<String>,
    /// Tags by name; the value may be empty.
    #[serde(default)]
    pub(crate) tags: Option<BTreeMap<String, String>>,
    /// What it is about, such as a project.
    #[serde(default)]
    pub(crate) entity: Option<String>,
    /// Domain that it belongs to.
    #[serde(default)]
    pub(crate) domain: Option<String>,
    /// Your name, so that others know who wrote it.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// How sure it is, 0 to 1.
    #[serde(default)]
    pub(crate) confidence: Option<f64>,
    /// Another branch than the current one.
    #[serde(default)]
    pub(crate) branch: Option<String>,
}

/// Arguments of `memory_forget`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForgetIn {
    /// URI of the record.
    pub(crate) uri: String,
    /// Another branch than the current one.
    #[serde(default)]
    pub(crate) branch: Option<String>,
}

/// Arguments of `memory_context`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContextIn {
    /// What you are about to do: what fits comes first.
    #[serde(default)]
    pub(crate) query: Option<String>,
    /// Your name as an agent, for your own insights and episodes.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// Only about this entity.
    #[serde(default)]
    pub(crate) entity: Option<String>,
    /// Only of this domain.
    #[serde(default)]
    pub(crate) domain: Option<String>,
    /// Most tokens, 100 to 15000; default 2000.
    #[serde(default)]
    pub(crate) budget: Option<u64>,
    /// Another branch than the current one.
    #[serde(default)]
    pub(crate) branch: Option<String>,
    /// True to include what sessions in other repositories left; default false: only what is about
    /// this workspace's repository, or about none.
    #[serde(default)]
    pub(crate) all_projects: bool,
}

/// Arguments of `memory_timeline`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimelineIn {
    /// Most records, 1 to 100; default 20.
    #[serde(default)]
    pub(crate) limit: Option<u64>,
    /// True to begin with the oldest; default false.
    #[serde(default)]
    pub(crate) oldest_first: bool,
    #[serde(flatten)]
    pub(crate) within: WithinIn,
    /// Goes on after an answer: its next_cursor.
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// What `memory_branch` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BranchAction {
    /// Lists the branches.
    #[default]
    List,
    /// Makes a branch.
    Create,
    /// Shows how a branch differs from another.
    Diff,
    /// Shows what a merge would do, and merges nothing.
    MergePreview,
}

/// Arguments of `memory_branch`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BranchIn {
    /// list; create a branch; diff it with another; merge_preview: what a merge would do.
    pub(crate) action: BranchAction,
    /// The branch; not needed to list.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// create: the branch it leaves. diff, merge_preview: the other branch. Default: its parent.
    #[serde(default)]
    pub(crate) from: Option<String>,
}

/// A memory that is proposed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CandidateIn {
    /// What it is.
    #[schemars(extend("enum" = ["decision", "preference", "constraint", "correction", "fact", "procedure", "pitfall"]))]
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// It in one line that can be understood alone.
    pub(crate) title: String,
    /// The rule, then why, then how to apply it.
    #[serde(default)]
    pub(crate) body: Option<String>,
    /// How sure you are, 0 to 1; default 0.7.
    #[serde(default)]
    pub(crate) confidence: Option<f64>,
}

/// Arguments of `memory_propose`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProposeIn {
    /// What a later session needs, 1 to 50.
    pub(crate) candidates: Vec<CandidateIn>,
    /// Name of this session, so that what it says twice counts once.
    #[serde(default)]
    pub(crate) session: Option<String>,
    /// Repository that they are about, "" for everything; default: this workspace's where the
    /// memory is of several.
    #[serde(default)]
    pub(crate) repository: Option<String>,
    /// Another branch than the current one.
    #[serde(default)]
    pub(crate) branch: Option<String>,
}

/// Who brought a text.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FromOut {
    /// Agent that wrote it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) agent: String,
    /// Principal that wrote it; left out for the owner.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) principal: String,
    /// Run that it was written in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) run: String,
    /// Document that it was read from, with its lines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) document: String,
}

/// What a record is worth now.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StandingOut {
    /// current, superseded, expired, scheduled, contested, or pending (somebody has to decide).
    pub(crate) standing: String,
    /// What took its place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) superseded_by: String,
    /// When its validity ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) expired_at: String,
    /// From when on it holds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) scheduled_at: String,
    /// What contests it: records, or revisions of this one (#12).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) contested_by: Vec<String>,
    /// What somebody has to compare it with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pending_with: Vec<String>,
}

/// A record without its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecordHead {
    /// Its URI, for memory_read.
    pub(crate) uri: String,
    /// Its revision.
    pub(crate) sequence: u64,
    /// Its kind.
    pub(crate) kind: String,
    /// Its title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) title: String,
    /// How far it is believed: owner, principal, model, trace, import or tool, most first.
    pub(crate) trust: String,
    /// Who brought it.
    pub(crate) from: FromOut,
    /// When it came about.
    pub(crate) created_at: String,
    /// Tags.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tags: BTreeMap<String, String>,
    /// What it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) entity: String,
    /// Its domain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) domain: String,
    #[serde(flatten)]
    pub(crate) standing: StandingOut,
}

/// A hit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HitOut {
    #[serde(flatten)]
    pub(crate) head: RecordHead,
    /// The part of its text that fits best.
    pub(crate) snippet: String,
    /// How sure it answers, 0 to 1.
    pub(crate) strength: f64,
    /// Other records with the same text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) same_text: Vec<String>,
}

/// Answer of `memory_search`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchOut {
    /// How to take what follows.
    pub(crate) notice: &'static str,
    /// Whether there is an answer: good, weak (hits that probably do not answer) or none.
    pub(crate) found: String,
    /// The hits, best first.
    pub(crate) hits: Vec<HitOut>,
    /// Hits of this page that had no room; next_cursor brings them.
    pub(crate) left_out: u64,
    /// Where it goes on, if there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
    /// The repositories that it was narrowed to: what sessions in others left is not among this;
    /// all_projects: true includes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) narrowed_to: Vec<String>,
    /// What to know about this search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// An earlier revision.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RevisionOut {
    /// Its sequence: as_of "#N" shows it.
    pub(crate) sequence: u64,
    /// When it was written.
    pub(crate) committed_at: String,
    /// Who wrote it.
    pub(crate) from: FromOut,
    /// Whether it forgets the record.
    pub(crate) forgotten: bool,
    /// The beginning of its text.
    pub(crate) beginning: String,
}

/// Answer of `memory_read`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReadOut {
    /// How to take what follows.
    pub(crate) notice: &'static str,
    #[serde(flatten)]
    pub(crate) head: RecordHead,
    /// Its text, or the part from offset on.
    pub(crate) text: String,
    /// Where the text goes on, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
    /// Length of the whole text in bytes.
    pub(crate) text_bytes: u64,
    /// Sequences of revisions that a merge left beside this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conflicts_with: Vec<u64>,
    /// Earlier revisions, newest first, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<Vec<RevisionOut>>,
    /// Revisions that had no room.
    pub(crate) left_out: u64,
}

/// Answer of `memory_write` and `memory_forget`: it is stored, durably.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WrittenOut {
    /// URI of the record.
    pub(crate) uri: String,
    /// Its revision.
    pub(crate) sequence: u64,
    /// added, revised, unchanged, forgotten, or held (it waits for a review, and notes say why).
    pub(crate) change: String,
    /// Another record that has the same text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_text: Option<String>,
    /// What to know about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// A line of a context.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextLineOut {
    /// Insights, Context or Recent Activity.
    pub(crate) section: String,
    /// Where all of it can be read.
    pub(crate) uri: String,
    /// The line.
    pub(crate) text: String,
    /// Whether something that counts says otherwise, or somebody has to decide about it.
    pub(crate) contested: bool,
    /// What it is about, such as a repository.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) entity: String,
    /// How far it is believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trust: Option<String>,
    /// Who or what stated it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) from: String,
}

/// Answer of `memory_context`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextOut {
    /// How to take what follows.
    pub(crate) notice: &'static str,
    /// What to know, the most valuable first.
    pub(crate) lines: Vec<ContextLineOut>,
    /// Lines that had no room within the budget.
    pub(crate) left_out: u64,
    /// The repositories that it was narrowed to: what sessions in others left is not among this;
    /// all_projects: true includes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) narrowed_to: Vec<String>,
}

/// A record in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedOut {
    #[serde(flatten)]
    pub(crate) head: RecordHead,
    /// The beginning of its text.
    pub(crate) beginning: String,
}

/// Answer of `memory_timeline`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TimelineOut {
    /// How to take what follows.
    pub(crate) notice: &'static str,
    /// The records.
    pub(crate) records: Vec<ListedOut>,
    /// Records of this page that had no room; next_cursor brings them.
    pub(crate) left_out: u64,
    /// Where it goes on, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
    /// The repositories that it was narrowed to: what sessions in others left is not among this;
    /// all_projects: true includes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) narrowed_to: Vec<String>,
}

/// A branch.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BranchLine {
    /// Its name.
    pub(crate) name: String,
    /// Branch that it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// Last sequence of its parent that it sees.
    pub(crate) fork: u64,
    /// Whether it can be read only.
    pub(crate) archived: bool,
}

/// A difference between two branches, or an item of a merge.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeOut {
    /// The record.
    pub(crate) uri: String,
    /// added, changed, forgotten or conflict, as seen from the named branch.
    pub(crate) change: String,
    /// The beginning of its text on the named branch, after what it is worth where that is not
    /// current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ours: Option<String>,
    /// The same on the other branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<String>,
}

/// Answer of `memory_branch`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct BranchOut {
    /// How to take what follows.
    pub(crate) notice: &'static str,
    /// The branches; of create the new one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) branches: Vec<BranchLine>,
    /// What differs, or what a merge would bring.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<ChangeOut>,
    /// Conflicts among them that the user has to decide.
    pub(crate) conflicts: u64,
    /// Changes that had no room.
    pub(crate) left_out: u64,
}

/// What became of a candidate.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposedOut {
    /// Its title, as it is stored: secrets taken out.
    pub(crate) title: String,
    /// add, update, no_op, supersede, precede, or pending (it is kept until somebody decides).
    pub(crate) action: String,
    /// The memory that is known now.
    pub(crate) uri: String,
    /// Another memory that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<String>,
    /// Why.
    pub(crate) reason: String,
    /// Whether somebody has to decide or review it before it counts.
    pub(crate) pending: bool,
}

/// Answer of `memory_propose`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposeOut {
    /// What became of each candidate, in their order.
    pub(crate) decided: Vec<ProposedOut>,
    /// Candidates that were not reached, because the call was cancelled.
    pub(crate) left_out: u64,
    /// What to know about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}
