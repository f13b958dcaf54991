//! Readers beside a committing writer. One thread puts, a process each; another finds, gets and
//! asks for info.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::process::{Tools, run};
use crate::stats::Samples;
use crate::table::{Table, figure};

/// Failures whose text is shown.
const FAILURES_SHOWN: usize = 3;
/// Names under which `kapsa info` may report how far the capsule is.
const SEQUENCE_NAMES: [&str; 4] = ["sequence", "seq", "record_count", "records"];

/// What the writer last made known, and whether it is done.
#[derive(Default)]
struct Shared {
    newest_uri: Mutex<Option<String>>,
    done: AtomicBool,
}

/// What the reader saw.
#[derive(Default)]
struct Seen {
    find: Samples,
    get: Samples,
    info: Samples,
    failures: Vec<String>,
    sequence: u64,
    backwards: usize,
}

/// Runs `commits` puts and reads all the while; fails when a reader failed or saw the sequence go
/// back.
pub fn measure(tools: &Tools, dataset: &Dataset, commits: usize, rebuild: bool) -> Result<Table> {
    let kapsa = tools.require_kapsa()?;
    Engine::Kapsa.prepare(tools, dataset, rebuild)?;
    let store = dataset.working_copy(Engine::Kapsa.store_name())?;
    let (texts, queries) = (dataset.extra_texts()?, dataset.queries()?);
    let shared = Shared::default();
    let (written, seen) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(tools, kapsa, &store, &queries, &shared));
        let written = write(tools, &store, &texts, commits, &shared);
        shared.done.store(true, Ordering::Release);
        (written, reader.join())
    });
    let seen = seen.map_err(|_| anyhow::anyhow!("the reader panicked"))?;
    report(&written?, &seen)
}

fn write(
    tools: &Tools,
    store: &Path,
    texts: &[String],
    commits: usize,
    shared: &Shared,
) -> Result<Samples> {
    let mut samples = Samples::default();
    for text in texts.iter().cycle().take(commits) {
        let ran = run(&mut Engine::Kapsa.put(tools, store, text)?).context("the writer failed")?;
        samples.push(ran.ms);
        let answer: Value = serde_json::from_str(&ran.stdout).context("put --json prints JSON")?;
        let uri = lookup(&answer, "uri").and_then(Value::as_str).map(str::to_owned);
        *shared.newest_uri.lock().expect("the reader does not panic while it holds this") = uri;
    }
    Ok(samples)
}

fn read(tools: &Tools, kapsa: &Path, store: &Path, queries: &[String], shared: &Shared) -> Seen {
    let mut seen = Seen::default();
    for query in queries.iter().cycle() {
        if shared.done.load(Ordering::Acquire) {
            break;
        }
        let found =
            Engine::Kapsa.find(tools, store, query, false).and_then(|mut find| run(&mut find));
        keep(&mut seen.find, &mut seen.failures, found.map(|ran| ran.ms));
        let uri = shared
            .newest_uri
            .lock()
            .expect("the writer does not panic while it holds this")
            .clone();
        if let Some(uri) = uri {
            let got =
                run(Command::new(kapsa).args(["get", &uri, "--json", "--capsule"]).arg(store));
            keep(&mut seen.get, &mut seen.failures, got.map(|ran| ran.ms));
        }
        seen.ask(kapsa, store);
    }
    seen
}

impl Seen {
    /// Asks how far the capsule is; it must never be less far than before.
    fn ask(&mut self, kapsa: &Path, store: &Path) {
        let info = run(Command::new(kapsa).args(["info", "--json", "--capsule"]).arg(store));
        let info = info.and_then(|ran| Ok((ran.ms, sequence(&ran.stdout)?)));
        if let Ok((_, sequence)) = info {
            self.backwards += usize::from(sequence < self.sequence);
            self.sequence = sequence;
        }
        keep(&mut self.info, &mut self.failures, info.map(|(ms, _)| ms));
    }
}

/// Keeps a timing or, when there is none, why.
fn keep(samples: &mut Samples, failures: &mut Vec<String>, result: Result<f64>) {
    match result {
        Ok(ms) => samples.push(ms),
        Err(error) => failures.push(format!("{error:#}")),
    }
}

fn sequence(info: &str) -> Result<u64> {
    let info: Value = serde_json::from_str(info).context("info --json prints JSON")?;
    let found = SEQUENCE_NAMES.iter().find_map(|name| lookup(&info, name)?.as_u64());
    found.with_context(|| format!("info reports none of {SEQUENCE_NAMES:?}"))
}

/// The value called `name`, at the top or below it.
fn lookup<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            fields.get(name).or_else(|| fields.values().find_map(|field| lookup(field, name)))
        }
        Value::Array(items) => items.iter().find_map(|item| lookup(item, name)),
        _ => None,
    }
}

fn report(written: &Samples, seen: &Seen) -> Result<Table> {
    let mut table = Table::new(["while writing", "runs", "p50 ms", "p90", "p99", "max"]);
    for (name, s) in
        [("put (writer)", written), ("find", &seen.find), ("get", &seen.get), ("info", &seen.info)]
    {
        let cells = [
            s.len().to_string(),
            figure(s.p50()),
            figure(s.p90()),
            figure(s.p99()),
            figure(s.max()),
        ];
        table.row([name.to_owned()].into_iter().chain(cells));
    }
    let failed = seen.failures.len();
    table.row(["reader errors".to_owned(), failed.to_string()].into_iter().chain(dashes()));
    table.row(
        ["sequence went back".to_owned(), seen.backwards.to_string()].into_iter().chain(dashes()),
    );
    if failed + seen.backwards > 0 {
        println!("{table}");
        let shown = seen
            .failures
            .iter()
            .take(FAILURES_SHOWN)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("; ");
        bail!(
            "readers must not fail nor see the past: {failed} errors, {} steps back; {shown}",
            seen.backwards
        );
    }
    Ok(table)
}

fn dashes() -> [String; 4] {
    std::array::from_fn(|_| "–".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_found_at_any_depth() {
        assert_eq!(sequence(r#"{"capsule":{"sequence":7}}"#).expect("found"), 7);
        assert_eq!(sequence(r#"{"records":3}"#).expect("found"), 3);
        assert!(sequence("{}").is_err());
    }
}
