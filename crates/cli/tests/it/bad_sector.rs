//! A capsule on a disk with a bad sector, read by the real program through a shim that makes one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::{Sandbox, output};

const PAGE: u64 = 4096;
/// Where the log begins, behind header and commit pointers.
const LOG_START: usize = 3 * PAGE as usize;

/// The shim, compiled once by the system's C compiler.
pub(crate) fn shim() -> &'static Path {
    static SHIM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    &SHIM.get_or_init(|| compiled("bad_sector")).1
}

/// A shim, compiled by the system's C compiler, in a folder of its own.
pub(crate) fn compiled(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join(format!("{name}.so"));
    let source = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shim/{}.c"), name);
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([library.as_path(), Path::new(&source)])
        .arg("-ldl")
        .status()
        .expect("the C compiler that the README asks for");
    assert!(compiled.success());
    (folder, library)
}

/// A capsule with an index segment of many pages, vectors, a branch, and a tail.
fn capsule() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut lines = String::new();
    for number in 0..600 {
        let word = ["harbour", "lantern", "meadow", "orchard", "quarry", "saddle"][number % 6];
        lines += &format!(
            "{{\"uri\":\"note/{number}\",\"text\":\"The {word} number {number} {} lies {} miles off.\"}}\n",
            format!("{number:x}").repeat(9),
            number * 7 % 101
        );
    }
    sandbox.json_with(&["put", "-"], lines.as_bytes());
    sandbox.ok(&["embed", "--limit", "40"]);
    sandbox.ok(&["optimize"]);
    sandbox.ok(&["put", "--text", "The lantern of the tail", "--uri", "note/tail"]);
    sandbox
}

const READS: [&[&str]; 12] = [
    &["find", "lantern"],
    &["find", "the harbour far away", "--mode", "auto"],
    &["timeline", "--limit", "1000"],
    &["stats"],
    &["get", "note/300"],
    &["history", "note/300"],
    &["log"],
    &["context", "--agent", "me"],
    &["export", "--out", "part.jsonl", "--format", "jsonl", "--force"],
    &["clone", "copy.kapsa"],
    &["optimize"],
    &["compact"],
];

fn call(sandbox: &Sandbox, args: &[&str], bad: (u64, u64), maps_only: bool) -> Output {
    let mut command = sandbox.command();
    command
        .arg("--json")
        .args(args)
        .env("LD_PRELOAD", shim())
        .env("BAD_FILE", sandbox.capsule())
        .env("BAD_FROM", bad.0.to_string())
        .env("BAD_TO", bad.1.to_string());
    if maps_only {
        command.env("BAD_MAPS_ONLY", "1");
    }
    output(command, b"")
}

/// Whether a call failed as it should; panics when it failed otherwise.
fn failed_well(args: &[&str], bad: (u64, u64), output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some(), "{args:?}, bad {bad:?}: ended by a signal: {said}");
    if output.status.success() {
        return false;
    }
    let error: Value = serde_json::from_str(said.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{args:?}, bad {bad:?}: {error} in {said}"));
    assert_eq!(output.status.code(), Some(2), "{args:?}, bad {bad:?}: {error}");
    let error = &error["error"];
    assert_eq!(error["code"], "unreadable", "{args:?}, bad {bad:?}: {error}");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("kapsa verify") && hint.contains("kapsa salvage"), "{error}");
    // Without it the signal handler, which is for what is lost later, has answered.
    let offset = error["offset"].as_u64().unwrap_or_else(|| panic!("{args:?}: no place: {error}"));
    let near = bad.0.saturating_sub(64 * PAGE)..bad.1;
    assert!(near.contains(&offset), "{args:?}, bad {bad:?}: {error}");
    true
}

#[test]
fn a_bad_sector_is_an_error_of_every_verb_that_meets_it() {
    let original = capsule();
    let len = std::fs::metadata(original.capsule()).expect("there").len();
    let mut failures = 0;
    for maps_only in [false, true] {
        for page in 3..len / PAGE {
            let bad = (page * PAGE, (page + 1) * PAGE);
            let sandbox = Sandbox::empty();
            for args in READS {
                std::fs::create_dir_all(sandbox.path(".kapsa")).expect("a folder");
                std::fs::copy(original.capsule(), sandbox.capsule()).expect("copied");
                std::fs::remove_file(sandbox.path("copy.kapsa")).ok();
                let before = std::fs::read(sandbox.capsule()).expect("there");
                let output = call(&sandbox, args, bad, maps_only);
                let failed = failed_well(args, bad, &output);
                failures += usize::from(failed);
                if failed {
                    let after = std::fs::read(sandbox.capsule()).expect("there");
                    // A writer may have renewed the commit pointers that lie before the log.
                    let kept = after.get(LOG_START..before.len()) == before.get(LOG_START..);
                    assert!(kept, "{args:?}, bad {bad:?}: a failure changed the log");
                }
            }
        }
    }
    assert!(failures > 50, "the shim spoils what is read: {failures}");
}

#[test]
fn verify_and_salvage_go_round_a_bad_sector() {
    let sandbox = capsule();
    let len = std::fs::metadata(sandbox.capsule()).expect("there").len();
    for page in 3..len / PAGE {
        let bad = (page * PAGE, (page + 1) * PAGE);
        let report = call(&sandbox, &["verify"], bad, false);
        assert_eq!(report.status.code(), Some(2), "bad {bad:?}: {report:?}");
        let found: Value = serde_json::from_slice(&report.stdout).expect("a report");
        assert_ne!(found["problems"].as_array().map(Vec::len), Some(0), "bad {bad:?}: {found}");

        std::fs::remove_file(sandbox.path("saved.kapsa")).ok();
        let salvaged = call(&sandbox, &["salvage", "saved.kapsa"], bad, false);
        let said = String::from_utf8_lossy(&salvaged.stderr);
        assert!(salvaged.status.code().is_some_and(|code| code == 0 || code == 2), "{said}");
        let whole = sandbox.run(&["--capsule", "saved.kapsa", "verify"]);
        assert_eq!(whole.code, Some(0), "bad {bad:?}: {whole:?}");
    }
}

#[test]
fn doctor_reads_a_sample_and_says_so() {
    let sandbox = capsule();
    let report = sandbox.json(&["doctor"]);
    assert!(report.to_string().contains("sample"), "{report}");
    // A sector that the sample cannot miss: the head of the first segment.
    let len = std::fs::metadata(sandbox.capsule()).expect("there").len();
    let found = (3..len / PAGE).any(|page| {
        let output = call(&sandbox, &["doctor"], (page * PAGE, (page + 1) * PAGE), false);
        assert!(output.status.code().is_some(), "ended by a signal");
        output.status.code() == Some(2)
    });
    assert!(found, "no sector was in the sample");
}
