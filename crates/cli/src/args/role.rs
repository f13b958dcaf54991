//! What can be typed about roles.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kapsa_agents::PUBLISH_CONFIDENCE_MIN;

use super::EmbedWhen;
use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct RoleArgs {
    #[command(subcommand)]
    pub(crate) verb: RoleVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RoleVerb {
    /// List the roles that kapsa.toml declares
    #[command(after_help = examples::ROLE)]
    List,
    /// Show one role, and what it may know and do
    #[command(after_help = examples::ROLE)]
    Show(OneRole),
    /// Run a node, or all nodes of an operator one after the other
    #[command(after_help = examples::ROLE)]
    Run(RoleRun),
    /// Have a role answer a message
    #[command(after_help = examples::ROLE)]
    Respond(RoleRespond),
    /// Have a role learn from what it did; without a model by counting
    #[command(after_help = examples::ROLE)]
    Reflect(RoleReflect),
    /// Tell the team what a role learned, as facts
    #[command(after_help = examples::ROLE)]
    Publish(RolePublish),
    /// Say whether a role may do something on its own
    #[command(after_help = examples::ROLE)]
    Can(RoleCan),
}

#[derive(Debug, Args)]
pub(crate) struct OneRole {
    /// Its id: ID in [role.ID] of kapsa.toml
    pub(crate) id: String,
}

// Who answers, and what becomes of what is written.
#[derive(Debug, Default, Args)]
pub(crate) struct Asking {
    /// Who answers: anthropic:MODEL, openai:MODEL, ollama:MODEL or scripted:FILE [default: as declared, else KAPSA_LLM]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Whether what is written gets vectors at once
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

#[derive(Debug, Args)]
pub(crate) struct RoleRun {
    #[command(flatten)]
    pub(crate) role: OneRole,
    /// A node (NODE or OPERATOR.NODE), or an operator (OPERATOR or OPERATOR.*)
    #[arg(value_name = "NODE")]
    pub(crate) target: String,
    /// What the nodes read and write: a file with a JSON object, `-` for standard input [default: an empty one]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Write the state there afterwards
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct RoleRespond {
    #[command(flatten)]
    pub(crate) role: OneRole,
    /// What is said to it
    #[arg(required = true, value_name = "MESSAGE")]
    pub(crate) message: Vec<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct RoleReflect {
    #[command(flatten)]
    pub(crate) role: OneRole,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct RolePublish {
    #[command(flatten)]
    pub(crate) role: OneRole,
    /// At least so sure, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = PUBLISH_CONFIDENCE_MIN)]
    pub(crate) min_confidence: f64,
    /// Whether what is written gets vectors at once
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

#[derive(Debug, Args)]
pub(crate) struct RoleCan {
    #[command(flatten)]
    pub(crate) role: OneRole,
    /// The action, such as send_offer
    pub(crate) action: String,
}
