//! The cost of starting a process, putting one record durably and exiting, at any size of the
//! store.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::process::{Tools, disk_bytes, run, sync_all};
use crate::stats::Samples;
use crate::table::{Table, count, figure, ratio};

/// Puts of a row before its timing starts.
const WARM_UP: usize = 3;
/// Milliseconds a row may use in all; a slow peer gets fewer runs.
const ROW_MS_MAX: f64 = 60_000.0;
/// Bytes of a bare append when there is no kapsa to copy.
const APPEND_BYTES: u64 = 1_500;

/// What is put: by an engine into its store, or bare bytes at the end of a file, or nothing.
enum Row {
    Exit,
    Append {
        file: PathBuf,
        bytes: u64,
    },
    Engine(Engine, PathBuf),
    /// By kapsa, with the vectors of what is put.
    Embedded(PathBuf),
}

/// The timings of one row at one size.
pub struct Timed {
    /// The name of the row.
    pub name: String,
    /// The number of records in the store; 0 where there is none.
    pub n: u64,
    /// Wall times of whole processes.
    pub samples: Samples,
}

/// Times `runs` puts of each row at the size of each data set. All rows of all sizes take turns, so
/// that a busy moment of the machine is shared by all.
pub fn measure(
    tools: &Tools,
    datasets: &[Dataset],
    engines: &[Engine],
    runs: usize,
    rebuild: bool,
) -> Result<Vec<Timed>> {
    let texts = datasets.first().context("no size was asked for")?.extra_texts()?;
    let mut lanes = vec![Lane::new(Row::Exit, 0)];
    for dataset in datasets {
        let rows = rows(tools, dataset, engines, &texts, rebuild)?;
        lanes.extend(rows.into_iter().map(|row| Lane::new(row, dataset.n)));
    }
    sync_all();
    for run_index in 0..WARM_UP + runs {
        let text = &texts[run_index % texts.len()];
        for turn in 0..lanes.len() {
            let at = (turn + run_index) % lanes.len();
            lanes[at].put(tools, text, run_index >= WARM_UP)?;
        }
    }
    let timed = |lane: Lane| Timed { name: lane.row.name(), n: lane.n, samples: lane.samples };
    Ok(lanes.into_iter().map(timed).collect())
}

/// A row while it is timed.
struct Lane {
    row: Row,
    n: u64,
    samples: Samples,
    spent_ms: f64,
    failed: bool,
}

impl Lane {
    fn new(row: Row, n: u64) -> Self {
        Self { row, n, samples: Samples::default(), spent_ms: 0.0, failed: false }
    }

