//! The documents that records were read from, by their names.

use super::near_values::is_known;
use super::reader::Reader;
use crate::error::Result;
use crate::records::request::Filter;

/// The names of the documents that begin so and that visible records were read from.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn sources_under(reader: &Reader, prefix: &str) -> Result<Vec<String>> {
    let view = reader.view();
    let filter = Filter::default().within(view)?;
    let terms = view.store().searcher()?.exact_terms(&format!("source:{prefix}"), &filter)?;
    let mut names = Vec::new();
    for term in terms {
        if let Some(name) = term.strip_prefix("source:").map(str::to_string)
            && is_known(view, term)?
        {
            names.push(name);
        }
    }
    Ok(names)
}
