//! The cost of memory to a team of agents: the context of a role over many siblings, and of
//! recording an output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::dataset::Dataset;
use crate::process::{Ran, Tools, run, sync_all};
use crate::stats::Samples;
use crate::table::{Table, figure, ratio};

/// Tasks of the run.
pub const SIBLINGS: usize = 50;
/// Records of each.
pub const RECORDS_EACH: usize = 200;
/// Records that a task gets before the next one has its turn: agents record side by side.
const TURN_RECORDS: usize = 20;
/// Hits that each sibling may bring, as the settings have it.
const CHUNKS: &str = "5";
const RUN: &str = "bench";
/// Workers that record at once, and what each records.
const WORKERS: usize = 16;
const EACH: usize = 25;

/// How a run is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    Branches,
    Files,
}

/// A run in a folder of its own.
struct Kept<'a> {
    kapsa: &'a Path,
    root: PathBuf,
    layout: Layout,
}

impl<'a> Kept<'a> {
    fn new(kapsa: &'a Path, dataset: &Dataset, layout: Layout) -> Result<Self> {
        let root =
            dataset.store(if layout == Layout::Branches { "run-branches" } else { "run-files" });
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        fs::create_dir_all(&root)?;
        Ok(Self { kapsa, root, layout })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.kapsa);
        command.current_dir(&self.root).args(args).stdin(Stdio::null()).env("KAPSA_EMBED", "later");
        command
    }

    fn run(&self, args: &[&str]) -> Result<Ran> {
        let layout = if self.layout == Layout::Branches { "branches" } else { "files" };
        run(self.command(&["run"]).args(args).args(["--layout", layout, "--root", ".", "--json"]))
    }

    /// Flags that lead any verb to the records of one task.
    fn place(&self, task: &str) -> [String; 2] {
        match self.layout {
            Layout::Branches => ["--branch".to_owned(), format!("run/{RUN}/{task}")],
            Layout::Files => {
                ["--capsule".to_owned(), format!(".kapsa/runs/{RUN}/tasks/{task}.kapsa")]
            }
        }
    }

    fn fill(&self, lines: &[&str], scratch: &Path) -> Result<()> {
        self.run(&["start", "--run", RUN, "--title", "A run to be measured"])?;
        let tasks: Vec<String> = (0..SIBLINGS).map(|n| format!("task-{n:02}")).collect();
        for task in tasks.iter().map(String::as_str).chain(["own"]) {
            self.run(&[
                "task",
                "start",
                task,
                "--run",
                RUN,
                "--title",
                "How the parser reads a record from the file",
            ])?;
        }
        let mut lines = lines.iter().cycle();
        for _ in 0..RECORDS_EACH / TURN_RECORDS {
            for task in &tasks {
                let some: Vec<&str> = lines.by_ref().take(TURN_RECORDS).copied().collect();
                fs::write(scratch, some.join("\n"))?;
                run(self
                    .command(&["put", "--json", "-"])
                    .args(self.place(task))
                    .stdin(fs::File::open(scratch)?))?;
            }
        }
        Ok(())
    }

    fn context(&self) -> Result<Ran> {
        self.run(&["context", "--run", RUN, "--task", "own", "--role", "builder"])
    }

    /// What a team without `run context` would do: a process for each sibling.
    fn one_by_one(&self) -> Result<f64> {
        let mut ms = 0.0;
        for n in 0..SIBLINGS {
            let query = "How the parser reads a record from the file";
            let mut command =
                self.command(&["find", query, "-k", CHUNKS, "--mode", "lex", "--json"]);
            ms += run(command.args(self.place(&format!("task-{n:02}"))))?.ms;
        }
        Ok(ms)
    }
}

/// The context of a role, against a search of each sibling by a process of its own.
pub fn measure(tools: &Tools, dataset: &Dataset, runs: usize) -> Result<Vec<Table>> {
    let kapsa = tools.require_kapsa()?;
    let corpus = fs::read_to_string(dataset.corpus()).context("the corpus was made just now")?;
    let lines: Vec<&str> = corpus.lines().collect();
    let kept = [Layout::Branches, Layout::Files].map(|layout| Kept::new(kapsa, dataset, layout));
    let [branches, files] = kept;
    let kept = [branches?, files?];
    for kept in &kept {
        kept.fill(&lines, &dataset.store("turn.jsonl"))?;
    }
    sync_all();
    Ok(vec![
        contexts(&kept, runs)?,
        records(&kept, &dataset.extra_texts()?, runs)?,
        workers(&kept)?,
    ])
}

