//! Texts and vectors in the terms of Ollama's `/api/embed`, and a model in those of `/api/show`.
//! Sends nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Shown;
use super::batch::BATCH_TEXTS_MAX;
use super::vectors::{Bounded, Numbers, Row, Rows};

/// Characters of a SHA-256 in hexadecimal.
const DIGEST_CHARS: usize = 64;

#[derive(Serialize)]
struct OllamaQuestion<'a> {
    model: &'a str,
    input: &'a [String],
    truncate: bool,
}

/// The body of a request for vectors.
pub(super) fn question(model: &str, input: &[String]) -> Vec<u8> {
    let question = OllamaQuestion { model, input, truncate: false };
    serde_json::to_vec(&question).expect("texts are JSON")
}

#[derive(Deserialize)]
struct OllamaVectors {
    embeddings: Bounded<Numbers, BATCH_TEXTS_MAX>,
}

/// The vectors in the body of a reply.
pub(super) fn vectors(body: &[u8]) -> serde_json::Result<Rows> {
    let embeddings = serde_json::from_slice::<OllamaVectors>(body)?.embeddings;
    let row = |numbers| Row { index: None, numbers };
    Ok(Rows { count: embeddings.count, rows: embeddings.items.into_iter().map(row).collect() })
}

/// The body of a request for what a model is.
pub(super) fn show_question(model: &str) -> Vec<u8> {
    json!({ "model": model }).to_string().into_bytes()
}

/// What the body of a reply says the model is.
pub(super) fn shown(body: &[u8]) -> Shown {
    let shown: Value = serde_json::from_slice(body).unwrap_or_default();
    Shown { weights: weights(&shown), tokens_max: tokens_max(&shown) }
}

/// What a model's weights are: their digest, else the kind and size of the model.
///
/// The digest of an answer stands in its `modelfile`, in the name of the file after `FROM`.
fn weights(shown: &Value) -> Option<String> {
    let digest = shown["digest"].as_str().filter(|digest| !digest.is_empty()).map(str::to_owned);
    let from_modelfile = || {
        let lines = shown["modelfile"].as_str()?.lines().map(str::trim);
        let digests: Vec<&str> =
            lines.filter(|line| line.starts_with("FROM ")).filter_map(digest_in).collect();
        (!digests.is_empty()).then(|| digests.join(" "))
    };
    let from_details = || {
        let part = |key| shown["details"][key].as_str().unwrap_or_default();
        let parts = ["family", "parameter_size", "quantization_level"].map(part);
        parts.iter().any(|part| !part.is_empty()).then(|| parts.join("/"))
    };
    digest.or_else(from_modelfile).or_else(from_details)
}

/// The SHA-256 that a line names, in hexadecimal.
fn digest_in(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("sha256")?;
    // A separator comes first.
    let digest = rest.get(1..=DIGEST_CHARS)?;
    digest.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(digest)
}

/// How many tokens the model reads.
fn tokens_max(shown: &Value) -> u32 {
    let fields = shown["model_info"].as_object();
    let mut lengths =
        fields.into_iter().flatten().filter(|(key, _)| key.ends_with(".context_length"));
    let length = lengths.find_map(|(_, value)| value.as_u64()).filter(|&length| length > 0);
    length.and_then(|length| u32::try_from(length).ok()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_best_that_is_known() {
        let hex = "0123456789abcdef".repeat(4);
        let file =
            format!("# made by \"ollama show\"\nFROM /some/where/blobs/sha256-{hex}\nTEMPLATE x\n");
        let details =
            json!({"family": "bert", "parameter_size": "137M", "quantization_level": "F16"});
        let shown = json!({"modelfile": file, "details": details, "modified_at": "now"});
        assert_eq!(weights(&shown), Some(hex));
        let shown = json!({"modelfile": "FROM ./é-sha256-é", "details": details});
        assert_eq!(weights(&shown).as_deref(), Some("bert/137M/F16"));
        assert_eq!(weights(&json!({"digest": "d"})).as_deref(), Some("d"));
        assert_eq!(weights(&json!({"details": 7})), None);
        assert_eq!(weights(&Value::Null), None);
    }
}
