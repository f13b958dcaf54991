//! What can be typed: every verb, its flags and its examples. Knows nothing of what the verbs do.
//!
//! Help, shell completions and manual pages are all made from these types. The arguments of a verb
//! are built only when that verb is called (`defer`), which keeps a short call short.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use kapsa_memory::request::{FIND_K_DEFAULT, FIND_K_MAX, TIMELINE_LIMIT_DEFAULT};
use kapsa_memory::{BATCH_RECORDS_MAX, Micros};
use serde_json::{Map, Value};

use crate::examples;
use crate::typed_time;
use values::{bounded, count, object, run_name};

mod agent;
mod backend;
mod clearance;
mod context;
mod entity;
mod fs;
mod groups;
mod hook;
mod key;
mod knowledge;
mod mcp;
mod memory_tool;
mod review;
mod role;
mod run;
mod search;
mod setup;
mod traces;
mod transfer;
mod values;
mod versions;

pub(crate) use agent::{
    Compare, EpisodeAdd, EpisodeArgs, EpisodeList, EpisodeVerb, FactAdd, FactArgs, FactAttribute,
    FactFilters, FactValue, FactVerb, InsightAdd, InsightArgs, InsightList, InsightVerb,
    OneInsight, Owner, Publish,
};
pub(crate) use backend::{BackendArgs, BackendVerb, CompareBackends};
pub(crate) use clearance::{ClearanceArgs, ClearanceVerb, Level};
pub(crate) use context::ContextArgs;
pub(crate) use entity::{EntityArgs, EntityNamesArgs, EntityVerb};
pub(crate) use fs::{FsArgs, FsOf, FsVerb, FsWrite};
pub(crate) use groups::command;
pub(crate) use hook::{Drain, HookArgs, HookVerb, SessionStart, UserPromptSubmit, WriteGuard};
pub(crate) use key::{KeyArgs, KeyVerb};
pub(crate) use knowledge::{
    EdgeDirection, From, GraphArgs, GraphVerb, PolicyArgs, PolicyVerb, ReplayArgs, ReplayVerb,
};
pub(crate) use mcp::McpArgs;
pub(crate) use memory_tool::MemoryToolArgs;
pub(crate) use review::{
    REVIEW_LIMIT_DEFAULT, ReviewArgs, ReviewDecide, ReviewEdit, ReviewScopeArgs, ReviewVerb,
    TrustLevel,
};
pub(crate) use role::{Asking, RoleArgs, RoleRespond, RoleRun, RoleSchedule, RoleVerb};
pub(crate) use run::{
    ContextFormat, Named, RunArchive, RunArgs, RunConfigArgs, RunContext, RunFinish, RunLayout,
    RunList, RunMerge, RunPlace, RunRecord, RunStart, RunStatus, RunTaskStart, RunTaskVerb,
    RunVerb, WhichRun, chunk_count, run_id,
};
pub(crate) use search::{
    Embed, EmbedWhen, Group, ModelArgs, ModelVerb, Ranking, Reembed, Reranking, SearchBy,
};
pub(crate) use setup::SetupArgs;
pub(crate) use traces::{
    ConnectArgs, MaintainArgs, PipelineArgs, SummariseArgs, SyncArgs, TraceArgs, TraceVerb,
};
pub(crate) use transfer::{Export, FormatArg, Gc, Import, OnConflict};
pub(crate) use values::tag;
pub(crate) use versions::{
    Alias, BranchArgs, BranchVerb, Checkpoint, Checkpoints, CherryPick, CloneArgs, Diff, Emit,
    EventArgs, EventVerb, EventsArgs, Exchange, Log, Merge, MergeMode, RemoteArgs, RemoteVerb,
    ResolveUri, Revert, ServeArgs, When,
};

/// How long to wait for another writer by default.
pub(crate) const LOCK_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// Records in one commit of a bulk put by default.
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

