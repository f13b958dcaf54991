//! Arguments of the verbs about branches, checkpoints, events and merges.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};

use super::values::{count, object, run_name};
use crate::examples;

// The state that a reading verb looks at.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Which memory")]
pub(crate) struct When {
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date (the end
    /// of that day), or an age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Read the capsule mounted under this name
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
        /// Include archived branches
        #[arg(long)]
        all: bool,
    },
    /// Create a branch; a name cannot be reused
    #[command(after_help = examples::BRANCH)]
    Create {
        /// Name, such as run/2026-11-28 or experiment
        name: String,
        /// Parent branch [default: the current one]
        #[arg(long = "from", value_name = "BRANCH")]
        parent: Option<String>,
        /// Fork point: a checkpoint, a sequence or a time [default: now]
        #[arg(long, value_name = "WHEN")]
        as_of: Option<String>,
        /// Switch to it
        #[arg(long)]
        switch: bool,
    },
    /// Archive a branch: it stays readable and cannot be written
    #[command(after_help = examples::BRANCH)]
    Archive {
        /// Branch
        #[arg(value_name = "BRANCH")]
        name: String,
    },
    /// Switch the capsule to another branch
    #[command(after_help = examples::BRANCH)]
    Switch {
        /// Branch
        #[arg(value_name = "BRANCH")]
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Checkpoint {
    /// Label, unique on its branch
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "stage",
        allow_hyphen_values = true
    )]
    pub(crate) label: Option<String>,
    /// Reuse an existing label
    #[arg(long)]
    pub(crate) force: bool,
    /// Run stage that ended: labels the checkpoint and records a StageTransition event
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) stage: Option<String>,
    /// Spec that the run works on
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Run
    #[arg(long, value_name = "ID", env = "KAPSA_RUN", value_parser = run_name)]
    #[arg(hide_env_values = true)]
    pub(crate) run: Option<String>,
    /// Git commit of the work at this point
    #[arg(long, value_name = "HASH")]
    pub(crate) git_commit: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Checkpoints {
    /// Include every branch
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Only this type; repeatable
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Only of this stage
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) stage: Option<String>,
    /// Only of this spec
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Only of this run
    #[arg(long, value_name = "ID", value_parser = run_name)]
    pub(crate) run: Option<String>,
    /// Only after this checkpoint
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) since_checkpoint: Option<String>,
    /// Only audit events
    #[arg(long)]
    pub(crate) audit_only: bool,
    /// Only events that a curated merge includes
    #[arg(long)]
    pub(crate) curated_only: bool,
    /// Include events of every branch, not just this one and what was merged into it
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of events, newest kept
    #[arg(long, value_name = "N", value_parser = count)]
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
    /// Record an event
    #[command(after_help = examples::EVENT)]
    Emit(Box<Emit>),
}

