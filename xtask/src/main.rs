//! The chores of the repository, each a verb of `cargo xtask`: checks, measurements, builds, and
//! attempts to make Kapsa lose an acknowledged write. Knows Kapsa as a program and as source text;
//! links none of its crates.

mod attack;
mod bench;
mod conformance;
mod deny;
mod dist;
mod extract;
mod frequent;
mod fuzz;
mod harness;
mod kill;
mod model;
mod mutants;
mod odd;
mod oldest;
mod peers;
mod plugin;
mod powercut;
mod recall;
mod scheduled;
mod schema;
mod soak;
mod tidy;
mod torture;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask VERB

Check
  tidy [--fix]       check the mechanical rules and print what they measure
  deny [CHECK...]    check licences, sources, bans and advisories of dependencies
  conformance        check what is served over MCP with the official suite
  peers memvid       exchange files with the real SDKs of Memvid
  oldest             check the program with the oldest compiler that is supported
  fuzz [--seconds N] [TARGET...]
                     run the targets of fuzz/ for a while each
  mutants [--quick] [--file GLOB...]
                     mutate the capsule, and list what no test notices
  scheduled [NAME...]
                     list the checks that take long, or run them

Break
  torture [OPTION]   let many processes put, read, compact and die on one capsule
  kill [OPTION]      kill one process after the other in the middle of a write
  odd [OPTION]       call every verb with strange arguments
  attack [OPTION]    call every verb as somebody who may read little
  soak [OPTION]      call a served memory for long, and kill clients and the server
  powercut [OPTION]  cut the power of a mounted file system again and again

Measure
  bench [ARG...]     measure time and size
  recall [ARG...]    measure how well answers to questions are found
  extract [ARG...]   measure what is kept of labelled traces

Build
  dist [TARGET...]   build the static program, and archives for other machines
  model [--write]    convert the bundled model again, and compare
  model --reranker FILE
                     make a re-ranker for `kapsa model add`
  model --embedder FILE
                     make a larger embedder for `kapsa model add`
  frequent           list the functions that short calls run, for the linker
  plugin [--out DIR] write the plugin folders of Claude Code and Codex
  schema             write docs/json.md and docs/schema/ from the types of the answers

VERB --help says more about recall, torture, kill, odd, attack, soak and powercut.";

/// The command could not run; 1 means that a check failed.
const COULD_NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (verb, rest) =
        args.split_first().map_or(("", &[][..]), |(verb, rest)| (verb.as_str(), rest));
    let done = match (verb, rest) {
        ("bench", rest) => chore(bench::run(&repository(), rest)),
        ("recall", rest) => chore(recall::run(&repository(), rest)),
        ("extract", rest) => chore(extract::run(&repository(), rest)),
        ("conformance", []) => chore(conformance::run(&repository())),
        ("deny", rest) => chore(deny::run(&repository(), rest)),
        ("frequent", []) => chore(frequent::run(&repository())),
        ("oldest", []) => chore(oldest::run(&repository())),
        ("peers", rest) => chore(peers::run(&repository(), rest)),
        ("scheduled", rest) => chore(scheduled::run(rest)),
        ("dist", rest) => chore(dist::run(&repository(), rest)),
        ("fuzz", rest) => chore(fuzz::run(&repository(), rest)),
        ("model", rest) => chore(model::run(&repository(), rest)),
        ("mutants", rest) => chore(mutants::run(&repository(), rest)),
        ("plugin", rest) => chore(plugin::run(&repository(), rest)),
        ("schema", []) => chore(schema::run(&repository())),
        ("tidy", rest) => chore(tidy::run(&repository(), rest)),
        ("torture", rest) => torture::run(&repository(), rest),
        ("kill", rest) => kill::run(&repository(), rest),
        ("attack", rest) => attack::run(&repository(), rest),
        ("soak", rest) => soak::run(&repository(), rest),
        ("odd", rest) => odd::run(&repository(), rest),
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
