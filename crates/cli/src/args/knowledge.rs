//! Arguments of `policy`, `graph` and `replay`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::When;
use super::values::{count, run_name};
use crate::examples;

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) verb: PolicyVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Capture a policy from a JSON file, if it changed
    #[command(after_help = examples::POLICY)]
    Capture {
        /// JSON file
        file: PathBuf,
    },
    /// List captured policies
    #[command(after_help = examples::POLICY)]
    List,
    /// Show a policy
    #[command(after_help = examples::POLICY)]
    Show {
        /// Id of the policy [default: the current one]
        id: Option<String>,
    },
    /// Check a file without capturing it
    #[command(after_help = examples::POLICY)]
    Validate {
        /// JSON file
        file: PathBuf,
    },
    /// Show how two policies differ
    #[command(after_help = examples::POLICY)]
    Diff {
        /// Id of the first policy
        a: String,
        /// Id of the policy [default: the current one]
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
    /// Spec that the run works on
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Run
    #[arg(long, value_name = "ID", env = "KAPSA_RUN", value_parser = run_name)]
    #[arg(hide_env_values = true)]
    pub(crate) run: Option<String>,
    /// Agent that adds it
    #[arg(long, env = "KAPSA_AGENT", hide_env_values = true, allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EdgeDirection {
    /// Edges that end at the URI
    In,
    /// Edges that begin at the URI
    Out,
    /// Both
    #[default]
    Both,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphVerb {
    /// Add a card about a subject, or facts to an existing one
    #[command(after_help = examples::GRAPH)]
    AddCard {
        /// spec, decision, task, risk, component, person, artifact or run
        #[arg(long = "type", value_name = "TYPE")]
        card_type: String,
        /// Name of the subject
        #[arg(long, allow_hyphen_values = true)]
        title: String,
        /// Id of the card [default: derived from the title]
        #[arg(long, allow_hyphen_values = true)]
        id: Option<String>,
        /// Fact; repeatable, even with the same key
        #[arg(long = "fact", value_name = "KEY=VALUE[:TYPE]")]
        facts: Vec<String>,
        #[command(flatten)]
        from: From,
    },
    /// Add an edge between two URIs
    #[command(after_help = examples::GRAPH)]
    AddEdge {
        /// depends_on, blocks, implements, references, owns, risks or related_to
        #[arg(long = "type", value_name = "TYPE")]
        edge_type: String,
        /// Start of the edge
        #[arg(long = "from", value_name = "URI")]
        start: String,
        /// End of the edge
        #[arg(long = "to", value_name = "URI")]
        end: String,
        /// Weight of the edge
        #[arg(long)]
        weight: Option<f64>,
        #[command(flatten)]
        from: From,
    },
    /// List the edges around a URI, or the cards of a type
    #[command(after_help = examples::GRAPH)]
    Query {
        /// Edges around this URI
        #[arg(long, value_name = "URI", allow_hyphen_values = true)]
        uri: Option<String>,
        /// Direction of the edges
        #[arg(long, value_enum, default_value_t)]
        direction: EdgeDirection,
        /// Maximum number of steps
        #[arg(long, value_name = "N", default_value_t = 1)]
        depth: usize,
        /// Only this type: of edges with --uri, otherwise of cards
        #[arg(long = "type", value_name = "TYPE")]
        of_type: Option<String>,
        /// Maximum number of results
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = count)]
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
    /// List the events and checkpoints of a run in order
    #[command(after_help = examples::REPLAY)]
    Run {
        /// Run
        #[arg(long, value_name = "ID", value_parser = run_name)]
        run: String,
        /// Only events of this type; repeatable
        #[arg(long = "type", value_name = "TYPE")]
        types: Vec<String>,
        #[command(flatten)]
        when: When,
    },
    /// Check that the events of a run are consistent
    #[command(after_help = examples::REPLAY)]
    Verify {
        /// Run
        #[arg(long, value_name = "ID", value_parser = run_name)]
        run: String,
        /// Check only what searches found
        #[arg(long)]
        check_retrievals: bool,
        /// Check only order and checkpoints
        #[arg(long)]
        check_sequence: bool,
        #[command(flatten)]
        when: When,
    },
}
