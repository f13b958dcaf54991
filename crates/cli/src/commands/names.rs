//! The values of a filter: entities by all their names, and what no record has.

use kapsa_agents::VocabularyStore;
use kapsa_memory::request::{Filter, UnknownValue};

use crate::app::{AnyReader, App};
use crate::args::When;
use crate::error::Result;

/// Names the values of a filter that no record has: a search that leaves out everything says why.
pub(crate) fn warn_unknown(
    app: &mut App,
    reader: &AnyReader,
    filter: &Filter,
    when: &When,
) -> Result<()> {
    for UnknownValue { field, value, near } in reader.unknown_values(filter)? {
        if field == "entity" && is_known_otherwise(app, reader, &value, when)? {
            continue;
        }
        let what = if value.is_empty() { field } else { format!("{field}={value}") };
        let others = match near.as_slice() {
            [] => String::new(),
            [one] => format!("; there is {one}"),
            [many @ .., last] => format!("; there are {} and {last}", many.join(", ")),
        };
        app.out.warn("unknown_value", &format!("no record has {what}{others}"));
    }
    Ok(())
}

/// Whether records spell the name of an entity otherwise.
fn is_known_otherwise(app: &App, reader: &AnyReader, name: &str, when: &When) -> Result<bool> {
    let named = Filter { entities: vec![name.to_string()], ..Filter::default() };
    let all = of_entities(app, &named, when)?;
    Ok(reader.unknown_values(&all)?.len() < all.entities.len())
}

/// The filter, for an entity by all its names.
pub(crate) fn of_entities(app: &App, filter: &Filter, when: &When) -> Result<Filter> {
    let mut all = filter.clone();
    if !filter.entities.is_empty() {
        let names = VocabularyStore::new(app.location_when(when.as_of.as_deref())?);
        let spelled = filter.entities.iter().map(|name| names.spellings(name));
        all.entities = spelled.collect::<Result<Vec<_>, _>>()?.concat();
    }
    Ok(all)
}
