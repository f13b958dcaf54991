//! Vectors of one model, and how the capsule names a model. Knows nothing of where they are stored.

use kapsa_model::{COSINE_FLOOR_MAX, Model, Pooling};
use serde_json::{Value, json};

/// Version of what is embedded of a record: `write::texts`. The first one put the turn before a
/// turn in front of it.
const TEMPLATE: u32 = 2;

/// The vectors of one derived segment, or all those of one model that are attached to records of
/// the tail.
pub(crate) struct VectorBlock {
    /// Of the derived segment; none of those in the tail.
    pub(crate) id: Option<u64>,
    /// First record that it covers.
    pub(crate) first_sequence: u64,
    /// Bytes that it takes in the file.
    pub(crate) file_bytes: u64,
    pub(crate) vectors: kapsa_index::Vectors,
}

/// How a model is recorded: whatever differs here is another model.
pub(crate) fn label(model: &Model) -> Vec<u8> {
    let hash = model.hash_hex();
    let mut described = json!({
        "dimension": model.dimension,
        "hash": hash,
        "name": model.name,
        "passage_prefix": model.passage_prefix,
        "pooling": model.pooling.as_str(),
        "query_prefix": model.query_prefix,
        "template": TEMPLATE,
        "tokens_max": model.tokens_max,
    });
    if model.cosine_floor > 0 {
        described["cosine_floor"] = model.cosine_floor.into();
    }
    described.to_string().into_bytes()
}

/// The model that a label names.
pub(super) fn model_of(label: &[u8]) -> Option<Model> {
    let described: Value = serde_json::from_slice(label).ok()?;
    let text = |key: &str| Some(described[key].as_str()?.to_string());
    let number = |key: &str| described[key].as_u64().and_then(|n| u32::try_from(n).ok());
    let mut hash = [0; 32];
    base16ct::lower::decode(text("hash")?, &mut hash).ok().filter(|bytes| bytes.len() == 32)?;
    let pooling = [Pooling::Mean, Pooling::First, Pooling::Remote]
        .into_iter()
        .find(|pooling| described["pooling"] == pooling.as_str())?;
    Some(Model {
        name: text("name")?,
        hash,
        dimension: number("dimension")?,
        pooling,
        query_prefix: text("query_prefix")?,
        passage_prefix: text("passage_prefix")?,
        tokens_max: number("tokens_max")?,
        cosine_floor: match &described["cosine_floor"] {
            Value::Null => 0,
            floor => u8::try_from(floor.as_u64()?).ok().filter(|&it| it <= COSINE_FLOOR_MAX)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(cosine_floor: u8) -> Model {
        Model {
            name: "m".into(),
            hash: [7; 32],
            dimension: 4,
            pooling: Pooling::First,
            query_prefix: "q: ".into(),
            passage_prefix: String::new(),
            tokens_max: 128,
            cosine_floor,
        }
    }

    /// Capsules whose vectors were made before there were floors keep them.
    #[test]
    fn a_label_names_a_floor_only_where_there_is_one() {
        let plain = String::from_utf8(label(&model(0))).expect("JSON");
        assert!(!plain.contains("cosine_floor"), "{plain}");
        for model in [model(0), model(42), model(COSINE_FLOOR_MAX)] {
            assert_eq!(model_of(&label(&model)), Some(model));
        }
        assert_eq!(model_of(&label(&model(COSINE_FLOOR_MAX + 1))), None);
    }
}
