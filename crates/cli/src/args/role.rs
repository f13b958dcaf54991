//! Arguments of `role`.

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
    /// Show a role, its clearance and its authority
    #[command(after_help = examples::ROLE)]
    Show(OneRole),
    /// Run a node, or every node of an operator in order
    #[command(after_help = examples::ROLE)]
    Run(RoleRun),
    /// Let a role answer a message
    #[command(after_help = examples::ROLE)]
    Respond(RoleRespond),
    /// Let a role derive insights from its episodes
    #[command(after_help = examples::ROLE)]
    Reflect(RoleReflect),
    /// Publish the insights of a role to the team as facts
    #[command(after_help = examples::ROLE)]
    Publish(RolePublish),
    /// Do what roles are scheduled to do, if it is due
    #[command(after_help = examples::ROLE)]
    Schedule(RoleSchedule),
    /// Check whether a role may take an action on its own
    #[command(after_help = examples::ROLE)]
    Can(RoleCan),
}

#[derive(Debug, Args)]
pub(crate) struct OneRole {
    /// Id of the role: ID in [role.ID] of kapsa.toml
    pub(crate) id: String,
}

// Who answers, and what becomes of what is written.
#[derive(Debug, Default, Args)]
pub(crate) struct Asking {
    /// Language model: anthropic:MODEL, openai:MODEL, ollama:MODEL, "command:PROGRAM ARGS" or
    /// scripted:FILE [default: as declared, else KAPSA_LLM]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// When to embed what is written
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
    /// State that the nodes read and write: a file with a JSON object, `-` for standard input
    /// [default: {}]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Write the final state to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct RoleRespond {
    #[command(flatten)]
    pub(crate) role: OneRole,
    /// Message
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
    /// Minimum confidence, 0 to 1
    #[arg(long, value_name = "0..1", default_value_t = PUBLISH_CONFIDENCE_MIN)]
    pub(crate) min_confidence: f64,
    /// When to embed what is written
    #[arg(long, value_enum, value_name = "WHEN", env = "KAPSA_EMBED", hide_env_values = true)]
    pub(crate) embed: Option<EmbedWhen>,
}

#[derive(Debug, Args)]
pub(crate) struct RoleSchedule {
    /// Only this role [default: every role with a schedule]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Go on until stopped
    #[arg(long)]
    pub(crate) watch: bool,
    /// Show what is due and do nothing
    #[arg(long, conflicts_with = "watch")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct RoleCan {
    #[command(flatten)]
    pub(crate) role: OneRole,
    /// Action, such as send_offer
    pub(crate) action: String,
}
