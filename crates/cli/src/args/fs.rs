//! What can be typed about the memory of an agent as a file system.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kapsa_agents::{ENTRIES_DEFAULT, HITS_DEFAULT};

use super::{EmbedWhen, Level, Owner, bounded};
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
        /// The folder
        #[arg(default_value = "/")]
        path: String,
        /// Most entries
        #[arg(long, value_name = "N", default_value_t = ENTRIES_DEFAULT, value_parser = limit)]
        limit: usize,
        #[command(flatten)]
        of: FsOf,
    },
    /// Print a file
    #[command(after_help = examples::FS)]
    Cat {
        /// The file
        path: String,
        #[command(flatten)]
        of: FsOf,
    },
    /// Find the files that have all these words in them, the best first
    #[command(after_help = examples::FS)]
    Search {
        /// The words, or parts of words
        #[arg(required = true, value_name = "WORD")]
        query: Vec<String>,
        /// The folder to look in
        #[arg(long = "in", value_name = "PATH", default_value = "/")]
        scope: String,
        /// Most hits
        #[arg(short = 'k', long, value_name = "N", default_value_t = HITS_DEFAULT, value_parser = limit)]
        limit: usize,
        #[command(flatten)]
        of: FsOf,
    },
    /// Write what was learned below /knowledge, or what happened today below /experience
    #[command(after_help = examples::FS)]
    Write(Box<FsWrite>),
    /// List a folder and the folders in it
    #[command(after_help = examples::FS)]
    Tree {
        /// The folder
        #[arg(default_value = "/")]
        path: String,
        /// How many levels
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = depth)]
        depth: usize,
        /// Most entries of each folder
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
    /// As of then: a checkpoint's id or label, a sequence, RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// Tell what was looked at, and how many tokens came back
    #[arg(long)]
    pub(crate) trace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FsWrite {
    /// /knowledge/DOMAIN/[TAG/…]ID, or /experience/ID for today
    pub(crate) path: String,
    /// The text, or `-` for standard input
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    pub(crate) text: Vec<String>,
    /// The text of this file, or of standard input for `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) owner: Owner,
    /// How sure an insight is, 0 to 1 [default: as it was, else 0.5]
    #[arg(long, value_name = "0..1")]
    pub(crate) confidence: Option<f64>,
    /// What it is about
    #[arg(long)]
    pub(crate) entity: Option<String>,
    /// Field of knowledge of an episode; that of an insight is in its path
    #[arg(long)]
    pub(crate) domain: Option<String>,
    /// How far it may spread [default: as it was, else internal in its domain]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) classification: Option<Level>,
    /// Whether it gets vectors at once
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
    /// Tell what was written to
    #[arg(long)]
    pub(crate) trace: bool,
}

fn limit(text: &str) -> Result<usize, String> {
    bounded(text, 1, LIMIT_MAX)
}

fn depth(text: &str) -> Result<usize, String> {
    bounded(text, 1, DEPTH_MAX)
}
