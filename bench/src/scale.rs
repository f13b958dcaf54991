//! What changes with the number of records: load, size, and each everyday call as a whole process,
//! beside a smaller store of the same kind of records.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::process::{Tools, disk_bytes, run, run_with_peak, sync_all};
use crate::stats::Samples;
use crate::table::{Table, count, figure, megabytes, ratio};

/// A call that is measured: its name, and the arguments for the turn with this query and text.
struct Call {
    name: &'static str,
    arguments: fn(&Turn<'_>) -> Vec<String>,
}

/// What one turn asks about.
struct Turn<'a> {
    query: &'a str,
    text: &'a str,
    /// Half of the records.
    middle: u64,
    /// The URI of a record somewhere.
    uri: &'a str,
}

const CALLS: [Call; 9] = [
    Call { name: "open (info)", arguments: |_| words(&["info", "--json"]) },
    Call {
        name: "put",
        arguments: |turn| {
            let text = format!("--text={}", turn.text);
            words(&["put", "--json", &text])
        },
    },
    Call { name: "get", arguments: |turn| words(&["get", turn.uri, "--json"]) },
    Call { name: "find, OR", arguments: |turn| words(&["find", turn.query, "--json"]) },
    Call {
        name: "find, AND",
        arguments: |turn| {
            let all: Vec<String> =
                turn.query.split_whitespace().map(|word| format!("+{word}")).collect();
            words(&["find", &all.join(" "), "--json"])
        },
    },
    Call {
        name: "find, 1% filter",
        arguments: |turn| words(&["find", turn.query, "--tag", "sample=one", "--json"]),
    },
    Call {
        name: "find as of the middle",
        arguments: |turn| {
            words(&["find", turn.query, "--as-of", &turn.middle.to_string(), "--json"])
        },
    },
    Call {
        name: "timeline, newest 20",
        arguments: |_| words(&["timeline", "--limit", "20", "--json"]),
    },
    Call {
        name: "timeline, 1% filter",
        arguments: |_| words(&["timeline", "--limit", "20", "--tag", "sample=one", "--json"]),
    },
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A store that is loaded, and what loading took.
struct Store {
    n: u64,
    path: PathBuf,
    raw: u64,
    seconds: f64,
    peak: u64,
    queries: Vec<String>,
    texts: Vec<String>,
    uri: String,
}

/// Loads each data set with one process and times each call `runs` times on all of them in turns;
/// ratios are to the first.
pub fn measure(tools: &Tools, datasets: &[Dataset], runs: usize) -> Result<Vec<Table>> {
    let stores = datasets.iter().map(|dataset| load(tools, dataset)).collect::<Result<Vec<_>>>()?;
    sync_all();
    let mut table = Table::new([
        "whole process",
        "records",
        "p50 ms",
        "p90",
        "max",
        "to the smallest",
        "peak RSS MB",
        "runs",
    ]);
    for call in &CALLS {
        for row in time(tools, datasets, &stores, call, runs)? {
            table.row(row);
        }
    }
    Ok(vec![loads(&stores)?, table])
}

fn load(tools: &Tools, dataset: &Dataset) -> Result<Store> {
    let path = dataset.scratch("scale.kapsa")?;
    Engine::Kapsa.create(tools, &path)?;
    sync_all();
    let command = Engine::Kapsa.load(tools, &path)?;
    let report = dataset.scratch("peak.txt")?;
    let launcher = tools.peer_path("bench-launch")?;
    eprintln!("loading {} records", dataset.n);
    let (ran, peak) = run_with_peak(&launcher, &command, &report, Some(&dataset.corpus()))?;
    let mut timeline = Command::new(tools.require_kapsa()?);
    timeline.args(["timeline", "--limit", "1", "--oldest", "--json", "--capsule"]).arg(&path);
    let uri = uri_of(&run(&mut timeline)?.stdout)?;
    Ok(Store {
        n: dataset.n,
        raw: dataset.raw_bytes()?,
        seconds: ran.ms / 1e3,
        peak,
        queries: dataset.queries()?,
        texts: dataset.extra_texts()?,
        uri,
        path,
    })
}

/// The first URI in what a list printed.
fn uri_of(list: &str) -> Result<String> {
    let (_, rest) = list.split_once("\"uri\":\"").context("a list prints URIs")?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

fn loads(stores: &[Store]) -> Result<Table> {
    let mut table =
        Table::new(["load", "records", "s", "records/s", "peak RSS MB", "disk MB", "disk to raw"]);
    for store in stores {
        let disk = disk_bytes(&store.path);
        table.row([
            "kapsa put --json -".to_owned(),
            count(store.n),
            figure(store.seconds),
            figure(store.n as f64 / store.seconds),
            megabytes(store.peak),
            megabytes(disk),
            ratio(disk as f64, store.raw as f64),
        ]);
    }
    Ok(table)
}

/// The rows of one call, one for each store.
fn time(
    tools: &Tools,
    datasets: &[Dataset],
    stores: &[Store],
    call: &Call,
    runs: usize,
) -> Result<Vec<[String; 8]>> {
    let mut samples = vec![Samples::default(); stores.len()];
    for turn in 0..=runs {
        for (store, samples) in stores.iter().zip(&mut samples) {
            let ran = run(&mut command(tools, store, call, turn)?)?;
            // The first turn brings what it touches into memory.
            if turn > 0 {
                samples.push(ran.ms);
            }
        }
    }
    let mut rows = Vec::new();
    for ((store, dataset), s) in stores.iter().zip(datasets).zip(&samples) {
        let report = dataset.scratch("peak.txt")?;
        let asked = command(tools, store, call, runs + 1)?;
        let launcher = tools.peer_path("bench-launch")?;
        let (_, peak) = run_with_peak(&launcher, &asked, &report, None)?;
        rows.push([
            call.name.to_owned(),
            count(store.n),
            figure(s.p50()),
            figure(s.p90()),
            figure(s.max()),
            ratio(s.p50(), samples[0].p50()),
            megabytes(peak),
            s.len().to_string(),
        ]);
    }
    Ok(rows)
}

fn command(tools: &Tools, store: &Store, call: &Call, turn: usize) -> Result<Command> {
    let turn = Turn {
        query: &store.queries[turn % store.queries.len()],
        text: &store.texts[turn % store.texts.len()],
        middle: store.n / 2,
        uri: &store.uri,
    };
    let mut command = Command::new(tools.require_kapsa()?);
    command.env("KAPSA_EMBED", "later").env("KAPSA_MODE", "lex");
    command.args((call.arguments)(&turn)).arg("--capsule").arg(&store.path);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_one_verb_with_json() {
        let turn = Turn { query: "lock file", text: "a note", middle: 5, uri: "note/1" };
        for call in &CALLS {
            let arguments = (call.arguments)(&turn);
            assert!(!arguments[0].starts_with('-') && arguments.contains(&"--json".to_owned()));
        }
        let all = (CALLS[4].arguments)(&turn);
        assert!(all.contains(&"+lock +file".to_owned()));
    }

    #[test]
    fn a_list_has_a_uri() {
        assert_eq!(uri_of(r#"{"records":[{"uri":"note/7","seq":1}]}"#).expect("found"), "note/7");
        assert!(uri_of("{}").is_err());
    }
}
