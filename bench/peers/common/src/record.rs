//! One line of the corpus.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One record, one JSON object a line. The same line feeds `kapsa put --json -` and every peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// A short heading taken from the text.
    pub title: String,
    /// The body, 0.2 to 20 KB.
    pub text: String,
    /// What sort of memory it is, such as `fact`.
    pub kind: String,
    /// One free label.
    pub label: String,
    /// Key and value pairs; `sample=one` is on exactly 1% of a corpus and `decile=d` on exactly
    /// 10%.
    pub tags: BTreeMap<String, String>,
    /// The agent that wrote it.
    pub agent: String,
    /// What it is about.
    pub entity: String,
    /// The field of work it belongs to.
    pub domain: String,
    /// RFC 3339, UTC, one record a minute or so.
    pub created_at: String,
}

impl Record {
    /// The exact terms a peer needs to filter by tag, as `key=value`.
    pub fn tag_terms(&self) -> impl Iterator<Item = String> + '_ {
        self.tags.iter().map(|(key, value)| format!("{key}={value}"))
    }

    /// Bytes of what people wrote: title and text.
    pub fn raw_bytes(&self) -> u64 {
        (self.title.len() + self.text.len()) as u64
    }
}
