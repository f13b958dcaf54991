//! The JSON of `clearance`.

use std::collections::BTreeMap;

use kapsa_memory::access::ClearanceProfile;
use schemars::JsonSchema;
use serde::Serialize;

use super::Extent;

/// What a principal may read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Clearance")]
pub(crate) struct ClearanceOut<'a> {
    /// The principal.
    principal: &'a str,
    /// The highest classification that it may read in each domain; the empty name stands for
    /// records without a domain.
    domains: BTreeMap<&'a str, &'static str>,
}

impl<'a> From<&'a ClearanceProfile> for ClearanceOut<'a> {
    fn from(profile: &'a ClearanceProfile) -> ClearanceOut<'a> {
        ClearanceOut { principal: &profile.principal, domains: domains(profile) }
    }
}

/// The levels of a profile by domain.
pub(crate) fn domains(profile: &ClearanceProfile) -> BTreeMap<&str, &'static str> {
    profile.domains.iter().map(|(domain, level)| (domain.as_str(), level.name())).collect()
}

/// A list of principals.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClearancesOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The principals.
    principals: Vec<ClearanceOut<'a>>,
}

impl<'a> ClearancesOut<'a> {
    pub(crate) fn of(profiles: &'a [ClearanceProfile], more: bool) -> ClearancesOut<'a> {
        let principals = profiles.iter().map(ClearanceOut::from).collect();
        ClearancesOut { extent: Extent::cut(profiles.len(), more), principals }
    }
}
