//! What can go wrong with a memory, told with the record, URI or place at fault.

use std::path::PathBuf;

use crate::records::uri::Uri;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of a memory operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file itself: missing, locked, corrupt, foreign, too new, or the disk failed.
    #[error(transparent)]
    Capsule(#[from] kapsa_capsule::Error),
    /// The search index.
    #[error(transparent)]
    Index(kapsa_index::Error),
    /// A query above its limit.
    #[error("the query is longer than {limit} bytes")]
    QueryTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Text that is no logical URI.
    #[error("invalid URI `{uri}`: {reason}")]
    InvalidUri {
        /// What was given.
        uri: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A field of a record that breaks its limit.
    #[error("invalid {field}: {reason}")]
    InvalidRecord {
        /// The field.
        field: &'static str,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// Nothing is stored under this URI, or it was forgotten.
    #[error("nothing is remembered under {uri}")]
    UriNotFound {
        /// The URI asked for.
        uri: String,
    },
    /// No branch has this name.
    #[error("there is no branch `{name}`")]
    BranchNotFound {
        /// The name asked for.
        name: String,
    },
    /// No checkpoint, sequence or time is meant by this.
    #[error("`{text}` is no checkpoint, sequence or time on {branch}: {reason}")]
    UnknownAsOf {
        /// What was asked for.
        text: String,
        /// The branch that was looked at.
        branch: String,
        /// What does not fit.
        reason: String,
    },
    /// The label of a checkpoint is taken on this branch.
    #[error("a checkpoint labelled `{label}` exists on {branch}")]
    DuplicateLabel {
        /// The label.
        label: String,
        /// The branch.
        branch: String,
    },
    /// Vectors of one model cannot be searched or added to with another.
    #[error("the vectors in this capsule were made by {in_force}, not by {asked}")]
    OtherModel {
        /// Name of the model in force.
        in_force: String,
        /// Name of the model that was to be used.
        asked: String,
    },
    /// The model that turns texts into vectors failed.
    #[error("no vectors: {0}")]
    Embedding(kapsa_model::EmbedError),
    /// A search by meaning alone where nothing has vectors.
    #[error("nothing here has vectors of the model")]
    NoVectors,
    /// A stored record that cannot be decoded.
    #[error("record {sequence} is damaged: {reason}")]
    DamagedRecord {
        /// Its sequence.
        sequence: u64,
        /// What does not fit.
        reason: &'static str,
    },
    /// A commit that several callers shared, and its failure.
    #[error(transparent)]
    Shared(std::sync::Arc<Error>),
    /// An operation that a principal may not do. Says nothing of what is there.
    #[error("{principal} may not {what}")]
    AccessDenied {
        /// Who.
        principal: String,
        /// What was tried.
        what: &'static str,
    },
    /// An operation that the state of things does not allow.
    #[error("{reason}")]
    InvalidOperation {
        /// Why.
        reason: String,
    },
    /// Something is where a result was to go.
    #[error("{} is there already", path.display())]
    TargetExists {
        /// Where.
        path: PathBuf,
    },
    /// A name that no mount can have.
    #[error("`{name}` is no name for a mount: 1 to 64 letters, digits, `-` and `_`")]
    InvalidMountName {
        /// The name given, cut when it is long.
        name: String,
    },
    /// No mount has this name.
    #[error("there is no mount `{name}`")]
    MountNotFound {
        /// The name asked for.
        name: String,
    },
    /// Another capsule is mounted under this name.
    #[error("something else is mounted as `{name}`")]
    MountHashConflict {
        /// The name.
        name: String,
    },
    /// The list of mounts cannot be understood.
    #[error("{} cannot be understood: {reason}", path.display())]
    MountsRegistry {
        /// The list.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// What was to be imported is no whole capsule.
    #[error("it is no capsule that can be relied on: {problems}")]
    VerificationFailed {
        /// What was found.
        problems: String,
    },
    /// A source that cannot be read.
    #[error("cannot read {path}: {source}")]
    Source {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl From<kapsa_index::Error> for Error {
    fn from(error: kapsa_index::Error) -> Error {
        match error {
            kapsa_index::Error::QueryTooLong { max, .. } => Error::QueryTooLong { limit: max },
            other => Error::Index(other),
        }
    }
}

pub(crate) fn not_found(uri: &Uri) -> Error {
    Error::UriNotFound { uri: uri.to_string() }
}

pub(crate) fn misuse(reason: &str) -> Error {
    Error::InvalidOperation { reason: reason.to_string() }
}
