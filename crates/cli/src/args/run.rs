//! Arguments of `run`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use kapsa_runs::{Layer, Role, RunId, TaskId};

use super::EmbedWhen;
use super::values::bounded;
use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    pub(crate) verb: RunVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RunVerb {
    /// Start a run or continue one
    #[command(after_help = examples::RUN_START)]
    Start(RunStart),
    /// Start a task of a run
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = examples::RUN_TASK)]
    Task(RunTask),
    /// Record what an agent did
    #[command(after_help = examples::RUN_RECORD)]
    Record(RunRecord),
    /// Print what sibling tasks recorded, for an agent about to begin
    #[command(after_help = examples::RUN_CONTEXT)]
    Context(RunContext),
    /// Show a run and its tasks
    #[command(after_help = examples::RUN_STATUS)]
    Status(RunStatus),
    /// Finish a task or a run, and merge its results
    #[command(after_help = examples::RUN_FINISH)]
    Finish(RunFinish),
    /// List runs, newest first
    #[command(after_help = examples::RUN_LIST)]
    List(RunList),
    /// Archive a run: it stays readable and cannot be written
    #[command(after_help = examples::RUN_ARCHIVE)]
    Archive(RunArchive),
    /// Show the settings in effect
    #[command(after_help = examples::RUN_CONFIG)]
    Config(RunConfigArgs),
}

/// Where runs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunLayout {
    /// Branches of one capsule
    Branches,
    /// A folder of capsules for each run
    Files,
}

/// How a context is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContextFormat {
    /// A marked block for a prompt
    Text,
    /// One JSON object
    Json,
    /// A section of Markdown
    Markdown,
    /// A whole prompt: the role, the task and the layers of --layer, with this context as the last
    /// one
    Prompt,
}

/// A layer of a prompt, and the file that has its text.
#[derive(Clone, Debug)]
pub(crate) struct LayerFile {
    pub(crate) layer: Layer,
    pub(crate) file: PathBuf,
}

fn layer_file(text: &str) -> Result<LayerFile, String> {
    let names = || Layer::ALL.map(Layer::name).join(", ");
    let (name, file) = text.split_once('=').ok_or("expected NAME=FILE")?;
    let layer = Layer::named(name).ok_or_else(|| format!("the layers are {}", names()))?;
    Ok(LayerFile { layer, file: PathBuf::from(file) })
}

/// How much is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunMerge {
    /// Only what is worth keeping
    Curated,
    /// Everything
    Full,
}

// Where the runs are.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Where the runs are")]
pub(crate) struct RunPlace {
    /// Layout [default: branches, or as set in kapsa.toml]
    #[arg(long, value_enum, env = "KAPSA_RUN_LAYOUT", hide_env_values = true)]
    pub(crate) layout: Option<RunLayout>,
    /// Folder of runs kept as files [default: .kapsa/runs at the repository root, or as set in
    /// kapsa.toml]
    #[arg(long, value_name = "DIR", env = "KAPSA_RUN_DIR", hide_env_values = true)]
    pub(crate) dir: Option<PathBuf>,
    /// Root folder [default: that of the repository, shared by its working trees]
    #[arg(long, value_name = "DIR", env = "KAPSA_RUN_REPO_ROOT_PATH", hide_env_values = true)]
    pub(crate) root: Option<PathBuf>,
    /// Fail when the memory fails, instead of warning and letting the run continue
    #[arg(long, env = "KAPSA_RUN_STRICT", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) strict: bool,
}

// Which run.
#[derive(Debug, Args)]
pub(crate) struct WhichRun {
    /// Run [default: the only active one]
    #[arg(long, value_name = "ID", env = "KAPSA_RUN", hide_env_values = true, value_parser = run_id, default_value = "", hide_default_value = true)]
    pub(crate) run: Named<RunId>,
    #[command(flatten)]
    pub(crate) place: RunPlace,
}

#[derive(Debug, Args)]
pub(crate) struct RunStart {
    /// Title
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) title: Option<String>,
    /// Plan: a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Id of the run [default: KAPSA_RUN, unless that run is archived; else a new one]
    #[arg(long, value_name = "ID", value_parser = run_id)]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) run: Named<RunId>,
    #[command(flatten)]
    pub(crate) place: RunPlace,
}

#[derive(Debug, Args)]
pub(crate) struct RunTask {
    #[command(subcommand)]
    pub(crate) verb: RunTaskVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunTaskVerb {
    /// Start a task or continue one
    #[command(after_help = examples::RUN_TASK)]
    Start(RunTaskStart),
}

#[derive(Debug, Args)]
pub(crate) struct RunTaskStart {
    /// Id of the task
    #[arg(value_name = "TASK", value_parser = task_id)]
    pub(crate) task: TaskId,
    /// Title; used to search what its siblings recorded
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) title: Option<String>,
    /// What to do
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) which: WhichRun,
}

