//! Who may know what: levels, profiles, and the one rule that decides.
//!
//! Deny by default: what is not public is known to nobody whose profile does not say otherwise.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Result, misuse};
use crate::records::kinds;
use crate::records::record::{NewRecord, Record};
use crate::records::uri::{self, Uri};

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
    pub const ALL: [Classification; 4] = [
        Classification::Public,
        Classification::Internal,
        Classification::Confidential,
        Classification::Restricted,
    ];

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

/// How far a record may spread, where that was said; else it is internal in its domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Its level.
    pub level: Classification,
    /// Who may know it when it is restricted.
    pub named: Vec<String>,
}

impl Access {
    /// A level that needs nobody named.
    #[must_use]
    pub fn level(level: Classification) -> Access {
        Access { level, named: Vec::new() }
    }

    /// Restricted to these.
    #[must_use]
    pub fn restricted(named: impl IntoIterator<Item = impl Into<String>>) -> Access {
        Access {
            level: Classification::Restricted,
            named: named.into_iter().map(Into::into).collect(),
        }
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

    /// What both this profile and another allow: in each domain the lower level.
    #[must_use]
    pub fn within(&self, other: &ClearanceProfile) -> ClearanceProfile {
        let lower = |(domain, level): (&String, &Classification)| {
            Some((domain.clone(), *level.min(other.domains.get(domain)?)))
        };
        let domains = self.domains.iter().filter_map(lower).collect();
        ClearanceProfile { principal: self.principal.clone(), domains }
    }

    /// Adds a domain.
    #[must_use]
    pub fn with(mut self, domain: impl Into<String>, level: Classification) -> ClearanceProfile {
        self.domains.insert(domain.into(), level);
        self
    }

    /// Whether something may be known: public always; otherwise only at or below the level in its
    /// own domain, and when it is restricted only to those that it names.
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

    /// Whether something of this level, domain and names may be written or changed: what everybody
    /// may read only by those who are cleared for its domain.
    #[must_use]
    pub fn may_change(&self, thing: &impl Classified) -> bool {
        self.may_write(thing.domain(), thing.classification(), thing.named())
    }

    /// As [`ClearanceProfile::may_change`], by its parts.
    pub(crate) fn may_write(&self, domain: &str, level: Classification, named: &[String]) -> bool {
        self.allows(domain, level.max(Classification::Internal), named)
    }
}

impl Classified for Record {
    fn domain(&self) -> &str {
        &self.domain
    }

    fn classification(&self) -> Classification {
        self.access.as_ref().map_or(Classification::Internal, |access| access.level)
    }

