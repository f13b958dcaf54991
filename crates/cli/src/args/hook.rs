//! Arguments of `hook`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    pub(crate) verb: HookVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookVerb {
    /// Decide whether an agent may use a tool; reads a PreToolUse event
    #[command(after_help = examples::HOOK_WRITE_GUARD)]
    WriteGuard(WriteGuard),
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
