//! Bulk loading: time, memory, and the size of the result.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::dataset::{Dataset, remove};
use crate::engine::Engine;
use crate::process::{Tools, disk_bytes, run_with_peak, sync_all};
use crate::stats::Samples;
use crate::table::{Table, figure, megabytes, ratio};

/// Who loads: kapsa (all of a record), or tantivy alone (its index of the same text, nothing
/// stored).
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loader {
    Kapsa,
    Tantivy(&'static str),
}

/// What a loader took in all its runs.
struct Row {
    loader: Loader,
    ms: Samples,
    peak: u64,
    disk: u64,
}

/// Loads the corpus `runs` times with each loader, the loaders taking turns.
pub fn measure(tools: &Tools, dataset: &Dataset, runs: usize) -> Result<Table> {
    let kapsa = tools.kapsa().map(|_| Loader::Kapsa);
    let loaders = kapsa.into_iter().chain([Loader::Tantivy("en_stem"), Loader::Tantivy("default")]);
    let mut rows: Vec<Row> =
        loaders.map(|loader| Row { loader, ms: Samples::default(), peak: 0, disk: 0 }).collect();
    for _ in 0..runs {
        for row in &mut rows {
            row.run(tools, dataset)?;
        }
    }
    table(&rows, dataset)
}

impl Loader {
    fn name(self) -> String {
        match self {
            Self::Kapsa => "kapsa put --json -".to_owned(),
            Self::Tantivy(analyser) => format!("tantivy index alone, 2 threads, {analyser}"),
        }
    }

    fn command(self, tools: &Tools, store: &Path) -> Result<Command> {
        match self {
            Self::Kapsa => {
                Engine::Kapsa.create(tools, store)?;
                Engine::Kapsa.load(tools, store)
            }
            Self::Tantivy(analyser) => {
                let mut command = Engine::Tantivy.load(tools, store)?;
                command.args(["threads=2", "stored=no"]).arg(format!("analyser={analyser}"));
                Ok(command)
            }
        }
    }
}

impl Row {
    fn run(&mut self, tools: &Tools, dataset: &Dataset) -> Result<()> {
        let store: PathBuf = dataset.scratch("load.store")?;
        let command = self.loader.command(tools, &store)?;
        sync_all();
        let report = dataset.scratch("peak.txt")?;
        let (ran, peak) = run_with_peak(
            &tools.peer_path("bench-launch")?,
            &command,
            &report,
            Some(&dataset.corpus()),
        )?;
        self.ms.push(ran.ms);
        self.peak = self.peak.max(peak);
        self.disk = disk_bytes(&store);
        remove(&store)
    }
}

fn table(rows: &[Row], dataset: &Dataset) -> Result<Table> {
    let raw = dataset.raw_bytes()?;
    let stemmed = rows.iter().find(|row| row.loader == Loader::Tantivy("en_stem"));
    let base = stemmed.map_or(f64::NAN, |row| row.ms.p50());
    let head = [
        "load",
        "p50 s",
        "records/s",
        "raw MB/s",
        "throughput to en_stem",
        "peak RSS MB",
        "disk MB",
        "disk to raw",
    ];
    let mut table = Table::new(head);
    for row in rows {
        let seconds = row.ms.p50() / 1e3;
        table.row([
            row.loader.name(),
            figure(seconds),
            figure(dataset.n as f64 / seconds),
            figure(raw as f64 / 1e6 / seconds),
            ratio(base, row.ms.p50()),
            megabytes(row.peak),
            megabytes(row.disk),
            ratio(row.disk as f64, raw as f64),
        ]);
    }
    Ok(table)
}
