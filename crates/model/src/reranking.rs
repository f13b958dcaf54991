//! What a re-ranker is. Runs no model, and knows no search.

use crate::embedding::{EmbedError, Model};

/// Reads a question and a text together, and says how well the one answers the other. It is more
/// exact than comparing two vectors, and a thousand times slower: it puts the few best of a search
/// in order.
pub trait Reranker: Send + Sync {
    /// Which model this is. Its dimension is 1.
    fn model(&self) -> &Model;

    /// One logit for each text, in order: above 0 where the model takes the text for an answer. The
    /// logit of a text does not depend on the other texts.
    ///
    /// # Errors
    /// When the model cannot be run; then there is no logit at all.
    fn score(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>, EmbedError>;
}
