//! Arguments of `export`, `import` and `gc`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kapsa_memory::transfer::Format;

use super::values::run_name;
use super::{EmbedWhen, When};

/// Days that exports are kept by default.
const RETENTION_DAYS_DEFAULT: u32 = 30;

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Format
    #[arg(long, value_enum, default_value_t = FormatArg::Capsule)]
    pub(crate) format: FormatArg,
    /// Only what belongs to this spec
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Only what belongs to this run: written in it, on its branch, or under its URIs
    #[arg(long, value_parser = run_name)]
    pub(crate) run: Option<String>,
    /// Target, or `-` for standard output [default: exports/SPEC_RUN.EXTENSION or
    /// exports/capsule.EXTENSION beside the capsule; docs/specs/SPEC/runs/RUN/capsule.mv2e with
    /// --format mv2e]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing target
    #[arg(long)]
    pub(crate) force: bool,
    /// Encrypt it with a passphrase, in the age format [default for a run]
    #[arg(long, conflicts_with = "no_encrypt")]
    pub(crate) encrypt: bool,
    /// Do not encrypt, even a run
    #[arg(long)]
    pub(crate) no_encrypt: bool,
    /// Include everything: whole model calls, debug traces, and sources with their folders
    #[arg(long = "unsafe")]
    pub(crate) is_unsafe: bool,
    #[command(flatten)]
    pub(crate) when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// A capsule with every revision
    Capsule,
    /// A capsule that is encrypted, in the place where a run of a spec keeps it
    Mv2e,
    /// One JSON record per line, as kapsa put reads it
    Jsonl,
    /// A folder with events.json, checkpoints.json, records and files
    JsonDir,
    /// A folder with one readable file per record
    Markdown,
    /// The same, with the frontmatter of basic-memory
    BasicMemory,
    /// Entities and relations, as the MCP memory server reads them
    ServerMemory,
    /// Lists for CLAUDE.md or AGENTS.md
    ClaudeMd,
    /// A file for Memvid, written by the program kapsa-memvid
    Mv2,
}

impl FormatArg {
    /// Its name, as people type it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FormatArg::Mv2 => "mv2",
            format => Format::from(format).name(),
        }
    }

    /// What names of exports end with.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            FormatArg::Mv2 => "mv2",
            format => Format::from(format).extension(),
        }
    }
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Capsule | FormatArg::Mv2e => Format::Capsule,
            // The helper program makes its file of lines.
            FormatArg::Jsonl | FormatArg::Mv2 => Format::JsonLines,
            FormatArg::JsonDir => Format::JsonFolder,
            FormatArg::Markdown => Format::Markdown,
            FormatArg::BasicMemory => Format::BasicMemory,
            FormatArg::ServerMemory => Format::ServerMemory,
            FormatArg::ClaudeMd => Format::Instructions,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Capsule to mount, encrypted or not; a file of Memvid (.mv2); or a product, with the PATH of
    /// its memory
    #[arg(value_name = "FILE|PRODUCT")]
    pub(crate) file: PathBuf,
    /// File or folder with the memory of the product
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Name of the mount: letters, digits, - and _ [default: from the file name]
    #[arg(long, value_name = "NAME", conflicts_with = "path")]
    pub(crate) mount_as: Option<String>,
    /// Also refuse a capsule about which doctor only warns
    #[arg(long, conflicts_with = "path")]
    pub(crate) require_verified: bool,
    /// Show what would be imported without writing
    #[arg(long, group = "how")]
    pub(crate) dry_run: bool,
    /// Of local-memory: say how many memories there are, and how many of them are here
    #[arg(long, group = "how", conflicts_with = "path")]
    pub(crate) status: bool,
    /// Of local-memory: import everything that is found, after a backup of the capsule
    #[arg(long, group = "how", conflicts_with = "path")]
    pub(crate) all: bool,
    /// Of local-memory: compare what is there with what is here; exit code 1 if anything differs
    #[arg(long, group = "how", conflicts_with = "path")]
    pub(crate) verify: bool,
    /// What to do where a record is here already and differs
    #[arg(long, value_enum, value_name = "HOW", default_value_t = OnConflict::Newer)]
    pub(crate) on_conflict: OnConflict,
    /// When to embed the records
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

/// What becomes of a record that is imported or put, where there is one of its name that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// Take the newer one
    Newer,
    /// Keep the one that is here
    Skip,
    /// Take the one that is given
    Replace,
    /// Refuse it; of an import nothing is taken then
    Fail,
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Days to keep exports
    #[arg(long, value_name = "DAYS", default_value_t = RETENTION_DAYS_DEFAULT)]
    pub(crate) retention_days: u32,
    /// Show what would be deleted without deleting
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Delete pinned exports as well
    #[arg(long)]
    pub(crate) no_keep_pinned: bool,
}
