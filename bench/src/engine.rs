//! How each engine loads, puts and finds.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::dataset::{Dataset, remove};
use crate::process::{Tools, run, run_within};

/// Preparing a peer's store longer than this is given up, and said.
const PREPARE_TIME_MAX: Duration = Duration::from_secs(240);
/// memvid rewrites its index at every commit: 1.35 s at 9,384 records.
const MEMVID_RECORDS_MAX: u64 = 10_000;
/// The tag that exactly 1% of a corpus carries.
pub const SAMPLE_TAG: &str = "sample=one";

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The program under test.
    Kapsa,
    /// SQLite with FTS5, WAL, `synchronous=FULL`.
    Sqlite,
    /// tantivy in a directory, a commit per put.
    Tantivy,
    /// memvid-core, one file.
    Memvid,
}

impl Engine {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kapsa => "kapsa",
            Self::Sqlite => "SQLite FTS5",
            Self::Tantivy => "tantivy directory",
            Self::Memvid => "memvid-core",
        }
    }

    /// The name of its store in a data set.
    pub fn store_name(self) -> &'static str {
        match self {
            Self::Kapsa => "store.kapsa",
            Self::Sqlite => "store.sqlite",
            Self::Tantivy => "store.tantivy",
            Self::Memvid => "store.mv2",
        }
    }

    /// Loads the JSON Lines of stdin into a store that is not there yet (for kapsa: that
    /// [`Engine::create`] made).
    pub fn load(self, tools: &Tools, store: &Path) -> Result<Command> {
        match self {
            Self::Kapsa => {
                let mut command = self.kapsa(tools, store, "put")?;
                command.args(["--json", "-"]);
                Ok(command)
            }
            _ => self.peer(tools, "load", store),
        }
    }

    /// Makes an empty store where the engine wants one before loading.
    pub fn create(self, tools: &Tools, store: &Path) -> Result<()> {
        if self == Self::Kapsa {
            run(Command::new(tools.require_kapsa()?).arg("create").arg(store))?;
        }
        Ok(())
    }

    /// Puts one record.
    pub fn put(self, tools: &Tools, store: &Path, text: &str) -> Result<Command> {
        let mut command = match self {
            Self::Kapsa => self.kapsa(tools, store, "put")?,
            _ => self.peer(tools, "put", store)?,
        };
        match self {
            Self::Kapsa => command.arg("--json").arg(format!("--text={text}")),
            _ => command.arg(text),
        };
        Ok(command)
    }

    /// Finds the ten best for `query`, in all records or in the 1% that carry [`SAMPLE_TAG`].
    pub fn find(self, tools: &Tools, store: &Path, query: &str, sample: bool) -> Result<Command> {
        let tag = sample.then_some(SAMPLE_TAG);
        if self == Self::Kapsa {
            let mut command = self.kapsa(tools, store, "find")?;
            command.args([query, "-k", "10", "--json"]);
            command.args(tag.iter().flat_map(|tag| ["--tag", tag]));
            return Ok(command);
        }
        let mut command = self.peer(tools, "find", store)?;
        command.arg(query).args(tag);
        Ok(command)
    }

    /// The number of hits in what a search printed.
    pub fn hits(self, stdout: &str) -> usize {
        match self {
            Self::Kapsa => stdout.matches("\"uri\"").count(),
            _ => stdout.lines().count(),
        }
    }

    /// Makes the prepared store of a data set unless it is there (`rebuild`: make that of kapsa
    /// anew); false when it would take too long, which is said.
    pub fn prepare(self, tools: &Tools, dataset: &Dataset, rebuild: bool) -> Result<bool> {
        if self == Self::Memvid && dataset.n > MEMVID_RECORDS_MAX {
            eprintln!(
                "skipped: memvid above {MEMVID_RECORDS_MAX} records (it rewrites its index at every commit)"
            );
            return Ok(false);
        }
        let store = dataset.store(self.store_name());
        let done = dataset.store(&format!("{}.done", self.store_name()));
        if done.is_file() && store.exists() && !(rebuild && self == Self::Kapsa) {
            return Ok(true);
        }
        remove(&done)?;
        let made = self.fill(tools, dataset, &store)?;
        if made {
            std::fs::write(done, "")?;
        }
        Ok(made)
    }

    /// Loads the corpus into a new store; false when a peer took longer than it may.
    fn fill(self, tools: &Tools, dataset: &Dataset, store: &Path) -> Result<bool> {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            remove(Path::new(&format!("{}{suffix}", store.display())))?;
        }
        self.create(tools, store)?;
        let limit = if self == Self::Kapsa { Duration::MAX } else { PREPARE_TIME_MAX };
        let seconds = run_within(&mut self.load(tools, store)?, &dataset.corpus(), limit)?;
        match seconds {
            Some(seconds) => {
                eprintln!("prepared: {} with {} records in {seconds:.1} s", self.name(), dataset.n)
            }
            None => eprintln!(
                "skipped: {} with {} records takes more than {limit:?} to prepare",
                self.name(),
                dataset.n
            ),
        }
        ensure!(
            store.exists(),
            "{} loaded the corpus but left no store at {}",
            self.name(),
            store.display()
        );
        Ok(seconds.is_some())
    }

    fn kapsa(self, tools: &Tools, store: &Path, verb: &str) -> Result<Command> {
        let mut command = Command::new(tools.require_kapsa()?);
        // Measured beside engines that know no meaning.
        command
            .env("KAPSA_EMBED", "later")
            .env("KAPSA_MODE", "lex")
            .arg(verb)
            .arg("--capsule")
            .arg(store);
        Ok(command)
    }

    fn peer(self, tools: &Tools, verb: &str, store: &Path) -> Result<Command> {
        let mut command = tools.peer(match self {
            Self::Kapsa => "kapsa",
            Self::Sqlite => "bench-sqlite",
            Self::Tantivy => "bench-tantivy",
            Self::Memvid => "bench-memvid",
        })?;
        command.arg(verb).arg(store);
        Ok(command)
    }
}
