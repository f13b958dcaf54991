//! The JSON of `tour`.

use kapsa_memory::request::Hit;
use schemars::JsonSchema;
use serde::Serialize;

use super::care::VerifyOut;
use super::record::{RecordOut, SourceOut};

/// What each step of the tour did and how long it took.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TourOut<'a> {
    /// The capsule, which is kept.
    pub(crate) capsule_path: String,
    /// The steps.
    pub(crate) steps: &'a [Step],
    /// The documents that were put.
    pub(crate) documents: &'a [DocumentOut],
    /// The questions that were asked, and what was found.
    pub(crate) questions: Vec<QuestionOut<'a>>,
    /// Every revision of the record that was revised, oldest first.
    pub(crate) history: Vec<RecordOut<'a>>,
    /// What a check of every byte found.
    pub(crate) verify: VerifyOut<'a>,
    /// Commands to try next.
    pub(crate) next: &'a [String],
}

/// A step of the tour.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TourStep")]
pub(crate) struct Step {
    /// Its name.
    pub(crate) name: &'static str,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: f64,
}

/// A document that was put.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TourDocument")]
pub(crate) struct DocumentOut {
    /// Its name.
    pub(crate) name: String,
    /// Number of passages that it was cut into.
    pub(crate) passage_count: usize,
}

/// A question, and what was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TourQuestion")]
pub(crate) struct QuestionOut<'a> {
    /// The question.
    pub(crate) query: &'static str,
    /// How long the search took, in milliseconds.
    pub(crate) duration_ms: f64,
    /// What was found, the best first.
    pub(crate) hits: Vec<TourHitOut<'a>>,
}

/// A passage that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TourHit")]
pub(crate) struct TourHitOut<'a> {
    /// URI of the record.
    uri: &'a str,
    /// Where it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceOut<'a>>,
    /// How well it fits; comparable within one question only.
    score: f32,
    /// The part of the text that fits best.
    snippet: &'a str,
}

impl<'a> From<&'a Hit> for TourHitOut<'a> {
    fn from(hit: &'a Hit) -> TourHitOut<'a> {
        TourHitOut {
            uri: hit.record.uri.as_str(),
            source: hit.record.source.as_ref().map(SourceOut::from),
            score: hit.score,
            snippet: &hit.snippet,
        }
    }
}
