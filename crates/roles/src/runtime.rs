//! Roles that run together: each gets what it does not have of what they share.

use std::fmt;
use std::sync::Arc;

use super::error::RoleError;
use super::role::Role;
use super::schedule::Scheduler;
use super::shared::Shared;
use super::team::TeamMemories;

/// Roles that run together.
pub struct RoleRuntime {
    roles: Vec<Role>,
    scheduler: Option<Arc<dyn Scheduler>>,
}

impl fmt::Debug for RoleRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoleRuntime").field("roles", &self.roles).finish_non_exhaustive()
    }
}

impl RoleRuntime {
    /// Gives the roles what they share and do not have yet.
    ///
    /// # Errors
    /// [`RoleError::Invalid`] when two roles have the same id, [`RoleError::Memory`] when a memory
    /// cannot be had.
    pub fn new(
        roles: impl IntoIterator<Item = Role>,
        shared: &Shared,
    ) -> Result<RoleRuntime, RoleError> {
        let mut runtime = RoleRuntime { roles: Vec::new(), scheduler: shared.scheduler.clone() };
        let mut memories = shared.memories.clone();
        for role in roles {
            if memories.is_none() && shared.notes.is_none() {
                memories = Some(Arc::new(TeamMemories::new(role.clock())));
            }
            if runtime.role(role.id()).is_ok() {
                return Err(RoleError::invalid(
                    format!("role `{}`", role.id()),
                    "there are two of that id",
                ));
            }
            runtime.roles.push(role.equipped(shared, memories.as_deref())?);
        }
        Ok(runtime)
    }

    /// The role with this id.
    ///
    /// # Errors
    /// [`RoleError::UnknownRole`].
    pub fn role(&self, id: &str) -> Result<&Role, RoleError> {
        let unknown = || RoleError::UnknownRole { role: id.to_owned() };
        self.roles.iter().find(|role| role.id() == id).ok_or_else(unknown)
    }

    /// Who decides what is due.
    pub(super) fn scheduler(&self) -> Option<&dyn Scheduler> {
        self.scheduler.as_deref()
    }

    /// All roles, in the order in which they were given.
    #[must_use]
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }
}
