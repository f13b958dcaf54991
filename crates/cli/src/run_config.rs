//! The settings of run memory: from flags, then the environment, then `kapsa.toml`, then the
//! defaults.
//!
//! Only the table `run` of the file is read here; a key that is not known there is an error, so
//! that a misspelt one is noticed.

use std::env;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use kapsa_memory::SearchMode;
use kapsa_runs::{LayoutKind, RunConfig, shared_root};
use serde::Deserialize;

use crate::args::{RunLayout, RunPlace, chunk_count};
use crate::config_file::ConfigFile;
use crate::error::{CliError, Result};
use crate::locate;

/// What the names of variables begin with that stand for a key of the table `run`.
const VARIABLE: &str = "KAPSA_RUN_";

/// Longest ending of a store's name.
const EXTENSION_BYTES_MAX: usize = 16;

/// The settings that hold, and where they come from.
pub(crate) struct Setup {
    pub(crate) config: RunConfig,
    /// Root of the repository, or what stands for it.
    pub(crate) root: PathBuf,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
}

/// The table `run` of the file, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    enabled: Option<bool>,
    python_path: Option<PathBuf>,
    svc_dir: Option<PathBuf>,
    timeout_seconds: Option<f64>,
    sibling_max_chunks: Option<usize>,
    search_mode: Option<String>,
    repo_root_path: Option<PathBuf>,
    layout: Option<String>,
    dir: Option<PathBuf>,
    store_extension: Option<String>,
    context_tokens: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
struct RunDocument {
    #[serde(default)]
    run: Table,
}

impl Setup {
    /// Finds the settings. To type `kapsa run` is to want run memory, so that it is on here unless
    /// the file or the environment says otherwise.
    pub(crate) fn find(place: &RunPlace) -> Result<Setup> {
        let here =
            env::current_dir().map_err(|error| CliError::io("find the current folder", &error))?;
        let shared = shared_root(&here);
        let (file, mut table) = read(&here, shared.as_deref())?;
        table.overlay()?;
        let mut config = RunConfig { enabled: true, ..RunConfig::default() };
        let base = file.as_deref().and_then(Path::parent).unwrap_or(&here).to_path_buf();
        table.apply(&mut config, &base)?;
        if let Some(root) = &place.root {
            config.repo_root_path = Some(here.join(root));
        }
        if let Some(layout) = place.layout {
            config.layout = match layout {
                RunLayout::Branches => LayoutKind::Branches,
                RunLayout::Files => LayoutKind::Files,
            };
        }
        let root = config
            .repo_root_path
            .clone()
            .or(shared)
            .or_else(|| locate::workspace_above(&here))
            .unwrap_or(here.clone());
        config.dir = match &place.dir {
            Some(dir) => here.join(dir),
            None => root.join(&config.dir),
        };
        Ok(Setup { config, root, file })
    }
}

/// Whether the environment says that there is no run memory: then no other setting is looked at.
pub(crate) fn is_off() -> bool {
    env::var(format!("{VARIABLE}ENABLED")).is_ok_and(|text| truth(&text) == Some(false))
}

/// What somebody means who writes yes or no.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The nearest file, and what it says.
fn read(here: &Path, shared: Option<&Path>) -> Result<(Option<PathBuf>, Table)> {
    let Some(file) = ConfigFile::find(here, shared)? else { return Ok((None, Table::default())) };
    let document: RunDocument =
        file.parse().map_err(|error| error.hint("kapsa run config --help lists the keys"))?;
    Ok((Some(file.path), document.run))
}

impl Table {
    /// Lays the environment over what the file says.
    fn overlay(&mut self) -> Result<()> {
        set(&mut self.enabled, "ENABLED", truth)?;
        set(&mut self.python_path, "PYTHON_PATH", |text| Some(PathBuf::from(text)))?;
        set(&mut self.svc_dir, "SVC_DIR", |text| Some(PathBuf::from(text)))?;
        set(&mut self.timeout_seconds, "TIMEOUT_SECONDS", |text| text.parse().ok())?;
        set(&mut self.sibling_max_chunks, "SIBLING_MAX_CHUNKS", |text| chunk_count(text).ok())?;
        set(&mut self.search_mode, "SEARCH_MODE", |text| Some(text.to_string()))?;
        set(&mut self.store_extension, "STORE_EXTENSION", |text| Some(text.to_string()))?;
        set(&mut self.context_tokens, "CONTEXT_TOKENS", |text| text.parse().ok())
    }

