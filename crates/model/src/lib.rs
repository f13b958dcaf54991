//! Knows no provider, network, key, environment, runtime, capsule or search.
//!
//! What an embedder, a re-ranker and a language model are, as traits with the types they speak in:
//! an [`Embedder`] turns texts into vectors, a [`Reranker`] says how well texts answer a
//! question, a [`LanguageModel`] continues a conversation.
//! [`ScriptedModel`] answers from a script, for tests and for trying things out without a provider.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod embedding;
mod language;
mod reranking;

pub use embedding::{
    COSINE_FLOOR_MAX, DIMENSION_MAX, EmbedError, Embedder, Model, Piece, Pooling, Purpose, cut,
};
pub use language::{
    BoxFuture, ChatReply, ChatRequest, JSON_BYTES_MAX, JsonError, LanguageModel, Message,
    ModelError, ModelErrorKind, Price, QUOTE_BYTES_MAX, ScriptedModel, ToolCall, ToolSpec, Usage,
    block_on, complete_json, cost, json_in,
};
pub use reranking::Reranker;
