//! A model of another program becomes a model file: read, checked, and rounded to 8 bits.

mod onnx;
mod tensors;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use kapsa_model::EmbedError;
use serde_json::Value;

use crate::weights::{Full, FullLayer, FullScorer, Head, Matrix, Norm, Weights};
use tensors::Tensors;

/// Largest file of a model that is read, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// Most tokens of a text that a model is given, even if it can read more: the time grows with their
/// square.
const TOKENS_MAX: usize = 512;

/// What a folder does not state.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// Name of the model. Default: the folder's name.
    pub name: Option<String>,
    /// Its source and licence, for people.
    pub origin: String,
    /// Put before each query, unless the folder sets it.
    pub query_prefix: Option<String>,
    /// Put before each passage, unless the folder sets it.
    pub passage_prefix: Option<String>,
    /// Most tokens of a text that the model reads; at most 512.
    pub tokens_max: Option<usize>,
    /// [`kapsa_model::Model::cosine_floor`].
    pub cosine_floor: u8,
}

fn refused(message: String, hint: &str) -> EmbedError {
    EmbedError { message, hint: (!hint.is_empty()).then(|| hint.to_string()) }
}

/// Makes a model file of a folder with `config.json`, `vocab.txt` or `tokenizer.json`, and
/// `model.safetensors` or an ONNX file: a BERT encoder, as most small embedding models are, or one
/// with a head for one logit, as re-rankers are. The result has been read back once.
///
/// # Errors
/// When a file is missing, broken or too large, or the model is of a kind that is not supported;
/// the message names it.
pub fn convert(folder: &Path, options: &ConvertOptions) -> Result<Vec<u8>, EmbedError> {
    let config = json(&folder.join("config.json"))?;
    expect_bert(folder, &config)?;
    let vocabulary = vocabulary(folder)?;
    let head = head(folder, &config, options, vocabulary.len())?;
    head.check()?;
    let bytes = full(head, vocabulary, &Tensors::read(folder)?)?.encode();
    let weights = Weights::read(&bytes, [0; 32])?;
    crate::wordpiece::Special::of(&weights)?;
    Ok(bytes)
}

fn expect_bert(folder: &Path, config: &Value) -> Result<(), EmbedError> {
    let is = |key: &str, value: &str| config[key].as_str().is_none_or(|found| found == value);
    let modules = json(&folder.join("modules.json")).unwrap_or_default();
    let odd =
        modules.as_array().into_iter().flatten().filter_map(|module| module["type"].as_str()).find(
            |kind| {
                let last = kind.rsplit('.').next().unwrap_or_default();
                !["Transformer", "Pooling", "Normalize"].contains(&last)
            },
        );
    let hint = "BERT encoders with WordPiece are understood: MiniLM, BGE small and base, E5 (English), GTE small and base, Arctic XS to M";
    match odd {
        Some(module) => {
            Err(refused(format!("the model has a module `{module}` that is not supported"), hint))
        }
        None if !is("model_type", "bert") => {
            Err(refused(format!("the model is of type {}, not `bert`", config["model_type"]), hint))
        }
        None if !is("position_embedding_type", "absolute") || !is("hidden_act", "gelu") => {
            Err(refused(
                "the model uses position embeddings or an activation that are not supported".into(),
                hint,
            ))
        }
        None => Ok(()),
    }
}

