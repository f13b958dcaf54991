//! Chores of the repository: `cargo xtask bench ...` measures, `cargo xtask dist` builds the static program,
//! `cargo xtask fuzz` looks for inputs that break a promise, `cargo xtask tidy` holds the mechanical rules.

mod bench;
mod dist;
mod fuzz;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str =
    "usage: cargo xtask bench [ARG...] | cargo xtask dist | cargo xtask fuzz [--seconds N] [TARGET...] | cargo xtask tidy";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.split_first() {
        Some((verb, rest)) if verb == "bench" => bench::run(&repository(), rest),
        Some((verb, [])) if verb == "dist" => dist::run(&repository()),
        Some((verb, rest)) if verb == "fuzz" => fuzz::run(&repository(), rest),
        Some((verb, [])) if verb == "tidy" => tidy::run(&repository()),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The top of the repository: this package lies right below it.
fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the repository").to_path_buf()
}
