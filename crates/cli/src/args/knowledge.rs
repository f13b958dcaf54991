//! What can be typed about policies, graphs and replays.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::When;
use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) verb: PolicyVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Capture a policy from a JSON file; nothing is written when it is the one that holds
    #[command(after_help = examples::POLICY)]
    Capture {
        /// The file
        file: PathBuf,
    },
    /// List the policies that held
    #[command(after_help = examples::POLICY)]
    List,
    /// Show a policy
    #[command(after_help = examples::POLICY)]
    Show {
        /// Its id [default: the one that holds]
        id: Option<String>,
    },
    /// Check a file without writing anything
    #[command(after_help = examples::POLICY)]
    Validate {
        /// The file
        file: PathBuf,
    },
    /// Show which parts of two policies differ
    #[command(after_help = examples::POLICY)]
    Diff {
        /// Its id
        a: String,
        /// Its id [default: the one that holds]
        b: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    #[command(subcommand)]
    pub(crate) verb: GraphVerb,
}

// Where a card or an edge comes from.
#[derive(Debug, Default, Args)]
pub(crate) struct From {
    /// What the run works on
    #[arg(long, value_name = "ID")]
    pub(crate) spec: Option<String>,
    /// The run
    #[arg(long, value_name = "ID", env = "KAPSA_RUN", hide_env_values = true)]
    pub(crate) run: Option<String>,
    /// Who adds it
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true)]
    pub(crate) agent: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EdgeDirection {
    /// That end at it
    In,
    /// That begin at it
    Out,
    /// Both
    #[default]
    Both,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphVerb {
    /// Add a card about a subject, or facts to one that is there
    #[command(after_help = examples::GRAPH)]
    AddCard {
        /// spec, decision, task, risk, component, person, artifact or run
        #[arg(long = "type", value_name = "TYPE")]
        card_type: String,
        /// Name of the subject
        #[arg(long)]
        title: String,
        /// Its id [default: made from the title]
        #[arg(long)]
        id: Option<String>,
        /// A fact; may be repeated, also with the same key
        #[arg(long = "fact", value_name = "KEY=VALUE[:TYPE]")]
        facts: Vec<String>,
        #[command(flatten)]
        from: From,
    },
    /// Join two URIs
    #[command(after_help = examples::GRAPH)]
    AddEdge {
        /// depends_on, blocks, implements, references, owns, risks or related_to
        #[arg(long = "type", value_name = "TYPE")]
        edge_type: String,
        /// Where it begins
        #[arg(long = "from", value_name = "URI")]
        start: String,
        /// Where it ends
        #[arg(long = "to", value_name = "URI")]
        end: String,
        /// How strong
        #[arg(long)]
        weight: Option<f64>,
        #[command(flatten)]
        from: From,
    },
    /// Show what is joined to a URI, or the cards of a type
    #[command(after_help = examples::GRAPH)]
    Query {
        /// Edges around this URI
        #[arg(long, value_name = "URI")]
        uri: Option<String>,
        /// Which of them
        #[arg(long, value_enum, default_value_t)]
        direction: EdgeDirection,
        /// How many steps away
        #[arg(long, value_name = "N", default_value_t = 1)]
        depth: usize,
        /// Only this type: of edges with --uri, else of cards
        #[arg(long = "type", value_name = "TYPE")]
        of_type: Option<String>,
        /// Most of them
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        when: When,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(subcommand)]
    pub(crate) verb: ReplayVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReplayVerb {
    /// Show what happened in a run, in order
    #[command(after_help = examples::REPLAY)]
    Run {
        /// The run
        #[arg(long, value_name = "ID")]
        run: String,
        /// Only events of this type; may be repeated
        #[arg(long = "type", value_name = "TYPE")]
        types: Vec<String>,
    },
    /// Check that it fits together
    #[command(after_help = examples::REPLAY)]
    Verify {
        /// The run
        #[arg(long, value_name = "ID")]
        run: String,
        /// Only what searches found
        #[arg(long)]
        check_retrievals: bool,
        /// Only order and checkpoints
        #[arg(long)]
        check_sequence: bool,
    },
}
