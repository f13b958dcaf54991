//! The cost of a search in a process that has just started.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::process::{Tools, drop_caches, run, sync_all};
use crate::stats::Samples;
use crate::table::{Table, count, figure, ratio};

/// Milliseconds a row may use in all; a slow peer answers fewer queries.
const ROW_MS_MAX: f64 = 60_000.0;
/// Queries with an empty page cache at most: each reads from the disk.
const COLD_RUNS_MAX: usize = 30;

/// How the searches are asked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Warm,
    Sample,
    Cold,
}

/// One engine with its store, and what it took.
struct Row {
    engine: Engine,
    store: PathBuf,
    samples: Samples,
    hits: usize,
}

/// Times a process per query for each engine, the engines taking turns, in each mode.
pub fn measure(
    tools: &Tools,
    dataset: &Dataset,
    engines: &[Engine],
    runs: usize,
    rebuild: bool,
) -> Result<Table> {
    let mut ready = Vec::new();
    for &engine in engines.iter().filter(|&&engine| engine != Engine::Memvid) {
        if engine.prepare(tools, dataset, rebuild)? {
            ready.push(engine);
        }
    }
    sync_all();
    let queries = dataset.queries()?;
    let head = [
        "cold find",
        "mode",
        "records",
        "p50 ms",
        "p90",
        "max",
        "to unfiltered",
        "mean hits",
        "runs",
    ];
    let mut table = Table::new(head);
    let warm = pass(tools, dataset, &ready, &queries, runs, Mode::Warm)?;
    add_rows(&mut table, &warm, &warm, "warm cache", dataset.n);
    let sample = pass(tools, dataset, &ready, &queries, runs, Mode::Sample)?;
    add_rows(&mut table, &sample, &warm, "warm, 1% filter", dataset.n);
    if drop_caches() {
        let cold = pass(tools, dataset, &ready, &queries, runs.min(COLD_RUNS_MAX), Mode::Cold)?;
        add_rows(&mut table, &cold, &warm, "dropped cache", dataset.n);
    } else {
        eprintln!("skipped: the page cache cannot be dropped here (that needs root on Linux)");
    }
    Ok(table)
}

fn pass(
    tools: &Tools,
    dataset: &Dataset,
    engines: &[Engine],
    queries: &[String],
    runs: usize,
    mode: Mode,
) -> Result<Vec<Row>> {
    let row = |&engine: &Engine| Row {
        engine,
        store: dataset.store(engine.store_name()),
        samples: Samples::default(),
        hits: 0,
    };
    let mut rows: Vec<Row> = engines.iter().map(row).collect();
    for row in rows.iter().filter(|_| mode != Mode::Cold) {
        read_through(&row.store)?;
        run(&mut row.engine.find(tools, &row.store, &queries[0], mode == Mode::Sample)?)?;
    }
    for query in queries.iter().cycle().take(runs) {
        for row in rows.iter_mut().filter(|row| row.samples.total() <= ROW_MS_MAX) {
            row.find(tools, query, mode)?;
        }
    }
    Ok(rows)
}

impl Row {
    fn find(&mut self, tools: &Tools, query: &str, mode: Mode) -> Result<()> {
        if mode == Mode::Cold {
            drop_caches();
        }
        let ran = run(&mut self.engine.find(tools, &self.store, query, mode == Mode::Sample)?)?;
        self.samples.push(ran.ms);
        self.hits += self.engine.hits(&ran.stdout);
        Ok(())
    }
}

fn add_rows(table: &mut Table, rows: &[Row], unfiltered: &[Row], mode: &str, n: u64) {
    for (row, base) in rows.iter().zip(unfiltered) {
        let s = &row.samples;
        table.row([
            row.engine.name().to_owned(),
            mode.to_owned(),
            count(n),
            figure(s.p50()),
            figure(s.p90()),
            figure(s.max()),
            ratio(s.p50(), base.samples.p50()),
            figure(row.hits as f64 / s.len() as f64),
            s.len().to_string(),
        ]);
    }
}

/// Reads a file, or all files of a folder, into the page cache.
fn read_through(path: &Path) -> Result<()> {
    if path.is_dir() {
        return std::fs::read_dir(path)?.try_for_each(|entry| read_through(&entry?.path()));
    }
    std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
    Ok(())
}
