//! Arguments of `backend`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::backend_kind::BackendKind;
use crate::examples;

/// Hits of a question that are looked at, by default.
const COMPARED_HITS_DEFAULT: usize = 10;
/// Time in which the candidate must give 95 of 100 answers, in milliseconds, by default.
const P95_DEFAULT: u64 = 250;

#[derive(Debug, Args)]
pub(crate) struct BackendArgs {
    #[command(subcommand)]
    pub(crate) verb: BackendVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackendVerb {
    /// Ask two stores the same questions; exit code 1 if the candidate answers worse or too slowly
    #[command(after_help = examples::BACKEND)]
    Compare(CompareBackends),
}

#[derive(Debug, Args)]
pub(crate) struct CompareBackends {
    /// Questions, one JSON object on each line: query, relevant
    #[arg(value_name = "GOLDEN")]
    pub(crate) golden: PathBuf,
    /// Store whose answers are the measure
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub(crate) reference: BackendKind,
    /// Store that is measured
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub(crate) candidate: BackendKind,
    /// Hits of each question to look at
    #[arg(
        short = 'k',
        long = "limit",
        value_name = "N",
        default_value_t = COMPARED_HITS_DEFAULT,
        value_parser = super::hit_count
    )]
    pub(crate) k: usize,
    /// Time under which 95 of 100 answers of the candidate must come, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = P95_DEFAULT)]
    pub(crate) p95: u64,
}
