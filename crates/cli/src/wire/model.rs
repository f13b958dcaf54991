//! The JSON of `embed`, `reembed` and `model`.

use kapsa_memory::EmbedReport;
use kapsa_model::Model;
use schemars::JsonSchema;
use serde::Serialize;

use super::Extent;

/// Which records got vectors.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EmbeddedOut<'a> {
    /// Name of the model.
    model: &'a str,
    /// Number of records looked at.
    record_count: u64,
    /// Number of vectors made.
    vector_count: u64,
    /// Number of vectors taken from records with the same text.
    reused: u64,
    /// Number of records that still lack vectors.
    missing: u64,
    /// Whether searches use this model now.
    in_force: bool,
}

impl<'a> EmbeddedOut<'a> {
    pub(crate) fn of(model: &'a str, report: &EmbedReport) -> EmbeddedOut<'a> {
        let EmbedReport { records, vectors, reused, missing, in_force } = *report;
        EmbeddedOut {
            model,
            record_count: records,
            vector_count: vectors,
            reused,
            missing,
            in_force,
        }
    }
}

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModelKind {
    /// Turns texts into vectors.
    Embedder,
    /// Puts the best hits in order.
    Reranker,
}

impl ModelKind {
    pub(crate) fn of(is_reranker: bool) -> ModelKind {
        if is_reranker { ModelKind::Reranker } else { ModelKind::Embedder }
    }

    /// What people call it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            ModelKind::Embedder => "embedder",
            ModelKind::Reranker => "re-ranker",
        }
    }
}

/// A model of this machine.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Model")]
pub(crate) struct ModelOut {
    /// Name, as `reembed --model` takes it.
    pub(crate) name: String,
    /// What it does.
    pub(crate) kind: ModelKind,
    /// Numbers of each vector; 1 of a re-ranker.
    pub(crate) dimension: u32,
    /// Size of the file; 0 for the model that comes with the program.
    pub(crate) size_bytes: u64,
    /// Hash of the model.
    pub(crate) hash: String,
    /// Whether the vectors of the capsule are of this model.
    pub(crate) in_force: bool,
}

/// A list of models.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelsOut<'a> {
    #[serde(flatten)]
    extent: Extent,
    /// The models.
    models: &'a [ModelOut],
}

impl<'a> ModelsOut<'a> {
    pub(crate) fn of(models: &'a [ModelOut]) -> ModelsOut<'a> {
        ModelsOut { extent: Extent::whole(models.len()), models }
    }
}

/// What a model is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelInfoOut<'a> {
    /// Its name.
    name: &'a str,
    /// What it does.
    kind: ModelKind,
    /// Numbers of each vector; 1 of a re-ranker.
    dimension: u32,
    /// Hash of the model.
    hash: &'a str,
    /// How the vectors of tokens become one.
    pooling: &'a str,
    /// What is put before each query.
    #[serde(skip_serializing_if = "str::is_empty")]
    query_prefix: &'a str,
    /// What is put before each passage.
    #[serde(skip_serializing_if = "str::is_empty")]
    passage_prefix: &'a str,
    /// Cosine of texts that have nothing in common, in hundredths; left out where it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    cosine_floor: Option<u32>,
    /// Most tokens of one text; left out where the service decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_max: Option<u32>,
}

impl<'a> ModelInfoOut<'a> {
    pub(crate) fn of(
        model: &'a Model,
        kind: ModelKind,
        hash: &'a str,
        tokens_max: Option<u32>,
    ) -> ModelInfoOut<'a> {
        ModelInfoOut {
            name: &model.name,
            kind,
            dimension: model.dimension,
            hash,
            pooling: model.pooling.as_str(),
            query_prefix: &model.query_prefix,
            passage_prefix: &model.passage_prefix,
            cosine_floor: (model.cosine_floor > 0).then_some(model.cosine_floor.into()),
            tokens_max,
        }
    }
}

/// A model that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemovedModel<'a> {
    /// Its name.
    pub(crate) removed: &'a str,
}
