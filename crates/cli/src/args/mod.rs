//! What can be typed: every verb, its flags and its examples. Knows nothing of what the verbs do.
//!
//! Help, shell completions and manual pages are all made from these types. The arguments of a verb are built only when that verb is called (`defer`), which keeps a short call short.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use kapsa_memory::request::{FIND_K_DEFAULT, FIND_K_MAX, TIMELINE_LIMIT_DEFAULT};
use kapsa_memory::{BATCH_RECORDS_MAX, Micros};
use serde_json::{Map, Value};

use crate::examples;
use crate::moment;

mod agent;
mod clearance;
mod context;
mod fs;
mod knowledge;
mod role;
mod run;
mod search;
mod transfer;
mod versions;

pub(crate) use agent::{
    Compare, EpisodeAdd, EpisodeArgs, EpisodeList, EpisodeVerb, FactAdd, FactArgs, FactFilters, FactValue, FactVerb, InsightAdd,
    InsightArgs, InsightList, InsightVerb, OneInsight, Owner, Publish,
};
pub(crate) use clearance::{ClearanceArgs, ClearanceVerb, Level};
pub(crate) use context::ContextArgs;
pub(crate) use fs::{FsArgs, FsOf, FsVerb, FsWrite};
pub(crate) use knowledge::{EdgeDirection, From, GraphArgs, GraphVerb, PolicyArgs, PolicyVerb, ReplayArgs, ReplayVerb};
pub(crate) use role::{Asking, RoleArgs, RoleRespond, RoleRun, RoleVerb};
pub(crate) use run::{
    ContextFormat, Named, RunArchive, RunArgs, RunConfigArgs, RunContext, RunFinish, RunLayout, RunList, RunMerge, RunPlace,
    RunRecord, RunStart, RunStatus, RunTaskStart, RunTaskVerb, RunVerb, WhichRun, chunk_count,
};
pub(crate) use search::{Embed, EmbedWhen, Group, ModelArgs, ModelVerb, Ranking, Reembed, SearchBy};
pub(crate) use transfer::{Export, Gc, Import};
pub(crate) use versions::{
    Alias, BranchArgs, BranchVerb, Checkpoints, CherryPick, CloneArgs, Commit, Diff, Emit, EventArgs, EventVerb, EventsArgs,
    Exchange, Log, Merge, MergeMode, ResolveUri, Revert, When,
};

/// How long to wait for another writer unless told otherwise.
pub(crate) const LOCK_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// Records that go into one commit of a bulk put unless told otherwise.
pub(crate) const BATCH_RECORDS_DEFAULT: usize = BATCH_RECORDS_MAX;

/// A memory for AI agents in one file.
#[derive(Debug, Parser)]
#[command(
    name = "kapsa",
    bin_name = "kapsa",
    version,
    after_help = examples::TOP,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

