//! Finds and reads `kapsa.toml`: looks in this folder and above, up to the repository's root, and
//! then at the root that all working trees share. Each reader takes the tables that it knows; what
//! they mean is not known here.

use std::env;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use kapsa_runs::shared_root;
use serde::de::DeserializeOwned;

use crate::error::{CliError, Result};

/// Name of the file.
pub(crate) const FILE: &str = "kapsa.toml";
/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The file that was found.
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    text: String,
}

impl ConfigFile {
    /// The nearest file, seen from the current folder.
    pub(crate) fn nearest() -> Result<Option<ConfigFile>> {
        let here =
            env::current_dir().map_err(|error| CliError::io("find the current folder", &error))?;
        ConfigFile::find(&here, shared_root(&here).as_deref())
    }

    /// The nearest file, seen from a folder.
    pub(crate) fn find(here: &Path, shared: Option<&Path>) -> Result<Option<ConfigFile>> {
        let is_top = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        let mut folders: Vec<&Path> = Vec::new();
        for folder in here.ancestors() {
            folders.push(folder);
            if is_top(folder) {
                break;
            }
        }
        let paths = folders.into_iter().chain(shared).map(|folder| folder.join(FILE));
        let Some(path) = paths.into_iter().find(|path| path.is_file()) else { return Ok(None) };
        let text = read_text(&path, FILE_BYTES_MAX)?;
        Ok(Some(ConfigFile { path, text }))
    }

    /// The folder that relative paths in it begin at.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// The tables that `T` knows; one that is wrong is told with its line and the table that it
    /// stands in.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(&self.text).map_err(|error| {
            let before = error.span().map(|span| &self.text[..span.start.min(self.text.len())]);
            let line = before.map_or(0, |before| before.matches('\n').count() + 1);
            let table = before.and_then(|before| {
                let whole = before.len() + self.text[before.len()..].find('\n').unwrap_or(0);
                self.text[..whole]
                    .lines()
                    .rev()
                    .map(str::trim)
                    .find(|line| line.starts_with('[') && line.ends_with(']'))
            });
            let table = table.map_or_else(String::new, |table| format!(", in {table}"));
            let message =
                format!("{}, line {line}{table}: {}", self.path.display(), error.message());
            CliError::user("invalid_config", message)
        })
    }
}

/// The text of a regular file of at most so many bytes. Nothing else is opened to wait for what
/// comes.
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> Result<String> {
    let mut text = String::new();
    let failed = |error| CliError::io(&format!("read {}", path.display()), &error);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(CliError::user(
            "not_a_file",
            format!("cannot read {}: not a regular file", path.display()),
        ));
    }
    let read = file.take(bytes_max + 1).read_to_string(&mut text).map_err(failed)?;
    if read as u64 > bytes_max {
        let size = crate::render::size(bytes_max);
        return Err(CliError::user(
            "too_large",
            format!("{} is larger than {size}", path.display()),
        ));
    }
    Ok(text)
}
