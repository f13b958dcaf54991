//! Arguments of search by meaning: ranking, embedding and models.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand, ValueEnum, value_parser};
use kapsa_model::COSINE_FLOOR_MAX;

use super::values::count;
use crate::examples;

/// What a search compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchBy {
    /// Words and meaning together
    Auto,
    /// Words only
    Lex,
    /// Meaning only
    Sem,
    /// Like auto, and explain each hit
    Explain,
}

/// What hits are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// The tag `session`
    Session,
    /// The document
    Source,
}

/// When records are embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmbedWhen {
    /// Before the command ends
    Now,
    /// By `kapsa embed`
    Later,
    /// After the command, in a process of its own
    Background,
}

impl EmbedWhen {
    /// What the environment says; nothing where it is not such a time.
    pub(crate) fn of_environment() -> Option<EmbedWhen> {
        EmbedWhen::from_str(&std::env::var("KAPSA_EMBED").ok()?, true).ok()
    }
}

// How a search is done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ranking")]
pub(crate) struct Ranking {
    /// What to compare
    #[arg(long, value_enum, default_value = "auto", env = "KAPSA_MODE", hide_env_values = true)]
    pub(crate) mode: SearchBy,
    /// Show only the best hit of each session or document
    #[arg(long, value_enum)]
    pub(crate) group: Option<Group>,
    /// Rank near-duplicates last
    #[arg(long)]
    pub(crate) diverse: bool,
    /// Treat phrases such as "last week" in the query as words, not as times
    #[arg(long)]
    pub(crate) no_time: bool,
    /// Prefer new records a little; the bonus halves every DAYS days
    #[arg(long, value_name = "DAYS", value_parser = days)]
    pub(crate) recency: Option<f32>,
    /// Prefer records of high confidence a little
    #[arg(long)]
    pub(crate) by_confidence: bool,
}

// Whether a re-ranker puts the best hits in order.
#[derive(Debug, Args)]
pub(crate) struct Reranking {
    /// Order the best hits by the installed re-ranker
    #[arg(
        long,
        env = "KAPSA_RERANK",
        hide_env_values = true,
        value_name = "1|0",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = BoolishValueParser::new(),
        help_heading = "Ranking"
    )]
    pub(crate) rerank: Option<bool>,
}

fn days(text: &str) -> Result<f32, String> {
    let days: f32 = text.parse().map_err(|_| "not a number".to_string())?;
    if days > 0.0 && days.is_finite() { Ok(days) } else { Err("must be more than 0".to_string()) }
}

#[derive(Debug, Args)]
pub(crate) struct Embed {
    /// Stop after about this many records
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Reembed {
    /// Model: bundled, local:NAME, openai:MODEL or ollama:MODEL
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Stop after about this many records
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) verb: ModelVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelVerb {
    /// List installed models
    #[command(after_help = examples::MODEL)]
    List,
    /// Add a model for vectors or a re-ranker
    #[command(after_help = examples::MODEL)]
    Add {
        /// Folder with config.json, vocab.txt or tokenizer.json, and model.safetensors or an ONNX
        /// file; or a model file
        path: PathBuf,
        /// Name [default: that of the folder]
        #[arg(long, allow_hyphen_values = true)]
        name: Option<String>,
        /// Text to put before each query
        #[arg(long, value_name = "TEXT")]
        query_prefix: Option<String>,
        /// Text to put before each passage
        #[arg(long, value_name = "TEXT")]
        passage_prefix: Option<String>,
        /// Cosine of unrelated texts in hundredths, where it is far above 0, as with BGE and E5
        #[arg(long, value_name = "N")]
        #[arg(value_parser = value_parser!(u8).range(..=i64::from(COSINE_FLOOR_MAX)))]
        cosine_floor: Option<u8>,
    },
    /// Show the properties of a model
    #[command(after_help = examples::MODEL)]
    Info {
        /// bundled, an added model, openai:MODEL or ollama:MODEL [default: the capsule's model]
        name: Option<String>,
    },
    /// Remove an added model
    #[command(after_help = examples::MODEL)]
    Remove {
        /// Name of the model
        name: String,
    },
}
