//! What can go wrong with a role; each error names the role, operator or node at fault.

use std::fmt;

use super::text::MissingKeys;
use kapsa_agents::ReflectError;
use kapsa_memory::Error;
use kapsa_model::{ModelError, Usage};

/// A failure of a role or an operator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoleError {
    /// The runtime has no role with this id.
    #[error("there is no role `{role}`")]
    UnknownRole {
        /// The id asked for.
        role: String,
    },
    /// The role has no operator with this id.
    #[error("role `{role}` has no operator `{operator}`")]
    UnknownOperator {
        /// The role.
        role: String,
        /// The id asked for.
        operator: String,
    },
    /// The operator has no node with this name.
    #[error("operator `{operator}` has no node `{node}`")]
    UnknownNode {
        /// The operator.
        operator: String,
        /// The name asked for.
        node: String,
    },
    /// There is no model to ask; nothing was tried or recorded.
    #[error("{who} has no model to ask")]
    NoModel {
        /// Such as "role `cro`".
        who: String,
    },
    /// A role, operator or node that cannot be as it is described.
    #[error("{what}: {reason}")]
    Invalid {
        /// Such as "node `qualify` of operator `revenue_ops`".
        what: String,
        /// Which rule it breaks.
        reason: String,
    },
    /// The memory of a role cannot be set up.
    #[error("role `{role}` has no memory: {source}")]
    Memory {
        /// The role.
        role: String,
        /// What the memory says.
        source: Error,
    },
    /// A role failed to reflect.
    #[error("role `{role}` failed to reflect: {source}")]
    Reflect {
        /// The role.
        role: String,
        /// The cause.
        source: ReflectError,
    },
    /// A step failed.
    #[error(transparent)]
    Step(#[from] Box<StepError>),
}

impl RoleError {
    pub(super) fn invalid(what: impl Into<String>, reason: impl Into<String>) -> RoleError {
        RoleError::Invalid { what: what.into(), reason: reason.into() }
    }
}

/// A node, or the answer to a message, that failed.
#[derive(Debug)]
pub struct StepError {
    /// The role; empty for an operator of its own.
    pub role: String,
    /// The operator; empty for the answer to a message.
    pub operator: String,
    /// The node, or `respond`.
    pub node: String,
    /// Why it failed.
    pub cause: StepCause,
    /// Tokens that were used all the same, those of [`StepCause::Model`] among them.
    pub usage: Usage,
    /// Why the failure is not among the episodes; none when it is, or nobody records.
    pub unrecorded: Option<Error>,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operator.as_str() {
            "" => write!(f, "role `{}` failed to {}: {}", self.role, self.node, self.cause)?,
            operator => {
                write!(f, "node `{}` of operator `{operator}` failed: {}", self.node, self.cause)?
            }
        }
        match &self.unrecorded {
            Some(error) => write!(f, "; the failure could not be recorded either: {error}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for StepError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepCause {
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The memory that the prompt needs; the model was not asked.
    #[error("its memory cannot be read: {0}")]
    Memory(#[from] Error),
    /// The templates of the node ask for more than the state has; the model was not asked.
    #[error(transparent)]
    MissingKeys(#[from] MissingKeys),
}