    /// Brings what is said into the settings. Paths are relative to `base`.
    fn apply(self, config: &mut RunConfig, base: &Path) -> Result<()> {
        let Table {
            enabled,
            python_path,
            svc_dir,
            timeout_seconds,
            sibling_max_chunks,
            search_mode,
            ..
        } = self;
        config.enabled = enabled.unwrap_or(config.enabled);
        config.python_path = python_path.unwrap_or_else(|| config.python_path.clone());
        config.svc_dir = svc_dir.unwrap_or_else(|| config.svc_dir.clone());
        if let Some(seconds) = timeout_seconds {
            config.timeout = Duration::try_from_secs_f64(seconds)
                .map_err(|_| wrong("timeout_seconds", "a number of seconds"))?;
        }
        if let Some(count) = sibling_max_chunks {
            config.sibling_max_chunks = chunk_count(&count.to_string())
                .map_err(|reason| wrong("sibling_max_chunks", &reason))?;
        }
        if let Some(mode) = search_mode {
            config.search_mode = match mode.as_str() {
                "auto" => SearchMode::Auto,
                "lex" => SearchMode::Words,
                "sem" => SearchMode::Meaning,
                _ => return Err(wrong("search_mode", "auto, lex or sem")),
            };
        }
        if let Some(layout) = self.layout {
            config.layout = match layout.as_str() {
                "branches" => LayoutKind::Branches,
                "files" => LayoutKind::Files,
                _ => return Err(wrong("layout", "branches or files")),
            };
        }
        config.repo_root_path = self
            .repo_root_path
            .map(|path| inside("repo_root_path", &path).map(|()| base.join(path)))
            .transpose()?;
        if let Some(dir) = self.dir {
            inside("dir", &dir)?;
            config.dir = dir;
        }
        if let Some(extension) = self.store_extension {
            let is_plain = (1..=EXTENSION_BYTES_MAX).contains(&extension.len())
                && extension.bytes().all(|b| b.is_ascii_alphanumeric());
            if !is_plain {
                return Err(wrong("store_extension", "letters and digits, such as mv2"));
            }
            config.store_extension = extension;
        }
        config.context_tokens = self.context_tokens.unwrap_or(config.context_tokens);
        Ok(())
    }
}

/// Refuses a path in the file that leads out of its folder: a file that came with a download
/// decides nothing about other folders.
fn inside(key: &str, path: &Path) -> Result<()> {
    let plain =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if plain {
        return Ok(());
    }
    let flag = if key == "dir" { "--dir" } else { "--root" };
    Err(wrong(key, "a relative path without `..`")
        .hint(format!("{flag} or {VARIABLE}{} may be any path", key.to_uppercase())))
}

fn set<T>(value: &mut Option<T>, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<()> {
    let name = format!("{VARIABLE}{name}");
    match env::var(&name) {
        Ok(text) if !text.is_empty() => {
            *value = Some(read(&text).ok_or_else(|| {
                CliError::usage(format!(
                    "`{text}` is not a valid value of {name}; unset it to use the default"
                ))
            })?);
            Ok(())
        }
        Ok(_) | Err(env::VarError::NotPresent) => Ok(()),
        Err(env::VarError::NotUnicode(_)) => Err(CliError::usage(format!("{name} is not UTF-8"))),
    }
}

fn wrong(key: &str, wanted: &str) -> CliError {
    CliError::user("invalid_config", format!("run.{key} must be {wanted}"))
}

/// Name of a layout, as it is written in the file.
pub(crate) fn layout_name(layout: LayoutKind) -> &'static str {
    match layout {
        LayoutKind::Branches => "branches",
        LayoutKind::Files => "files",
    }
}

/// Name of a way to search, as it is written in the file.
pub(crate) fn mode_name(mode: SearchMode) -> &'static str {
    match mode {
        SearchMode::Auto => "auto",
        SearchMode::Words => "lex",
        SearchMode::Meaning => "sem",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> Result<RunConfig, String> {
        let document: RunDocument =
            toml::from_str(text).map_err(|error| error.message().to_string())?;
        let mut config = RunConfig::default();
        document.run.apply(&mut config, Path::new("/base")).map_err(|error| error.message)?;
        Ok(config)
    }

    #[test]
    fn every_key_is_read() {
        let text = "[other]\nx = 1\n[run]\nenabled = true\npython_path = 'p'\nsvc_dir = 's'\ntimeout_seconds = 1.5\nsibling_max_chunks = 7\n\
            search_mode = 'lex'\nrepo_root_path = 'r'\nlayout = 'files'\ndir = 'd'\nstore_extension = 'mv2'\ncontext_tokens = 99\n";
        let config = applied(text).expect("valid");
        let want = RunConfig {
            enabled: true,
            python_path: "p".into(),
            svc_dir: "s".into(),
            timeout: Duration::from_millis(1500),
            sibling_max_chunks: 7,
            search_mode: SearchMode::Words,
            repo_root_path: Some("/base/r".into()),
            layout: LayoutKind::Files,
            dir: "d".into(),
            store_extension: "mv2".into(),
            context_tokens: 99,
        };
        assert_eq!(config, want);
        assert_eq!(applied("").expect("valid"), RunConfig::default());
    }

    #[test]
    fn what_is_misspelt_or_out_of_range_is_told() {
        for (text, told) in [
            ("[run]\nenable = true", "unknown field `enable`"),
            ("[run]\nenabled = 1", "invalid type"),
            ("[run]\nlayout = 'x'", "run.layout must be branches or files"),
            ("[run]\nsearch_mode = 'x'", "run.search_mode must be auto, lex or sem"),
            ("[run]\ntimeout_seconds = -1.0", "run.timeout_seconds"),
            ("[run]\nsibling_max_chunks = 0", "run.sibling_max_chunks"),
            ("[run]\ndir = '../x'", "run.dir must be a relative path"),
            ("[run]\ndir = '/x'", "run.dir"),
            ("[run]\nrepo_root_path = '/x'", "run.repo_root_path"),
            ("[run", "invalid"),
        ] {
            let error = applied(text).expect_err(text);
            assert!(error.contains(told) || told == "invalid", "{text}: {error}");
        }
    }
}
