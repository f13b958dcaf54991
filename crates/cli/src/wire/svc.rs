//! The JSON of `svc`: one line per call. Names and shapes are those that its clients know, and not
//! those of the other verbs.

use kapsa_memory::Record;
use schemars::JsonSchema;
use serde::Serialize;

/// A store that is there now.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SvcCreated")]
pub(crate) struct CreatedOut<'a> {
    /// The store.
    pub(crate) created: &'a str,
    /// True.
    pub(crate) ok: bool,
    /// The store.
    pub(crate) path: &'a str,
}

/// A document that was stored.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SvcStored")]
pub(crate) struct StoredOut {
    /// Its number in the store.
    pub(crate) frame_id: u64,
}

/// What a search found, the best first.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "SvcResults")]
pub(crate) struct ResultsOut {
    /// The documents.
    pub(crate) results: Vec<ResultOut>,
    /// Stores that could not be read, while others could.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) skipped: Vec<StoreErrorOut>,
    /// Stores that were searched by words, although meaning was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_words: Vec<StoreErrorOut>,
}

/// A document that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SvcResult")]
pub(crate) struct ResultOut {
    /// True if nothing matched, and this is one of the newest documents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) fallback: bool,
    /// Its label.
    pub(crate) label: String,
    /// How well it fits.
    pub(crate) score: f64,
    /// Its store, where several were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<String>,
    /// Its text.
    pub(crate) text: String,
    /// Its title.
    pub(crate) title: String,
}

/// What went wrong with a store.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SvcStoreError")]
pub(crate) struct StoreErrorOut {
    /// What went wrong.
    pub(crate) error: String,
    /// The store.
    pub(crate) store: String,
}

/// The documents of a store, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SvcEntries")]
pub(crate) struct EntriesOut<'a> {
    /// The documents.
    pub(crate) entries: Vec<SvcEntryOut<'a>>,
}

/// A document of a store.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SvcEntry")]
pub(crate) struct SvcEntryOut<'a> {
    /// Its label.
    pub(crate) label: &'a str,
    /// Its text.
    pub(crate) text: &'a str,
    /// Its title.
    pub(crate) title: &'a str,
}

impl<'a> From<&'a Record> for SvcEntryOut<'a> {
    fn from(record: &'a Record) -> SvcEntryOut<'a> {
        SvcEntryOut { label: &record.label, text: &record.text, title: &record.title }
    }
}

/// Counts of a store.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SvcInfo")]
pub(crate) struct InfoOut<'a> {
    /// Number of documents.
    pub(crate) frames: u64,
    /// The store.
    pub(crate) path: &'a str,
    /// Size of the store.
    pub(crate) size_bytes: u64,
}
