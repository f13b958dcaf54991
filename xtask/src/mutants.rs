//! Mutations of the capsule that no test notices, by cargo-mutants. Each is killed by a new test,
//! or explained in `docs/mutants.md`: what is neither fails the check.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// What is mutated.
const PACKAGE: &str = "kapsa-capsule";
/// Where cargo-mutants leaves its lists.
const OUTPUT: &str = "target/mutants";
/// The list of survivors that change nothing anybody could notice.
const EXPLAINED: &str = "docs/mutants.md";
/// Optimised, so that the tests take seconds; without debug information, so that builds do too.
const PROFILE: &str = "mutants";
/// Mutants of this file exist only in builds with faults planted on purpose.
const NOT_BUILT: &str = "crates/capsule/src/seeded.rs";
/// Tests that need more time than all the others together. The first pass leaves them out.
const SLOW_TESTS: [&str; 5] = [
    "no_crash_loses_or_tears_a_commit",
    "no_failure_of_the_disk_loses_an_acknowledged_record",
    "every_flipped_bit_is_found_and_never_read_as_something_else",
    "every_lie_of_the_disk_is_found",
    "no_commit_names_a_dictionary_that_was_cut_away",
];
/// Temporary files lie in memory where that is possible and `TMPDIR` names no other place: syncs on
/// a disk take most of the tests' time, and what they do is tested on a simulated disk.
const MEMORY: &str = "/dev/shm";
/// What cargo-mutants ends with when a mutation was missed (2) or took too long (3).
const LISTED: [i32; 2] = [2, 3];

/// The same mutations are tried twice: with the quick tests, and those that these miss with all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Quick,
    Thorough,
}

impl Pass {
    /// How long the tests may take with one mutation, in seconds: some make a loop endless.
    fn timeout_seconds(self) -> &'static str {
        match self {
            Pass::Quick => "60",
            Pass::Thorough => "900",
        }
    }

    /// The call of cargo with what chooses the mutations, `chosen`.
    fn call(self, chosen: &[String]) -> Vec<String> {
        let mut call = vec!["mutants", "--package", PACKAGE, "--output", OUTPUT];
        call.extend(["--profile", PROFILE, "--exclude", NOT_BUILT]);
        call.extend(["--timeout", self.timeout_seconds()]);
        if self == Pass::Thorough {
            call.extend(["--iterate", "--baseline", "skip"]);
        }
        // Nothing else is built: no examples, no tests of the documentation.
        call.extend(["--cargo-arg=--lib", "--cargo-arg=--test=it"]);
        call.extend(chosen.iter().map(String::as_str));
        if self == Pass::Quick {
            call.extend(["--", "--"]);
            call.extend(SLOW_TESTS.iter().flat_map(|test| ["--skip", *test]));
        }
        call.into_iter().map(str::to_owned).collect()
    }
}

/// Mutates the files that `args` choose (`--file GLOB`), or all. `--quick` leaves the second pass
/// out. Installs cargo-mutants where it is missing.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    if !is_installed() {
        println!("cargo-mutants is missing and takes a few minutes to install");
        let install = ["install", "--locked", "cargo-mutants"].map(str::to_owned);
        cargo(repository, &install, &[])?;
    }
    let (quick, chosen): (Vec<String>, Vec<String>) =
        args.iter().cloned().partition(|arg| arg == "--quick");
    let missed_path = repository.join(OUTPUT).join("mutants.out/missed.txt");
    cargo(repository, &Pass::Quick.call(&chosen), &LISTED)?;
    if quick.is_empty() && !read(&missed_path)?.is_empty() {
        cargo(repository, &Pass::Thorough.call(&chosen), &LISTED)?;
    }
    let missed = read(&missed_path)?;
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
fn cargo(repository: &Path, call: &[String], accepted: &[i32]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.current_dir(repository).args(call);
    if env::var_os("TMPDIR").is_none() && Path::new(MEMORY).is_dir() {
        command.env("TMPDIR", MEMORY);
    }
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
