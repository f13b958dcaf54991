//! Knows no network, capsule, record or search: the only crate that runs a model.
//!
//! Texts to vectors, by the model that comes with the program and by models from local files; and
//! how well texts answer a question, by re-rankers from local files.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod bert;
mod bulk;
mod coarse;
mod convert;
mod cross;
mod kernel;
mod local;
mod math;
mod reranker;
mod share;
mod weights;
mod wordpiece;

pub use convert::{ConvertOptions, convert};
pub use local::LocalEmbedder;
pub use reranker::LocalReranker;
pub use weights::is_reranker;
