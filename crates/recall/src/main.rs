//! Measures how well answers to questions are found: `cargo xtask recall` measures rankers on
//! questions with known answers.

mod alarms;
mod beir;
mod collection;
mod locomo;
mod measure;
mod rankers;
mod report;
mod run;
mod truth;
mod turns;
mod unanswerable;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use collection::{Collection, Result};
use kapsa_memory::SearchMode;
use rankers::{Kapsa, Ranker};

/// Measures how well rankers find what answers a question.
#[derive(Parser)]
#[command(name = "recall", bin_name = "cargo xtask recall")]
struct Arguments {
    /// Folder of locomo10.json, or the file itself [default: ../shared/data/locomo beside the
    /// repository]
    #[arg(long, value_name = "PATH", conflicts_with = "beir")]
    data: Option<PathBuf>,
    /// Folder in BEIR's format, instead of LoCoMo: corpus.jsonl, queries.jsonl, qrels/test.tsv
    #[arg(long, value_name = "FOLDER")]
    beir: Option<PathBuf>,
    /// Sessions of agents instead (JSON Lines, made by crates/recall/turns.py)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "beir"])]
    turns: Option<PathBuf>,
    /// Measure truth over time instead, on labelled pairs of statements (JSON Lines)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "beir"])]
    truth: Option<PathBuf>,
    /// Count instead how many ordinary notes are flagged for review: strings named `text` or
    /// `content` of JSON (.json, .jsonl), paragraphs of any other file
    #[arg(long, value_name = "FILE", num_args = 1..)]
    #[arg(conflicts_with_all = ["data", "beir", "truth"])]
    alarms: Vec<PathBuf>,
    /// Only this ranker; may be given several times
    #[arg(long, value_name = "NAME")]
    ranker: Vec<String>,
    /// Only so many questions, taken evenly from all
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only measure documents, not sessions
    #[arg(long)]
    documents: bool,
    /// Show the two halves apart as well (conversations 1 to 5, 6 to 10; odd and even lines of
    /// --truth, notes of --alarms): tune on one, report the other
    #[arg(long)]
    halves: bool,
    /// With --truth: name the pairs that came out wrong or undecided, and the verdict of each. With
    /// --alarms: show the notes that are flagged, and why
    #[arg(long)]
    failures: bool,
    /// Instead of recall, measure whether a search says that nothing is known: each question is
    /// put to its own conversation and to another one
    #[arg(long)]
    unanswerable: bool,
    /// With --unanswerable: write what the strengths are made of to this file
    #[arg(long, value_name = "PATH", requires = "unanswerable")]
    features: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.truth {
        return truth::measure(path, arguments.halves, arguments.failures);
    }
    if !arguments.alarms.is_empty() {
        return alarms::measure(&arguments.alarms, arguments.halves, arguments.failures);
    }
    let mut rankers = chosen(&arguments.ranker)?;
    let Some(collection) = load(arguments)? else { return Ok(()) };
    let collection = match arguments.limit {
        Some(limit) => collection.limited(limit),
        None => collection,
    };
    if arguments.unanswerable {
        return measure_unanswerable(arguments, &collection);
    }
    let mut outcomes = Vec::new();
    for ranker in &mut rankers {
        outcomes.push(run::run(ranker.as_mut(), &collection, !arguments.documents)?);
    }
    if arguments.json {
        println!("{:#}", report::json(&collection, &outcomes, arguments.halves));
    } else {
        print!("{}", report::tables(&collection, &outcomes, arguments.halves));
    }
    Ok(())
}

/// Of what searches by words and of what searches by both.
fn measure_unanswerable(arguments: &Arguments, collection: &Collection) -> Result<()> {
    let mut rankers =
        vec![Kapsa::new("kapsa lex", SearchMode::Words), Kapsa::new("kapsa", SearchMode::Auto)];
    if let Some(file) = std::env::var_os(rankers::EMBEDDER) {
        rankers.push(Kapsa::embedded("kapsa embedder", SearchMode::Auto, file.into()));
    }
    for mut ranker in rankers {
        let name = ranker.name();
        if !arguments.ranker.is_empty() && !arguments.ranker.contains(&name) {
            continue;
        }
        let (table, features) = unanswerable::measure(&mut ranker, collection)?;
        println!("{name}\n\n{table}");
        if let Some(path) = &arguments.features {
            std::fs::write(path, features)?;
        }
    }
    Ok(())
}

/// The rankers of these names, all when there are none.
fn chosen(names: &[String]) -> Result<Vec<Box<dyn Ranker>>> {
    let mut all = rankers::all();
    let known: Vec<String> = all.iter().map(|ranker| ranker.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(
            format!("no ranker is named {unknown:?}; there are: {}", known.join(", ")).into()
        );
    }
    all.retain(|ranker| names.is_empty() || names.contains(&ranker.name()));
    Ok(all)
}

/// The data that was asked for; none, with a message, where LoCoMo is not on this machine.
fn load(arguments: &Arguments) -> Result<Option<Collection>> {
    if let Some(folder) = &arguments.beir {
        return beir::load(folder).map(Some);
    }
    if let Some(file) = &arguments.turns {
        return turns::load(file).map(Some);
    }
    let path = arguments.data.clone().unwrap_or_else(default_data);
    let path = if path.is_dir() { path.join(locomo::FILE) } else { path };
    if !path.exists() {
        eprintln!("{} is absent: nothing was measured. --data says where it is.", path.display());
        return Ok(None);
    }
    locomo::load(&path).map(Some)
}

/// Where the data lies beside the repository; it is not part of it.
fn default_data() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(3).unwrap_or(package).join("shared/data/locomo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rankers_are_chosen_by_name() {
        let names = |chosen: &[&str]| {
            let chosen: Vec<String> = chosen.iter().map(|name| (*name).to_string()).collect();
            super::chosen(&chosen)
                .map(|all| all.iter().map(|ranker| ranker.name()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["kapsa lex"]).ok(), Some(vec!["kapsa lex".to_string()]));
        assert_eq!(names(&[]).map(|all| all.len()).ok(), Some(rankers::all().len()));
        assert!(names(&["none"]).is_err());
    }

    #[test]
    fn arguments_are_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
