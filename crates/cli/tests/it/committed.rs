//! What fails after a commit is no failure of the commit, and says so.

use std::fs::File;
use std::process::Output;

use serde_json::Value;

use crate::support::{Sandbox, output};

/// Calls with a standard output that takes nothing; gives the error of a program.
fn full(sandbox: &Sandbox, args: &[&str], stdin: &[u8]) -> Value {
    let full = || File::options().write(true).open("/dev/full").expect("/dev/full");
    let input = sandbox.write("input", stdin);
    let mut command = sandbox.command();
    command.args(args).arg("--json").stdin(File::open(input).expect("readable")).stdout(full());
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    let error: Value =
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{args:?}: {error} in {said}"));
    let error = error["error"].clone();
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("; cannot write to standard output"), "{args:?}: {message}");
    assert_eq!(error["stored"], true, "{args:?}: {error}");
    error
}

fn begins(error: &Value, with: &str) {
    assert!(error["message"].as_str().is_some_and(|said| said.starts_with(with)), "{error}");
}

#[test]
fn what_was_stored_is_told_when_standard_output_is_full() {
    let sandbox = Sandbox::new();
    let put = full(&sandbox, &["put", "--text", "x", "--uri", "note/a"], b"");
    begins(&put, "stored as #1; ");
    assert_eq!(put["sequence"], 1);
    assert_eq!(sandbox.json(&["history", "note/a"])["count"], 1);

    let point = full(&sandbox, &["checkpoint", "--label", "v1"], b"");
    begins(&point, "checkpoint ");
    let points = sandbox.json(&["checkpoints"]);
    assert_eq!(points["count"], 1);
    assert_eq!(points["checkpoints"][0]["sequence"], point["sequence"]);

    let branch = full(&sandbox, &["branch", "create", "run/1"], b"");
    begins(&branch, "branch run/1 was created; ");
    assert_eq!(branch["branch"], "run/1");
    sandbox.ok(&["put", "--branch", "run/1", "--uri", "note/b", "--text", "y"]);

    let merged = full(&sandbox, &["merge", "run/1"], b"");
    begins(&merged, "run/1 was merged into main as #");
    assert_eq!(merged["branch"], "main");
    assert_eq!(sandbox.json(&["history", "note/b"])["count"], 1);
    assert_eq!(
        sandbox.json(&["log", "--limit", "1"])["records"][0]["sequence"],
        merged["sequence"]
    );
}

#[test]
fn whoever_goes_on_with_a_stream_stores_nothing_twice() {
    let sandbox = Sandbox::new();
    let lines = b"{\"text\":\"one\"}\n{\"text\":\"two\"}\n";
    let error = full(&sandbox, &["put", "-", "--each"], lines);
    begins(&error, "stored 2 records, up to #2; ");
    assert_eq!((&error["committed"], &error["resume_line"]), (&2.into(), &3.into()), "{error}");
    let error = full(&sandbox, &["put", "-", "--each", "--batch", "1"], lines);
    begins(&error, "stored 1 record, up to #3; ");
    assert_eq!((&error["committed"], &error["resume_line"]), (&1.into(), &2.into()), "{error}");
    assert_eq!(sandbox.count(), 3);
}

#[test]
fn every_verb_that_commits_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("policy.json", r#"{"weights":{"a":1}}"#);
    sandbox.write("docs/a.md", "# A\n\ntext\n");
    let calls: [&[&str]; 27] = [
        &["put", "docs"],
        &["put", "--text", "a", "--uri", "note/a"],
        &["alias", "note/old", "note/a"],
        &["forget", "note/a"],
        &["put", "--text", "b", "--uri", "note/b", "--run", "7"],
        &["event", "emit", EVENT, "--payload", GATE],
        &["policy", "capture", "policy.json"],
        &["graph", "add-card", "--type", "component", "--title", "Parser"],
        &["fact", "add", "Acme pays late", "--id", "f1", "--compare", "none"],
        &["fact", "add", "Acme pays at once", "--id", "f2", "--compare", "none"],
        &["fact", "contest", "f1", "f2"],
        &["fact", "resolve", "f1"],
        &["episode", "add", "called", "--agent", "cro"],
        &["insight", "add", "late", "--id", "i1", "--agent", "cro", "--confidence", "0.9"],
        &["insight", "publish", "i1", "--agent", "cro"],
        &["clearance", "set", "cro", "revenue=confidential"],
        &["run", "start", "--run", "17", "--strict"],
        &["run", "record", "--run", "17", "--role", "planner", "--text", "plan"],
        &["run", "finish", "--run", "17"],
        &["revert", "--run", "7"],
        &["branch", "create", "work"],
        &["branch", "archive", "work"],
        &["purge", "note/b", "--yes"],
        &["embed"],
        &["export", "--out", "all.jsonl", "--format", "jsonl"],
        &["clone", "copy.kapsa"],
        &["compact"],
    ];
    for args in calls {
        full(&sandbox, args, b"");
    }
}

const EVENT: &str = "GateDecision";
const GATE: &str = r#"{"gate_name":"tests","outcome":"Pass","stage":"review","blocking":true}"#;

/// Calls on a disk that reads nothing once the capsule was synced.
fn unreadable_after(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = sandbox.command();
    command
        .arg("--json")
        .args(args)
        .env("LD_PRELOAD", crate::bad_sector::shim())
        .env("BAD_FILE", sandbox.capsule())
        .env("BAD_FROM", "0")
        .env("BAD_TO", i64::MAX.to_string())
        .env("BAD_AFTER_SYNC", "1");
    output(command, b"")
}

#[test]
fn nothing_is_read_after_the_commit() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x"]);
    sandbox.ok(&["branch", "create", "run/1"]);
    sandbox.ok(&["put", "--branch", "run/1", "--uri", "note/b", "--text", "y"]);
    let gate = ["event", "emit", EVENT, "--payload", GATE];
    sandbox.write("policy.json", r#"{"weights":{"a":1}}"#);
    let calls: [&[&str]; 8] = [
        &["put", "--text", "z"],
        &["branch", "create", "work"],
        &["branch", "archive", "work"],
        &["checkpoint", "--label", "v1"],
        &["checkpoint", "--stage", "plan"],
        &gate,
        &["policy", "capture", "policy.json"],
        &["merge", "run/1"],
    ];
    for args in calls {
        let output = unreadable_after(&sandbox, args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let warned = answer["warnings"][0]["code"].as_str();
        // The vectors of what was merged are made after the merge.
        assert_eq!(warned, (args[0] == "merge").then_some("vectors_failed"), "{args:?}: {answer}");
    }
}
