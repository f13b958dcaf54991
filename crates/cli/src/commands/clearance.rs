//! `clearance`: what each principal may know, as policy records with a history.

use kapsa_memory::Reader;
use kapsa_memory::access::ClearanceProfile;
use kapsa_memory::request::{Filter, TimelineRequest};

use crate::app::{App, did};
use crate::args::ClearanceVerb;
use crate::error::{Done, Result};
use crate::escape;
use crate::wire;
use crate::wire::access::{ClearanceOut, ClearancesOut};

/// Most principals that are listed.
const PRINCIPALS_MAX: usize = 10_000;

/// `kapsa clearance`.
pub(crate) fn run(app: &mut App, verb: ClearanceVerb) -> Result<()> {
    let path = app.capsule()?;
    match verb {
        ClearanceVerb::Set { name: principal, domains } => {
            let profile = ClearanceProfile { principal, domains: domains.into_iter().collect() };
            // Policies hold on main, whatever branch is worked on.
            let put = app.keeper(&path)?.put(profile.record()?)?;
            did(app, Done::put(&put));
            tell(app, &[profile])
        }
        ClearanceVerb::Show { name: principal } => {
            let profile = Reader::open(&path)?.clearance(&principal)?;
            tell(app, &[profile])
        }
        ClearanceVerb::List => {
            let filter = Filter { kinds: vec!["clearance".to_string()], ..Filter::default() };
            let records = Reader::open(&path)?.timeline(&TimelineRequest {
                filter,
                limit: PRINCIPALS_MAX + 1,
                reverse: false,
            })?;
            let mut profiles: Vec<ClearanceProfile> =
                records.iter().map(ClearanceProfile::from_record).collect();
            let more = wire::cut(&mut profiles, PRINCIPALS_MAX);
            if app.out.is_json() {
                return app.out.json(&ClearancesOut::of(&profiles, more));
            }
            tell(app, &profiles)
        }
        ClearanceVerb::Remove { name: principal } => {
            // A profile without a domain, not none: that would leave it to what kapsa.toml
            // declares.
            let nothing = ClearanceProfile::new(principal);
            let put = app.keeper(&path)?.put(nothing.record()?)?;
            did(app, Done::put(&put));
            tell(app, &[nothing])
        }
    }
}

fn tell(app: &mut App, profiles: &[ClearanceProfile]) -> Result<()> {
    for profile in profiles {
        if app.out.is_json() {
            app.out.json(&ClearanceOut::from(profile))?;
            continue;
        }
        let domains = profile.domains.iter().map(|(domain, level)| format!("{domain}={level}"));
        let known = if profile.domains.is_empty() {
            "public records".to_string()
        } else {
            domains.collect::<Vec<_>>().join(" ")
        };
        app.out.line(&escape::line(&format!("{}  {known}", profile.principal)))?;
    }
    Ok(())
}
