//! Why a document cannot be read.

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not of the format, or are damaged.
    #[error("{0}")]
    Broken(String),
    /// A password protects it.
    #[error("a password protects it")]
    Protected,
    /// It is well-formed, and holds no text.
    #[error("it holds no text; if it is scanned, a program for text recognition can add it")]
    NoText,
    /// It is beyond a limit.
    #[error("more than {limit} {of}")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// Of what.
        of: &'static str,
    },
}

impl ReadError {
    pub(crate) fn broken(what: &str, why: impl std::fmt::Display) -> Self {
        ReadError::Broken(format!("{what}: {why}"))
    }
}
