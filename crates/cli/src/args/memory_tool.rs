//! Arguments of `memory-tool`.

use clap::Args;

use super::EmbedWhen;

#[derive(Debug, Args)]
pub(crate) struct MemoryToolArgs {
    /// Agent whose files they are [default: the principal of --as; without either, the owner's]
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// Domain of new files [default: none, or the only one that the principal is cleared for]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) domain: Option<String>,
    /// State to read: a checkpoint's id or label, a sequence such as 120, RFC 3339, a date, or an
    /// age such as 2h
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<String>,
    /// When to embed what is written
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}
