//! What can be typed about branches, checkpoints, events and merges.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};

use super::object;
use crate::examples;

// The moment that a reading verb looks at.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Which memory")]
pub(crate) struct When {
    /// As of then: a checkpoint's id or label, a sequence, RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Read what was imported under this name
    #[arg(long, value_name = "NAME")]
    pub(crate) mount: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<BranchVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BranchVerb {
    /// List the branches; `*` marks the current one
    #[command(after_help = examples::BRANCH)]
    List {
        /// Archived ones too
        #[arg(long)]
        all: bool,
    },
    /// Make a branch; its name is never used again
    #[command(after_help = examples::BRANCH)]
    Create {
        /// Its name, such as run/2026-11-28 or experiment
        name: String,
        /// The branch that it leaves [default: the current one]
        #[arg(long = "from", value_name = "BRANCH")]
        parent: Option<String>,
        /// Where it leaves: a checkpoint, a sequence or a time [default: now]
        #[arg(long, value_name = "WHEN")]
        as_of: Option<String>,
        /// Make it the current branch as well
        #[arg(long)]
        switch: bool,
    },
    /// Close a branch: it can be read and not written any more
    #[command(after_help = examples::BRANCH)]
    Archive {
        /// Its name
        #[arg(value_name = "BRANCH")]
        name: String,
    },
    /// Make a branch the current one of this capsule
    #[command(after_help = examples::BRANCH)]
    Switch {
        /// Its name
        #[arg(value_name = "BRANCH")]
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Commit {
    /// Name of this moment; unique on its branch
    #[arg(long, required_unless_present = "stage")]
    pub(crate) label: Option<String>,
    /// Use a label again
    #[arg(long)]
    pub(crate) force: bool,
    /// Stage of a run that ended: labels the checkpoint and leaves a StageTransition event
    #[arg(long)]
    pub(crate) stage: Option<String>,
    /// What the run works on
    #[arg(long, value_name = "ID")]
    pub(crate) spec: Option<String>,
    /// The run
    #[arg(long, value_name = "ID", env = "KAPSA_RUN", hide_env_values = true)]
    pub(crate) run: Option<String>,
    /// The git commit of the work at this moment
    #[arg(long, value_name = "HASH")]
    pub(crate) git_commit: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Checkpoints {
    /// Of every branch
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Only this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Only of this stage
    #[arg(long)]
    pub(crate) stage: Option<String>,
    /// Only of this spec
    #[arg(long, value_name = "ID")]
    pub(crate) spec: Option<String>,
    /// Only of this run
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Only after this checkpoint
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) since_checkpoint: Option<String>,
    /// Only what audits need
    #[arg(long)]
    pub(crate) audit_only: bool,
    /// Only what a curated merge shows
    #[arg(long)]
    pub(crate) curated_only: bool,
    /// Of every branch, not only this one and what was merged into it
    #[arg(long)]
    pub(crate) all: bool,
    /// The newest so many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct EventArgs {
    #[command(subcommand)]
    pub(crate) verb: EventVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EventVerb {
    /// Tell that something happened
    #[command(after_help = examples::EVENT)]
    Emit(Box<Emit>),
}

#[derive(Debug, Args)]
pub(crate) struct Emit {
    /// What it tells, such as GateDecision or ToolCall
    #[arg(value_name = "TYPE")]
    pub(crate) event_type: String,
    /// The rest, as the type asks for: a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) payload: Option<Map<String, Value>>,
    /// What the run works on
    #[arg(long, value_name = "ID")]
    pub(crate) spec: Option<String>,
    /// The run
    #[arg(long, value_name = "ID", env = "KAPSA_RUN", hide_env_values = true)]
    pub(crate) run: Option<String>,
    /// Stage of the run
    #[arg(long)]
    pub(crate) stage: Option<String>,
    /// Who tells it
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) agent: Option<String>,
    /// Never fail: what goes wrong is told on standard error, and the exit code is 0
    #[arg(long)]
    pub(crate) best_effort: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MergeMode {
    /// What is worth keeping
    #[default]
    Curated,
    /// Everything
    Full,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Branch to merge
    #[arg(long, value_name = "BRANCH", required_unless_present = "apply")]
    pub(crate) from: Option<String>,
    /// Branch to merge into [default: the one that it left]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) to: Option<String>,
    /// How much
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: MergeMode,
    /// Show what would happen, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only these: a URI with * and ?, kind:KIND or label:LABEL; may be repeated
    #[arg(long, value_name = "WHAT")]
    pub(crate) include: Vec<String>,
    /// Not these
    #[arg(long, value_name = "WHAT")]
    pub(crate) exclude: Vec<String>,
    /// Decide conflicts for what is here
    #[arg(long, group = "rule")]
    pub(crate) ours: bool,
    /// Decide conflicts for what the branch has
    #[arg(long, group = "rule")]
    pub(crate) theirs: bool,
    /// Keep both sides of a conflict, marked as contested
    #[arg(long, group = "rule")]
    pub(crate) contested: bool,
    /// Write a review file, and nothing else; decide in it, then --apply it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rule", "apply", "dry_run"])]
    pub(crate) plan: Option<PathBuf>,
    /// Merge as a review file says
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "to", "mode", "include", "exclude", "rule"])]
    pub(crate) apply: Option<PathBuf>,
    /// Who decides
    #[arg(long, value_name = "NAME", env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) by: Option<String>,
    /// Why; kept with the decisions
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// A branch, a moment, or BRANCH@MOMENT
    pub(crate) a: String,
    /// The other side [default: the current branch now]
    pub(crate) b: Option<String>,
    /// Only the URIs
    #[arg(long)]
    pub(crate) names: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Draw the branches
    #[arg(long)]
    pub(crate) graph: bool,
    /// Of every branch
    #[arg(long)]
    pub(crate) all: bool,
    /// Most entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct RevertWhat {
    /// Everything committed together with this sequence or checkpoint
    #[arg(value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
    /// Everything that came from a run
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Everything that was read from a source, such as a trace or a document
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Revert {
    #[command(flatten)]
    pub(crate) what: RevertWhat,
    #[command(flatten)]
    pub(crate) why: Why,
}

// Who does it and why, kept with what is written.
#[derive(Debug, Default, Args)]
pub(crate) struct Why {
    /// Who decides
    #[arg(long, value_name = "NAME", env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CherryPick {
    /// What to copy
    pub(crate) uri: String,
    /// Branch to copy it from
    #[arg(long, value_name = "BRANCH")]
    pub(crate) from: String,
    #[command(flatten)]
    pub(crate) why: Why,
}

#[derive(Debug, Args)]
pub(crate) struct Alias {
    /// The URI that is to stand for another
    pub(crate) old: String,
    /// The URI that it stands for
    pub(crate) new: String,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveUri {
    /// Any URI: of a record, an event, a checkpoint, a policy
    pub(crate) uri: String,
    /// Write the bytes to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct CloneArgs {
    /// The new capsule; nothing may be there yet
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Exchange {
    /// The other capsule
    pub(crate) path: PathBuf,
    /// Name before the branches that come where both capsules went on [default: the giving one's folder or file]
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) name: Option<String>,
}
