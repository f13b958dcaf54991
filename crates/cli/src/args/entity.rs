//! Arguments of `entity`.

use clap::{Args, Subcommand};

use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct EntityArgs {
    #[command(subcommand)]
    pub(crate) verb: EntityVerb,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum EntityVerb {
    /// Declare other names of an entity
    #[command(after_help = examples::ENTITY)]
    Alias(EntityNamesArgs),
    /// Remove other names of an entity
    #[command(after_help = examples::ENTITY)]
    Unalias(EntityNamesArgs),
    /// Show the names of an entity
    #[command(after_help = examples::ENTITY)]
    Show {
        /// One of its names
        name: String,
    },
    /// List entities that have other names
    #[command(after_help = examples::ENTITY)]
    List,
}

#[derive(Debug, Args)]
pub(crate) struct EntityNamesArgs {
    /// Name of the entity
    pub(crate) name: String,
    /// Other name; repeatable
    #[arg(required = true, value_name = "ALIAS")]
    pub(crate) aliases: Vec<String>,
}
