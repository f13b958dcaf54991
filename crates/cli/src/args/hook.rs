//! Arguments of `hook`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use kapsa_agents::CONTEXT_TOKENS_DEFAULT;
use kapsa_memory::request::STRENGTH_GOOD_MIN;

use crate::examples;

/// Tokens of what a prompt brings up, by default.
const PROMPT_TOKENS_DEFAULT: usize = 600;

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    pub(crate) verb: HookVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookVerb {
    /// Tell a session that begins what earlier ones left
    #[command(alias = "SessionStart", after_help = examples::HOOK_SESSION_START)]
    SessionStart(SessionStart),
    /// Tell what is known about a prompt, where something surely answers
    #[command(alias = "UserPromptSubmit", after_help = examples::HOOK_USER_PROMPT_SUBMIT)]
    UserPromptSubmit(UserPromptSubmit),
    /// Queue the session's trace before its context is compacted
    #[command(alias = "PreCompact", after_help = examples::HOOK_CAPTURE)]
    PreCompact(HookOf),
    /// Queue the session's trace at the end of a turn
    #[command(alias = "Stop", after_help = examples::HOOK_CAPTURE)]
    Stop(HookOf),
    /// Queue the session's trace at its end
    #[command(alias = "SessionEnd", after_help = examples::HOOK_CAPTURE)]
    SessionEnd(HookOf),
    /// Queue the traces of a session and of its sub-agent
    #[command(alias = "SubagentStop", after_help = examples::HOOK_CAPTURE)]
    SubagentStop(HookOf),
    /// Keep tools from writing into a capsule or its folder
    #[command(alias = "PreToolUse", after_help = examples::HOOK_PRE_TOOL_USE)]
    PreToolUse(HookOf),
    /// Decide whether an agent may use a tool; reads a PreToolUse event
    #[command(after_help = examples::HOOK_WRITE_GUARD)]
    WriteGuard(WriteGuard),
    /// Read the queued traces, in the process that a hook leaves behind
    #[command(hide = true)]
    Drain(Drain),
}

/// A program that calls hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookClient {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
}

#[derive(Debug, Args)]
pub(crate) struct HookOf {
    /// Program that calls the hook; all of them are answered alike
    #[arg(long, value_enum, default_value = "claude-code", hide_default_value = true)]
    pub(crate) client: HookClient,
}

#[derive(Debug, Args)]
pub(crate) struct SessionStart {
    #[command(flatten)]
    pub(crate) of: HookOf,
    /// Agent whose insights, episodes and clearance to use [default: the principal of --as;
    /// without either, only facts]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// Maximum number of tokens, counted as a quarter of the bytes
    #[arg(long, value_name = "TOKENS", default_value_t = CONTEXT_TOKENS_DEFAULT)]
    pub(crate) budget: usize,
}

#[derive(Debug, Args)]
pub(crate) struct UserPromptSubmit {
    #[command(flatten)]
    pub(crate) of: HookOf,
    /// Maximum number of tokens, counted as a quarter of the bytes
    #[arg(long, value_name = "TOKENS", default_value_t = PROMPT_TOKENS_DEFAULT)]
    pub(crate) budget: usize,
    /// How sure it must be that a record answers, from 0 to 1
    #[arg(long, value_name = "STRENGTH", default_value_t = STRENGTH_GOOD_MIN, value_parser = share)]
    pub(crate) min_score: f32,
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| "not a number from 0 to 1".to_string())
}

#[derive(Debug, Args)]
pub(crate) struct WriteGuard {
    /// Folder of the memory, with decisions/ and learnings/
    #[arg(long, value_name = "DIR")]
    pub(crate) memory_root: PathBuf,
    /// Folder of this run; denied uses are added to its agent.log
    #[arg(long, value_name = "DIR")]
    pub(crate) run_folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// Traces to read first
    pub(crate) paths: Vec<PathBuf>,
}