    fn named(&self) -> &[String] {
        self.access.as_ref().map_or(&[], |access| &access.named)
    }
}

/// What stands for one level in one domain; for restricted things one for each who is named. Names
/// of any length and any characters become 128 bits, which nobody can make collide.
pub(crate) type Term = [u8; 16];

fn term(level: Classification, domain: &str, principal: &str) -> Term {
    let mut hasher = blake3::Hasher::new_derive_key("kapsa access term v1");
    for part in [level.name(), domain, principal] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().as_bytes()[..16].try_into().expect("sixteen of thirty-two bytes")
}

/// The exact term of the index for what a [`Term`] stands for.
pub(crate) fn exact(term: &Term) -> String {
    let digits = |byte: &u8| {
        [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
    };
    "access:".chars().chain(term.iter().flat_map(digits)).collect()
}

/// The terms of a record: whoever has one of them may know it.
pub(crate) fn terms_of(access: Option<&Access>, domain: &str) -> Vec<Term> {
    let level = access.map_or(Classification::Internal, |access| access.level);
    match (level, access) {
        (Classification::Public, _) => vec![term(Classification::Public, "", "")],
        (Classification::Restricted, Some(access)) => {
            access.named.iter().map(|name| term(Classification::Restricted, domain, name)).collect()
        }
        (level, _) => vec![term(level, domain, "")],
    }
}

/// The exact terms of the index by which what may be known to the same people is found.
#[must_use]
pub fn index_terms(access: &Access, domain: &str) -> Vec<String> {
    terms_of(Some(access), domain).iter().map(exact).collect()
}

/// The terms of which a principal has to know one.
pub(crate) fn terms_for(profile: &ClearanceProfile) -> Vec<Term> {
    let mut terms = vec![term(Classification::Public, "", "")];
    for (domain, clearance) in &profile.domains {
        let levels = [Classification::Internal, Classification::Confidential]
            .into_iter()
            .filter(|level| level <= clearance);
        terms.extend(levels.map(|level| term(level, domain, "")));
        if *clearance == Classification::Restricted {
            terms.push(term(Classification::Restricted, domain, &profile.principal));
        }
    }
    terms
}

/// What the URIs of profiles begin with.
const PROFILES: &str = "clearance";
/// Kind of the records that profiles are.
const PROFILE_KIND: &str = kinds::CLEARANCE;

/// Whether a URI is one under which profiles are kept.
pub(crate) fn is_of_profile(uri: &Uri) -> bool {
    uri.short().strip_prefix(PROFILES).is_some_and(|rest| rest.starts_with('/'))
}

/// Refuses a record under the name of a profile that is not one, and a profile under another name:
/// whoever reads the profile would find nothing to know.
///
/// # Errors
/// [`crate::Error::InvalidOperation`].
pub(crate) fn expect_profile(record: &NewRecord) -> Result<()> {
    let under = record.uri.as_ref().filter(|uri| is_of_profile(uri));
    if under.is_none() && record.kind != PROFILE_KIND {
        return Ok(());
    }
    let is_level = |level: &serde_json::Value| {
        level.as_str().is_some_and(|level| Classification::named(level).is_some())
    };
    let principal = record.metadata.get("principal").and_then(|name| name.as_str());
    let domains = record.metadata.get("domains").and_then(|domains| domains.as_object());
    let is_profile = record.kind == PROFILE_KIND
        && domains.is_some_and(|domains| domains.values().all(is_level))
        && principal.is_some_and(|name| ClearanceProfile::uri(name).ok().as_ref() == under);
    if is_profile {
        return Ok(());
    }
    Err(misuse(&format!(
        "{PROFILES}/NAME and the kind {PROFILE_KIND} are for what NAME may know; \
         `kapsa clearance set NAME` writes it"
    )))
}

impl ClearanceProfile {
    /// URI of the profile of a principal.
    ///
    /// # Errors
    /// `InvalidUri` when the principal's name cannot be part of one.
    pub fn uri(principal: &str) -> Result<Uri> {
        uri::check_component(principal)?;
        Uri::parse(&format!("{PROFILES}/{principal}"))
    }

    /// The profile as a record: a policy with a history, known to the owner alone.
    ///
    /// # Errors
    /// `InvalidUri` when the principal's name cannot be part of one.
    pub fn record(&self) -> Result<NewRecord> {
        let domains = self
            .domains
            .iter()
            .map(|(domain, level)| (domain.clone(), level.name().into()))
            .collect();
        let mut metadata = serde_json::Map::new();
        metadata.insert("principal".to_string(), self.principal.as_str().into());
        metadata.insert("domains".to_string(), serde_json::Value::Object(domains));
        Ok(NewRecord {
            uri: Some(ClearanceProfile::uri(&self.principal)?),
            kind: PROFILE_KIND.to_string(),
            metadata,
            // Restricted to nobody: a profile shows what there is to know.
            access: Some(Access::level(Classification::Restricted)),
            ..NewRecord::text(format!("what {} may know", self.principal))
        })
    }

    /// What a record says of a principal. A level that is not known counts for nothing.
    #[must_use]
    pub fn from_record(record: &Record) -> ClearanceProfile {
        let mut profile = ClearanceProfile::new(
            record.metadata.get("principal").and_then(|name| name.as_str()).unwrap_or_default(),
        );
        let domains = record.metadata.get("domains").and_then(|domains| domains.as_object());
        for (domain, level) in domains.into_iter().flatten() {
            if let Some(level) = level.as_str().and_then(Classification::named) {
                profile.domains.insert(domain.clone(), level);
            }
        }
        profile
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
                            rank => {
                                same_domain && clearance.is_some_and(|clearance| clearance >= rank)
                            }
                        };
                        assert_eq!(
                            profile.can_access(&Thing(domain, level, named)),
                            want,
                            "{clearance:?} {level} {domain}"
                        );
                    }
                }
            }
        }
    }

    /// The terms decide what the rule decides.
    #[test]
    fn terms_say_what_the_rule_says() {
        let domains = ["", "a", "b"];
        for clearance in Classification::ALL {
            let profile = ClearanceProfile::new("cro")
                .with("a", clearance)
                .with("", Classification::Internal);
            let known = terms_for(&profile);
            for domain in domains {
                for level in Classification::ALL {
                    for named in [
                        vec![],
                        vec!["cro".to_string()],
                        vec!["cmo".to_string(), "cro".to_string()],
                        vec!["cmo".to_string()],
                    ] {
                        let access = Access { level, named };
                        let by_terms =
                            terms_of(Some(&access), domain).iter().any(|term| known.contains(term));
                        assert_eq!(
                            by_terms,
                            profile.allows(domain, level, &access.named),
                            "{clearance} {domain} {access:?}"
                        );
                    }
                }
                let unsaid = terms_of(None, domain).iter().any(|term| known.contains(term));
                assert_eq!(unsaid, profile.allows(domain, Classification::Internal, &[]));
            }
        }
    }

    #[test]
    fn what_is_within_both_is_the_lower_level_of_what_both_name() {
        let one = ClearanceProfile::new("cro")
            .with("a", Classification::Confidential)
            .with("b", Classification::Internal);
        let other = ClearanceProfile::new("cro")
            .with("a", Classification::Internal)
            .with("c", Classification::Restricted);
        let both = ClearanceProfile::new("cro").with("a", Classification::Internal);
        assert_eq!((one.within(&other), other.within(&one)), (both.clone(), both));
    }

    #[test]
    fn a_filter_keeps_the_order() {
        let profile = ClearanceProfile::new("cro").with("revenue", Classification::Confidential);
        let all = vec![
            Thing("revenue", Classification::Internal, vec![]),
            Thing("marketing", Classification::Confidential, vec![]),
            Thing("", Classification::Public, vec![]),
        ];
        let left: Vec<&str> =
            AccessFilter::new(profile).filter(all).iter().map(|thing| thing.0).collect();
        assert_eq!(left, ["revenue", ""]);
    }
}
