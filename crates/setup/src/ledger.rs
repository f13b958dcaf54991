//! What setup wrote, so that it can be undone: one file of JSON in the user's state folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clients::{Client, Places, Scope};
use crate::error::{EditError, Error};
use crate::read::read;
use crate::write::{make_folders, remove, remove_folders, replace};

/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;

/// Lines that an edit put in place of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// The lines that are there now.
    pub put: String,
    /// The lines that were there.
    pub was: String,
}

/// One file that setup wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The file itself.
    pub path: PathBuf,
    /// The clients that it was written for.
    pub clients: Vec<String>,
    /// Whose file it is.
    pub scope: Scope,
    /// The project that it is a file of; none of the user's, and of what older versions noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// What it holds: `server`, `hooks` or `passage`.
    pub what: String,
    /// Whether there was a file.
    pub existed: bool,
    /// Hash of the original.
    pub before: String,
    /// Hash of what setup left.
    pub after: String,
    /// The original, beside the file.
    pub backup: Option<PathBuf>,
    /// Containers in the document that setup made.
    pub made: Vec<String>,
    /// Folders that setup made, the outermost first.
    pub folders: Vec<PathBuf>,
    /// Which lines were put in place of which.
    pub swaps: Vec<Swap>,
}

/// Everything that setup wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    version: u32,
    /// The files.
    pub files: Vec<Kept>,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger { version: VERSION, files: Vec::new() }
    }
}

impl Ledger {
    /// Reads the ledger; an absent one is empty.
    ///
    /// # Errors
    ///
    /// [`Error`]: it cannot be read, or a newer program wrote it.
    pub fn read(path: &Path) -> Result<Ledger, Error> {
        let Some(text) = read(path, None)?.text else { return Ok(Ledger::default()) };
        let ledger: Ledger = serde_json::from_str(&text)
            .map_err(|error| Error::edit(path, EditError::at(error.line(), error.to_string())))?;
        match ledger.version {
            VERSION => Ok(ledger),
            newer => Err(Error::refused(path, format!("has version {newer}, which is not known"))),
        }
    }

    /// Writes the ledger; an empty one is removed.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        if self.files.is_empty() {
            remove(path)?;
            remove_folders(&path.parent().map(Path::to_path_buf).into_iter().collect::<Vec<_>>());
            return Ok(());
        }
        make_folders(path)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| {
            Error::refused(path, format!("cannot hold what was written: {error}"))
        })?;
        replace(path, &format!("{text}\n"), Some(LEDGER_MODE))
    }

    /// Whether something was written for a client in a scope; of projects in this one.
    #[must_use]
    pub fn knows(&self, client: &Client, scope: Scope, places: &Places) -> bool {
        self.files.iter().any(|kept| kept.is_of(client) && kept.is_in(scope, places))
    }

    pub(crate) fn of(&self, target: &Path) -> Option<&Kept> {
        self.files.iter().find(|kept| kept.path == target)
    }

    pub(crate) fn of_mut(&mut self, target: &Path) -> Option<&mut Kept> {
        self.files.iter_mut().find(|kept| kept.path == target)
    }

    pub(crate) fn forget(&mut self, target: &Path) {
        self.files.retain(|kept| kept.path != target);
    }
}

impl Kept {
    pub(crate) fn is_of(&self, client: &Client) -> bool {
        self.clients.iter().any(|name| name == client.name)
    }

    pub(crate) fn is_in(&self, scope: Scope, places: &Places) -> bool {
        self.scope == scope
            && match (scope, &self.project) {
                (Scope::Global, _) => true,
                (Scope::Project, Some(project)) => *project == places.project,
                (Scope::Project, None) => self.path.starts_with(&places.project),
            }
    }
}

/// Permissions of the ledger: lines of configuration files are in it.
const LEDGER_MODE: u32 = 0o600;

/// The hash of a text, in hexadecimal.
pub(crate) fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
