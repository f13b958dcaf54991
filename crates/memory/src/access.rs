//! Who may know what? Levels, profiles, and the one rule that decides.
//!
//! Deny by default: what is not public is known to nobody whose profile does not say otherwise.

use std::collections::BTreeMap;
use std::fmt;

/// How far something may spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Classification {
    /// Everybody may know.
    Public,
    /// Whoever has to do with the domain.
    #[default]
    Internal,
    /// Whoever is trusted in the domain.
    Confidential,
    /// Whoever is trusted most in the domain and named by the record itself.
    Restricted,
}

impl Classification {
    /// All of them, ascending.
    pub const ALL: [Classification; 4] =
        [Classification::Public, Classification::Internal, Classification::Confidential, Classification::Restricted];

    /// Its place among them, from 0.
    #[must_use]
    pub fn rank(self) -> u8 {
        self as u8
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Classification::Public => "public",
            Classification::Internal => "internal",
            Classification::Confidential => "confidential",
            Classification::Restricted => "restricted",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Classification> {
        Classification::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl fmt::Display for Classification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something whose spread is limited.
pub trait Classified {
    /// Its field of knowledge; empty is a domain like any other.
    fn domain(&self) -> &str;
    /// Its level.
    fn classification(&self) -> Classification;
    /// Who may know it when it is restricted.
    fn named(&self) -> &[String];
}

/// What one principal, an agent or a person, may know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClearanceProfile {
    /// Who.
    pub principal: String,
    /// The highest level in each domain. In other domains nothing but what is public.
    pub domains: BTreeMap<String, Classification>,
}

impl ClearanceProfile {
    /// A profile that knows nothing but what is public.
    #[must_use]
    pub fn new(principal: impl Into<String>) -> ClearanceProfile {
        ClearanceProfile { principal: principal.into(), domains: BTreeMap::new() }
    }

    /// Adds a domain.
    #[must_use]
    pub fn with(mut self, domain: impl Into<String>, level: Classification) -> ClearanceProfile {
        self.domains.insert(domain.into(), level);
        self
    }

    /// Whether something may be known: public always; otherwise only at or below the level in its own domain, and when it is restricted
    /// only to those that it names.
    #[must_use]
    pub fn can_access(&self, thing: &impl Classified) -> bool {
        self.allows(thing.domain(), thing.classification(), thing.named())
    }

    /// As [`ClearanceProfile::can_access`], by its parts.
    #[must_use]
    pub fn allows(&self, domain: &str, level: Classification, named: &[String]) -> bool {
        if level == Classification::Public {
            return true;
        }
        let cleared = self.domains.get(domain).is_some_and(|clearance| *clearance >= level);
        cleared && (level != Classification::Restricted || named.contains(&self.principal))
    }
}

/// Leaves what a profile may know, in the order in which it was.
#[derive(Clone, Debug)]
pub struct AccessFilter {
    profile: ClearanceProfile,
}

impl AccessFilter {
    /// A filter by this profile.
    #[must_use]
    pub fn new(profile: ClearanceProfile) -> AccessFilter {
        AccessFilter { profile }
    }

    /// What of it may be known.
    #[must_use]
    pub fn filter<T: Classified>(&self, all: Vec<T>) -> Vec<T> {
        all.into_iter().filter(|thing| self.profile.can_access(thing)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(&'static str, Classification, Vec<String>);

    impl Classified for Thing {
        fn domain(&self) -> &str {
            self.0
        }

        fn classification(&self) -> Classification {
            self.1
        }

        fn named(&self) -> &[String] {
            &self.2
        }
    }

    #[test]
    fn levels_ascend() {
        let ranks: Vec<u8> = Classification::ALL.into_iter().map(Classification::rank).collect();
        assert_eq!(ranks, [0, 1, 2, 3]);
        for level in Classification::ALL {
            assert_eq!(Classification::named(level.name()), Some(level));
        }
        assert_eq!(Classification::named("secret"), None);
    }

    /// The rule, written down once more as a table of all cases.
    #[test]
    fn every_case_of_the_rule() {
        for clearance in [None, Some(0u8), Some(1), Some(2), Some(3)] {
            for level in Classification::ALL {
                for same_domain in [true, false] {
                    for is_named in [true, false] {
                        let mut profile = ClearanceProfile::new("cro");
                        if let Some(rank) = clearance {
                            profile = profile.with("revenue", Classification::ALL[rank as usize]);
                        }
                        let domain = if same_domain { "revenue" } else { "marketing" };
                        let named = vec![if is_named { "cro" } else { "cmo" }.to_string()];
                        let want = match level.rank() {
                            0 => true,
                            3 => same_domain && clearance == Some(3) && is_named,
                            rank => same_domain && clearance.is_some_and(|clearance| clearance >= rank),
                        };
                        assert_eq!(profile.can_access(&Thing(domain, level, named)), want, "{clearance:?} {level} {domain}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_filter_keeps_the_order() {
        let profile = ClearanceProfile::new("cro").with("revenue", Classification::Confidential);
        let all = vec![
            Thing("revenue", Classification::Internal, vec![]),
            Thing("marketing", Classification::Confidential, vec![]),
            Thing("", Classification::Public, vec![]),
        ];
        let left: Vec<&str> = AccessFilter::new(profile).filter(all).iter().map(|thing| thing.0).collect();
        assert_eq!(left, ["revenue", ""]);
    }
}