// Flags that every verb takes. A documentation comment here would take the place of a verb's description, as in the other flattened groups below.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every verb")]
pub(crate) struct Global {
    /// The capsule to use [default: .kapsa/workspace.kapsa here or in a parent folder]
    #[arg(long, global = true, value_name = "PATH", env = "KAPSA_CAPSULE", hide_env_values = true)]
    pub(crate) capsule: Option<PathBuf>,
    /// The branch to read or write [default: the capsule's current branch, else main]
    #[arg(long, global = true, value_name = "NAME", env = "KAPSA_BRANCH", hide_env_values = true)]
    pub(crate) branch: Option<String>,
    /// Act as this principal: it sees and writes what its clearance allows, and nothing tells it of the rest
    #[arg(long = "as", global = true, value_name = "PRINCIPAL", env = "KAPSA_PRINCIPAL", hide_env_values = true)]
    pub(crate) principal: Option<String>,
    /// Print JSON for programs, errors included
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// How long to wait for another writer
    #[arg(long, global = true, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) lock_timeout: Duration,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Verb {
    /// Make a capsule in this folder (.kapsa/workspace.kapsa)
    #[command(after_help = examples::INIT)]
    Init(Init),
    /// Make a capsule at a path, or find one there
    #[command(after_help = examples::CREATE)]
    Create(Create),
    /// Remember text, documents or records
    #[command(after_help = examples::PUT)]
    Put(Box<Put>),
    /// Show one record
    #[command(after_help = examples::GET)]
    Get(Get),
    /// Search
    #[command(after_help = examples::FIND)]
    Find(Box<Find>),
    /// List what is remembered, in the order it was
    #[command(after_help = examples::TIMELINE)]
    Timeline(Box<Timeline>),
    /// Forget a record; its history stays
    #[command(after_help = examples::FORGET)]
    Forget(OneUri),
    /// Show every revision of a record
    #[command(after_help = examples::HISTORY)]
    History(OneUri),
    /// Show how a record came to be what it is: who, when, from where, by whose decision
    #[command(after_help = examples::BLAME)]
    Blame(OneUri),
    /// Let one URI stand for another
    #[command(after_help = examples::ALIAS)]
    Alias(Alias),
    /// Print what a URI names, byte for byte
    #[command(after_help = examples::RESOLVE_URI)]
    ResolveUri(ResolveUri),
    /// List, make, archive and switch branches
    #[command(visible_alias = "branches", after_help = examples::BRANCH)]
    Branch(BranchArgs),
    /// Give this moment a name: a checkpoint
    #[command(after_help = examples::COMMIT)]
    Commit(Commit),
    /// List the checkpoints
    #[command(after_help = examples::CHECKPOINTS)]
    Checkpoints(Checkpoints),
    /// Merge a branch into the one that it left
    #[command(after_help = examples::MERGE)]
    Merge(Box<Merge>),
    /// Show how two branches or moments differ
    #[command(after_help = examples::DIFF)]
    Diff(Diff),
    /// Show what was written, newest first
    #[command(after_help = examples::LOG)]
    Log(Log),
    /// Undo what came from one commit, run or source
    #[command(after_help = examples::REVERT)]
    Revert(Revert),
    /// Copy one record from another branch
    #[command(after_help = examples::CHERRY_PICK)]
    CherryPick(CherryPick),
    /// Copy the whole capsule, while others may write to it
    #[command(after_help = examples::CLONE)]
    Clone(CloneArgs),
    /// Bring what another capsule has and this one misses
    #[command(after_help = examples::PULL)]
    Pull(Exchange),
    /// Bring what this capsule has to another that misses it
    #[command(after_help = examples::PULL)]
    Push(Exchange),
    /// Write all of it, or one run, to a new capsule, JSON lines or readable files
    #[command(after_help = examples::EXPORT)]
    Export(Box<Export>),
    /// Mount another capsule beside this one, to be read only
    #[command(after_help = examples::IMPORT)]
    Import(Import),
    /// List what was imported
    #[command(after_help = examples::MOUNTS)]
    Mounts,
    /// Delete old exports, and what exports and imports left that did not end
    #[command(after_help = examples::GC)]
    Gc(Gc),
    /// Capture, show and compare the rules that agents work under
    #[command(after_help = examples::POLICY, subcommand_required = true, arg_required_else_help = true)]
    Policy(PolicyArgs),
    /// Cards about subjects, and edges between them
    #[command(after_help = examples::GRAPH, subcommand_required = true, arg_required_else_help = true)]
    Graph(GraphArgs),
    /// Go through what happened in a run again
    #[command(after_help = examples::REPLAY, subcommand_required = true, arg_required_else_help = true)]
    Replay(ReplayArgs),
    /// List what happened
    #[command(after_help = examples::EVENTS)]
    Events(Box<EventsArgs>),
    /// Tell that something happened
    #[command(after_help = examples::EVENT, subcommand_required = true, arg_required_else_help = true)]
    Event(EventArgs),
    /// Make vectors of what lacks them, for search by meaning
    #[command(after_help = examples::EMBED)]
    Embed(Embed),
    /// Change the model that search by meaning uses
    #[command(after_help = examples::REEMBED)]
    Reembed(Reembed),
    /// List, add and remove the models of search by meaning
    #[command(after_help = examples::MODEL, subcommand_required = true, arg_required_else_help = true)]
    Model(ModelArgs),
    /// Show sizes and counts
    #[command(visible_alias = "info", after_help = examples::STATS)]
    Stats(Stats),
    /// Check every byte, every checksum and the chain
    #[command(after_help = examples::VERIFY)]
    Verify,
    /// Say what is wrong with a capsule, and what mends it
    #[command(after_help = examples::DOCTOR)]
    Doctor,
    /// Copy what can be read of a damaged capsule into a new one
    #[command(after_help = examples::SALVAGE)]
    Salvage(Salvage),
    /// Rewrite the capsule without what is superseded or purged
    #[command(after_help = examples::COMPACT)]
    Compact,
    /// Merge the index into few segments
    #[command(after_help = examples::OPTIMIZE)]
    Optimize,
    /// Erase every revision of a record for good
    #[command(after_help = examples::PURGE)]
    Purge(Purge),
    /// See the whole of it work on real documents, in a temporary folder
    #[command(after_help = examples::TOUR)]
    Tour,
    /// Keep what the agents of a team do, and tell each what its siblings know
    #[command(after_help = examples::RUN, subcommand_required = true, arg_required_else_help = true)]
    Run(Box<RunArgs>),
    /// Facts: what is known, until when, and by whom it is contested
    #[command(after_help = examples::FACT, subcommand_required = true, arg_required_else_help = true)]
    Fact(FactArgs),
    /// Episodes: what an agent did
    #[command(after_help = examples::EPISODE, subcommand_required = true, arg_required_else_help = true)]
    Episode(EpisodeArgs),
    /// Insights: what an agent learned
    #[command(after_help = examples::INSIGHT, subcommand_required = true, arg_required_else_help = true)]
    Insight(InsightArgs),
    /// What an agent should know before its next step: insights, facts and what it did last, within a budget
    #[command(after_help = examples::CONTEXT)]
    Context(Box<ContextArgs>),
    /// Roles: a soul, operators, an authority and a memory, as kapsa.toml declares them
    #[command(after_help = examples::ROLE, subcommand_required = true, arg_required_else_help = true)]
    Role(RoleArgs),
    /// The memory of an agent as a file system
    #[command(after_help = examples::FS, subcommand_required = true, arg_required_else_help = true)]
    Fs(FsArgs),
    /// Say what each principal may know
    #[command(after_help = examples::CLEARANCE, subcommand_required = true, arg_required_else_help = true)]
    Clearance(ClearanceArgs),
    /// The interface for programs that keep one store per run and task
    #[command(after_help = examples::SVC, subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Svc(Svc),
    /// Type verbs without `kapsa` before them, or run a script of them
    #[command(after_help = examples::SHELL)]
    Shell(ShellArgs),
    /// Print the completions for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Print the manual page, or write the pages of all verbs to a folder
    #[command(after_help = examples::MAN)]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Start anew; an old capsule is kept as workspace.kapsa.bak
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Where
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// Files or folders to remember, or `-` for standard input (JSON, or JSON Lines)
    #[arg(value_name = "SOURCE", conflicts_with = "text")]
    pub(crate) sources: Vec<PathBuf>,
    /// The text to remember
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Take standard input as the text itself, not as JSON
    #[arg(long, conflicts_with = "text")]
    pub(crate) plain: bool,
    /// Records in one commit of a bulk put
    #[arg(long, value_name = "N", default_value_t = BATCH_RECORDS_DEFAULT, value_parser = batch_size)]
    pub(crate) batch: usize,
    /// Print a line for every record, not only the summary
    #[arg(long)]
    pub(crate) each: bool,
    /// Whether the records get vectors at once [default: when they are at most 64 and short]
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
    #[command(flatten)]
    pub(crate) fields: Fields,
}

