//! Starts the benchmarks: a workspace of their own, built with all their programs before the run.

use std::path::Path;
use std::process::Command;

/// Builds `bench/` and runs it with `args`. Heavy parts are built only for those that name them:
/// `warm` and `facts` need the library, `memvid` its crate.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    let features = features(args);
    cargo(repository, "build", &features, &["--bins"])?;
    let mut program = vec!["--"];
    program.extend(args.iter().map(String::as_str));
    cargo(repository, "run", &features, &program)
}

fn features(args: &[String]) -> String {
    let named = |word: &str| args.iter().any(|arg| arg.split([',', '=']).any(|part| part == word));
    let wanted = [("warm", "library"), ("facts", "library"), ("memvid", "memvid")];
    let features: Vec<&str> =
        wanted.iter().filter(|(word, _)| named(word)).map(|&(_, feature)| feature).collect();
    features.join(",")
}

fn cargo(repository: &Path, verb: &str, features: &str, rest: &[&str]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.current_dir(repository).args([
        verb,
        "--release",
        "--quiet",
        "--manifest-path",
        "bench/Cargo.toml",
    ]);
    command.args(["--features", features]).args(rest);
    let status = command.status().map_err(|error| format!("failed to start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {verb} of bench failed ({status})")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_follow_the_arguments() {
        let check = |args: &[&str], expected: &str| {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            assert_eq!(features(&args), expected);
        };
        check(&["put", "--peers", "sqlite,tantivy"], "");
        check(&["warm", "--n", "1000"], "library");
        check(&["facts"], "library");
        check(&["put", "--peers=sqlite,memvid"], "memvid");
    }
}
