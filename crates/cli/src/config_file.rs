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
/// The keys and tables that some reader knows. What is in a table only its reader knows.
pub(crate) const KEYS: [&str; 6] =
    ["memory_backend", "memory_fallback", "role", "run", "time", "traces"];
/// Keys that are named of those that nobody knows.
const UNKNOWN_NAMED_MAX: usize = 5;
/// How alike two keys are of which one is taken for a misspelling of the other, from 0 to 1.
const LIKENESS_MIN: f64 = 0.7;
/// How an error of the parser tells a key that a table does not have, and what it has.
const UNKNOWN_FIELD: &str = "unknown field `";

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
            let meant = meant(error.message()).unwrap_or_default();
            let message =
                format!("{}, line {line}{table}: {}{meant}", self.path.display(), error.message());
            CliError::user("invalid_config", message)
        })
    }

    /// What is said of keys outside of any table that no reader knows; nothing of a file that
    /// cannot be read as TOML, which its readers say.
    pub(crate) fn unknown_keys(&self) -> Vec<String> {
        let Ok(table) = self.text.parse::<toml::Table>() else { return Vec::new() };
        let unknown = table.keys().filter(|key| !KEYS.contains(&key.as_str()));
        let told = unknown.take(UNKNOWN_NAMED_MAX).map(|key| {
            let meant = did_you_mean(key, KEYS);
            format!("{}: the key `{key}` is not known{meant}", self.path.display())
        });
        told.collect()
    }
}

/// The key that an error about an unknown one is nearest to, as a question.
fn meant(message: &str) -> Option<String> {
    let (key, known) = message.strip_prefix(UNKNOWN_FIELD)?.split_once('`')?;
    let known = known.split('`').skip(1).step_by(2);
    Some(did_you_mean(key, known))
}

fn did_you_mean<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let likeness = |other: &str| strsim::jaro_winkler(key, other);
    let nearest = known
        .into_iter()
        .filter(|other| likeness(other) >= LIKENESS_MIN)
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> ConfigFile {
        ConfigFile { path: FILE.into(), text: text.to_string() }
    }

    #[test]
    fn keys_that_nobody_knows_are_told_with_the_one_that_is_meant() {
        let text = "memory_backnd = 'capsule'\nzzz = 1\n[rol.cro]\nsoul = 'x'\n[run]\n[time]\n";
        let told = file(text).unknown_keys();
        let want = [
            "kapsa.toml: the key `memory_backnd` is not known; did you mean `memory_backend`?",
            "kapsa.toml: the key `rol` is not known; did you mean `role`?",
            "kapsa.toml: the key `zzz` is not known",
        ];
        assert_eq!(told, want);
        assert!(KEYS.iter().all(|key| file(&format!("{key} = 1")).unknown_keys().is_empty()));
    }

    #[test]
    fn an_error_about_a_key_of_a_table_names_the_nearest() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            #[serde(rename = "layout")]
            _layout: Option<String>,
            #[serde(rename = "timeout_seconds")]
            _timeout: Option<f64>,
        }
        let error = file("layuot = 'files'\n").parse::<Table>().expect_err("not known");
        assert!(error.message.ends_with("; did you mean `layout`?"), "{}", error.message);
    }
}
