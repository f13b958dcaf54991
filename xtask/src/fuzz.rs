//! Runs the fuzz targets, each for a while under libFuzzer, from the inputs kept; what it adds
//! stays out of the repository.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io};

/// How long each target runs by default.
const SECONDS_DEFAULT: u64 = 60;
/// libFuzzer's limits: memory of the process, and seconds for one input.
const LIMITS: [&str; 2] = ["-rss_limit_mb=512", "-timeout=1"];
/// No sanitizer: what is fuzzed is safe Rust, and the address sanitizer's quarantine alone takes
/// half of the memory allowed.
const SANITIZER: [&str; 2] = ["--sanitizer", "none"];

/// What to run.
#[derive(Debug, PartialEq, Eq)]
struct Fuzzing {
    time: Duration,
    targets: Vec<String>,
}

/// Runs the targets named in `args`, or all; the error names those that found something.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    let known = targets(&repository.join("fuzz/fuzz_targets"))
        .map_err(|error| format!("cannot list the targets: {error}"))?;
    let plan = plan(args, &known)?;
    expect_tools()?;
    cargo(repository, &["build"], &[])?;
    let mut failed = Vec::new();
    for target in &plan.targets {
        println!("== {target}, {} s", plan.time.as_secs());
        if fuzz(repository, target, plan.time).is_err() {
            failed.push(target.as_str());
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("found by {}: the inputs are in fuzz/artifacts/", failed.join(", "))),
    }
}

/// Runs one target. New inputs go to a folder of the build, where the next run finds them.
fn fuzz(repository: &Path, target: &str, time: Duration) -> Result<(), String> {
    let grown = format!("fuzz/target/corpus/{target}");
    fs::create_dir_all(repository.join(&grown))
        .map_err(|error| format!("cannot make {grown}: {error}"))?;
    let kept = format!("fuzz/corpus/{target}");
    let seconds = format!("-max_total_time={}", time.as_secs());
    let options = [&["--", &seconds, "-print_final_stats=1"], &LIMITS[..]].concat();
    cargo(repository, &["run"], &[&[target, &grown, &kept], &options[..]].concat())
}

/// The targets are the binaries of the package.
fn targets(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<io::Result<Vec<String>>>()?;
    let mut targets: Vec<String> =
        names.iter().filter_map(|name| name.strip_suffix(".rs")).map(str::to_owned).collect();
    targets.sort();
    Ok(targets)
}

fn plan(args: &[String], known: &[String]) -> Result<Fuzzing, String> {
    let mut plan = Fuzzing { time: Duration::from_secs(SECONDS_DEFAULT), targets: Vec::new() };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--seconds" {
            let seconds =
                rest.next().and_then(|seconds| seconds.parse().ok()).filter(|&seconds| seconds > 0);
            plan.time = Duration::from_secs(seconds.ok_or("--seconds takes a number above 0")?);
        } else if known.contains(arg) {
            plan.targets.push(arg.clone());
        } else {
            return Err(format!("no fuzz target {arg}; the targets are {}", known.join(", ")));
        }
    }
    if plan.targets.is_empty() {
        plan.targets = known.to_vec();
    }
    Ok(plan)
}

fn expect_tools() -> Result<(), String> {
    let tools = [
        (
            &["+nightly", "--version"],
            "the nightly compiler is missing: rustup toolchain install nightly --profile minimal",
        ),
        (&["fuzz", "--version"], "cargo-fuzz is missing: cargo install --locked cargo-fuzz"),
    ];
    for (call, missing) in tools {
        let status = Command::new("cargo")
            .args(call)
            .env_remove("RUSTUP_TOOLCHAIN")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(missing.to_owned());
        }
    }
    Ok(())
}

/// Calls `cargo fuzz` with the nightly compiler.
fn cargo(repository: &Path, verb: &[&str], rest: &[&str]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    // A toolchain that started this program would overrule the one asked for.
    command.current_dir(repository).env_remove("RUSTUP_TOOLCHAIN").args(["+nightly", "fuzz"]);
    command.args(verb).args(SANITIZER).args(rest);
    let status = command.status().map_err(|error| format!("failed to start cargo: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cargo fuzz {} failed ({status})", verb.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: &[&str], expected: Result<(u64, &[&str]), &str>) {
        let owned =
            |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        let found = plan(&owned(args), &owned(&["a", "b"]));
        let expected = expected.map(|(seconds, targets)| Fuzzing {
            time: Duration::from_secs(seconds),
            targets: owned(targets),
        });
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn arguments_make_a_plan() {
        check(&[], Ok((60, &["a", "b"])));
        check(&["b", "--seconds", "5"], Ok((5, &["b"])));
        check(&["--seconds"], Err("--seconds takes a number above 0"));
        check(&["--seconds", "0"], Err("--seconds takes a number above 0"));
        check(&["c"], Err("no fuzz target c; the targets are a, b"));
    }
}
