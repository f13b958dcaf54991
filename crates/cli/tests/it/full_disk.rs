//! A disk that becomes full: an error with a name, nothing half made left behind, and what was
//! stored before is said.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::bad_sector::compiled;
use crate::meaning::tiny_model;
use crate::support::{Run, Sandbox, output};

/// The shim, compiled once by the system's C compiler.
fn shim() -> &'static Path {
    static SHIM: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    &SHIM.get_or_init(|| compiled("full_disk")).1
}

/// When the disk is full.
#[derive(Clone, Copy, Debug)]
enum Full {
    AfterBytes(u64),
    AfterSyncs(u64),
}

/// Calls on a disk that becomes full.
fn call(sandbox: &Sandbox, args: &[&str], full: Full) -> Run {
    let (name, value) = match full {
        Full::AfterBytes(bytes) => ("FULL_AFTER_BYTES", bytes),
        Full::AfterSyncs(syncs) => ("FULL_AFTER_SYNCS", syncs),
    };
    let folder = fs::canonicalize(sandbox.path("")).expect("the sandbox");
    let mut command = sandbox.command();
    command
        .arg("--json")
        .args(args)
        .env("KAPSA_PASSPHRASE", "a passphrase")
        .env("KAPSA_MODELS", sandbox.path("models"))
        .env("LD_PRELOAD", shim())
        .env("FULL_UNDER", folder)
        .env(name, value.to_string());
    output(command, b"").into()
}

fn error(run: &Run) -> Value {
    let said: Value = serde_json::from_str(&run.err)
        .unwrap_or_else(|error| panic!("{error} in {:?}, printed {:?}", run.err, run.out));
    said["error"].clone()
}

/// Every file and folder, but lock files, which are never removed.
fn everything(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(everything(&path));
        }
        if path.extension() != Some(OsStr::new("lock")) {
            found.insert(path);
        }
    }
    found
}

fn capsule() -> Sandbox {
    let sandbox = Sandbox::new();
    let line = |number: u64| {
        let noise: String = (1..90u64)
            .map(|n| format!("{:x}", (number * 90 + n).wrapping_mul(0x9e37_79b9)))
            .collect();
        format!("{{\"uri\":\"note/{number}\",\"text\":\"number {number} {noise}\"}}\n")
    };
    sandbox.json_with(&["put", "-"], (0..60).map(line).collect::<String>().as_bytes());
    sandbox.ok(&["branch", "create", "work"]);
    sandbox.ok(&["put", "--branch", "work", "--text", "x", "--uri", "note/work"]);
    sandbox.ok(&["clone", "other.kapsa"]);
    sandbox
}

#[test]
fn nothing_half_made_is_left() {
    let calls: [&[&str]; 15] = [
        &["put", "--text", "more than a line of text"],
        &["compact"],
        &["optimize"],
        &["export", "--format", "jsonl"],
        &["export", "--format", "markdown"],
        &["export", "--format", "capsule"],
        &["export", "--format", "capsule", "--encrypt"],
        &["salvage", "salvaged.kapsa"],
        &["import", "other.kapsa"],
        &["clone", "copy.kapsa"],
        &["create", "new.kapsa"],
        &["resolve-uri", "note/1", "--out", "file"],
        &["merge", "work", "--plan", "plan.json"],
        &["branch", "switch", "work"],
        &["model", "add", "tiny"],
    ];
    for args in calls {
        let sandbox = capsule();
        // Folders that are made on the way are no harm.
        for folder in [".kapsa/exports", ".kapsa/mounts/keep", "models"] {
            fs::create_dir_all(sandbox.path(folder)).expect("a folder");
        }
        fs::rename(tiny_model(&sandbox), sandbox.path("tiny")).expect("moved");
        let mut failed = 0;
        for full in [
            Full::AfterBytes(0),
            Full::AfterBytes(1),
            Full::AfterBytes(4096),
            Full::AfterBytes(20_000),
            Full::AfterSyncs(1),
            Full::AfterSyncs(2),
        ] {
            let before = everything(&sandbox.path(""));
            let run = call(&sandbox, args, full);
            if run.code == Some(0) {
                break;
            }
            failed += 1;
            let error = error(&run);
            assert_eq!(
                (run.code, error["code"].as_str()),
                (Some(2), Some("disk_full")),
                "{args:?}, {full:?}: {error}"
            );
            assert_eq!(error["stored"], Value::Null, "{args:?}, {full:?}: {error}");
            assert_eq!(everything(&sandbox.path("")), before, "{args:?}, {full:?}: {error}");
        }
        assert!(failed > 0, "{args:?} writes nothing");
        sandbox.ok(&["verify"]);
    }
}

#[test]
fn many_files_of_an_export_are_synced_together() {
    let sandbox = capsule();
    let args = ["export", "--format", "markdown", "--out", "notes"];
    let run = call(&sandbox, &args, Full::AfterSyncs(8));
    assert_eq!(run.code, Some(0), "{}", run.err);
}

/// Calls `args` in copies of a folder, on a disk that is full after ever more syncs, until it
/// succeeds. Gives how often it had stored something before it failed.
fn until_it_succeeds(made: fn() -> Sandbox, args: &[&str], state: fn(&Sandbox) -> Value) -> usize {
    let mut partly = 0;
    for syncs in 0..40 {
        let sandbox = made();
        let before = state(&sandbox);
        let run = call(&sandbox, args, Full::AfterSyncs(syncs));
        if run.code == Some(0) {
            return partly;
        }
        let error = error(&run);
        let has_changed = state(&sandbox) != before;
        assert_eq!(error["stored"] == true, has_changed, "{args:?} after {syncs}: {error}");
        let message = error["message"].as_str().expect("a message");
        assert_eq!(message.contains("; cannot "), has_changed, "{message}");
        partly += usize::from(has_changed);
    }
    panic!("{args:?} never succeeds");
}

#[test]
fn what_a_pull_has_copied_is_said() {
    let made = || {
        let sandbox = capsule();
        for text in ["one", "two", "three"] {
            sandbox.ok(&["put", "--capsule", "other.kapsa", "--text", text]);
        }
        sandbox
    };
    let state = |sandbox: &Sandbox| sandbox.json(&["stats"])["record_count"].clone();
    assert!(until_it_succeeds(made, &["pull", "other.kapsa"], state) > 1);
}

#[test]
fn what_the_end_of_a_run_has_stored_is_said() {
    let made = || {
        let sandbox = capsule();
        sandbox.ok(&["run", "start", "--run", "17", "--strict"]);
        sandbox.ok(&["run", "task", "start", "t", "--run", "17", "--strict"]);
        let record =
            ["run", "record", "--run", "17", "--task", "t", "--role", "builder", "--strict"];
        sandbox.ok(&[&record[..], &["--text", "built"]].concat());
        sandbox
    };
    let state = |sandbox: &Sandbox| sandbox.json(&["stats"])["commit_count"].clone();
    let task = ["run", "finish", "--run", "17", "--task", "t", "--merge", "full", "--strict"];
    assert!(until_it_succeeds(made, &task, state) > 0);
    let run = ["run", "finish", "--run", "17", "--merge", "full", "--summary", "s", "--strict"];
    assert!(until_it_succeeds(made, &run, state) > 1);
}

#[test]
fn where_the_old_capsule_is_is_said() {
    let state =
        |sandbox: &Sandbox| Value::Bool(sandbox.path(".kapsa/workspace.kapsa.bak").exists());
    assert!(until_it_succeeds(capsule, &["init", "--force"], state) > 0);
}
