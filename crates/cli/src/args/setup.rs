//! Arguments of `setup`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use kapsa_setup::CLIENTS;

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Programs to set up [default: those that are installed]
    #[arg(value_name = "PROGRAM", value_parser = clients())]
    pub(crate) clients: Vec<String>,
    /// The configuration of the user, for every project [default]
    #[arg(long, conflicts_with = "project")]
    pub(crate) global: bool,
    /// The configuration of this project, which its repository may share
    #[arg(long)]
    pub(crate) project: bool,
    /// Show each change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace an entry `kapsa` that setup did not write
    #[arg(long, conflicts_with_all = ["undo", "check"])]
    pub(crate) force: bool,
    /// Take back what setup wrote for the user, or with --project for this project; a memory is
    /// never deleted
    #[arg(long, conflicts_with = "check")]
    pub(crate) undo: bool,
    /// With --undo: for the user and for every project
    #[arg(long, requires = "undo", conflicts_with_all = ["global", "project"])]
    pub(crate) all: bool,
    /// Start the server and the hooks as each program would, and show what works
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) check: bool,
}

fn clients() -> PossibleValuesParser {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
}
