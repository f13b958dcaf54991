//! The values of a filter that no record has, and those like them that records have. Only what
//! whoever asks may see is looked at.

use std::collections::BTreeSet;

use kapsa_index::typing_errors;
use kapsa_statement::slug;

use crate::error::Result;
use crate::records::kinds::SYSTEM_KINDS;
use crate::records::request::{Filter, FilterValue, UnknownValue};
use crate::view::View;
use crate::view::visibility::list_exact;

/// Most values that are named in place of an unknown one.
const NEAR_MAX: usize = 3;

/// What the names of the capsule's own tags begin with.
const OWN_TAGS: &str = "kapsa.";

/// The values of a filter that no visible record has.
pub(crate) fn unknown_values(view: &View, filter: &Filter) -> Result<Vec<UnknownValue>> {
    let mut unknown = Vec::new();
    for value in filter.values() {
        // What the capsule writes about itself is not a memory, and can be asked for all the same.
        let is_own = value.field == "kind" && SYSTEM_KINDS.contains(&value.value);
        if !is_own && !is_known(view, value.term())? {
            unknown.push(UnknownValue {
                field: value.name.unwrap_or(value.field).to_string(),
                value: value.value.to_string(),
                near: near(view, value)?,
            });
        }
    }
    Ok(unknown)
}

/// Whether a visible record has an exact term.
pub(crate) fn is_known(view: &View, term: String) -> Result<bool> {
    Ok(!list_exact(view, vec![term], 1)?.is_empty())
}

fn near(view: &View, value: FilterValue<'_>) -> Result<Vec<String>> {
    // The values of the capsule's own tags are places in its order, which are nobody's to compare.
    if value.name.is_some_and(|name| name.starts_with(OWN_TAGS)) {
        return Ok(Vec::new());
    }
    let beginning = match value.name {
        Some(name) if !value.value.is_empty() => format!("tag:{name}="),
        _ => format!("{}:", value.field),
    };
    let (sought, all) = match value.name {
        Some(name) if value.value.is_empty() => (name, "tag:"),
        _ => (value.value, beginning.as_str()),
    };
    let filter = Filter::default().within(view)?;
    let terms = view.store().searcher()?.exact_terms(all, &filter)?;
    let mut others: Vec<(usize, String)> = Vec::new();
    for other in terms.iter().filter_map(|term| term.strip_prefix(all)) {
        // The capsule's own tags, and other tags with their values.
        let is_name = all != "tag:" || !other.contains('=') && !other.starts_with(OWN_TAGS);
        let distance = likeness(sought, other).filter(|_| is_name);
        others.extend(distance.map(|distance| (distance, other.to_string())));
    }
    if value.field == "entity" {
        drop_slugs(&mut others);
    }
    others.sort();
    let mut near = Vec::new();
    for (_, other) in others {
        if near.len() < NEAR_MAX && is_known(view, format!("{all}{other}"))? {
            near.push(other);
        }
    }
    Ok(near)
}

/// Leaves out the slugs of names that are there as they are spelled.
fn drop_slugs(others: &mut Vec<(usize, String)>) {
    let slugs: BTreeSet<String> = others
        .iter()
        .map(|(_, name)| (name, slug(name)))
        .filter(|(name, slug)| slug != *name)
        .map(|(_, slug)| slug)
        .collect();
    others.retain(|(_, name)| !slugs.contains(name));
}

/// How far two values are apart, if one may be meant by the other.
fn likeness(sought: &str, other: &str) -> Option<usize> {
    let (sought, other) = (sought.to_lowercase(), other.to_lowercase());
    let most = 1 + sought.chars().count() / 4;
    let errors = typing_errors(&sought, &other);
    let within = !sought.is_empty() && (other.contains(&sought) || sought.contains(&other));
    (errors <= most || within).then_some(errors)
}
