//! Licences, sources, bans and known vulnerabilities of dependencies, by cargo-deny and the policy
//! in `deny.toml`.

use std::path::Path;
use std::process::{Command, Stdio};

/// The workspaces that programs come from; the policy is found above each.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "memvid/Cargo.toml"];

/// Checks the policy; `args` name the checks, all four where there are none. Installs cargo-deny
/// where it is missing.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    if !is_installed() {
        println!("cargo-deny is missing and takes a few minutes to install");
        cargo(repository, &["install", "--locked", "cargo-deny"], &[])?;
    }
    for manifest in MANIFESTS {
        println!("{manifest}");
        let call = ["deny", "--locked", "--manifest-path", manifest, "check"];
        cargo(repository, &call, args)?;
    }
    Ok(())
}

fn is_installed() -> bool {
    let mut version = Command::new("cargo");
    version.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

fn cargo(repository: &Path, call: &[&str], args: &[String]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.current_dir(repository).args(call).args(args);
    let status = command.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cargo {} failed ({status})", call.join(" ")))
    }
}
