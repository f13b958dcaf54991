//! Knows no environment, file, terminal, capsule or search: the one client for services that run
//! models.
//!
//! [`language_model`] continues conversations and [`ServiceEmbedder`] turns texts into vectors, at
//! Anthropic, at servers that speak OpenAI's protocols, and at Ollama. Every request goes through
//! one service type, which holds the rules for all of them:
//!
//! - **Keys.** A key is sent only over `https://` or to this machine. [`Settings::key`] goes to the
//!   address in use; a provider's own key ([`Settings::provider_key`]) goes only to that provider's
//!   own address. No redirect is followed.
//! - **Retries.** A status of 429 or 5xx and a lost connection are tried again, after longer and
//!   longer waits.
//! - **Limits.** Each try has a timeout, each reply at most [`REPLY_BYTES_MAX`] bytes.
//! - **Errors.** Every failure is a [`ModelError`](kapsa_model::ModelError) without a key, a
//!   control character or more than a few hundred characters of the service's words.
//!
//! The protocols are written by hand over `ureq` instead of using `genai` 0.7.2: in one release
//! program each, 27 crates, 2.7 MB and 62 s of CPU to build, against 146 crates, 8.9 MB and 268 s.
//! `genai` neither retries nor limits a reply.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod address;
mod embedding;
mod failure;
mod health;
mod key;
mod language;
mod promise;
mod provider;
mod service;

pub use embedding::{EmbeddingOptions, ServiceEmbedder};
pub use health::health;
pub use key::Key;
pub use language::{TIERS, TOKENS_MAX_DEFAULT, language_model};
pub use provider::Provider;
pub use service::{BACKOFF_FIRST, BACKOFF_MAX, REPLY_BYTES_MAX, RETRY_AFTER_MAX, Settings};
