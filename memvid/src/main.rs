//! Reads and writes `.mv2` files in a process of its own: a request comes as arguments, records go
//! as lines of JSON. Knows no capsule; `kapsa` starts it, and kills it when it takes too long.
//!
//! - `read FILE` writes `{"frame":…}` and `{"card":…}` to standard output, `{"end":…}` last.
//! - `write FILE` makes FILE of the records on standard input, as `kapsa export --format jsonl`
//!   writes them, and answers `{"end":…}`.
//! - `put FILE` adds the one record on standard input. `find FILE` answers the
//!   `{"query":…,"limit":…}` on standard input with `{"hit":…}`. Both answer `{"end":…}` last.
//!
//! What fails is told by `{"error":{"code":…,"message":…}}`, and the exit code is 1. An answer
//! without an end is cut.

mod answer;
mod find;
mod limits;
mod pages;
mod read;
mod text;
mod write;

use std::path::Path;
use std::process::ExitCode;

use answer::{Answer, Failure};

const USAGE: &str = "usage: kapsa-memvid read|write|put|find FILE [--memory BYTES] [--seconds N]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut answer = Answer::new();
    match run(&args, &mut answer).and_then(|()| answer.finish()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            answer.fail(&failure);
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String], answer: &mut Answer) -> Result<(), Failure> {
    let [verb, file, options @ ..] = args else {
        return Err(Failure::new("usage", USAGE));
    };
    limits::set(options)?;
    let file = Path::new(file);
    match verb.as_str() {
        "read" => read::run(file, answer),
        "write" => write::run(file, answer),
        "put" => write::put(file, answer),
        "find" => find::run(file, answer),
        _ => Err(Failure::new("usage", USAGE)),
    }
}
