//! Texts and vectors in the terms of OpenAI's `/v1/embeddings`, which many servers speak. Sends
//! nothing.

use serde::{Deserialize, Serialize};

use super::batch::BATCH_TEXTS_MAX;
use super::vectors::{Bounded, Numbers, Row, Rows};

#[derive(Serialize)]
struct OpenAiQuestion<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

/// The body of a request.
pub(super) fn question(model: &str, input: &[String], dimensions: Option<u32>) -> Vec<u8> {
    let question = OpenAiQuestion { model, input, encoding_format: "float", dimensions };
    serde_json::to_vec(&question).expect("texts and numbers are JSON")
}

#[derive(Deserialize)]
struct OpenAiVectors {
    data: Bounded<Entry, BATCH_TEXTS_MAX>,
}

#[derive(Deserialize)]
struct Entry {
    index: Option<usize>,
    embedding: Numbers,
}

/// The vectors in the body of a reply.
pub(super) fn vectors(body: &[u8]) -> serde_json::Result<Rows> {
    let data = serde_json::from_slice::<OpenAiVectors>(body)?.data;
    let row = |entry: Entry| Row { index: entry.index, numbers: entry.embedding };
    Ok(Rows { count: data.count, rows: data.items.into_iter().map(row).collect() })
}
