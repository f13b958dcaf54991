//! Placeholder until the index lands.
/// Placeholder.
#[derive(Debug, thiserror::Error)]
#[error("placeholder")]
pub struct Error;
