//! Writes the plugin folders of programs of agents, by an example of the crate that knows them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the folders are written by default, below the repository.
const OUT: &str = "target/plugins";

/// Writes the plugin folders to `--out DIR`.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    let out: PathBuf = match args {
        [] => repository.join(OUT),
        [flag, folder] if flag == "--out" => PathBuf::from(folder),
        _ => return Err("usage: cargo xtask plugin [--out DIR]".to_owned()),
    };
    let out = std::path::absolute(&out)
        .map_err(|error| format!("failed to find {}: {error}", out.display()))?;
    let mut cargo = Command::new("cargo");
    cargo.current_dir(repository);
    cargo.args(["run", "--quiet", "--package", "kapsa-setup", "--example", "plugin", "--"]);
    let status =
        cargo.arg(out).status().map_err(|error| format!("failed to start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the plugins were not written".to_owned()) }
}
