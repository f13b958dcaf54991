//! How far something may spread that comes of what was disclosed. Knows levels and domains, and
//! nothing of who learned what.
//!
//! A record is known to whoever is cleared for its own domain. So what comes of a secret of another
//! domain is restricted: in its own domain its level would open it to people who may not know the
//! secret.

use std::collections::BTreeSet;

use kapsa_memory::access::Classification;

/// What was disclosed, as far as it limits what comes of it: the highest level, and the domains of
/// the secrets. A secret is what is confidential or above; what is internal or public sets no
/// bounds to a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    level: Classification,
    domains: BTreeSet<String>,
}

impl Default for Secrets {
    /// Nothing was disclosed.
    fn default() -> Secrets {
        Secrets { level: Classification::Public, domains: BTreeSet::new() }
    }
}

impl Secrets {
    /// One thing of this domain and level was disclosed.
    #[must_use]
    pub fn of(domain: &str, level: Classification) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(domain, level);
        secrets
    }

    /// One more thing was disclosed.
    pub fn add(&mut self, domain: &str, level: Classification) {
        self.level = self.level.max(level);
        if level >= Classification::Confidential {
            self.domains.insert(domain.to_string());
        }
    }

    /// These were disclosed as well.
    pub fn join(&mut self, other: &Secrets) {
        self.level = self.level.max(other.level);
        self.domains.extend(other.domains.iter().cloned());
    }

    /// The highest level of all that was disclosed.
    #[must_use]
    pub fn level(&self) -> Classification {
        self.level
    }

    /// The domains of the secrets, in alphabetical order.
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.domains.iter().map(String::as_str)
    }

    /// The least level in this domain of what comes of it: the highest level that was disclosed,
    /// and restricted when a secret is of another domain.
    #[must_use]
    pub fn level_in(&self, domain: &str) -> Classification {
        if self.domains().all(|of| of == domain) { self.level } else { Classification::Restricted }
    }

    /// The domain of what comes of it: the chosen one, or when none was chosen that of the secrets,
    /// if all have the same.
    #[must_use]
    pub fn domain_for(&self, chosen: &str) -> String {
        let mut domains = self.domains();
        match (domains.next(), domains.next()) {
            (Some(only), None) if chosen.is_empty() => only.to_string(),
            _ => chosen.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Classification::{Confidential, Internal, Public, Restricted};
    use super::*;

    fn secrets(disclosed: &[(&str, Classification)]) -> Secrets {
        let mut secrets = Secrets::default();
        for (domain, level) in disclosed {
            secrets.add(domain, *level);
        }
        secrets
    }

    #[test]
    fn only_secrets_of_other_domains_restrict() {
        for (disclosed, in_hr, in_sales, in_none) in [
            (&[][..], Public, Public, Public),
            (&[("hr", Public)], Public, Public, Public),
            (&[("hr", Internal), ("sales", Internal)], Internal, Internal, Internal),
            (&[("hr", Confidential)], Confidential, Restricted, Restricted),
            (&[("hr", Confidential), ("sales", Internal)], Confidential, Restricted, Restricted),
            (&[("hr", Confidential), ("sales", Confidential)], Restricted, Restricted, Restricted),
            (&[("", Confidential)], Restricted, Restricted, Confidential),
            (&[("hr", Restricted)], Restricted, Restricted, Restricted),
        ] {
            let secrets = secrets(disclosed);
            assert_eq!(
                ["hr", "sales", ""].map(|domain| secrets.level_in(domain)),
                [in_hr, in_sales, in_none],
                "{disclosed:?}"
            );
        }
    }

    #[test]
    fn what_has_no_domain_takes_that_of_all_secrets() {
        for (disclosed, chosen, domain) in [
            (&[("hr", Internal)][..], "", ""),
            (&[("hr", Confidential), ("sales", Internal)], "", "hr"),
            (&[("hr", Confidential)], "sales", "sales"),
            (&[("hr", Confidential), ("sales", Restricted)], "", ""),
        ] {
            assert_eq!(secrets(disclosed).domain_for(chosen), domain, "{disclosed:?}");
        }
    }

    #[test]
    fn what_is_joined_was_told() {
        let mut one = Secrets::of("hr", Confidential);
        one.join(&Secrets::of("sales", Restricted));
        one.join(&Secrets::of("ops", Internal));
        assert_eq!(
            (one.level(), one.domains().collect::<Vec<_>>()),
            (Restricted, vec!["hr", "sales"])
        );
    }
}
