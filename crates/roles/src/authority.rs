//! Whether a role may act on its own. Knows lists of actions, and nothing of who asks or what an
//! action does.

use std::fmt;

/// Whether an action may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// The role may act on its own.
    Autonomous,
    /// Somebody must agree first.
    NeedsApproval,
    /// The role must not, whoever agrees.
    Forbidden,
}

impl Permission {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Permission::Autonomous => "autonomous",
            Permission::NeedsApproval => "needs_approval",
            Permission::Forbidden => "forbidden",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which actions a role may take on its own, which not, and which never.
///
/// ```
/// use kapsa_roles::{AuthorityConfig, Permission};
///
/// let authority =
///     AuthorityConfig::new().autonomous(["qualify_lead"]).forbidden(["sign_contracts"]);
/// assert_eq!(authority.can_act("qualify_lead"), Permission::Autonomous);
/// assert_eq!(authority.can_act("change_pricing"), Permission::NeedsApproval); // not mentioned
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorityConfig {
    /// What may be done without asking.
    pub autonomous: Vec<String>,
    /// What may be done when somebody agrees.
    pub needs_approval: Vec<String>,
    /// What must never be done.
    pub forbidden: Vec<String>,
}

impl AuthorityConfig {
    /// An authority that mentions nothing: everything needs approval.
    #[must_use]
    pub fn new() -> AuthorityConfig {
        AuthorityConfig::default()
    }

    /// Adds actions that may be taken without asking.
    #[must_use]
    pub fn autonomous<S: Into<String>>(
        mut self,
        actions: impl IntoIterator<Item = S>,
    ) -> AuthorityConfig {
        self.autonomous.extend(actions.into_iter().map(Into::into));
        self
    }

    /// Adds actions that somebody must agree to.
    #[must_use]
    pub fn needs_approval<S: Into<String>>(
        mut self,
        actions: impl IntoIterator<Item = S>,
    ) -> AuthorityConfig {
        self.needs_approval.extend(actions.into_iter().map(Into::into));
        self
    }

    /// Adds actions that must never be taken.
    #[must_use]
    pub fn forbidden<S: Into<String>>(
        mut self,
        actions: impl IntoIterator<Item = S>,
    ) -> AuthorityConfig {
        self.forbidden.extend(actions.into_iter().map(Into::into));
        self
    }

    /// Whether an action may be taken. The stricter list wins; what no list mentions needs
    /// approval.
    #[must_use]
    pub fn can_act(&self, action: &str) -> Permission {
        let mentions = |list: &[String]| list.iter().any(|listed| listed == action);
        if mentions(&self.forbidden) {
            Permission::Forbidden
        } else if mentions(&self.autonomous) && !mentions(&self.needs_approval) {
            Permission::Autonomous
        } else {
            Permission::NeedsApproval
        }
    }
}
