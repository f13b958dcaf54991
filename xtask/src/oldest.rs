//! The program and its libraries with the oldest compiler that is supported, whatever is newer
//! here. Its parts are built again from the first one, so it is not among the checks of a change.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Checks the program with the compiler that the workspace names as its oldest.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let version = oldest(repository)?;
    println!("Rust {version}");
    let install = ["toolchain", "install", &version, "--profile", "minimal", "--no-self-update"];
    succeed(Command::new("rustup").args(install), "rustup")?;
    // What only serves development may need a newer compiler.
    let check = ["check", "--package", "kapsa", "--locked"];
    // Cargo sets the compiler of this process for those that it starts.
    let mut cargo = Command::new("rustup");
    cargo.current_dir(repository).args(["run", &version, "cargo"]).args(check);
    succeed(cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO"), "cargo")
}

fn oldest(repository: &Path) -> Result<String, String> {
    let path = repository.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let named = text.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let version = named.ok_or_else(|| format!("{} names no rust-version", path.display()))?;
    Ok(version.trim_matches('"').to_string())
}

fn succeed(command: &mut Command, name: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed ({status})")) }
}