fn contexts(kept: &[Kept<'_>; 2], runs: usize) -> Result<Table> {
    let mut samples: [Samples; 4] = std::array::from_fn(|_| Samples::default());
    for round in 0..=runs {
        for (at, kept) in kept.iter().enumerate() {
            let context = kept.context()?;
            ensure!(context.stdout.contains("[task-"), "the context reports the siblings");
            // One process for each sibling takes long: a tenth of the rounds say enough. The first
            // round warms up.
            let alone = if round % 10 == 0 { Some(kept.one_by_one()?) } else { None };
            if round > 0 {
                samples[at].push(context.ms);
                alone.into_iter().for_each(|ms| samples[at + 2].push(ms));
            }
        }
    }
    let mut table = Table::new([
        "context over 50 siblings of 200 records",
        "layout",
        "p50 ms",
        "p90",
        "max",
        "to one process",
        "runs",
    ]);
    let rows = [
        ("run context", "branches"),
        ("run context", "files"),
        ("50 × find", "branches"),
        ("50 × find", "files"),
    ];
    for (at, (what, layout)) in rows.into_iter().enumerate() {
        let s = &samples[at];
        let base = samples[at % 2].p50();
        table.row([
            what.to_owned(),
            layout.to_owned(),
            figure(s.p50()),
            figure(s.p90()),
            figure(s.max()),
            ratio(s.p50(), base),
            s.len().to_string(),
        ]);
    }
    Ok(table)
}

fn records(kept: &[Kept<'_>; 2], texts: &[String], runs: usize) -> Result<Table> {
    let mut table = Table::new(["recording", "layout", "p50 ms", "p90", "to a put", "runs"]);
    for kept in kept {
        let (mut record, mut put) = (Samples::default(), Samples::default());
        for (n, text) in texts.iter().cycle().take(runs).enumerate() {
            let task = format!("task-{:02}", n % SIBLINGS);
            record.push(
                kept.run(&[
                    "record",
                    "--run",
                    RUN,
                    "--task",
                    &task,
                    "--role",
                    "builder",
                    &format!("--text={text}"),
                ])?
                .ms,
            );
            put.push(
                run(kept
                    .command(&["put", &format!("--text={text}"), "--json"])
                    .args(kept.place(&task)))?
                .ms,
            );
        }
        let layout = if kept.layout == Layout::Branches { "branches" } else { "files" };
        for (what, s) in [("run record", &record), ("put", &put)] {
            table.row([
                what.to_owned(),
                layout.to_owned(),
                figure(s.p50()),
                figure(s.p90()),
                ratio(s.p50(), put.p50()),
                s.len().to_string(),
            ]);
        }
    }
    Ok(table)
}

/// Workers that record at once, each with processes of its own.
fn workers(kept: &[Kept<'_>; 2]) -> Result<Table> {
    let mut table =
        Table::new(["16 workers at once", "layout", "recorded", "found again", "ms in all"]);
    for kept in kept {
        let start = std::time::Instant::now();
        let worker = |worker: usize| -> Result<()> {
            for n in 0..EACH {
                let (task, text) =
                    (format!("crowd-{}", worker / 2), format!("worker {worker} output {n}"));
                kept.run(&[
                    "record", "--run", RUN, "--task", &task, "--role", "builder", "--strict",
                    "--text", &text,
                ])?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let all: Vec<_> =
                (0..WORKERS).map(|number| scope.spawn(move || worker(number))).collect();
            all.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
        })?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let status: serde_json::Value =
            serde_json::from_str(&kept.run(&["status", "--run", RUN])?.stdout)?;
        let tasks = status["tasks"].as_array().context("a run has tasks")?.iter();
        let crowd =
            tasks.filter(|task| task["task"].as_str().is_some_and(|id| id.starts_with("crowd-")));
        let found: u64 = crowd.filter_map(|task| task["output_count"].as_u64()).sum();
        let layout = if kept.layout == Layout::Branches { "branches" } else { "files" };
        table.row([
            String::new(),
            layout.to_owned(),
            (WORKERS * EACH).to_string(),
            found.to_string(),
            figure(ms),
        ]);
    }
    Ok(table)
}
