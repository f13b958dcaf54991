//! The folder of one run: flat, named by mode, time and chance, with files of fixed names. Knows
//! nothing of what a run does.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::atomic;
use super::error::{ContractError, Error, Result};
use super::log;
use super::stamp::Stamp;

/// How many runs of each mode are kept.
pub const RUNS_KEPT_DEFAULT: usize = 20;
/// Longest artefact that is read, in bytes.
pub const ARTIFACT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Digits of date, time and chance in the name of a run.
const NAME_DIGITS: [usize; 3] = [8, 6, 6];
/// How many numbers there are to choose from by chance.
const CHANCES: u32 = 1 << 24;
/// Names that are tried before it is given up.
const NAMES_TRIED_MAX: u32 = 16;

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunMode {
    /// A session that has just ended.
    Hot,
    /// One of a backlog.
    Cold,
    /// One that was asked for.
    Sync,
    /// No session: the memory itself.
    Maintain,
}

impl RunMode {
    /// All of them.
    pub const ALL: [RunMode; 4] = [RunMode::Hot, RunMode::Cold, RunMode::Sync, RunMode::Maintain];

    /// The mode of a name.
    ///
    /// # Errors
    /// [`ContractError::InvalidRunMode`].
    pub fn parse(name: &str) -> std::result::Result<RunMode, ContractError> {
        let found = RunMode::ALL.into_iter().find(|mode| mode.name() == name);
        found.ok_or_else(|| ContractError::InvalidRunMode(name.to_owned()))
    }

    /// Its name, with which the names of its runs begin.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RunMode::Hot => "hot",
            RunMode::Cold => "cold",
            RunMode::Sync => "sync",
            RunMode::Maintain => "maintain",
        }
    }
}

/// A file of JSON in a run folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// The candidates.
    Extract,
    /// Where the summary is.
    Summary,
    /// The report of a run over a trace.
    MemoryActions,
    /// The report of a run over the memory.
    MaintainActions,
}

impl Artifact {
    /// All of them.
    pub const ALL: [Artifact; 4] =
        [Artifact::Extract, Artifact::Summary, Artifact::MemoryActions, Artifact::MaintainActions];

    /// Its name.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Artifact::Extract => "extract.json",
            Artifact::Summary => "summary.json",
            Artifact::MemoryActions => "memory_actions.json",
            Artifact::MaintainActions => "maintain_actions.json",
        }
    }
}

/// A file of lines of JSON in a run folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// What the run did: steps, denied writes, figures.
    Agent,
    /// What explorers found; empty where none ran.
    Subagents,
    /// Where the session of the agent is; often not there.
    Session,
}

impl Log {
    /// All of them.
    pub const ALL: [Log; 3] = [Log::Agent, Log::Subagents, Log::Session];

    /// Its name.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Log::Agent => "agent.log",
            Log::Subagents => "subagents.log",
            Log::Session => "session.log",
        }
    }
}

/// The folder of one run: `<mode>-<YYYYMMDD-HHMMSS>-<6 hexadecimal digits>`, in UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
    id: String,
    mode: RunMode,
}

/// What became of old runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Folders that were removed.
    pub removed: Vec<PathBuf>,
    /// Old ones that were left: they hold what no run writes.
    pub left: Vec<PathBuf>,
}

impl RunFolder {
    /// The id of a run: its mode, the time, and six digits of any number.
    #[must_use]
    pub fn id_of(mode: RunMode, at: &Stamp, chance: u32) -> String {
        let (mode, number) = (mode.name(), chance % CHANCES);
        format!("{mode}-{}-{}-{number:06x}", at.compact_date, at.compact_time)
    }

