//! What can be typed about exports, imports, mounts and their leftovers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kapsa_memory::transfer::Format;

use super::When;

/// Days that exports are kept unless told otherwise.
const RETENTION_DAYS_DEFAULT: u32 = 30;

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// What it looks like
    #[arg(long, value_enum, default_value_t = FormatArg::Capsule)]
    pub(crate) format: FormatArg,
    /// Only what belongs to this spec
    #[arg(long)]
    pub(crate) spec: Option<String>,
    /// Only what belongs to this run: written in it, on its branch, or under its URIs
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Where to [default: exports/SPEC_RUN.ENDING or exports/capsule.ENDING beside the capsule]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Seal it with a passphrase, in the age format [default for a run]
    #[arg(long, conflicts_with = "no_encrypt")]
    pub(crate) encrypt: bool,
    /// Leave it readable, a run's too
    #[arg(long)]
    pub(crate) no_encrypt: bool,
    /// Leave nothing out: whole model calls, debug traces, and sources with their folders
    #[arg(long = "unsafe")]
    pub(crate) is_unsafe: bool,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// A capsule with every revision
    Capsule,
    /// A JSON record on each line, as kapsa put takes it
    Jsonl,
    /// A folder with a readable file for each record
    Markdown,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Capsule => Format::Capsule,
            FormatArg::Jsonl => Format::JsonLines,
            FormatArg::Markdown => Format::Markdown,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The capsule, sealed or not
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Name of the mount: letters, digits, - and _ [default: from the file's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) mount_as: Option<String>,
    /// Refuse what doctor only warns of, too
    #[arg(long)]
    pub(crate) require_verified: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// How long exports are kept
    #[arg(long, value_name = "DAYS", default_value_t = RETENTION_DAYS_DEFAULT)]
    pub(crate) retention_days: u32,
    /// Only say what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Throw away pinned ones too
    #[arg(long)]
    pub(crate) no_keep_pinned: bool,
}
