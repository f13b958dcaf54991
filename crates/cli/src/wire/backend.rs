//! The JSON of `put`, `find` and `get` where another store than a capsule serves them.

use schemars::JsonSchema;
use serde::Serialize;

use super::Extent;
use super::record::{FoundOut, RecordOut};

/// What `find` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(
    dead_code,
    clippy::large_enum_variant,
    reason = "each is printed on its own; together they describe the verb"
)]
pub(crate) enum FindAnswer<'a> {
    /// Of a capsule.
    Capsule(FoundOut<'a>),
    /// Of another store.
    Elsewhere(FoundElsewhereOut<'a>),
}

/// What `get` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(
    dead_code,
    clippy::large_enum_variant,
    reason = "each is printed on its own; together they describe the verb"
)]
pub(crate) enum GetAnswer<'a> {
    /// Of a capsule.
    Capsule(RecordOut<'a>),
    /// Of another store.
    Elsewhere(StoredElsewhereOut<'a>),
}

/// What another store found, the best first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FoundElsewhere")]
pub(crate) struct FoundElsewhereOut<'a> {
    /// The store.
    backend: &'static str,
    /// The query as it was given.
    query: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// The hits.
    hits: Vec<HitElsewhereOut<'a>>,
}

/// A text that another store found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HitElsewhere")]
pub(crate) struct HitElsewhereOut<'a> {
    /// Its id there.
    pub(crate) id: &'a str,
    /// Its title.
    pub(crate) title: &'a str,
    /// The text.
    pub(crate) text: &'a str,
    /// How well it answers, by the store's own measure.
    pub(crate) score: f64,
}

impl<'a> FoundElsewhereOut<'a> {
    pub(crate) fn of(
        backend: &'static str,
        query: &'a str,
        hits: Vec<HitElsewhereOut<'a>>,
    ) -> FoundElsewhereOut<'a> {
        FoundElsewhereOut { backend, query, extent: Extent::whole(hits.len()), hits }
    }
}

/// A text that another store keeps.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StoredElsewhere")]
pub(crate) struct StoredElsewhereOut<'a> {
    /// The store.
    pub(crate) backend: &'static str,
    /// Its id there.
    pub(crate) id: &'a str,
    /// Its title; left out by a put.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
    /// The text; left out by a put.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<&'a str>,
}

/// How two stores answer the same questions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Compared")]
pub(crate) struct ComparedOut {
    /// Number of questions.
    pub(crate) query_count: u64,
    /// Hits of each that were looked at.
    pub(crate) limit: u64,
    /// Whether the candidate answers as well as the reference, and fast enough.
    pub(crate) passed: bool,
    /// What it does not reach.
    pub(crate) failures: Vec<String>,
    /// The store whose answers are the measure.
    pub(crate) reference: MeasuredOut,
    /// The store that is measured.
    pub(crate) candidate: MeasuredOut,
}

/// How a store answers questions, on average.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Measured")]
pub(crate) struct MeasuredOut {
    /// The store.
    pub(crate) backend: &'static str,
    /// Share of the hits looked at that answer.
    pub(crate) precision: f64,
    /// Share of the answers that were among them.
    pub(crate) recall: f64,
    /// One divided by the rank of the first answer; 0 without one.
    pub(crate) reciprocal_rank: f64,
    /// Time within which 95 of 100 answers came, in milliseconds.
    pub(crate) p95_ms: f64,
}
