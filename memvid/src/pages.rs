//! A long text goes on in frames of its own, which say whose pages they are.

use memvid_core::types::Frame;
use serde_json::Value;

/// Where what Memvid has no field for is kept, among the metadata.
pub(crate) const REST: &str = "kapsa";

/// Which page of which document a frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The URI of the document.
    pub(crate) document: String,
    /// From 2; the first is the document itself.
    pub(crate) number: u64,
}

impl Page {
    /// None of a frame that is a document.
    pub(crate) fn of(frame: &Frame) -> Option<Page> {
        let rest = rest(frame);
        let document = rest.get("part_of")?.as_str()?.to_string();
        Some(Page { document, number: rest.get("part")?.as_u64()? })
    }
}

/// How many pages a document has, the first included.
pub(crate) fn total(document: &Frame) -> u64 {
    rest(document).get("parts").and_then(Value::as_u64).unwrap_or(1)
}

/// The title that was given; the library makes one where there was none.
pub(crate) fn title(frame: &Frame) -> &str {
    let is_made = rest(frame).get("title").is_some_and(|title| title == "");
    frame.title.as_deref().filter(|_| !is_made).unwrap_or_default()
}

fn rest(frame: &Frame) -> Value {
    let rest = frame.extra_metadata.get(REST).map(|rest| serde_json::from_str(rest));
    match rest {
        Some(Ok(rest)) => rest,
        _ => Value::Null,
    }
}
