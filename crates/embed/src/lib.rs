//! Texts to vectors: the model that comes with the program, models from files, and services.
//!
//! The only crate that runs a model or asks a service for vectors.

mod remote;

pub use remote::{OllamaEmbedder, OllamaOptions, OpenAiEmbedder, OpenAiOptions};
