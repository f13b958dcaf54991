//! What can be typed about the context of an agent.

use clap::Args;
use kapsa_agents::CONTEXT_TOKENS_DEFAULT;

use super::agent::Within;

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// Whose insights and episodes are told, and whose clearance says which facts [default: who acts; else facts alone]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) within: Within,
    /// What has most words of this text comes first
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// Most tokens, a quarter of the bytes
    #[arg(long, value_name = "TOKENS", default_value_t = CONTEXT_TOKENS_DEFAULT)]
    pub(crate) budget: usize,
    /// End each line with where it comes from
    #[arg(long)]
    pub(crate) uris: bool,
    /// As of then: a checkpoint's id or label, a sequence, RFC 3339, a date, or a span back such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
}
