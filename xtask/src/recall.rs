//! Measures recall with a program of its own, so that xtask stays light; see `cargo xtask recall
//! --help`.

use std::path::Path;
use std::process::Command;

/// Builds `crates/recall` and runs it with `args`; paths among them are relative to where the
/// command was given.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command
        .args(["run", "--release", "--quiet", "--manifest-path"])
        .arg(repository.join("Cargo.toml"));
    command.args(["--package", "kapsa-recall", "--"]).args(args);
    let status = command.status().map_err(|error| format!("failed to start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("recall failed ({status})")) }
}
