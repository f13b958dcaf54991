//! Arguments of `fs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kapsa_agents::{ENTRIES_DEFAULT, HITS_DEFAULT};

use super::values::bounded;
use super::{EmbedWhen, Level, Owner};
use crate::examples;

/// Most entries of a folder, and most hits.
const LIMIT_MAX: usize = 1000;
/// Most levels of a tree.
const DEPTH_MAX: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct FsArgs {
    #[command(subcommand)]
    pub(crate) verb: FsVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum FsVerb {
    /// List a folder
    #[command(after_help = examples::FS)]
    Ls {
        /// Folder
        #[arg(default_value = "/")]
        path: String,
        /// Maximum number of entries
        #[arg(long, value_name = "N", default_value_t = ENTRIES_DEFAULT, value_parser = limit)]
        limit: usize,
        #[command(flatten)]
        of: FsOf,
    },
    /// Print a file
    #[command(after_help = examples::FS)]
    Cat {
        /// File
        path: String,
        #[command(flatten)]
        of: FsOf,
    },
    /// Search files for words
    #[command(after_help = examples::FS)]
    Search {
        /// Words or parts of words, all of which must occur
        #[arg(required = true, value_name = "WORD")]
        query: Vec<String>,
        /// Folder to search
        #[arg(long = "in", value_name = "PATH", default_value = "/")]
        scope: String,
        /// Maximum number of hits
        #[arg(short = 'k', long, value_name = "N", default_value_t = HITS_DEFAULT, value_parser = limit)]
        limit: usize,
        #[command(flatten)]
        of: FsOf,
    },
    /// Write an insight below /knowledge or an episode of today below /experience
    #[command(after_help = examples::FS)]
    Write(Box<FsWrite>),
    /// List a folder recursively
    #[command(after_help = examples::FS)]
    Tree {
        /// Folder
        #[arg(default_value = "/")]
        path: String,
        /// Maximum depth
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = depth)]
        depth: usize,
        /// Maximum number of entries per folder
        #[arg(long, value_name = "N", default_value_t = ENTRIES_DEFAULT, value_parser = limit)]
        limit: usize,
        #[command(flatten)]
        of: FsOf,
    },
}

// Whose memory is looked at, and when.
#[derive(Debug, Args)]
pub(crate) struct FsOf {
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date, or an
    /// age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Show what was read, and how many tokens were returned
    #[arg(long)]
    pub(crate) trace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FsWrite {
    /// /knowledge/DOMAIN/[TAG/…]ID, or /experience/ID for today
    pub(crate) path: String,
    /// Text, or `-` for standard input
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    pub(crate) text: Vec<String>,
    /// Read the text from this file, or from standard input for `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// Confidence of an insight, 0 to 1 [default: unchanged, else 0.5]
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// Entity it is about
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) entity: Option<String>,
    /// Domain of an episode; that of an insight is part of its path
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Option<String>,
    /// Classification [default: unchanged, else internal to its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// When to embed it
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
    /// Show what was written
    #[arg(long)]
    pub(crate) trace: bool,
}

fn limit(text: &str) -> Result<usize, String> {
    bounded(text, 1, LIMIT_MAX)
}

fn depth(text: &str) -> Result<usize, String> {
    bounded(text, 1, DEPTH_MAX)
}
