//! Arguments of `sync`, `trace`, `connect` and `maintain`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use kapsa_ingest::Agent;
use kapsa_memory::Micros;
use serde_json::{Map, Value};

use super::search::EmbedWhen;
use super::values::count;
use crate::{examples, typed_time};

#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Files of session traces, and folders that hold them [default: what kapsa connect found]
    #[arg(value_name = "TRACE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
    /// Language model that proposes what is kept: anthropic:MODEL, openai:MODEL, ollama:MODEL or
    /// "command:PROGRAM ARGS" [default: none is asked]
    #[arg(long, value_name = "NAME", conflicts_with = "no_extract")]
    pub(crate) model: Option<String>,
    /// Ask the model no more once so many tokens were used
    #[arg(long, value_name = "N", requires = "model", value_parser = count)]
    pub(crate) max_tokens: Option<usize>,
    /// Let the program that answers as the model keep its sessions in .claude of the workspace
    #[arg(long, requires = "model")]
    pub(crate) persist_sessions: bool,
    /// Only sessions that went on since: RFC 3339, a date, or an age such as 7d
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_arg)]
    pub(crate) since: Option<Micros>,
    /// Only sessions that began before this time; a date includes its day
    #[arg(long, value_name = "TIME", value_parser = typed_time::parse_end_arg)]
    pub(crate) until: Option<Micros>,
    /// Only sessions of this long until now, such as 7d or 12h
    #[arg(long, value_name = "AGE", conflicts_with = "since", value_parser = typed_time::parse_arg)]
    pub(crate) window: Option<Micros>,
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = agents())]
    pub(crate) agent: Option<String>,
    /// Read so many sessions at most: what its program will delete soon, then the newest
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_sessions: Option<usize>,
    /// Show what would be stored, and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep the sessions without looking for memories in them
    #[arg(long)]
    pub(crate) no_extract: bool,
    /// Read files again that have not changed
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the memories as files in this folder, and take what was edited there: one trace, one
    /// run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "no_extract", "max_sessions"])]
    pub(crate) memory_root: Option<PathBuf>,
    /// Keep a folder of each run here [default: .acreta/workspace]
    #[arg(long, value_name = "DIR", requires = "memory_root")]
    pub(crate) workspace_root: Option<PathBuf>,
    /// What the run is for: sync, hot or cold
    #[arg(long, value_name = "MODE", requires = "memory_root", default_value = "sync")]
    pub(crate) mode: String,
    /// Go on until it is stopped, and read sessions as they are written
    #[arg(long, conflicts_with_all = ["dry_run", "force", "max_sessions", "memory_root"])]
    #[arg(conflicts_with_all = ["until", "window"])]
    pub(crate) watch: bool,
    /// Read a file once it has not changed for so long, such as 90s or 5m
    #[arg(long, value_name = "SPAN", requires = "watch", default_value = "60s")]
    #[arg(value_parser = idle)]
    pub(crate) idle: Micros,
    /// Look for changes every few seconds, where the system reports none, as of network folders
    #[arg(long, requires = "watch")]
    pub(crate) poll: bool,
    /// When to embed what was stored [default: now]
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

/// Longest pause after which a file is read, in microseconds: a day.
const IDLE_MAX: Micros = 86_400 * 1_000_000;

fn idle(text: &str) -> Result<Micros, String> {
    let idle = typed_time::span(text).filter(|idle| (1..=IDLE_MAX).contains(idle));
    idle.ok_or_else(|| "not a span from 1s to 1d, such as 90s or 5m".to_string())
}

fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(Agent::ALL.map(Agent::name))
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) verb: TraceVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceVerb {
    /// Print what a trace holds for later sessions, and store nothing
    #[command(after_help = examples::TRACE)]
    Extract(ExtractArgs),
    /// Write the summary of a trace as a new file below summaries/ of a memory in files
    #[command(after_help = examples::TRACE, alias = "summarize")]
    Summarise(SummariseArgs),
    /// Print a session that was synced, as it is kept: without secrets, long results shortened
    #[command(after_help = examples::TRACE)]
    Show {
        /// Id of the session, or how it begins
        session: String,
    },
}

/// What the pipelines of other programs take; with any of it the answer is theirs as well.
#[derive(Debug, Args)]
pub(crate) struct PipelineArgs {
    /// File of session traces, named as the pipelines of other programs name it
    #[arg(long, value_name = "FILE")]
    pub(crate) trace_path: Option<PathBuf>,
    /// Write the answer to this file, whole or not at all [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What is known of the session: a JSON object, of which run_id, repo_name and coding_agent
    /// are used
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metadata_json: Option<Map<String, Value>>,
    /// Figures of the session: a JSON object; checked, and not used
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    pub(crate) metrics_json: Option<Map<String, Value>>,
}

impl PipelineArgs {
    /// Whether any of it was typed.
    pub(crate) fn is_asked(&self) -> bool {
        self.trace_path.is_some()
            || self.output.is_some()
            || self.metadata_json.is_some()
            || self.metrics_json.is_some()
    }
}

fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("it must be a JSON object: {error}"))
}

#[derive(Debug, Args)]
pub(crate) struct ExtractArgs {
    /// File of session traces; or --trace-path FILE
    #[arg(conflicts_with = "trace_path")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SummariseArgs {
    /// File of session traces; or --trace-path FILE
    #[arg(conflicts_with = "trace_path")]
    pub(crate) file: Option<PathBuf>,
    /// The memory: the summary is written below its folder summaries/
    #[arg(long, value_name = "DIR")]
    pub(crate) memory_root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Connect these files and folders, and look for no others
    #[arg(value_name = "TRACE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
    /// Read this file or folder no more
    #[arg(long, value_name = "PATH")]
    pub(crate) forget: Vec<PathBuf>,
    /// Show what is found, and remember nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MaintainArgs {
    /// Only memories of this repository
    #[arg(long, value_name = "NAME")]
    pub(crate) repository: Option<String>,
    /// Do it; otherwise it is only shown
    #[arg(long)]
    pub(crate) apply: bool,
}
