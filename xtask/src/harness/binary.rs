//! The program under test: the one that was named, or one built from this repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::args::Chosen;

/// Copies the program into `folder`, so that a build going on beside the run cannot exchange it,
/// and returns the copy.
pub(crate) fn prepare(
    repository: &Path,
    chosen: &Chosen,
    folder: &Path,
) -> Result<PathBuf, String> {
    let source = match chosen.text("--kapsa") {
        Some(path) => PathBuf::from(path),
        None => build(repository, chosen.text("--profile").unwrap_or("release"))?,
    };
    let copy = folder.join("kapsa");
    fs::copy(&source, &copy)
        .map_err(|error| format!("cannot copy {}: {error}", source.display()))?;
    Ok(copy)
}

fn build(repository: &Path, profile: &str) -> Result<PathBuf, String> {
    eprintln!("building kapsa ({profile})");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository).args([
        "build",
        "--quiet",
        "--package",
        "kapsa",
        "--bin",
        "kapsa",
        "--profile",
        profile,
    ]);
    let status = cargo
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("kapsa does not build; --kapsa PATH names one that is built".to_owned());
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target(repository).join(folder).join("kapsa"))
}

/// The folder that cargo builds into.
pub(crate) fn target(repository: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from)
}

/// What `program --version` says.
pub(crate) fn version(program: &Path) -> Result<String, String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !text.is_empty() {
        Ok(text)
    } else {
        Err(format!("{} does not report a version", program.display()))
    }
}

/// Whether the program asks for a dynamic linker, so that a preloaded library takes effect. Reads
/// the ELF program headers.
pub(crate) fn is_dynamic(program: &Path) -> Result<bool, String> {
    const HEADERS_OFFSET_AT: usize = 32;
    const HEADER_BYTES_AT: usize = 54;
    const HEADER_COUNT_AT: usize = 56;
    const INTERPRETER: u64 = 3;
    let bytes =
        fs::read(program).map_err(|error| format!("cannot read {}: {error}", program.display()))?;
    if !bytes.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return Err(format!("{} is not a 64-bit little-endian ELF program", program.display()));
    }
    let number = |at: usize, len: usize| {
        let field = bytes.get(at..at + len)?;
        Some(field.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)))
    };
    let headers = || {
        let (start, size, count) = (
            number(HEADERS_OFFSET_AT, 8)?,
            number(HEADER_BYTES_AT, 2)?,
            number(HEADER_COUNT_AT, 2)?,
        );
        (0..count)
            .map(|i| number(usize::try_from(start + i * size).ok()?, 4))
            .collect::<Option<Vec<u64>>>()
    };
    headers()
        .map(|kinds| kinds.contains(&INTERPRETER))
        .ok_or_else(|| format!("{} is cut short", program.display()))
}
