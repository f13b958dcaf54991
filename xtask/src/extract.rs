//! Measures what is kept of labelled traces: the candidates of every trace, scored by the scorer
//! that comes with the labels, on the repositories that the cues were tuned on and on the others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "usage: cargo xtask extract [LABELS] [--out FOLDER] [--verbose]

LABELS is a folder with labels.jsonl (one line a trace: id, file, repo, labels, traps), traces/ and
score.py; default ../shared/data/traces-labelled beside the repository. The candidates of each trace are written to FOLDER (default target/extract) as ID.json,
and scored twice: on the repositories that the cues were tuned on, and on all others.";

/// Repositories that the cues were tuned on.
const TUNED_ON: [&str; 5] = [
    "entireio/cli",
    "savekirk/session-bridge",
    "twardoch/twat-search",
    "MichaelPaulukonis/polychrome.p5",
    "Aider-AI/aider",
];

/// Extracts and scores.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    let mut labels: Option<PathBuf> = None;
    let mut out = repository.join("target/extract");
    let mut verbose = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--out" => out = args.next().ok_or(USAGE)?.into(),
            "--verbose" => verbose = true,
            arg if arg.starts_with('-') || labels.is_some() => return Err(USAGE.to_owned()),
            folder => labels = Some(folder.into()),
        }
    }
    let beside = || repository.parent().unwrap_or(repository).join("shared/data/traces-labelled");
    let labels = labels.unwrap_or_else(beside);
    let found = out.join("candidates");
    let traces = files(&labels.join("traces"))?;
    extract(repository, &found, &traces)?;
    for (half, lines) in halves(&labels)? {
        let folder = out.join(half);
        make(&folder)?;
        let file = folder.join("labels.jsonl");
        fs::write(&file, lines).map_err(|error| failed("write", &file, &error))?;
        println!("== {half}");
        let mut scorer = Command::new("python3");
        scorer.arg(labels.join("score.py")).arg(&folder).arg(&found);
        if verbose {
            scorer.arg("--verbose");
        }
        succeed(&mut scorer, "score.py")?;
    }
    Ok(())
}

fn extract(repository: &Path, out: &Path, traces: &[PathBuf]) -> Result<(), String> {
    make(out)?;
    let mut command = Command::new("cargo");
    command
        .args(["run", "--release", "--quiet", "--manifest-path"])
        .arg(repository.join("Cargo.toml"))
        .args(["--package", "kapsa-extract", "--example", "extract", "--"])
        .arg(out)
        .args(traces);
    succeed(&mut command, "the example extract")
}

/// The lines of the labels, by half.
fn halves(labels: &Path) -> Result<BTreeMap<&'static str, String>, String> {
    let file = labels.join("labels.jsonl");
    let text = fs::read_to_string(&file).map_err(|error| failed("read", &file, &error))?;
    let mut halves = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: serde_json::Value =
            serde_json::from_str(line).map_err(|error| format!("{}: {error}", file.display()))?;
        let is_tuned = value["repo"].as_str().is_some_and(|repo| TUNED_ON.contains(&repo));
        let half = if is_tuned { "tuned" } else { "others" };
        let half: &mut String = halves.entry(half).or_default();
        half.push_str(line);
        half.push('\n');
    }
    Ok(halves)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| failed("read", folder, &error))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|error| failed("read", folder, &error))?;
    files.sort();
    Ok(files)
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("failed to {what} {}: {error}", path.display())
}

fn succeed(command: &mut Command, name: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("failed to start {name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed ({status})")) }
}