#[derive(Debug, Args)]
pub(crate) struct Emit {
    /// Type, such as GateDecision or ToolCall
    #[arg(value_name = "TYPE")]
    pub(crate) event_type: String,
    /// Payload of that type, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) payload: Option<Map<String, Value>>,
    /// Spec that the run works on
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Run
    #[arg(long, value_name = "ID", env = "KAPSA_RUN", value_parser = run_name)]
    #[arg(hide_env_values = true)]
    pub(crate) run: Option<String>,
    /// Stage of the run
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) stage: Option<String>,
    /// Agent that records it
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// Never fail: print problems to standard error and exit 0
    #[arg(long)]
    pub(crate) best_effort: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MergeMode {
    /// Only what is worth keeping
    #[default]
    Curated,
    /// Everything
    Full,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Branch to merge
    #[arg(value_name = "BRANCH", required_unless_present_any = ["from", "apply"], conflicts_with_all = ["from", "apply"])]
    pub(crate) branch_to_merge: Option<String>,
    /// Branch to merge, as an option
    #[arg(long, value_name = "BRANCH")]
    pub(crate) from: Option<String>,
    /// Branch to merge into [default: its parent]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) to: Option<String>,
    /// How much to merge
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: MergeMode,
    /// Spec that the branch worked on, kept with the merge
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Show what would happen without writing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Merge only these: a URI with * and ?, kind:KIND or label:LABEL; repeatable
    #[arg(long, value_name = "WHAT")]
    pub(crate) include: Vec<String>,
    /// Leave these out; repeatable
    #[arg(long, value_name = "WHAT")]
    pub(crate) exclude: Vec<String>,
    /// Resolve conflicts with the target branch
    #[arg(long, group = "rule")]
    pub(crate) ours: bool,
    /// Resolve conflicts with the merged branch
    #[arg(long, group = "rule")]
    pub(crate) theirs: bool,
    /// Keep both sides of each conflict as contested
    #[arg(long, group = "rule")]
    pub(crate) contested: bool,
    /// Write a review file to decide in, then --apply it; merges nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rule", "apply", "dry_run"])]
    pub(crate) plan: Option<PathBuf>,
    /// Merge according to a review file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "to", "mode", "include", "exclude", "rule"])]
    pub(crate) apply: Option<PathBuf>,
    /// Who decides
    #[arg(
        long,
        value_name = "NAME",
        env = "KAPSA_AGENT",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    pub(crate) by: Option<String>,
    /// Reason, kept with the decisions
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Branch, point in time, or BRANCH@POINT
    #[arg(value_name = "BRANCH|POINT")]
    pub(crate) a: String,
    /// Other side [default: the current branch now]
    #[arg(value_name = "BRANCH|POINT")]
    pub(crate) b: Option<String>,
    /// Print only the URIs
    #[arg(long)]
    pub(crate) names: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Draw the branches as a graph
    #[arg(long)]
    pub(crate) graph: bool,
    /// Include every branch
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct RevertWhat {
    /// Undo everything committed together with this sequence or checkpoint
    #[arg(value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
    /// Undo everything that came from a run
    #[arg(long, value_name = "ID", value_parser = run_name)]
    pub(crate) run: Option<String>,
    /// Undo everything read from a source, such as a trace or a document
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
    #[arg(
        long,
        value_name = "NAME",
        env = "KAPSA_AGENT",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    pub(crate) by: Option<String>,
    /// Reason
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CherryPick {
    /// URI of the record
    pub(crate) uri: String,
    /// Branch to copy from
    #[arg(long, value_name = "BRANCH")]
    pub(crate) from: String,
    #[command(flatten)]
    pub(crate) why: Why,
}

#[derive(Debug, Args)]
pub(crate) struct Alias {
    /// New alias
    pub(crate) old: String,
    /// URI that it stands for
    #[arg(value_name = "URI")]
    pub(crate) new: String,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveUri {
    /// URI of a record, an event, a checkpoint or a policy
    pub(crate) uri: String,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct CloneArgs {
    /// Path of the new capsule; must not exist yet
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Exchange {
    /// Name of a remote, or the path of the other capsule
    #[arg(value_name = "REMOTE")]
    pub(crate) remote: String,
    /// For a path that is no remote yet and has a history of its own: name to add it under
    /// [default: its folder or file name]
    #[arg(long = "name", value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<RemoteVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RemoteVerb {
    /// Add a capsule to exchange records with
    #[command(after_help = examples::REMOTE)]
    Add {
        /// Name; its branches are called NAME/main and so on
        name: String,
        /// A capsule, a folder that has one, or ssh://host/path
        location: String,
    },
    /// List remotes (the default)
    #[command(after_help = examples::REMOTE)]
    List,
    /// Remove a remote; its branches stay, archived
    #[command(after_help = examples::REMOTE)]
    Remove {
        /// Name
        name: String,
    },
    /// Rename a remote
    #[command(after_help = examples::REMOTE)]
    Rename {
        /// Name
        name: String,
        /// New name
        to: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Path of the capsule
    pub(crate) path: PathBuf,
    /// Whether records may be given to it
    #[arg(long)]
    pub(crate) write: bool,
}
