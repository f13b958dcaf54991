//! Arguments of `context`.

use clap::Args;
use kapsa_agents::CONTEXT_TOKENS_DEFAULT;

use super::agent::Within;
use super::search::Reranking;

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// Agent whose insights, episodes and clearance to use [default: the principal of --as;
    /// without either, only facts]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) within: Within,
    /// Rank entries by the words they share with this text, and by the re-ranker if one is
    /// installed
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) reranking: Reranking,
    /// Maximum number of tokens, counted as a quarter of the bytes
    #[arg(long, value_name = "TOKENS", default_value_t = CONTEXT_TOKENS_DEFAULT)]
    pub(crate) budget: usize,
    /// End each line with its URI
    #[arg(long)]
    pub(crate) uris: bool,
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date, or an
    /// age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
}
