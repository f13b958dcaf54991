//! The settings of run memory. Plain values with the defaults of the contract; where they are
//! written down is the caller's business.

use std::path::PathBuf;
use std::time::Duration;

use kapsa_memory::request::SearchMode;

/// Most characters of one passage of a sibling.
pub const SIBLING_CHUNK_CHARS: usize = 500;

/// What names of stores end in, unless the settings say otherwise.
pub(crate) const STORE_EXTENSION: &str = "kapsa";

/// Where runs are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayoutKind {
    /// As branches of one capsule.
    #[default]
    Branches,
    /// As folders of capsules.
    Files,
}

/// Settings of run memory.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConfig {
    /// Whether there is any; without it every step does nothing. Default no: a host asks for it.
    pub enabled: bool,
    /// Interpreter that clients of the subprocess interface start. Default `python3`; not used
    /// here.
    pub python_path: PathBuf,
    /// Folder that they start it in. Default `project/infra/memvid-svc`; not used here.
    pub svc_dir: PathBuf,
    /// How long a step may wait for other writers and read stores. Default 30 seconds.
    pub timeout: Duration,
    /// Most passages of one sibling in a context. Default 5.
    pub sibling_max_chunks: usize,
    /// What searches of a context go by. Default words, and meaning where there are vectors.
    pub search_mode: SearchMode,
    /// Root of the repository. Default: found from the current folder.
    pub repo_root_path: Option<PathBuf>,
    /// Where runs are kept. Default branches.
    pub layout: LayoutKind,
    /// Folder of runs kept as files, relative to the root. Default `.kapsa/runs`.
    pub dir: PathBuf,
    /// What names of stores of runs kept as files end in, without the dot. Default `kapsa`.
    pub store_extension: String,
    /// Most tokens of a context, by the estimate of [`kapsa_memory::tokens`]. Default 2000.
    pub context_tokens: usize,
}

impl Default for RunConfig {
    fn default() -> RunConfig {
        RunConfig {
            enabled: false,
            python_path: PathBuf::from("python3"),
            svc_dir: PathBuf::from("project/infra/memvid-svc"),
            timeout: Duration::from_secs(30),
            sibling_max_chunks: 5,
            search_mode: SearchMode::Auto,
            repo_root_path: None,
            layout: LayoutKind::Branches,
            dir: PathBuf::from(".kapsa/runs"),
            store_extension: STORE_EXTENSION.to_string(),
            context_tokens: 2000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults that clients of the contract count on, each of them.
    #[test]
    fn every_default() {
        let config = RunConfig::default();
        assert!(!config.enabled);
        assert_eq!(config.python_path, PathBuf::from("python3"));
        assert_eq!(config.svc_dir, PathBuf::from("project/infra/memvid-svc"));
        assert_eq!(config.timeout, Duration::from_secs(30));
        assert_eq!(config.sibling_max_chunks, 5);
        assert_eq!(config.search_mode, SearchMode::Auto);
        assert_eq!(config.repo_root_path, None);
        assert_eq!(config.store_extension, "kapsa");
        assert_eq!(
            (config.layout, config.context_tokens, SIBLING_CHUNK_CHARS),
            (LayoutKind::Branches, 2000, 500)
        );
    }
}