// Flags that every verb takes. A documentation comment here would take the place of a verb's
// description, as in the other flattened groups below.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Capsule to use [default: .kapsa/workspace.kapsa here or in a parent folder]
    #[arg(long, global = true, value_name = "PATH", env = "KAPSA_CAPSULE", hide_env_values = true)]
    pub(crate) capsule: Option<PathBuf>,
    /// Branch to read or write [default: the capsule's current branch, else main]
    #[arg(long, global = true, value_name = "NAME", env = "KAPSA_BRANCH", hide_env_values = true)]
    pub(crate) branch: Option<String>,
    /// Act as this principal, and hide what it may not read
    #[arg(
        long = "as",
        global = true,
        value_name = "PRINCIPAL",
        env = "KAPSA_PRINCIPAL",
        hide_env_values = true
    )]
    pub(crate) principal: Option<String>,
    /// Mark what is written as trusted no further than this
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "TRUST",
        env = "KAPSA_TRUST",
        hide_env_values = true
    )]
    pub(crate) trust: Option<TrustLevel>,
    /// Leave out what is trusted less far than this when reading
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "TRUST",
        env = "KAPSA_MIN_TRUST",
        hide_env_values = true
    )]
    pub(crate) min_trust: Option<TrustLevel>,
    /// Print JSON for programs, errors included
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// How long to wait for another writer [default: 10]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) lock_timeout: Option<Duration>,
    /// Exit with 3 if what was given does not fit its rules, such as an unknown type of event
    #[arg(long, global = true, env = "KAPSA_STRICT_EXIT", hide_env_values = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) strict_exit: bool,
    /// When to use colour; NO_COLOR turns it off
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Verb {
    /// Create a capsule in this folder (.kapsa/workspace.kapsa)
    #[command(after_help = examples::INIT)]
    Init(Init),
    /// Give the agents on this machine a memory: Claude Code, Codex, …
    #[command(after_help = examples::SETUP)]
    Setup(SetupArgs),
    /// Create a capsule at a path
    #[command(after_help = examples::CREATE)]
    Create(Create),
    /// Store text, documents or records
    #[command(visible_alias = "add", after_help = examples::PUT)]
    Put(Box<Put>),
    /// Decide about records that wait for review
    #[command(after_help = examples::REVIEW)]
    Review(ReviewArgs),
    /// Show one record
    #[command(after_help = examples::GET)]
    Get(Get),
    /// Search by words and by meaning
    #[command(visible_alias = "search", after_help = examples::FIND)]
    Find(Box<Find>),
    /// List recent records in order
    #[command(visible_aliases = ["list", "ls"], after_help = examples::TIMELINE)]
    Timeline(Box<Timeline>),
    /// Forget a record; its history stays
    #[command(visible_alias = "rm", after_help = examples::FORGET)]
    Forget(OneUri),
    /// List every revision of a record
    #[command(after_help = examples::HISTORY)]
    History(OneUri),
    /// Show who wrote each revision of a record, when and why
    #[command(after_help = examples::BLAME)]
    Blame(OneUri),
    /// Make one URI an alias of another
    #[command(after_help = examples::ALIAS)]
    Alias(Alias),
    /// Print the content of a URI, byte for byte
    #[command(after_help = examples::RESOLVE_URI)]
    ResolveUri(ResolveUri),
    /// List, create, switch and archive branches
    #[command(visible_alias = "branches", after_help = examples::BRANCH)]
    Branch(BranchArgs),
    /// Make a checkpoint: name the current state
    #[command(visible_alias = "commit", after_help = examples::CHECKPOINT)]
    Checkpoint(Checkpoint),
    /// List checkpoints
    #[command(after_help = examples::CHECKPOINTS)]
    Checkpoints(Checkpoints),
    /// Merge a branch into its parent
    #[command(after_help = examples::MERGE)]
    Merge(Box<Merge>),
    /// Show changes between branches or points in time
    #[command(after_help = examples::DIFF)]
    Diff(Diff),
    /// List what was written, newest first
    #[command(after_help = examples::LOG)]
    Log(Log),
    /// Undo the changes of a commit, a run or a source
    #[command(after_help = examples::REVERT)]
    Revert(Revert),
    /// Copy one record from another branch
    #[command(after_help = examples::CHERRY_PICK)]
    CherryPick(CherryPick),
    /// Copy the whole capsule, safely while others write to it
    #[command(after_help = examples::CLONE)]
    Clone(CloneArgs),
    /// Add, list, rename and remove capsules to exchange records with
    #[command(after_help = examples::REMOTE)]
    Remote(RemoteArgs),
    /// Fetch what is new in another capsule to NAME/main and so on
    #[command(after_help = examples::FETCH)]
    Fetch(Exchange),
    /// Fetch what is new in another capsule, and merge it
    #[command(after_help = examples::PULL)]
    Pull(Exchange),
    /// Push to another capsule what it lacks
    #[command(after_help = examples::PUSH)]
    Push(Exchange),
    /// Answer another capsule through standard input and output
    #[command(hide = true)]
    ServeExchange(ServeArgs),
    /// Export everything, or one run, to a file or a folder
    #[command(after_help = examples::EXPORT)]
    Export(Box<Export>),
    /// Mount another capsule read-only beside this one
    #[command(after_help = examples::IMPORT)]
    Import(Import),
    /// List mounted capsules
    #[command(after_help = examples::MOUNTS)]
    Mounts,
    /// Delete old exports and leftovers of interrupted ones
    #[command(after_help = examples::GC)]
    Gc(Gc),
    /// Capture, show and compare the policies agents work under
    #[command(after_help = examples::POLICY, subcommand_required = true, arg_required_else_help = true)]
    Policy(PolicyArgs),
    /// Keep cards about subjects, and edges between them
    #[command(after_help = examples::GRAPH, subcommand_required = true, arg_required_else_help = true)]
    Graph(GraphArgs),
    /// Replay and verify the events of a run
    #[command(after_help = examples::REPLAY, subcommand_required = true, arg_required_else_help = true)]
    Replay(ReplayArgs),
    /// List events
    #[command(after_help = examples::EVENTS)]
    Events(Box<EventsArgs>),
    /// Record an event
    #[command(after_help = examples::EVENT, subcommand_required = true, arg_required_else_help = true)]
    Event(EventArgs),
    /// Embed records without vectors
    #[command(after_help = examples::EMBED)]
    Embed(Embed),
    /// Change the embedding model of the capsule
    #[command(after_help = examples::REEMBED)]
    Reembed(Reembed),
    /// List, add and remove embedding models
    #[command(after_help = examples::MODEL, subcommand_required = true, arg_required_else_help = true)]
    Model(ModelArgs),
    /// Show sizes and counts
    #[command(visible_alias = "info", after_help = examples::STATS)]
    Stats(Stats),
    /// Check every byte, every checksum and the hash chain
    #[command(after_help = examples::VERIFY)]
    Verify(Verify),
    /// Compare stores that can serve put, find and get
    #[command(after_help = examples::BACKEND)]
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Backend(BackendArgs),
    /// Make and show the key that signs what this user commits
    #[command(after_help = examples::KEY)]
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Key(KeyArgs),
    /// Read session traces, and keep what a later session needs
    #[command(after_help = examples::SYNC)]
    Sync(SyncArgs),
    /// Show what a session trace holds, and sessions that were synced
    #[command(
        after_help = examples::TRACE,
        subcommand_required = true,
        arg_required_else_help = true
    )]
    Trace(TraceArgs),
    /// Find the session traces of agents on this machine
    #[command(after_help = examples::CONNECT)]
    Connect(ConnectArgs),
    /// Merge and archive what traces brought
    #[command(after_help = examples::MAINTAIN)]
    Maintain(MaintainArgs),
    /// Show what was synced, and what could not be read
    #[command(after_help = examples::STATUS)]
    Status,
    /// Take secrets and addresses of mail out of a text or a trace
    #[command(after_help = examples::REDACT)]
    Redact(Redact),
    /// Diagnose a capsule and show how to fix it
    #[command(after_help = examples::DOCTOR)]
    Doctor,
    /// Copy the readable records of a damaged capsule to a new one
    #[command(after_help = examples::SALVAGE)]
    Salvage(Salvage),
    /// Rewrite the capsule without superseded and purged data
    #[command(after_help = examples::COMPACT)]
    Compact,
    /// Merge the index into fewer segments
    #[command(after_help = examples::OPTIMIZE)]
    Optimize(Optimize),
    /// Erase every revision of a record for good
    #[command(after_help = examples::PURGE)]
    Purge(Purge),
    /// Watch kapsa work on real documents in a temporary folder
    #[command(after_help = examples::TOUR)]
    Tour,
    /// Record the work of an agent team and share it between its agents
    #[command(after_help = examples::RUN, subcommand_required = true, arg_required_else_help = true)]
    Run(Box<RunArgs>),
    /// Add, list and resolve facts
    #[command(after_help = examples::FACT, subcommand_required = true, arg_required_else_help = true)]
    Fact(FactArgs),
    /// Declare other names of an entity
    #[command(after_help = examples::ENTITY)]
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Entity(EntityArgs),
    /// Add and list episodes: what an agent did
    #[command(after_help = examples::EPISODE, subcommand_required = true, arg_required_else_help = true)]
    Episode(EpisodeArgs),
    /// Add, list and publish insights: what an agent learned
    #[command(after_help = examples::INSIGHT, subcommand_required = true, arg_required_else_help = true)]
    Insight(InsightArgs),
    /// Print what an agent should know before its next step
    #[command(after_help = examples::CONTEXT)]
    Context(Box<ContextArgs>),
    /// Run the roles that kapsa.toml declares
    #[command(after_help = examples::ROLE, subcommand_required = true, arg_required_else_help = true)]
    Role(RoleArgs),
    /// Browse and write an agent's memory as a file system
    #[command(after_help = examples::FS, subcommand_required = true, arg_required_else_help = true)]
    Fs(FsArgs),
    /// Carry out commands of a model's memory tool (memory_20250818)
    #[command(after_help = examples::MEMORY_TOOL)]
    MemoryTool(MemoryToolArgs),
    /// Set what each principal may read
    #[command(after_help = examples::CLEARANCE, subcommand_required = true, arg_required_else_help = true)]
    Clearance(ClearanceArgs),
    /// Answer the hooks of a session of an agent's program
    #[command(after_help = examples::HOOK)]
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Hook(HookArgs),
    /// Serve the memory to agents over the Model Context Protocol
    #[command(after_help = examples::MCP)]
    Mcp(McpArgs),
    /// Serve programs that keep one store per run and task
    #[command(after_help = examples::SVC, subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
    Svc(Svc),
    /// Type verbs without `kapsa` before them, or run a script
    #[command(after_help = examples::SHELL)]
    Shell(ShellArgs),
    /// Print the completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Print the manual page, or write all pages to a folder
    #[command(after_help = examples::MAN)]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Start over; keep the old capsule as workspace.kapsa.bak
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Path of the capsule
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// Files or folders to store, or `-` for standard input (JSON or JSON Lines)
    #[arg(value_name = "SOURCE", conflicts_with = "text")]
    pub(crate) sources: Vec<PathBuf>,
    /// Text to store
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Read standard input as plain text instead of JSON
    #[arg(long, conflicts_with = "text")]
    pub(crate) plain: bool,
    /// Records per commit of a bulk put
    #[arg(long, value_name = "N", default_value_t = BATCH_RECORDS_DEFAULT, value_parser = batch_size)]
    pub(crate) batch: usize,
    /// Store all JSON records in one commit, or none of them if one is refused
    #[arg(long, conflicts_with_all = ["batch", "text", "plain"])]
    pub(crate) atomic: bool,
    /// What becomes of a record whose URI already holds another text [default: replace, except that
    /// an earlier revision does not come back]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) on_conflict: Option<OnConflict>,
    /// Print a line for every record, not just the summary
    #[arg(long)]
    pub(crate) each: bool,
    /// Store only what no record holds the same text of
    #[arg(long)]
    pub(crate) if_new: bool,
    /// Forget the documents of these folders whose files are gone
    #[arg(long, conflicts_with = "text")]
    pub(crate) prune: bool,
    /// When to embed the records [default: now for at most 64 short records]
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
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) title: Option<String>,
    /// Kind, such as note, fact or decision [default: note]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) kind: Option<String>,
    /// Label, such as the author's role
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) label: Option<String>,
    /// URI, such as note/locks; an existing one gets a new revision. With a file, of any bytes, the
    /// file is stored under it
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) uri: Option<String>,
    /// Tag; repeatable
    #[arg(long = "tag", value_name = "NAME[=VALUE]", value_parser = tag)]
    pub(crate) tags: Vec<(String, String)>,
    /// Metadata as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) meta: Option<Map<String, Value>>,
    /// Entity it is about
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) entity: Option<String>,
    /// Domain of knowledge
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Option<String>,
    /// Agent that writes it
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// Run it belongs to
    #[arg(long, env = "KAPSA_RUN", hide_env_values = true, value_parser = run_name)]
    pub(crate) run: Option<String>,
    /// Confidence of the writer, 0 to 1
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// Time it was created: RFC 3339, a date, or an age such as 2h
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) created_at: Option<Micros>,
    /// Classification [default: internal to its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// Principal that may read a restricted record; repeatable
    #[arg(long, value_name = "PRINCIPAL", requires = "classification")]
    pub(crate) named: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// URI, such as note/locks
    pub(crate) uri: String,
    /// Revision to show by its sequence [default: the newest]
    #[arg(long, value_name = "N")]
    pub(crate) seq: Option<u64>,
    /// Print only the text, or the bytes of the file, exactly as they were stored
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Any text; words, "phrases", +must, -not, field:value, begin*
    #[arg(required = true, value_name = "QUERY", allow_negative_numbers = true)]
    pub(crate) query: Vec<String>,
    /// Maximum number of hits
    #[arg(short = 'k', long = "limit", value_name = "N", default_value_t = FIND_K_DEFAULT, value_parser = hit_count)]
    pub(crate) k: usize,
    /// Show the newest records, marked as such, when nothing matches
    #[arg(long)]
    pub(crate) fallback: bool,
    /// With --json: include the full text of every hit
    #[arg(long)]
    pub(crate) full: bool,
    /// Include facts that were superseded or whose validity has ended
    #[arg(long)]
    pub(crate) include_superseded: bool,
    /// List each record of the same text as a hit of its own
    #[arg(long)]
    pub(crate) duplicates: bool,
    /// Require phrases in quotes, which otherwise only come first
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show N turns before and after each hit of a conversation
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=50))]
    pub(crate) around: u8,
    /// Explain how the query was read, and what speaks for each hit
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) ranking: Ranking,
    #[command(flatten)]
    pub(crate) reranking: Reranking,
    #[command(flatten)]
    pub(crate) filters: Filters,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Debug, Args)]
