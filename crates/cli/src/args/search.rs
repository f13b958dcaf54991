//! What can be said about search by meaning.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What a search goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchBy {
    /// Words and meaning, together
    Auto,
    /// Words alone
    Lex,
    /// Meaning alone
    Sem,
    /// As auto, and each hit says why it is one
    Explain,
}

/// What hits are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// The tag `session`
    Session,
    /// The document
    Source,
}

/// Whether records get vectors at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmbedWhen {
    /// Before the command ends
    Now,
    /// By `kapsa embed`
    Later,
}

// How a search is done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ranking")]
pub(crate) struct Ranking {
    /// What to go by
    #[arg(long, value_enum, default_value = "auto", env = "KAPSA_MODE", hide_env_values = true)]
    pub(crate) mode: SearchBy,
    /// Only the best hit of each session or document
    #[arg(long, value_enum)]
    pub(crate) group: Option<Group>,
    /// Texts that say nothing new come last
    #[arg(long)]
    pub(crate) diverse: bool,
    /// Take "last week" and "before the release" in the query as words only, not as times
    #[arg(long)]
    pub(crate) no_time: bool,
    /// Prefer new records, by half after so many days (a bounded factor)
    #[arg(long, value_name = "DAYS", value_parser = days)]
    pub(crate) recency: Option<f32>,
    /// Prefer records of high confidence (a bounded factor)
    #[arg(long)]
    pub(crate) by_confidence: bool,
}

fn days(text: &str) -> Result<f32, String> {
    let days: f32 = text.parse().map_err(|_| "it is no number".to_string())?;
    if days > 0.0 && days.is_finite() { Ok(days) } else { Err("days are more than 0".to_string()) }
}

#[derive(Debug, Args)]
pub(crate) struct Embed {
    /// Stop after about so many records
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Reembed {
    /// The model: bundled, local:NAME, openai:MODEL or ollama:MODEL
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Stop after about so many records
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) verb: ModelVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelVerb {
    /// List the models that are here
    List,
    /// Add a model from a folder: config.json, vocab.txt or tokenizer.json, model.safetensors or an ONNX file
    Add {
        /// The folder
        path: PathBuf,
        /// Name [default: the folder's]
        #[arg(long)]
        name: Option<String>,
        /// Put before each query
        #[arg(long, value_name = "TEXT")]
        query_prefix: Option<String>,
        /// Put before each passage
        #[arg(long, value_name = "TEXT")]
        passage_prefix: Option<String>,
    },
    /// Show what a model is
    Info {
        /// bundled, a model that was added, openai:MODEL or ollama:MODEL [default: the one in force in the capsule]
        name: Option<String>,
    },
    /// Remove a model that was added
    Remove {
        /// Its name
        name: String,
    },
}