#[derive(Debug, Args)]
pub(crate) struct RunRecord {
    /// File, or `-` for standard input [default: standard input, unless --text is given]
    #[arg(value_name = "FILE", conflicts_with = "text")]
    pub(crate) source: Option<PathBuf>,
    /// Id of the task [default: the run as a whole]
    #[arg(long, value_name = "ID", env = "KAPSA_TASK", hide_env_values = true, value_parser = task_id_or_none, default_value = "", hide_default_value = true)]
    pub(crate) task: Named<TaskId>,
    /// Role of the agent: planner, builder, reviewer or any other; a planner records plans of the
    /// run
    #[arg(long, env = "KAPSA_ROLE", hide_env_values = true, value_parser = role, default_value = "", hide_default_value = true)]
    pub(crate) role: Named<Role>,
    /// What was done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Confidence of the agent, 0 to 1
    #[arg(long, value_name = "N", value_parser = confidence)]
    pub(crate) confidence: Option<f64>,
    /// Name of the agent
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// When to embed it [default: now, if it is short]
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
    #[command(flatten)]
    pub(crate) which: WhichRun,
}

#[derive(Debug, Args)]
pub(crate) struct RunContext {
    /// Task about to begin; its own records are left out
    #[arg(long, value_name = "ID", env = "KAPSA_TASK", hide_env_values = true, value_parser = task_id_or_none, default_value = "", hide_default_value = true)]
    pub(crate) task: Named<TaskId>,
    /// Role about to begin; reviewers and planners get no plan
    #[arg(long, env = "KAPSA_ROLE", hide_env_values = true, value_parser = role, default_value = "", hide_default_value = true)]
    pub(crate) role: Named<Role>,
    /// Query [default: the title and description of the task]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) query: Option<String>,
    /// Maximum number of tokens, counted as a quarter of the bytes [default: 2000, or as set in
    /// kapsa.toml]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Output format; --json means json
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ContextFormat,
    /// Text of a layer of the prompt, from a file; for --format prompt
    #[arg(long = "layer", value_name = "NAME=FILE", value_parser = layer_file)]
    pub(crate) layers: Vec<LayerFile>,
    /// Include earlier runs of this repository
    #[arg(long)]
    pub(crate) past_runs: bool,
    #[command(flatten)]
    pub(crate) which: WhichRun,
}

#[derive(Debug, Args)]
pub(crate) struct RunStatus {
    #[command(flatten)]
    pub(crate) which: WhichRun,
}

#[derive(Debug, Args)]
pub(crate) struct RunFinish {
    /// Id of the task [default: the run as a whole]
    #[arg(long, value_name = "ID", value_parser = task_id)]
    pub(crate) task: Option<TaskId>,
    /// Mark it as failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// What was built; recorded if the task recorded nothing
    #[arg(long, requires = "task", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Summary; recorded if the task recorded nothing better
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) summary: Option<String>,
    /// Merge the task into its run, or the run and its finished tasks into main
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) merge: Option<RunMerge>,
    /// With --merge: merge why failed tasks failed, and the lessons they recorded
    #[arg(long, requires = "merge", conflicts_with = "task")]
    pub(crate) lessons: bool,
    /// With --merge: merge tasks that are still running, too
    #[arg(long, requires = "merge", conflicts_with = "task")]
    pub(crate) include_running: bool,
    /// Stage that ended: leaves a checkpoint and a StageTransition event
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) stage: Option<String>,
    /// Spec that the run works on, kept with the checkpoint and the merge
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Who decides
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) by: Option<String>,
    /// Reason
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) note: Option<String>,
    /// When to embed what is merged [default: now, if it is short]
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
    #[command(flatten)]
    pub(crate) which: WhichRun,
}

#[derive(Debug, Args)]
pub(crate) struct RunList {
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) place: RunPlace,
}

#[derive(Debug, Args)]
pub(crate) struct RunArchive {
    #[command(flatten)]
    pub(crate) which: WhichRun,
}

#[derive(Debug, Args)]
pub(crate) struct RunConfigArgs {
    #[command(flatten)]
    pub(crate) place: RunPlace,
}

/// A name that may be missing: an empty one, as an empty variable of the environment has it, is
/// none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named<T>(pub(crate) Option<T>);

impl<T> Named<T> {
    fn parse(
        text: &str,
        parse: impl FnOnce(&str) -> kapsa_memory::Result<T>,
    ) -> Result<Named<T>, String> {
        if text.trim().is_empty() {
            return Ok(Named(None));
        }
        parse(text).map(|name| Named(Some(name))).map_err(|error| error.to_string())
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

pub(crate) fn run_id(text: &str) -> Result<Named<RunId>, String> {
    Named::parse(text, RunId::parse)
}

fn task_id_or_none(text: &str) -> Result<Named<TaskId>, String> {
    Named::parse(text, TaskId::parse)
}

fn task_id(text: &str) -> Result<TaskId, String> {
    TaskId::parse(text).map_err(|error| error.to_string())
}

fn role(text: &str) -> Result<Named<Role>, String> {
    Named::parse(text, Role::parse)
}

fn confidence(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "not a number from 0 to 1".to_string())
}

/// Most passages of one sibling that may be asked for.
const CHUNKS_MAX: usize = 1000;

/// Reads a number of passages.
pub(crate) fn chunk_count(text: &str) -> Result<usize, String> {
    bounded(text, 1, CHUNKS_MAX)
}
