//! Regenerates the description of the JSON that verbs print, by the test that compares it, which
//! writes it on request.

use std::path::Path;
use std::process::Command;

/// The test.
const TEST: &str = "json::the_description_in_the_repository_is_the_one_of_the_types";

/// Writes `docs/json.md` and `docs/schema/`.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(repository).env("KAPSA_WRITE_SCHEMA", "1");
    cargo.args(["test", "--quiet", "--package", "kapsa", "--test", "it", "--", "--exact", TEST]);
    let status = cargo.status().map_err(|error| format!("failed to start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the description was not written".to_owned()) }
}