pub(crate) struct Timeline {
    /// Maximum number of records
    #[arg(long, value_name = "N", default_value_t = TIMELINE_LIMIT_DEFAULT, value_parser = count)]
    pub(crate) limit: usize,
    /// List the newest first
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Take the oldest records instead of the newest
    #[arg(long)]
    pub(crate) oldest: bool,
    #[command(flatten)]
    pub(crate) filters: Filters,
    #[command(flatten)]
    pub(crate) when: When,
}

// Which records to show at all. A flag given twice allows either value; a tag given twice asks for
// both.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
    /// Only this kind
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) kind: Vec<String>,
    /// Only this label
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) label: Vec<String>,
    /// Only with this tag
    #[arg(long = "tag", value_name = "NAME[=VALUE]", value_parser = tag)]
    pub(crate) tags: Vec<(String, String)>,
    /// Only by this agent
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) agent: Vec<String>,
    /// Only of this run
    #[arg(long, value_parser = run_name)]
    pub(crate) run: Vec<String>,
    /// Only about this entity
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) entity: Vec<String>,
    /// Only of this domain
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Vec<String>,
    /// Only from this document, by the name it was stored under
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Vec<String>,
    /// Only created since: RFC 3339, a date, or an age such as 7d or 12h
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) since: Option<Micros>,
    /// Only created before this time; a date includes its day
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_end_arg)]
    pub(crate) until: Option<Micros>,
    /// Only stored in the capsule since this time
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) recorded_since: Option<Micros>,
    /// Only stored in the capsule before this time; a date includes its day
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_end_arg)]
    pub(crate) recorded_until: Option<Micros>,
}

