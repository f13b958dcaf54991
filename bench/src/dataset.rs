//! The data of a benchmark: a folder per seed and size, made once and reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::corpus::{Generator, Pool, Sizes, default_sources};
use crate::process::sync_all;
use crate::queries;

/// Texts for single puts, made beside each corpus.
pub const EXTRA_RECORDS: u64 = 2_000;
/// Bytes of the text of a single put.
pub const EXTRA_TEXT_BYTES: usize = 1_000;

/// Where data are kept and what they are made of.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder of all data.
    pub folder: PathBuf,
    /// The seed of the corpus.
    pub seed: u64,
    /// Folders whose text files are recombined; empty means the default ones.
    pub sources: Vec<PathBuf>,
    /// How long the texts of the records are.
    pub sizes: Sizes,
}

/// The corpus of `n` records with its queries, its single puts and its prepared stores.
#[derive(Debug, Clone)]
pub struct Dataset {
    folder: PathBuf,
    work: PathBuf,
    /// The number of records.
    pub n: u64,
}

impl Place {
    /// The paragraphs to recombine.
    pub fn pool(&self) -> Result<Pool> {
        if self.sources.is_empty() {
            Pool::read(&default_sources())
        } else {
            Pool::read(&self.sources)
        }
    }

    /// The data set of `n` records, made when it is not there yet.
    pub fn dataset(&self, n: u64) -> Result<Dataset> {
        let seed = self.folder.join(format!("seed-{}", self.seed));
        let name = match self.sizes {
            Sizes::Documents => format!("n-{n}"),
            Sizes::Fixed(bytes) => format!("n-{n}-of-{bytes}"),
            Sizes::Between(least, most) => format!("n-{n}-of-{least}-{most}"),
        };
        let dataset =
            Dataset { folder: seed.join(&name), work: self.folder.join("work").join(&name), n };
        if !dataset.queries_path().is_file() {
            eprintln!("making a corpus of {n} records in {}", dataset.folder.display());
            self.make(&dataset)?;
        }
        Ok(dataset)
    }

    /// The queries are written last: where they are, all is there.
    fn make(&self, dataset: &Dataset) -> Result<()> {
        fs::create_dir_all(&dataset.folder)
            .with_context(|| format!("failed to create {}", dataset.folder.display()))?;
        let pool = self.pool()?;
        let generator = Generator::new(&pool, self.seed);
        generator.write(0..dataset.n, self.sizes, &dataset.corpus())?;
        let extra = dataset.n..dataset.n + EXTRA_RECORDS;
        generator.write(
            extra,
            Sizes::Fixed(EXTRA_TEXT_BYTES),
            &dataset.folder.join("extra.jsonl"),
        )?;
        let queries = queries::from_corpus(&dataset.corpus(), self.seed)?;
        Ok(fs::write(dataset.queries_path(), queries.join("\n"))?)
    }
}

impl Dataset {
    /// The records as JSON Lines.
    pub fn corpus(&self) -> PathBuf {
        self.folder.join("corpus.jsonl")
    }

    /// The queries, in order.
    pub fn queries(&self) -> Result<Vec<String>> {
        Ok(fs::read_to_string(self.queries_path())?.lines().map(str::to_owned).collect())
    }

    /// Texts of about 1 KB that are not in the corpus, for single puts.
    pub fn extra_texts(&self) -> Result<Vec<String>> {
        let lines = fs::read_to_string(self.folder.join("extra.jsonl"))?;
        lines
            .lines()
            .map(|line| Ok(serde_json::from_str::<kapsa_bench_common::record::Record>(line)?.text))
            .collect()
    }

    /// The path of the prepared store called `name`.
    pub fn store(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Bytes of titles and texts of the corpus.
    pub fn raw_bytes(&self) -> Result<u64> {
        let cached = self.folder.join("raw-bytes");
        if let Ok(bytes) = fs::read_to_string(&cached) {
            return Ok(bytes.trim().parse()?);
        }
        let mut bytes = 0;
        for line in std::io::BufRead::lines(std::io::BufReader::new(fs::File::open(self.corpus())?))
        {
            bytes +=
                serde_json::from_str::<kapsa_bench_common::record::Record>(&line?)?.raw_bytes();
        }
        fs::write(cached, bytes.to_string())?;
        Ok(bytes)
    }

    /// A path in the folder for things that last no longer than a benchmark, with whatever was
    /// there removed.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        fs::create_dir_all(&self.work)?;
        let path = self.work.join(name);
        remove(&path)?;
        for suffix in ["-wal", "-shm", ".lock"] {
            let mut beside = path.clone().into_os_string();
            beside.push(suffix);
            remove(Path::new(&beside))?;
        }
        Ok(path)
    }

    /// A copy of a prepared store to write to, on the disk before this returns.
    pub fn working_copy(&self, name: &str) -> Result<PathBuf> {
        let copy = self.scratch(name)?;
        let status = Command::new("cp").arg("-r").arg(self.store(name)).arg(&copy).status()?;
        anyhow::ensure!(status.success(), "failed to copy the store {name}");
        sync_all();
        Ok(copy)
    }

    fn queries_path(&self) -> PathBuf {
        self.folder.join("queries.txt")
    }
}

/// Removes a file or a folder; one that is not there is as good as removed.
pub fn remove(path: &Path) -> Result<()> {
    let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
