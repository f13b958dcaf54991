//! Arguments of `clearance`.

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
    /// Set the whole clearance of a principal; domains that are not named become closed to it
    #[command(after_help = examples::CLEARANCE)]
    Set {
        /// Principal: an agent or a person
        #[arg(value_name = "PRINCIPAL")]
        name: String,
        /// Highest level in a domain; `=LEVEL` for records without a domain
        #[arg(value_name = "DOMAIN=LEVEL", value_parser = domain)]
        domains: Vec<(String, Classification)>,
    },
    /// Show what a principal may read
    #[command(after_help = examples::CLEARANCE)]
    Show {
        /// Principal
        #[arg(value_name = "PRINCIPAL")]
        name: String,
    },
    /// List principals
    #[command(after_help = examples::CLEARANCE)]
    List,
    /// Remove the clearance of a principal; public records stay readable
    #[command(after_help = examples::CLEARANCE)]
    Remove {
        /// Principal
        #[arg(value_name = "PRINCIPAL")]
        name: String,
    },
}

/// Classification of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Anyone may read it
    Public,
    /// Whoever works in the domain
    Internal,
    /// Whoever is trusted in the domain
    Confidential,
    /// Whoever is trusted most in the domain and named in the record
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
    let (domain, level) = text.rsplit_once('=').ok_or("not DOMAIN=LEVEL")?;
    let level = Classification::named(level)
        .ok_or("a level is public, internal, confidential or restricted")?;
    Ok((domain.to_string(), level))
}
