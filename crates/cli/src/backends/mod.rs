//! The stores that can serve the plain verbs (`put --text`, `find`, `get`) in place of a capsule:
//! which one does, by `memory_backend` in `kapsa.toml`, and what a store must be able to do.
//!
//! With `memory_backend = "capsule"`, the default, nothing else is looked for and nobody is
//! contacted. `memory_fallback = true` lets local-memory serve where the capsule, or the file of
//! Memvid, cannot be opened.

mod fallback;
mod local_memory;
mod memvid_store;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::app::App;
use crate::backend_kind::BackendKind;
use crate::config_file::{ConfigFile, FILE};
use crate::error::{CliError, Result};
use crate::locate;
pub(crate) use local_memory::LocalMemory;
use memvid_store::MemvidStore;

/// What was measured of Memvid; who chooses it is told each time.
const MEMVID_MEASURED: &str = "memvid 2.0.140 lost acknowledged records when it was measured (616 \
                               of 10,000 puts before one commit, with no crash) and reads flipped \
                               bits back as text; the capsule does not";

/// A store of plain texts.
pub(crate) trait Backend {
    /// Which one it is.
    fn kind(&self) -> BackendKind;

    /// Whether it can serve now, known within a second.
    ///
    /// # Errors
    /// `backend_unavailable`, with what does not answer.
    fn health(&self) -> Result<()>;

    /// Stores a text. Returns its id there.
    ///
    /// # Errors
    /// What the store says.
    fn put(&self, note: &Note) -> Result<String>;

    /// The texts that answer a query, best first; at most `limit`.
    ///
    /// # Errors
    /// What the store says.
    fn find(&self, query: &str, limit: usize) -> Result<Vec<StoredText>>;

    /// The text with this id; none where there is none.
    ///
    /// # Errors
    /// What the store says.
    fn get(&self, id: &str) -> Result<Option<StoredText>>;
}

/// A text that is to be stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Note {
    /// Its name, where the store takes one.
    pub(crate) uri: Option<String>,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// A text that a store gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredText {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
    /// How well it answers, by the store's own measure; 0 where nothing was asked.
    pub(crate) score: f64,
}

/// The store of a name.
fn named(name: &str) -> Result<BackendKind> {
    let known = BackendKind::ALL.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| {
        let message = format!("{FILE}: the memory backend {name} is not available");
        let names = BackendKind::ALL.map(BackendKind::name).join(", ");
        CliError::user("invalid_config", message).hint(format!("memory_backend is {names}"))
    })
}

/// The keys of the file.
#[derive(Debug, Default, Deserialize)]
struct BackendDocument {
    memory_backend: Option<String>,
    memory_fallback: Option<bool>,
}

/// What holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BackendSettings {
    pub(crate) backend: BackendKind,
    /// Whether local-memory serves where the store cannot be opened.
    pub(crate) fallback: bool,
}

impl BackendSettings {
    pub(crate) fn find() -> Result<BackendSettings> {
        let Some(file) = ConfigFile::nearest()? else { return Ok(BackendSettings::default()) };
        let document: BackendDocument = file.parse()?;
        let backend = document.memory_backend.as_deref().map(named).transpose()?;
        Ok(BackendSettings {
            backend: backend.unwrap_or_default(),
            fallback: document.memory_fallback.unwrap_or(false),
        })
    }
}

/// The store that serves a verb in place of the capsule; none where the capsule does.
pub(crate) fn instead(app: &mut App, operation: &'static str) -> Result<Option<Box<dyn Backend>>> {
    let settings = BackendSettings::find()?;
    let backend: Box<dyn Backend> = match settings.backend {
        BackendKind::Capsule if settings.fallback => return fallback::take(app, operation),
        BackendKind::Capsule => return Ok(None),
        BackendKind::LocalMemory => Box::new(LocalMemory::of_environment()),
        kind @ BackendKind::Memvid => {
            let store = MemvidStore::new(memvid_file(app)?);
            let opened = if settings.fallback { store.opens() } else { Ok(()) };
            match opened {
                Ok(()) => Box::new(store),
                // A principal is served by neither.
                Err(_) if app.principal().is_some() => Box::new(store),
                Err(error) => return fallback::serve(app, kind, operation, error).map(Some),
            }
        }
    };
    if app.principal().is_some() {
        let message = format!("{} knows no principals", backend.kind().name());
        return Err(unsupported(backend.kind(), message));
    }
    backend.health()?;
    if settings.backend == BackendKind::Memvid {
        app.out.warn("memvid_backend", MEMVID_MEASURED);
    }
    Ok(Some(backend))
}

/// A store other than the capsule by its name, whatever the file says.
pub(crate) fn other(app: &App, kind: BackendKind) -> Result<Option<Box<dyn Backend>>> {
    let backend: Box<dyn Backend> = match kind {
        BackendKind::Capsule => return Ok(None),
        BackendKind::LocalMemory => Box::new(LocalMemory::of_environment()),
        BackendKind::Memvid => Box::new(MemvidStore::new(memvid_file(app)?)),
    };
    backend.health()?;
    Ok(Some(backend))
}

/// Where Memvid keeps its store: beside the capsule, whether or not that exists. No link leads from
/// there out of the project.
fn memvid_file(app: &App) -> Result<PathBuf> {
    let file = capsule_meant(app)?.with_extension("mv2");
    locate::expect_beside(&file)?;
    Ok(file)
}

/// The capsule, whether or not it exists: the files of other stores lie beside it.
fn capsule_meant(app: &App) -> Result<PathBuf> {
    match app.capsule() {
        Err(error) if error.code == "no_capsule" => {
            locate::expect_inside(Path::new("."))?;
            Ok(locate::workspace())
        }
        capsule => capsule,
    }
}

pub(crate) fn unsupported(backend: BackendKind, message: String) -> CliError {
    let name = backend.name();
    CliError::user("backend_unsupported", message).hint(format!(
        "{FILE} has memory_backend = \"{name}\"; with \"capsule\" every verb and flag works"
    ))
}

pub(crate) fn unavailable(backend: BackendKind, why: &str) -> CliError {
    let message = format!("the memory backend {} cannot serve: {why}", backend.name());
    CliError::user("backend_unavailable", message)
        .hint(format!("{FILE} names it; memory_backend = \"capsule\" goes back to the capsule"))
}
