//! Which model turns texts into vectors? The one that made the capsule's, or the one that is asked for.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use kapsa_embed::{LocalEmbedder, OllamaEmbedder, OllamaOptions, OpenAiEmbedder, OpenAiOptions};
use kapsa_memory::Reader;
use kapsa_model::{EmbedError, Embedder, Model};

use crate::error::{CliError, Result};

/// Which model new capsules use: a name as [`named`] takes it.
pub(crate) const MODEL: &str = "KAPSA_MODEL";
/// Where an embedding service is.
const URL: &str = "KAPSA_EMBED_URL";
/// Its key.
const KEY: &str = "KAPSA_EMBED_KEY";
/// Where models lie that were added.
const FOLDER: &str = "KAPSA_MODELS";
/// Name of the model that comes with the program.
pub(crate) const BUNDLED: &str = "bundled";

/// The model whose vectors the capsule has, or that it is to have.
pub(crate) fn for_capsule(reader: &Reader) -> Result<Box<dyn Embedder>> {
    match reader.coverage()?.model {
        Some(model) => recorded(&model),
        None => named(variable(MODEL)?.as_deref().unwrap_or(BUNDLED)),
    }
}

/// The model that a capsule names.
pub(crate) fn recorded(model: &Model) -> Result<Box<dyn Embedder>> {
    let bundled = LocalEmbedder::bundled().map_err(failed)?;
    if *bundled.model() == *model {
        return Ok(Box::new(bundled));
    }
    let embedder = match model.name.split_once('/') {
        Some(("openai", name)) => openai(name, Some(model.dimension))?,
        Some(("ollama", name)) => ollama(name)?,
        _ => from_file(&hex(&model.hash), &model.name)?,
    };
    if embedder.model() == model {
        return Ok(embedder);
    }
    let message = format!("the model {} is no longer the one that made the vectors of this capsule", model.name);
    Err(CliError::system("model_changed", message).hint("kapsa reembed --model NAME makes new vectors"))
}

/// A model by the name that a person gives it: `bundled`, `local:NAME`, `openai:MODEL` or `ollama:MODEL`.
pub(crate) fn named(name: &str) -> Result<Box<dyn Embedder>> {
    match name.split_once(':') {
        None if name == BUNDLED => Ok(Box::new(LocalEmbedder::bundled().map_err(failed)?)),
        Some(("local", name)) => {
            let added = added()?.into_iter().find(|added| added.name == name || added.hash == name);
            let added = added.ok_or_else(|| {
                CliError::usage(format!("no model `{name}` was added"))
                    .hint("kapsa model list shows the added models, kapsa model add PATH adds one")
            })?;
            from_file(&added.hash, &added.name)
        }
        Some(("openai", model)) => openai(model, None),
        Some(("ollama", model)) => ollama(model),
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
}

/// Every model that was added, by name.
pub(crate) fn added() -> Result<Vec<Added>> {
    let mut all = Vec::new();
    // Without a home folder nothing was ever added; adding says so.
    let Some(entries) = folder().ok().and_then(|folder| std::fs::read_dir(folder).ok()) else { return Ok(all) };
    for entry in entries.flatten() {
        let path = entry.path();
        let hash = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if path.extension().is_some_and(|end| end == "kmodel") && hash.len() == 64 {
            let told = std::fs::read_to_string(path.with_extension("name")).unwrap_or_else(|_| hash.clone());
            all.push(Added { name: told.trim().to_string(), hash, bytes: entry.metadata().map_or(0, |meta| meta.len()), path });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The folder of models.
pub(crate) fn folder() -> Result<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || set("XDG_DATA_HOME").or_else(|| set("LOCALAPPDATA")).or_else(|| Some(set("HOME")?.join(".local/share")));
    set(FOLDER)
        .or_else(|| Some(data()?.join("kapsa/models")))
        .ok_or_else(|| CliError::system("no_home", "no home folder to keep models in").hint(format!("set {FOLDER} to a folder")))
}

fn from_file(hash: &str, name: &str) -> Result<Box<dyn Embedder>> {
    let path = folder()?.join(format!("{hash}.kmodel"));
    let bytes = std::fs::read(&path).map_err(|_| {
        CliError::system("model_missing", format!("the model {name} is not on this machine")).hint(format!(
            "kapsa model add PATH adds it again (expected at {}); searches by words work without it",
            path.display()
        ))
    })?;
    Ok(Box::new(LocalEmbedder::from_bytes(Arc::from(bytes)).map_err(failed)?))
}

fn openai(model: &str, dimensions: Option<u32>) -> Result<Box<dyn Embedder>> {
    let mut options = OpenAiOptions { model: model.to_string(), dimensions, ..OpenAiOptions::default() };
    if let Some(url) = variable(URL)? {
        options.base_url = url;
    }
    options.key = match variable(KEY)? {
        Some(key) => Some(key),
        None => variable("OPENAI_API_KEY")?,
    };
    Ok(Box::new(OpenAiEmbedder::new(options).map_err(failed)?))
}

fn ollama(model: &str) -> Result<Box<dyn Embedder>> {
    let mut options = OllamaOptions { model: model.to_string(), ..OllamaOptions::default() };
    if let Some(url) = variable(URL)? {
        options.base_url = url;
    }
    Ok(Box::new(OllamaEmbedder::new(options).map_err(failed)?))
}

/// A variable of the environment that is set. Its content is never shown: it may be a key.
fn variable(name: &str) -> Result<Option<String>> {
    match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(CliError::usage(format!("{name} is not UTF-8"))),
    }
}

/// What a model says went wrong, as an error of the command line.
pub(crate) fn failed(error: EmbedError) -> CliError {
    let told = CliError::system("embedding_failed", error.message);
    match error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
