//! The documents that records were read from, by their names; and records by their whole text.

use super::near_values::is_known;
use super::question;
use super::reader::Reader;
use crate::error::Result;
use crate::records::record::Record;
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

/// The newest record that holds exactly this text, white space around it aside.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn same_text(reader: &Reader, text: &str) -> Result<Option<Record>> {
    question::same_text(reader.view(), text)
}
