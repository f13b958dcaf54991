//! What turns a text into a vector? The interface only: this crate runs no model.

use std::fmt;

/// What a text is to be embedded for: some models want to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A question.
    Query,
    /// A text that questions are to find.
    Passage,
}

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    First,
    /// Whoever embeds does it and does not say how.
    Remote,
}

impl Pooling {
    /// The name that is recorded.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Pooling::Mean => "mean",
            Pooling::First => "first",
            Pooling::Remote => "remote",
        }
    }
}

/// Which model, and used how? Vectors of two models that differ in anything here never meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// For people, such as `paraphrase-MiniLM-L3-v2-int8` or `ollama/nomic-embed-text`.
    pub name: String,
    /// BLAKE3 of the weights and the vocabulary; of a service, of its kind and the model's name, as far as it is known.
    pub hash: [u8; 32],
    /// Numbers in a vector, at most [`DIMENSION_MAX`].
    pub dimension: u32,
    /// How the tokens' vectors become one.
    pub pooling: Pooling,
    /// Put before each query.
    pub query_prefix: String,
    /// Put before each passage.
    pub passage_prefix: String,
    /// Tokens of a text that the model reads; the rest is not seen.
    pub tokens_max: u32,
}

/// Most numbers in a vector.
pub const DIMENSION_MAX: u32 = 4096;

/// Why a text has no vector.
#[derive(Debug)]
pub struct EmbedError {
    /// What failed, for a person.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EmbedError {}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// Which model this is.
    fn model(&self) -> &Model;

    /// One vector of [`Model::dimension`] numbers and Euclidean length 1 for each text, in order.
    ///
    /// # Errors
    /// When the model cannot be read or the service does not answer; then there is no vector at all.
    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;
}
