//! Texts to vectors: the model that comes with the program, models from files, and services.
//!
//! The only crate that runs a model or asks a service for vectors.

mod bert;
mod convert;
mod kernel;
mod local;
mod remote;
mod weights;
mod wordpiece;

pub use convert::{ConvertOptions, convert};
pub use local::LocalEmbedder;
pub use remote::{OllamaEmbedder, OllamaOptions, OpenAiEmbedder, OpenAiOptions};