fn head(
    folder: &Path,
    config: &Value,
    options: &ConvertOptions,
    vocabulary: usize,
) -> Result<Head, EmbedError> {
    let number = |key: &str| {
        let found = config[key].as_u64().and_then(|n| usize::try_from(n).ok());
        found.ok_or_else(|| refused(format!("config.json has no {key}"), ""))
    };
    let optional = |name: &str| json(&folder.join(name)).unwrap_or_default();
    let pooling = optional("1_Pooling/config.json");
    let prompts = &optional("config_sentence_transformers.json")["prompts"];
    let prompt =
        |keys: &[&str]| keys.iter().find_map(|key| prompts[key].as_str()).map(str::to_string);
    let told = optional("sentence_bert_config.json")["max_seq_length"].as_u64().map(|n| n as usize);
    let positions = number("max_position_embeddings")?;
    let tokens = options.tokens_max.or(told).unwrap_or(TOKENS_MAX).min(TOKENS_MAX).min(positions);
    let tokenizer = optional("tokenizer.json");
    let lower_case = optional("tokenizer_config.json")["do_lower_case"].as_bool();
    let folder_name = || {
        folder
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
    };
    let architectures = config["architectures"].as_array().into_iter().flatten();
    let reranker = architectures
        .filter_map(Value::as_str)
        .any(|architecture| architecture.ends_with("ForSequenceClassification"));
    let is_first = reranker || pooling["pooling_mode_cls_token"].as_bool() == Some(true);
    Ok(Head {
        name: options.name.clone().or_else(folder_name).unwrap_or_else(|| "model".into()),
        origin: options.origin.clone(),
        query_prefix: prompt(&["query"])
            .or_else(|| options.query_prefix.clone())
            .unwrap_or_default(),
        passage_prefix: prompt(&["document", "passage"])
            .or_else(|| options.passage_prefix.clone())
            .unwrap_or_default(),
        hidden: number("hidden_size")?,
        layers: number("num_hidden_layers")?,
        heads: number("num_attention_heads")?,
        intermediate: number("intermediate_size")?,
        vocabulary,
        positions: tokens,
        epsilon: config["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32,
        pooling: if is_first { "first" } else { "mean" }.into(),
        lower_case: lower_case.or(tokenizer["normalizer"]["lowercase"].as_bool()).unwrap_or(true),
        cosine_floor: if reranker { 0 } else { options.cosine_floor },
        reranker,
    })
}

/// Words in order of their numbers.
fn vocabulary(folder: &Path) -> Result<Vec<String>, EmbedError> {
    if let Ok(text) = read(&folder.join("vocab.txt")) {
        let text =
            String::from_utf8(text).map_err(|_| refused("vocab.txt is not UTF-8".into(), ""))?;
        return Ok(text.lines().map(str::to_string).collect());
    }
    let tokenizer = json(&folder.join("tokenizer.json"))?;
    if tokenizer["model"]["type"].as_str().is_some_and(|kind| kind != "WordPiece") {
        return Err(refused(
            format!("the tokenizer is {}, only WordPiece is supported", tokenizer["model"]["type"]),
            "",
        ));
    }
    let Some(map) = tokenizer["model"]["vocab"].as_object() else {
        return Err(refused("tokenizer.json has no vocabulary".into(), ""));
    };
    let mut words = vec![None; map.len()];
    for (word, number) in map {
        let place = number.as_u64().and_then(|number| words.get_mut(usize::try_from(number).ok()?));
        *place.ok_or_else(|| refused("the numbers of the vocabulary have gaps".into(), ""))? =
            Some(word.clone());
    }
    words
        .into_iter()
        .collect::<Option<_>>()
        .ok_or_else(|| refused("the numbers of the vocabulary have gaps".into(), ""))
}

fn full(
    head: Head,
    vocabulary: Vec<String>,
    tensors: &Tensors,
) -> Result<Full<'static>, EmbedError> {
    let width = head.hidden;
    let norm = |name: &str| -> Result<Norm, EmbedError> {
        let [weight, bias] = [format!("{name}.weight"), format!("{name}.bias")];
        Ok(Norm { weight: tensors.vector(&weight, width)?, bias: tensors.vector(&bias, width)? })
    };
    let linear = |name: &str, rows, columns| {
        Ok((
            tensors.matrix(name, rows, columns)?,
            tensors.vector(&format!("{name}.bias"), columns)?,
        ))
    };
    let words = "embeddings.word_embeddings.weight";
    let words = Matrix {
        rows: vocabulary.len(),
        columns: width,
        values: Cow::Owned(tensors.table(words, Some(vocabulary.len()), width)?),
        step: tensors.step(words),
    };
    let mut positions = tensors.table("embeddings.position_embeddings.weight", None, width)?;
    if positions.len() < head.positions * width {
        return Err(refused("there are fewer positions than config.json states".into(), ""));
    }
    positions.truncate(head.positions * width);
    let kinds = tensors.table("embeddings.token_type_embeddings.weight", None, width)?;
    positions
        .chunks_exact_mut(width)
        .for_each(|row| row.iter_mut().zip(&kinds).for_each(|(sum, kind)| *sum += kind));
    let layers = (0..head.layers).map(|at| {
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let attention = |part: &str| linear(&name(&format!("attention.{part}")), width, width);
        Ok(FullLayer {
            attention: [
                attention("self.query")?,
                attention("self.key")?,
                attention("self.value")?,
                attention("output.dense")?,
            ],
            attention_norm: norm(&name("attention.output.LayerNorm"))?,
            up: linear(&name("intermediate.dense"), width, head.intermediate)?,
            down: linear(&name("output.dense"), head.intermediate, width)?,
            output_norm: norm(&name("output.LayerNorm"))?,
        })
    });
    let layers = layers.collect::<Result<_, EmbedError>>()?;
    let scorer = if head.reranker { Some(scorer(tensors, &kinds, width)?) } else { None };
    Ok(Full {
        embedding_norm: norm("embeddings.LayerNorm")?,
        head,
        vocabulary,
        words,
        positions,
        layers,
        scorer,
    })
}

/// What makes a re-ranker of an encoder; `kinds` are the vectors of the token types.
fn scorer(
    tensors: &Tensors,
    kinds: &[f32],
    width: usize,
) -> Result<FullScorer<'static>, EmbedError> {
    let Some((first, second)) = kinds.split_at_checked(width).filter(|(_, b)| b.len() >= width)
    else {
        return Err(refused("a re-ranker has two token types, this model has one".into(), ""));
    };
    let bias = tensors.vector("classifier.bias", 1).map_err(|error| {
        refused(
            error.message,
            "a re-ranker gives one number, not a number for each of some classes",
        )
    })?;
    Ok(FullScorer {
        second: second.iter().zip(first).map(|(second, first)| second - first).collect(),
        pooler: (
            tensors.matrix("pooler.dense", width, width)?,
            tensors.vector("pooler.dense.bias", width)?,
        ),
        weights: tensors.vector("classifier.weight", width)?,
        bias: bias[0],
    })
}

fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    let failed = |error: std::io::Error| refused(format!("{}: {error}", path.display()), "");
    let meta = fs::metadata(path).map_err(failed)?;
    if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
        return Err(refused(
            format!("{} is not a file of at most {FILE_BYTES_MAX} bytes", path.display()),
            "",
        ));
    }
    fs::read(path).map_err(failed)
}

fn json(path: &Path) -> Result<Value, EmbedError> {
    serde_json::from_slice(&read(path)?)
        .map_err(|error| refused(format!("{}: {error}", path.display()), ""))
}

/// The file with the weights.
fn weights_file(folder: &Path) -> Option<PathBuf> {
    let known =
        ["model.safetensors", "model.onnx", "onnx/model.onnx"].map(|name| folder.join(name));
    let mut others: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    others.retain(|path| path.extension().is_some_and(|end| end == "safetensors" || end == "onnx"));
    others.sort();
    known.into_iter().chain(others).find(|path| path.is_file())
}
