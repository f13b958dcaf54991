//! Mutations of the capsule that no test notices, by cargo-mutants. Each is killed by a new test,
//! or explained in `docs/mutants.md`: what is neither fails the check.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

/// What is mutated.
const PACKAGE: &str = "kapsa-capsule";
/// Where cargo-mutants leaves its lists.
const OUTPUT: &str = "target/mutants";
/// The list of survivors that change nothing anybody could notice.
const EXPLAINED: &str = "docs/mutants.md";
/// How long the tests may take with one mutation, in seconds: some make a loop endless.
const TIMEOUT_SECONDS: &str = "900";
/// What cargo-mutants ends with when a mutation was missed (2) or took too long (3).
const LISTED: [i32; 2] = [2, 3];

/// Mutates the files that `args` choose (`--file GLOB`), or all. Installs cargo-mutants where it is
/// missing.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    if !is_installed() {
        println!("cargo-mutants is missing and takes a few minutes to install");
        cargo(repository, &["install", "--locked", "cargo-mutants"], &[], &[])?;
    }
    let call = ["mutants", "--package", PACKAGE, "--output", OUTPUT, "--timeout", TIMEOUT_SECONDS];
    cargo(repository, &call, args, &LISTED)?;
    let missed = read(&repository.join(OUTPUT).join("mutants.out/missed.txt"))?;
    let explained = read(&repository.join(EXPLAINED))?;
    let survivors = unexplained(&missed, &explained);
    println!(
        "{} survivors, {} of them not explained in {EXPLAINED}",
        missed.lines().count(),
        survivors.len()
    );
    if survivors.is_empty() { Ok(()) } else { Err(survivors.join("\n")) }
}

/// A list that is not there is empty.
fn read(path: &Path) -> Result<String, String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| format!("cannot read {}: {error}", path.display())),
    }
}

/// The mutations in `missed` that `explained` does not quote.
fn unexplained(missed: &str, explained: &str) -> Vec<String> {
    let quoted = |mutation: &String| !explained.contains(&format!("`{mutation}`"));
    missed.lines().map(without_position).filter(quoted).collect()
}

/// `src/a.rs:12:9: replace f with ()` without its line and column, which every edit moves.
fn without_position(mutation: &str) -> String {
    match mutation.split_once(": ") {
        Some((place, what)) => format!("{}: {what}", place.split(':').next().unwrap_or_default()),
        None => mutation.to_owned(),
    }
}

fn is_installed() -> bool {
    let mut version = Command::new("cargo");
    version.args(["mutants", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Runs cargo, which may end with one of `accepted` as well as with 0.
fn cargo(
    repository: &Path,
    call: &[&str],
    args: &[String],
    accepted: &[i32],
) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.current_dir(repository).args(call).args(args);
    let status = command.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    let accepts = status.success() || status.code().is_some_and(|code| accepted.contains(&code));
    if accepts { Ok(()) } else { Err(format!("cargo {} failed ({status})", call.join(" "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_are_explained_wherever_they_lie() {
        let missed = "src/a.rs:12:9: replace f with ()\nsrc/b.rs:7:1: replace < with == in g\n";
        let explained = "- `src/a.rs: replace f with ()`: a hint to the system only.\n";
        assert_eq!(unexplained(missed, explained), ["src/b.rs: replace < with == in g"]);
        assert_eq!(unexplained("", explained), [""; 0]);
    }
}
