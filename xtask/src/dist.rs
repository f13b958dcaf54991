//! The program as it is handed to people: one static file that runs on any Linux of its processor,
//! and starts faster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Links everything into the file and at a fixed address; only the last step differs from the
/// release build.
const FLAGS: [&str; 4] = ["-C", "target-feature=+crt-static", "-C", "relocation-model=static"];

/// Builds `target/dist/kapsa`.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from);
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(repository)
        .args(["rustc", "--locked", "--release", "--package", "kapsa", "--bin", "kapsa", "--"])
        .args(FLAGS);
    let built = cargo.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !built.success() {
        return Err("the static build failed; it needs the C library's static archive (libc6-dev, glibc-static)".to_owned());
    }
    let place = target.join("dist");
    let copied = fs::create_dir_all(&place)
        .and_then(|()| fs::copy(target.join("release/kapsa"), place.join("kapsa")));
    copied.map_err(|error| format!("cannot write {}: {error}", place.display()))?;
    println!("{}", place.join("kapsa").display());
    Ok(())
}
