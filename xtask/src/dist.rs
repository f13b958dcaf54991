//! The program as it is handed to people: one static file that runs on any Linux of its processor
//! and starts faster, in an archive with its manual, the helper program for files of Memvid and a
//! checksum, and a script that installs it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

const USAGE: &str = "usage: cargo xtask dist [TARGET...]

Without a target: target/dist/kapsa for this machine, linked statically.

With targets, or `all`: an archive of each in target/dist/, with SHA256SUMS and install.sh. They are cross-compiled with
cargo-zigbuild (cargo install cargo-zigbuild) and zig (pip install ziglang); rustup target add TARGET brings the standard
library.";

/// Links everything into the file and at a fixed address; only the last step differs from the
/// release build.
const FLAGS: [&str; 4] = ["-C", "target-feature=+crt-static", "-C", "relocation-model=static"];
/// What is built for `all`.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];
/// The helper program, a workspace of its own in `memvid/`.
const HELPER: &str = "kapsa-memvid";
const INSTALLER: &str = include_str!("../peers/install.sh");
/// What lies in an archive besides the program and its manual.
const BESIDE: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds what is asked for.
pub(crate) fn run(repository: &Path, args: &[String]) -> Result<(), String> {
    if args.iter().any(|arg| arg.starts_with('-')) {
        return Err(USAGE.to_owned());
    }
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from);
    let place = target.join("dist");
    fs::create_dir_all(&place).map_err(|error| failed(&place, &error))?;
    let here = native(repository, &target, &place)?;
    println!("{}", here.display());
    let helper = place.join(HELPER);
    let built = helper_of(repository, &target, None)?;
    fs::copy(&built, &helper).map_err(|error| failed(&helper, &error))?;
    println!("{}", helper.display());
    let targets: Vec<&str> = match args {
        [all] if all == "all" => TARGETS.to_vec(),
        args => args.iter().map(String::as_str).collect(),
    };
    if targets.is_empty() {
        return Ok(());
    }
    let version = version(repository)?;
    let mut archives = Vec::new();
    for name in targets {
        let programs =
            [crossed(repository, &target, name)?, helper_of(repository, &target, Some(name))?];
        archives.push(archive(
            repository,
            &place,
            &here,
            &programs,
            &format!("kapsa-{version}-{name}"),
        )?);
    }
    print!("{}", with_installer(&place, &archives)?);
    Ok(())
}

/// Puts the sums of the archives and the installer beside them. Returns the sums.
fn with_installer(place: &Path, archives: &[String]) -> Result<String, String> {
    let sums = output(Command::new("sha256sum").current_dir(place).args(archives))?;
    for (name, text) in [("SHA256SUMS", sums.as_str()), ("install.sh", INSTALLER)] {
        let path = place.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, &error))?;
    }
    Ok(sums)
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// The program of this machine, `target/dist/kapsa`.
fn native(repository: &Path, target: &Path, place: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(repository)
        .args(["rustc", "--locked", "--release", "--package", "kapsa", "--bin", "kapsa", "--"])
        .args(FLAGS);
    let hint = "the static build failed; it needs the C library's static archive (libc6-dev, \
                glibc-static)";
    succeed(&mut cargo, hint)?;
    let program = place.join("kapsa");
    fs::copy(target.join("release/kapsa"), &program).map_err(|error| failed(&program, &error))?;
    Ok(program)
}

/// The program for another machine.
fn crossed(repository: &Path, target: &Path, name: &str) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(repository)
        .args(["zigbuild", "--locked", "--release", "--package", "kapsa", "--bin", "kapsa"])
        .args(["--target", name]);
    succeed(&mut cargo, USAGE)?;
    let file = if name.contains("windows") { "kapsa.exe" } else { "kapsa" };
    Ok(target.join(name).join("release").join(file))
}

/// The program that reads and writes files of Memvid, for this machine or another one.
fn helper_of(repository: &Path, target: &Path, name: Option<&str>) -> Result<PathBuf, String> {
    let target = target.join(HELPER);
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(repository.join("memvid"))
        .arg(if name.is_some() { "zigbuild" } else { "build" })
        .args(["--locked", "--release", "--target-dir"])
        .arg(&target);
    if let Some(name) = name {
        cargo.args(["--target", name]);
    }
    succeed(&mut cargo, USAGE)?;
    Ok(target.join(name.unwrap_or_default()).join("release").join(HELPER))
}

/// Packs programs with the manual, which the program of this machine prints.
fn archive(
    repository: &Path,
    place: &Path,
    here: &Path,
    programs: &[PathBuf],
    name: &str,
) -> Result<String, String> {
    let folder = place.join(name);
    let manual = folder.join("man/man1");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    }
    fs::create_dir_all(&manual).map_err(|error| failed(&manual, &error))?;
    succeed(
        Command::new(here).args([OsStr::new("man"), OsStr::new("--out"), manual.as_os_str()]),
        "man failed",
    )?;
    let beside = BESIDE.map(|file| repository.join(file));
    for file in beside.iter().map(PathBuf::as_path).chain(programs.iter().map(PathBuf::as_path)) {
        let to = folder.join(file.file_name().unwrap_or_default());
        fs::copy(file, &to).map_err(|error| failed(&to, &error))?;
    }
    let packed = format!("{name}.tar.gz");
    // The same program gives the same archive: no names, no times.
    let tar = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
    let packing = ["--use-compress-program=gzip -n", "-cf"];
    succeed(
        Command::new("tar").current_dir(place).args(tar).args(packing).args([&packed, name]),
        "tar failed",
    )?;
    Ok(packed)
}

fn version(repository: &Path) -> Result<String, String> {
    let path = repository.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let named = text.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(named.ok_or("Cargo.toml names no version")?.trim_matches('"').to_owned())
}

fn succeed(command: &mut Command, hint: &str) -> Result<(), String> {
    let status =
        command.status().map_err(|error| format!("cannot start {command:?}: {error}\n{hint}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}\n{hint}")) }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::harness::scratch::Scratch;

    /// A program that says its version, and writes a page of a manual where it is asked for one.
    const STAND_IN: &str =
        "#!/bin/sh\nif [ \"$1\" = man ]; then echo page >\"$3/kapsa.1\"; else echo kapsa 0; fi\n";

    #[test]
    fn an_archive_brings_the_helper_beside_the_program() {
        let scratch = Scratch::new("dist-test").expect("a folder");
        let place = scratch.path();
        let made = place.join("made");
        fs::create_dir(&made).expect("a folder");
        let programs = ["kapsa", HELPER].map(|name| {
            let path = made.join(name);
            fs::write(&path, STAND_IN).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
            path
        });
        for file in BESIDE {
            fs::write(place.join(file), file).expect("written");
        }
        let name = format!("kapsa-0.0.0-{}-unknown-linux-musl", env::consts::ARCH);
        let packed = archive(place, place, &programs[0], &programs, &name).expect("packed");
        with_installer(place, &[packed]).expect("summed");

        let to = place.join("bin");
        let mut install = Command::new("sh");
        install.arg(place.join("install.sh")).arg(&to);
        assert_eq!(output(&mut install).expect("installed").lines().next(), Some("kapsa 0"));
        for name in ["kapsa", HELPER] {
            let installed = fs::metadata(to.join(name)).expect("it is there");
            assert_eq!(installed.permissions().mode() & 0o777, 0o755, "{name}");
        }
        assert!(place.join("share/man/man1/kapsa.1").is_file());
    }
}