// Fields for the records of one call; what a record itself brings is kept.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Fields of the records")]
pub(crate) struct Fields {
    /// Title
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Kind, such as note, fact or decision [default: note]
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Label, such as the author's role
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// URI, such as note/locks; a known one gets a new revision
    #[arg(long)]
    pub(crate) uri: Option<String>,
    /// Tag; may be repeated
    #[arg(long = "tag", value_name = "NAME[=VALUE]", value_parser = tag)]
    pub(crate) tags: Vec<(String, String)>,
    /// Metadata, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) meta: Option<Map<String, Value>>,
    /// What it is about
    #[arg(long)]
    pub(crate) entity: Option<String>,
    /// Field of knowledge
    #[arg(long)]
    pub(crate) domain: Option<String>,
    /// Who writes
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) agent: Option<String>,
    /// Run it is written in
    #[arg(long, env = "KAPSA_RUN", hide_env_values = true)]
    pub(crate) run: Option<String>,
    /// How sure the writer is, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// When it came about: RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) created_at: Option<Micros>,
    /// How far it may spread [default: internal in its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// Who may know it when it is restricted; may be repeated
    #[arg(long, value_name = "PRINCIPAL", requires = "classification")]
    pub(crate) named: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// URI, such as note/locks
    pub(crate) uri: String,
    /// The revision with this sequence instead of the newest
    #[arg(long, value_name = "N")]
    pub(crate) seq: Option<u64>,
    /// Only the text, byte for byte
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Words, "phrases", +must, -not, field:value
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Most hits
    #[arg(short = 'k', long = "limit", value_name = "N", default_value_t = FIND_K_DEFAULT, value_parser = hit_count)]
    pub(crate) k: usize,
    /// When nothing matches, show the newest records, marked as such
    #[arg(long)]
    pub(crate) fallback: bool,
    /// With --json: the whole text of every hit too
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) ranking: Ranking,
    #[command(flatten)]
    pub(crate) filters: Filters,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct Timeline {
    /// Most entries
    #[arg(long, value_name = "N", default_value_t = TIMELINE_LIMIT_DEFAULT)]
    pub(crate) limit: usize,
    /// Newest first
    #[arg(long)]
    pub(crate) reverse: bool,
    #[command(flatten)]
    pub(crate) filters: Filters,
    #[command(flatten)]
    pub(crate) when: When,
}

