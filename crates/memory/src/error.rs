//! What can go wrong with a memory; each error names the record, URI or place at fault.

use std::path::PathBuf;

use kapsa_capsule::Error as CapsuleError;

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
    /// Text that is not a logical URI.
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
    #[error("`{text}` names no state of {branch}: {reason}")]
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
    #[error("no record here has vectors of this model")]
    NoVectors,
    /// A stored record that cannot be decoded.
    #[error("record {sequence} is damaged: {reason}")]
    DamagedRecord {
        /// Its sequence.
        sequence: u64,
        /// What does not fit.
        reason: &'static str,
    },
    /// The content of a file that is not what was stored.
    #[error("the content with the hash {hash} is damaged: {reason}")]
    ContentDamaged {
        /// BLAKE3 of what was stored.
        hash: String,
        /// What does not fit.
        reason: &'static str,
    },
    /// A record with the content of a file that is not in the capsule, or not any more.
    #[error("the content of this record is not in the capsule")]
    ContentMissing,
    /// A commit that several callers shared, and its failure.
    #[error(transparent)]
    Shared(std::sync::Arc<Error>),
    /// The key that commits are to be signed with cannot be used. Nothing was committed.
    #[error("nothing was stored: {0}")]
    SigningKey(#[from] crate::signing::key::KeyError),
    /// An operation that a principal may not do. Says nothing of what is there.
    #[error("{principal} may not {what}")]
    AccessDenied {
        /// Who.
        principal: String,
        /// What was tried.
        what: &'static str,
    },
    /// A field that a principal may not fill in like this.
    #[error("{principal} may not set `{field}`: {why}")]
    FieldDenied {
        /// Who.
        principal: String,
        /// The field.
        field: String,
        /// Whose it is.
        why: &'static str,
    },
    /// What was brought is kept for review and not visible until somebody accepts it.
    #[error("kept for review as {}: {reasons}", item.short())]
    HeldForReview {
        /// The pending record.
        item: Uri,
        /// Why, one reason after the other.
        reasons: String,
    },
    /// A policy whose record is not what was captured.
    #[error("policy {id} was changed after it was captured: its content does not match its hash")]
    PolicyChanged {
        /// Id of the policy.
        id: String,
    },
    /// An operation that the state of things does not allow.
    #[error("{reason}")]
    InvalidOperation {
        /// Why.
        reason: String,
    },
    /// Something is where a result was to go.
    #[error("{} already exists", path.display())]
    TargetExists {
        /// Where.
        path: PathBuf,
    },
    /// A name that no mount can have.
    #[error("`{name}` is not a mount name: use 1 to 64 letters, digits, `-` and `_`")]
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
    /// What was to be imported is not a whole capsule.
    #[error("the capsule failed its verification: {problems}")]
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
            kapsa_index::Error::Check(cause) => match cause.downcast_ref() {
                Some(cause) => Error::Capsule(capsule_error(cause)),
                None => Error::Index(kapsa_index::Error::Check(cause)),
            },
            other => Error::Index(other),
        }
    }
}

/// What a capsule reported of its bytes, which the index has shared with others.
fn capsule_error(cause: &CapsuleError) -> CapsuleError {
    match cause {
        CapsuleError::Unreadable { path, offset, source } => {
            let source = source.raw_os_error().map_or_else(
                || std::io::Error::new(source.kind(), source.to_string()),
                std::io::Error::from_raw_os_error,
            );
            CapsuleError::Unreadable { path: path.clone(), offset: *offset, source }
        }
        CapsuleError::NoMemory { path, offset, bytes } => {
            CapsuleError::NoMemory { path: path.clone(), offset: *offset, bytes: *bytes }
        }
        CapsuleError::Corrupt { path, offset, what } => {
            CapsuleError::Corrupt { path: path.clone(), offset: *offset, what: what.clone() }
        }
        other => CapsuleError::Corrupt { path: PathBuf::new(), offset: 0, what: other.to_string() },
    }
}

pub(crate) fn not_found(uri: &Uri) -> Error {
    Error::UriNotFound { uri: uri.to_string() }
}

pub(crate) fn misuse(reason: &str) -> Error {
    Error::InvalidOperation { reason: reason.to_string() }
}