    /// One more put, unless the row has had its time; a peer that fails is out from there on, which
    /// is said.
    fn put(&mut self, tools: &Tools, text: &str, counts: bool) -> Result<()> {
        if self.failed || self.spent_ms > ROW_MS_MAX {
            return Ok(());
        }
        match run(&mut self.row.command(tools, text)?) {
            Ok(ran) => {
                self.spent_ms += ran.ms;
                if counts {
                    self.samples.push(ran.ms);
                }
                Ok(())
            }
            Err(error) if self.row.is_peer() => {
                self.failed = true;
                eprintln!(
                    "stopped: {} after {} puts: {error:#}",
                    self.row.name(),
                    self.samples.len()
                );
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

fn rows(
    tools: &Tools,
    dataset: &Dataset,
    engines: &[Engine],
    texts: &[String],
    rebuild: bool,
) -> Result<Vec<Row>> {
    let mut stores = Vec::new();
    for &engine in engines {
        if engine.prepare(tools, dataset, rebuild)? {
            stores.push(Row::Engine(engine, dataset.working_copy(engine.store_name())?));
        }
    }
    let mut rows = vec![append(tools, dataset, &stores, texts)?];
    if stores.iter().any(|row| matches!(row, Row::Engine(Engine::Kapsa, _))) {
        let store = dataset.scratch("embedded.kapsa")?;
        std::fs::copy(dataset.store(Engine::Kapsa.store_name()), &store)?;
        stores.push(Row::Embedded(store));
    }
    rows.append(&mut stores);
    Ok(rows)
}

/// The bare append: a copy of the capsule, and as many bytes as a put of kapsa adds to it.
fn append(tools: &Tools, dataset: &Dataset, stores: &[Row], texts: &[String]) -> Result<Row> {
    let kapsa = stores.iter().find_map(|row| match row {
        Row::Engine(Engine::Kapsa, store) => Some(store),
        _ => None,
    });
    let file = dataset.scratch("bare.log")?;
    let Some(store) = kapsa else {
        std::fs::copy(dataset.corpus(), &file)?;
        return Ok(Row::Append { file, bytes: APPEND_BYTES });
    };
    std::fs::copy(dataset.store(Engine::Kapsa.store_name()), &file)?;
    let mut grown = Samples::default();
    for text in texts.iter().rev().take(5) {
        let before = disk_bytes(store);
        run(&mut Engine::Kapsa.put(tools, store, text)?)?;
        grown.push(disk_bytes(store).saturating_sub(before) as f64);
    }
    Ok(Row::Append { file, bytes: (grown.p50() as u64).max(1) })
}

impl Row {
    fn is_peer(&self) -> bool {
        matches!(self, Self::Engine(engine, _) if *engine != Engine::Kapsa)
    }

    fn name(&self) -> String {
        match self {
            Self::Exit => "process start and exit".to_owned(),
            Self::Append { bytes, .. } => format!("(a) bare append of {bytes} bytes + fdatasync"),
            Self::Engine(engine, _) => engine.name().to_owned(),
            Self::Embedded(_) => "kapsa, with vectors".to_owned(),
        }
    }

    fn command(&self, tools: &Tools, text: &str) -> Result<Command> {
        match self {
            Self::Exit => tools.peer("bench-exit"),
            Self::Append { file, bytes } => {
                let mut command = tools.peer("bench-append")?;
                command.arg(file).arg(bytes.to_string());
                Ok(command)
            }
            Self::Engine(engine, store) => engine.put(tools, store, text),
            Self::Embedded(store) => {
                let mut command = Engine::Kapsa.put(tools, store, text)?;
                command.env("KAPSA_EMBED", "now");
                Ok(command)
            }
        }
    }
}

/// The table of all sizes: each row against (a) of the same size and against itself at the smallest
/// size.
pub fn table(timed: &[Timed]) -> Table {
    let mut table = Table::new([
        "cold put",
        "records",
        "p50 ms",
        "p90",
        "max",
        "to (a)",
        "to smallest",
        "runs",
    ]);
    let smallest_n = timed.iter().map(|row| row.n).filter(|&n| n > 0).min().unwrap_or(0);
    for row in timed {
        let key = row_key(&row.name);
        let bare = p50_of(timed, |other| {
            other.n == row.n.max(smallest_n) && other.name.starts_with("(a)")
        });
        let smallest =
            timed.iter().filter(|other| row_key(&other.name) == key).map(|other| other.n).min();
        let first = p50_of(timed, |other| Some(other.n) == smallest && row_key(&other.name) == key);
        let s = &row.samples;
        table.row([
            row.name.clone(),
            if row.n == 0 { "–".to_owned() } else { count(row.n) },
            figure(s.p50()),
            figure(s.p90()),
            figure(s.max()),
            ratio(s.p50(), bare),
            ratio(s.p50(), first),
            s.len().to_string(),
        ]);
    }
    table
}

/// Rows of one kind share their first words; the bytes appended differ between sizes.
fn row_key(name: &str) -> &str {
    if name.starts_with("(a)") { "(a)" } else { name }
}

fn p50_of(timed: &[Timed], wanted: impl Fn(&Timed) -> bool) -> f64 {
    timed.iter().find(|row| wanted(row)).map_or(f64::NAN, |row| row.samples.p50())
}

/// Puts `runs` records one after the other, a process each: how much dearer is the put that builds
/// a segment?
pub fn long(tools: &Tools, dataset: &Dataset, runs: usize, rebuild: bool) -> Result<Table> {
    Engine::Kapsa.prepare(tools, dataset, rebuild)?;
    let store = dataset.working_copy(Engine::Kapsa.store_name())?;
    let texts = dataset.extra_texts()?;
    let mut samples = Samples::default();
    for text in texts.iter().cycle().take(runs) {
        samples.push(run(&mut Engine::Kapsa.put(tools, &store, text)?)?.ms);
    }
    let mut table = Table::new([
        "consecutive puts",
        "records",
        "p50 ms",
        "p90",
        "p99",
        "max",
        "max to p50",
        "dearest at",
    ]);
    table.row([
        samples.len().to_string(),
        count(dataset.n),
        figure(samples.p50()),
        figure(samples.p90()),
        figure(samples.p99()),
        figure(samples.max()),
        ratio(samples.max(), samples.p50()),
        dearest(&samples),
    ]);
    Ok(table)
}

/// The positions of the five dearest timings, in order.
fn dearest(samples: &Samples) -> String {
    let mut at: Vec<usize> = (0..samples.len()).collect();
    at.sort_by(|&a, &b| samples.in_order()[b].total_cmp(&samples.in_order()[a]));
    at.truncate(5);
    at.sort_unstable();
    at.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}
