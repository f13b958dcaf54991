//! Chooses the model that turns texts into vectors: the one that made the capsule's, or the one
//! that is asked for.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kapsa_embed::{LocalEmbedder, LocalReranker, is_reranker};
use kapsa_http::{EmbeddingOptions, ServiceEmbedder};
use kapsa_model::{Embedder, Model, Pooling};

use crate::error::{CliError, Result};
use crate::services::{Variables, variable};

/// Which model new capsules use: a name as [`named`] takes it.
pub(crate) const MODEL: &str = "KAPSA_MODEL";
/// Where an embedding service is, and the key of it.
const SERVICE: Variables = Variables { url: "KAPSA_EMBED_URL", key: "KAPSA_EMBED_KEY" };
/// Where models lie that were added.
const FOLDER: &str = "KAPSA_MODELS";
/// Name of the model that comes with the program.
pub(crate) const BUNDLED: &str = "bundled";

/// The model whose vectors the capsule has, or that it is to have.
pub(crate) fn for_capsule(model: Option<&Model>) -> Result<Box<dyn Embedder>> {
    match model {
        Some(model) => recorded(model),
        None => named(variable(MODEL)?.as_deref().unwrap_or(BUNDLED)),
    }
}

/// The model that a capsule names.
pub(crate) fn recorded(model: &Model) -> Result<Box<dyn Embedder>> {
    let bundled = LocalEmbedder::bundled()?;
    if *bundled.model() == *model {
        return Ok(Box::new(bundled));
    }
    let embedder = match model.name.split_once('/') {
        Some((provider @ ("openai" | "ollama"), name)) => {
            service(&format!("{provider}:{name}"), Some(model.dimension))?
        }
        _ => from_file(&model.hash_hex(), &model.name)?,
    };
    if embedder.model() == model {
        return Ok(embedder);
    }
    let message = format!(
        "the model {} is no longer the one that made the vectors of this capsule",
        model.name
    );
    Err(CliError::system("model_changed", message)
        .hint("kapsa reembed --model NAME makes new vectors"))
}

/// A model by the name that a person gives it: `bundled`, `local:NAME`, `openai:MODEL` or
/// `ollama:MODEL`.
pub(crate) fn named(name: &str) -> Result<Box<dyn Embedder>> {
    match name.split_once(':') {
        None if name == BUNDLED => Ok(Box::new(LocalEmbedder::bundled()?)),
        Some(("local", name)) => {
            let added = added()?.into_iter().find(|added| added.name == name || added.hash == name);
            let added = added.ok_or_else(|| {
                CliError::usage(format!("no model `{name}` was added"))
                    .hint("kapsa model list shows the added models, kapsa model add PATH adds one")
            })?;
            from_file(&added.hash, &added.name)
        }
        Some(("openai" | "ollama", _)) => service(name, None),
        _ => Err(CliError::usage(format!("`{name}` is not a model"))
            .hint("use bundled, local:NAME (see kapsa model list), openai:MODEL or ollama:MODEL")),
    }
}

/// A model file that was added.
pub(crate) struct Added {
    pub(crate) name: String,
    /// BLAKE3 of the file, which is called after it.
    pub(crate) hash: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Whether it is a re-ranker rather than a model for vectors.
    pub(crate) is_reranker: bool,
}

impl Added {
    /// The re-ranker that it is.
    pub(crate) fn reranker(&self) -> Result<LocalReranker> {
        let failed = |error: io::Error| CliError::io("read the re-ranker", &error);
        let bytes = std::fs::read(&self.path).map_err(failed)?;
        Ok(LocalReranker::with_hash(bytes, &self.hash)?)
    }
}

/// The re-ranker that was added, the first by name if there are several.
pub(crate) fn reranker() -> Result<Option<LocalReranker>> {
    let added = added()?.into_iter().find(|added| added.is_reranker);
    added.map(|added| added.reranker()).transpose()
}

/// Whether the file is a re-ranker, by its first bytes; one that cannot be read is none.
fn begins_as_reranker(path: &Path) -> bool {
    let mut begin = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && is_reranker(&begin)
}

/// Every model that was added, by name.
pub(crate) fn added() -> Result<Vec<Added>> {
    let mut all = Vec::new();
    // Without a home folder nothing was ever added; adding says so.
    let Ok(folder) = folder() else { return Ok(all) };
    let failed = |error: io::Error| CliError::io(&format!("read {}", folder.display()), &error);
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let hash =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if path.extension().is_some_and(|end| end == "kmodel") && hash.len() == 64 {
            let name = std::fs::read_to_string(path.with_extension("name"))
                .unwrap_or_else(|_| hash.clone());
            all.push(Added {
                name: name.trim().to_string(),
                hash,
                bytes: entry.metadata().map_or(0, |meta| meta.len()),
                is_reranker: begins_as_reranker(&path),
                path,
            });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The folder of models.
pub(crate) fn folder() -> Result<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || {
        set("XDG_DATA_HOME")
            .or_else(|| set("LOCALAPPDATA"))
            .or_else(|| Some(set("HOME")?.join(".local/share")))
    };
    set(FOLDER).or_else(|| Some(data()?.join("kapsa/models"))).ok_or_else(|| {
        CliError::system("no_home", "no home folder to keep models in")
            .hint(format!("set {FOLDER} to a folder"))
    })
}

fn from_file(hash: &str, name: &str) -> Result<Box<dyn Embedder>> {
    let path = file_of(hash)?;
    let bytes = std::fs::read(&path).map_err(|_| missing(name, &path))?;
    Ok(Box::new(LocalEmbedder::from_bytes(Arc::from(bytes))?))
}

/// Where the model file with this hash is kept.
fn file_of(hash: &str) -> Result<PathBuf> {
    Ok(folder()?.join(format!("{hash}.kmodel")))
}

fn missing(name: &str, path: &Path) -> CliError {
    CliError::system("model_missing", format!("the model {name} is not on this machine")).hint(
        format!(
            "kapsa model add PATH adds it again (expected at {}); searches by words work without it",
            path.display()
        ),
    )
}

/// Fails where a model that a capsule names needs a file that is not on this machine; opens and
/// asks nothing.
pub(crate) fn expect_installed(model: &Model) -> Result<()> {
    if model.pooling == Pooling::Remote || *LocalEmbedder::bundled()?.model() == *model {
        return Ok(());
    }
    let path = file_of(&model.hash_hex())?;
    if path.is_file() { Ok(()) } else { Err(missing(&model.name, &path)) }
}

/// A model at a service, by a name such as `openai:MODEL`.
fn service(name: &str, dimensions: Option<u32>) -> Result<Box<dyn Embedder>> {
    let options = EmbeddingOptions { dimensions, ..EmbeddingOptions::default() };
    let embedder = ServiceEmbedder::open(name, &SERVICE.settings(name)?, options);
    Ok(Box::new(embedder?))
}