    /// Makes a folder with empty `agent.log` and `subagents.log`. `chance` is any number: it names
    /// the run, together with those that follow where its name is taken.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(
        workspace_root: &Path,
        mode: RunMode,
        at: &Stamp,
        chance: u32,
    ) -> Result<RunFolder> {
        fs::create_dir_all(workspace_root).map_err(Error::io("make", workspace_root))?;
        for tried in 0..NAMES_TRIED_MAX {
            let id = RunFolder::id_of(mode, at, chance.wrapping_add(tried));
            let path = workspace_root.join(&id);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let run = RunFolder { path, id, mode };
                    for log in [Log::Agent, Log::Subagents] {
                        log::open(&run.log_path(log))?;
                    }
                    return Ok(run);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make", &path)(error)),
            }
        }
        Err(Error::NoFreeName { path: workspace_root.join(mode.name()) })
    }

    /// A run folder that is there. None if the name is not that of a run, or no folder lies there;
    /// a link is none.
    #[must_use]
    pub fn open(path: &Path) -> Option<RunFolder> {
        let id = path.file_name()?.to_str()?.to_owned();
        let mode = mode_of(&id)?;
        let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        is_folder.then(|| RunFolder { path: path.to_path_buf(), id, mode })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's id: the name of the folder.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The digits at its end.
    #[must_use]
    pub fn short_id(&self) -> &str {
        self.id.rsplit('-').next().unwrap_or_default()
    }

    /// What the run is for.
    #[must_use]
    pub fn mode(&self) -> RunMode {
        self.mode
    }

    /// Where an artefact is.
    #[must_use]
    pub fn path_of(&self, artifact: Artifact) -> PathBuf {
        self.path.join(artifact.file_name())
    }

    /// Where a log is.
    #[must_use]
    pub fn log_path(&self, log: Log) -> PathBuf {
        self.path.join(log.file_name())
    }

    /// Writes an artefact, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, artifact: Artifact, value: &Value) -> Result<()> {
        atomic::replace(&self.path_of(artifact), format!("{value:#}\n").as_bytes())
    }

    /// Reads an artefact.
    ///
    /// # Errors
    /// [`ContractError::MissingArtifact`], [`ContractError::InvalidJsonArtifact`]; one that is a
    /// link or larger than [`ARTIFACT_BYTES_MAX`] is invalid.
    pub fn read(&self, artifact: Artifact) -> std::result::Result<Value, ContractError> {
        let path = self.path_of(artifact);
        let text = read_text(&path)?;
        let invalid = |_error: serde_json::Error| ContractError::InvalidJsonArtifact(path);
        serde_json::from_str(&text).map_err(invalid)
    }

    /// Adds a line to a log.
    ///
    /// # Errors
    /// [`Error::Io`], also if the log is a link.
    pub fn append(&self, log: Log, line: &Value) -> Result<()> {
        log::append(&self.log_path(log), line)
    }

    /// The lines of a log.
    ///
    /// # Errors
    /// As [`RunFolder::read`].
    pub fn read_log(&self, log: Log) -> std::result::Result<Vec<Value>, ContractError> {
        let path = self.log_path(log);
        let text = read_text(&path)?;
        let lines = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
        let invalid = |_error: serde_json::Error| ContractError::InvalidJsonArtifact(path);
        lines.collect::<std::result::Result<_, _>>().map_err(invalid)
    }
}

/// Removes all but the newest runs of a mode, by their names. A folder is removed only if its name
/// is exactly that of a run and it holds nothing but what runs write.
///
/// # Errors
/// [`Error::Io`]; a workspace that is not there has no runs.
pub fn retain_runs(workspace_root: &Path, mode: RunMode, kept: usize) -> Result<Retained> {
    let entries = match fs::read_dir(workspace_root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Retained::default()),
        Err(error) => return Err(Error::io("read", workspace_root)(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("read", workspace_root))?;
        runs.extend(RunFolder::open(&entry.path()).filter(|run| run.mode == mode));
    }
    runs.sort_by(|a, b| b.id.cmp(&a.id));
    let mut retained = Retained::default();
    for run in runs.into_iter().skip(kept) {
        match known_files(&run.path)? {
            Some(files) => {
                for file in files {
                    fs::remove_file(&file).map_err(Error::io("remove", &file))?;
                }
                fs::remove_dir(&run.path).map_err(Error::io("remove", &run.path))?;
                retained.removed.push(run.path);
            }
            None => retained.left.push(run.path),
        }
    }
    Ok(retained)
}

/// The files of a run folder; none if anything is among them that no run writes.
fn known_files(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let names = Artifact::ALL.into_iter().map(Artifact::file_name);
    let names: Vec<&str> = names.chain(Log::ALL.into_iter().map(Log::file_name)).collect();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let is_file = entry.file_type().map_err(Error::io("read", folder))?.is_file();
        let name = entry.file_name();
        let is_known = name.to_str().is_some_and(|name| {
            names.contains(&name) || name.starts_with(atomic::TEMPORARY_PREFIX)
        });
        if !is_file || !is_known {
            return Ok(None);
        }
        files.push(entry.path());
    }
    Ok(Some(files))
}

/// The mode of a run's name, which must be exactly one.
fn mode_of(id: &str) -> Option<RunMode> {
    let (mode, digits) = id.split_once('-')?;
    let mode = RunMode::ALL.into_iter().find(|one| one.name() == mode)?;
    let parts: Vec<&str> = digits.split('-').collect();
    let [date, time, chance] = parts[..] else { return None };
    let decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let lengths = [date.len(), time.len(), chance.len()];
    (lengths == NAME_DIGITS && decimal(date) && decimal(time) && hex(chance)).then_some(mode)
}

/// The text of an artefact or a log.
fn read_text(path: &Path) -> std::result::Result<String, ContractError> {
    let invalid = || ContractError::InvalidJsonArtifact(path.to_path_buf());
    let found = fs::symlink_metadata(path)
        .map_err(|_error| ContractError::MissingArtifact(path.to_path_buf()))?;
    if !found.is_file() {
        return Err(invalid());
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|_error| invalid())?;
    let read = file.take(ARTIFACT_BYTES_MAX + 1).read_to_string(&mut text);
    match read {
        Ok(bytes) if bytes as u64 <= ARTIFACT_BYTES_MAX => Ok(text),
        _ => Err(invalid()),
    }
}