#[derive(Debug, Args)]
pub(crate) struct OneUri {
    /// URI, such as note/locks
    pub(crate) uri: String,
}

#[derive(Debug, Args)]
pub(crate) struct Optimize {
    /// Do only what puts start in the background: merge when there are more than a few segments,
    /// and write the file anew when most of it was replaced
    #[arg(long)]
    pub(crate) due: bool,
    /// Bytes that must be replaced before the file is written anew
    #[arg(long, hide = true, requires = "due", value_name = "BYTES")]
    pub(crate) replaced_min: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Also count live URIs, branches, checkpoints and events (reads the whole index)
    #[arg(long)]
    pub(crate) count: bool,
    #[command(flatten)]
    pub(crate) when: When,
}

// It writes nothing that a level of trust could be said of: here the flag is of keys.
#[derive(Debug, Args)]
#[command(mut_arg("trust", |global| global.long("trust-level").hide(true)))]
pub(crate) struct Verify {
    /// Require signed history by this public key, or by those in a file; repeatable
    #[arg(id = "trusted_keys", long = "trust", value_name = "KEY|FILE")]
    pub(crate) trust: Vec<String>,
    /// Require this chain, or that of a file or another capsule, in the history
    #[arg(long, value_name = "HASH|@FILE")]
    pub(crate) expect_chain: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Redact {
    /// File of any text, JSON or lines of JSON; - is standard input
    pub(crate) file: String,
    /// List what would go, by line, column and rule, and print nothing of the text
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Salvage {
    /// Path of the new capsule; must not exist yet
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// URI, such as note/secret
    pub(crate) uri: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    /// Stop a script at its first failing line
    #[arg(long)]
    pub(crate) stop: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Folder to write the pages of all verbs to
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
    /// Create a store, unless it exists
    #[command(after_help = examples::SVC_CREATE)]
    Create {
        /// Path of the store
        path: PathBuf,
    },
    /// Store one JSON object from standard input
    #[command(after_help = examples::SVC_PUT)]
    Put {
        /// Path of the store
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
        /// Paths of the stores; `*` and `?` match several. Scores are then relative to the best
        /// hit of all
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Query
        #[arg(long, allow_hyphen_values = true)]
        query: String,
        /// Maximum number of results
        #[arg(long, value_name = "N", default_value_t = 5)]
        k: usize,
        /// How to search; falls back to words where a store has no vectors
        #[arg(long, value_enum, default_value_t = Mode::Auto)]
        mode: Mode,
    },
    /// List entries, oldest first
    #[command(after_help = examples::SVC_TIMELINE)]
    Timeline {
        /// Path of the store
        path: PathBuf,
        /// Maximum number of entries
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show the size of a store
    #[command(after_help = examples::SVC_INFO)]
    Info {
        /// Path of the store
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
    let number: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
    Duration::try_from_secs_f64(number).map_err(|_| "negative or too large".to_string())
}

fn batch_size(text: &str) -> Result<usize, String> {
    bounded(text, 1, BATCH_RECORDS_MAX)
}

fn hit_count(text: &str) -> Result<usize, String> {
    bounded(text, 1, FIND_K_MAX)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Longest summary of a verb in the list of all verbs.
    const SUMMARY_BYTES_MAX: usize = 65;

    #[test]
    fn the_command_tree_is_sound() {
        let mut command = Cli::command();
        command.build();
        command.debug_assert();
    }

    /// Verbs of verbs included, so that no help ends without showing how a verb is called.
    #[test]
    fn every_verb_has_a_short_summary_and_examples() {
        let mut command = Cli::command();
        command.build();
        let mut waiting: Vec<(String, &clap::Command)> = vec![(String::new(), &command)];
        while let Some((path, parent)) = waiting.pop() {
            let shown = parent.get_subcommands().filter(|verb| !verb.is_hide_set());
            for verb in shown.filter(|verb| verb.get_name() != "help") {
                let path = format!("{path} {}", verb.get_name());
                let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
                assert!(
                    about.starts_with(char::is_uppercase) && !about.ends_with('.'),
                    "{path}: {about}"
                );
                assert!(
                    path.matches(' ').count() > 1 || about.len() <= SUMMARY_BYTES_MAX,
                    "{path}: {about}"
                );
                let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(examples.starts_with("Examples:\n"), "{path} has no examples");
                waiting.push((path, verb));
            }
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
