//! What can be typed about who may know what.

use clap::{Args, Subcommand, ValueEnum};
use kapsa_memory::access::Classification;

use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct ClearanceArgs {
    #[command(subcommand)]
    pub(crate) verb: ClearanceVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClearanceVerb {
    /// Set what a principal may know; domains that are not named are closed to it
    #[command(after_help = examples::CLEARANCE)]
    Set {
        /// The principal: an agent or a person
        #[arg(value_name = "PRINCIPAL")]
        name: String,
        /// The highest level in a domain; `=LEVEL` for what has no domain
        #[arg(value_name = "DOMAIN=LEVEL", value_parser = domain)]
        domains: Vec<(String, Classification)>,
    },
    /// Show what a principal may know
    #[command(after_help = examples::CLEARANCE)]
    Show {
        /// The principal
        #[arg(value_name = "PRINCIPAL")]
        name: String,
    },
    /// List the principals
    #[command(after_help = examples::CLEARANCE)]
    List,
    /// Let a principal know nothing but what is public
    #[command(after_help = examples::CLEARANCE)]
    Remove {
        /// The principal
        #[arg(value_name = "PRINCIPAL")]
        name: String,
    },
}

/// How far something may spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Everybody may know
    Public,
    /// Whoever has to do with the domain
    Internal,
    /// Whoever is trusted in the domain
    Confidential,
    /// Whoever is trusted most in the domain and is named
    Restricted,
}

impl From<Level> for Classification {
    fn from(level: Level) -> Classification {
        match level {
            Level::Public => Classification::Public,
            Level::Internal => Classification::Internal,
            Level::Confidential => Classification::Confidential,
            Level::Restricted => Classification::Restricted,
        }
    }
}

fn domain(text: &str) -> Result<(String, Classification), String> {
    let (domain, level) = text.rsplit_once('=').ok_or("it is not DOMAIN=LEVEL")?;
    let level = Classification::named(level).ok_or("a level is public, internal, confidential or restricted")?;
    Ok((domain.to_string(), level))
}