// Which records to show at all. A flag given twice allows either value; a tag given twice asks for both.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
    /// Only this kind
    #[arg(long)]
    pub(crate) kind: Vec<String>,
    /// Only this label
    #[arg(long)]
    pub(crate) label: Vec<String>,
    /// Only with this tag
    #[arg(long = "tag", value_name = "NAME[=VALUE]", value_parser = tag)]
    pub(crate) tags: Vec<(String, String)>,
    /// Only by this agent
    #[arg(long)]
    pub(crate) agent: Vec<String>,
    /// Only of this run
    #[arg(long)]
    pub(crate) run: Vec<String>,
    /// Only about this entity
    #[arg(long)]
    pub(crate) entity: Vec<String>,
    /// Only of this field of knowledge
    #[arg(long)]
    pub(crate) domain: Vec<String>,
    /// Only from this document, by the name it was put under
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Vec<String>,
    /// Only since then: RFC 3339, a date (its first moment, UTC), or a span back such as 7d or 12h
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) since: Option<Micros>,
    /// Only before then
    #[arg(long, value_name = "TIME", value_parser = moment::parse_arg)]
    pub(crate) until: Option<Micros>,
}

#[derive(Debug, Args)]
pub(crate) struct OneUri {
    /// URI, such as note/locks
    pub(crate) uri: String,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Count the live URIs, branches, checkpoints and events too, which reads the whole index
    #[arg(long)]
    pub(crate) count: bool,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct Salvage {
    /// The new capsule; nothing may be there yet
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// URI, such as note/secret
    pub(crate) uri: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    /// Stop a script at the first line that fails
    #[arg(long)]
    pub(crate) stop: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Folder for the pages of all verbs
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Svc {
    #[command(subcommand)]
    pub(crate) verb: SvcVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SvcVerb {
    /// Make a store, or find one there
    #[command(after_help = examples::SVC_CREATE)]
    Create {
        /// The store
        path: PathBuf,
    },
    /// Store one JSON object from standard input
    #[command(after_help = examples::SVC_PUT)]
    Put {
        /// The store
        path: PathBuf,
        /// Accepted for older clients; standard input is always read
        #[arg(long)]
        stdin: bool,
        /// Require title, label and text
        #[arg(long)]
        strict: bool,
    },
    /// Search one or several stores
    #[command(after_help = examples::SVC_FIND)]
    Find {
        /// The stores; `*` and `?` in a file name stand for several, whose scores are shares of the best of all
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// What to look for
        #[arg(long)]
        query: String,
        /// Most results
        #[arg(long, value_name = "N", default_value_t = 5)]
        k: usize,
        /// How to search; by words wherever meaning has no answer, as in a store without vectors
        #[arg(long, value_enum, default_value_t = Mode::Auto)]
        mode: Mode,
    },
    /// List entries, oldest first
    #[command(after_help = examples::SVC_TIMELINE)]
    Timeline {
        /// The store
        path: PathBuf,
        /// Most entries
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show how much a store holds
    #[command(after_help = examples::SVC_INFO)]
    Info {
        /// The store
        path: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// By words
    Lex,
    /// By meaning
    Sem,
    /// By both
    Auto,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number of seconds".to_string())?;
    Duration::try_from_secs_f64(number).map_err(|_| "it is negative or too large".to_string())
}

fn batch_size(text: &str) -> Result<usize, String> {
    bounded(text, 1, BATCH_RECORDS_MAX)
}

fn hit_count(text: &str) -> Result<usize, String> {
    bounded(text, 1, FIND_K_MAX)
}

fn bounded(text: &str, min: usize, max: usize) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|n| (min..=max).contains(n));
    number.ok_or_else(|| format!("it is not a number from {min} to {max}"))
}

/// Reads `name=value`, or a bare `name` whose value is empty.
pub(crate) fn tag(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    if name.is_empty() {
        return Err("a tag needs a name before the `=`".to_string());
    }
    Ok((name.to_string(), value.to_string()))
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    crate::json_input::object(text.as_bytes()).map_err(|fault| fault.message)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_tree_is_sound() {
        let mut command = Cli::command();
        command.build();
        command.debug_assert();
    }

    #[test]
    fn every_verb_has_examples() {
        let mut command = Cli::command();
        command.build();
        for verb in command.get_subcommands().filter(|c| c.get_name() != "help") {
            assert!(verb.get_after_help().is_some(), "{} has no examples", verb.get_name());
        }
    }

    #[test]
    fn tags_and_seconds() {
        assert_eq!(tag("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(tag("a"), Ok(("a".into(), String::new())));
        assert!(tag("=b").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["-1", "nan", "inf", "x", "1e300"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
