//! Arguments of `key`.

use clap::{Args, Subcommand};

use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) verb: KeyVerb,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Make a signing key; commits of this user are signed from then on
    #[command(after_help = examples::KEY)]
    Init,
    /// Print the public key
    #[command(after_help = examples::KEY)]
    Show,
}
