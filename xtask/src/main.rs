//! Chores of the repository: `cargo xtask bench ...` measures time and size, `cargo xtask recall` what is found,
//! `cargo xtask dist` builds the static program, `cargo xtask fuzz` looks for inputs that break a promise, `cargo xtask tidy`
//! holds the mechanical rules; `torture`, `kill` and `powercut` try to make Kapsa lose an acknowledged write.

mod bench;
mod dist;
mod fuzz;
mod harness;
mod kill;
mod model;
mod powercut;
mod recall;
mod schema;
mod tidy;
mod torture;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask VERB

  bench [ARG...]     measure
  recall [ARG...]    measure how well is found what answers a question
  dist               build the static program
  model [--write]    make the model that comes with the program again, and compare
  schema             describe the JSON of every verb again: docs/json.md and docs/schema/
  tidy               check the mechanical rules
  fuzz [--seconds N] [TARGET...]
                     every target of fuzz/ for a while
  torture [OPTION]   many processes put, read, compact and are killed on one capsule
  kill [OPTION]      one process after the other is killed in the middle
  powercut [OPTION]  a mounted file system loses its power again and again
  VERB --help        says more about the last three";

/// The command could not run; 1 says that a check failed.
const COULD_NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (verb, rest) = args.split_first().map_or(("", &[][..]), |(verb, rest)| (verb.as_str(), rest));
    let done = match (verb, rest) {
        ("bench", rest) => chore(bench::run(&repository(), rest)),
        ("recall", rest) => chore(recall::run(&repository(), rest)),
        ("dist", []) => chore(dist::run(&repository())),
        ("fuzz", rest) => chore(fuzz::run(&repository(), rest)),
        ("model", rest) => chore(model::run(&repository(), rest)),
        ("schema", []) => chore(schema::run(&repository())),
        ("tidy", []) => chore(tidy::run(&repository())),
        ("torture", rest) => torture::run(&repository(), rest),
        ("kill", rest) => kill::run(&repository(), rest),
        ("powercut", rest) => powercut::run(&repository(), rest),
        _ => Err(USAGE.to_owned()),
    };
    done.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::from(COULD_NOT_RUN)
    })
}

/// A chore either works or fails, with 1.
fn chore(done: Result<(), String>) -> Result<ExitCode, String> {
    Ok(done.map_or_else(
        |message| {
            eprintln!("{message}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    ))
}

/// The top of the repository: this package lies right below it.
fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the repository").to_path_buf()
}
