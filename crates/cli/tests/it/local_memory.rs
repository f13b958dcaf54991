//! `kapsa import local-memory`: what searches find there comes here once, after a backup. A script
//! stands in for the program, and a listener for its daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::backends::{Daemon, StandIn};
use crate::support::{Run, Sandbox, bytes, output};

/// A capsule, a daemon and a program that answers a search with the file of its name.
struct There {
    sandbox: Sandbox,
    daemon: StandIn,
}

impl There {
    fn new(daemon: Daemon) -> There {
        let sandbox = Sandbox::new();
        sandbox.write("answers/none", found(&[]).to_string());
        let there = There { sandbox, daemon: StandIn::start(daemon) };
        there.program(
            "printf '%s\\n' \"$*\" >>calls\nfile=\"answers/$2\"\n[ -f \"$file\" ] || \
             file=answers/none\ncat \"$file\"",
        );
        there
    }

    fn program(&self, script: &str) {
        program(&self.sandbox, script);
    }

    fn answers(&self, query: &str, memories: &[Value]) {
        self.sandbox.write(&format!("answers/{query}"), found(memories).to_string());
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut command = self.sandbox.command();
        command
            .env("KAPSA_LOCAL_MEMORY_URL", self.daemon.url())
            .env("KAPSA_LOCAL_MEMORY", self.sandbox.path("bin/local-memory"))
            .args(["import", "local-memory"])
            .args(args);
        output(command, b"").into()
    }

    fn told(&self, args: &[&str]) -> (Option<i32>, Value) {
        let run = self.run(&[args, &["--json"]].concat());
        let said = if run.out.is_empty() { &run.err } else { &run.out };
        (run.code, serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {run:?}")))
    }

    /// Names of the backups beside the capsule.
    fn backups(&self) -> Vec<PathBuf> {
        let folder = self.sandbox.capsule().parent().expect("a folder").to_path_buf();
        let entries = fs::read_dir(folder).expect("read").map(|entry| entry.expect("one").path());
        entries.filter(|path| path.to_string_lossy().contains(".before-import-")).collect()
    }
}

fn program(sandbox: &Sandbox, script: &str) {
    let path = sandbox.write("bin/local-memory", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// A program that answers each search with one more memory.
pub(crate) fn without_end(sandbox: &Sandbox) {
    let memory = json!({"id": "ID", "content": "words", "tags": ["tag-ID"]});
    let answer = found(&[memory]).to_string();
    program(
        sandbox,
        &format!(
            "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >n\n\
             echo '{answer}' | sed s/ID/$n/g"
        ),
    );
}

/// A program that finds one memory.
pub(crate) fn with_one(sandbox: &Sandbox) {
    let answer = found(&[memory("m1", "The port is 5433.", &["rare"])]).to_string();
    program(sandbox, &format!("echo '{answer}'"));
}

fn found(memories: &[Value]) -> Value {
    let results: Vec<Value> =
        memories.iter().map(|memory| json!({"memory": memory, "relevance_score": 0.5})).collect();
    json!({"success": true, "data": {"results": results}, "error": null})
}

fn memory(id: &str, content: &str, tags: &[&str]) -> Value {
    json!({"id": id, "content": content, "tags": tags, "domain": "spec-kit", "importance": 8,
        "embedding": [0.5, 0.5], "created_at": format!("2025-01-0{}T00:00:00Z", id.len())})
}

/// Three memories, of which the third is found by a tag of the first.
fn three(there: &There) {
    there.answers("*", &[memory("m1", "The port is 5433.", &["rare", "stage:plan"])]);
    there.answers("the", &[memory("m22", "Tabs, not spaces.", &[])]);
    there.answers("rare", &[memory("m333", "Found by its tag.", &[])]);
}

#[test]
fn what_is_there_comes_once_after_a_backup() {
    let there = There::new(Daemon::Up);
    three(&there);
    let before = there.sandbox.ok(&["stats"]);
    let (code, told) = there.told(&["--status"]);
    assert_eq!((code, &told["source_count"], &told["here"]), (Some(0), &json!(3), &json!(0)));
    assert_eq!(told["missing"].as_array().map(Vec::len), Some(3), "{told}");
    let (code, told) = there.told(&["--dry-run"]);
    assert_eq!((code, &told["added"], &told["dry_run"]), (Some(0), &json!(3), &json!(true)));
    assert_eq!((there.told(&["--verify"]).0, there.backups().len()), (Some(1), 0));
    assert_eq!(there.sandbox.ok(&["stats"]), before, "nothing was written");

    let (code, told) = there.told(&["--all"]);
    assert_eq!((code, &told["stored_count"]), (Some(0), &json!(3)), "{told}");
    assert_eq!((&told["source_count"], &told["skipped_count"]), (&json!(3), &json!(0)));
    assert_eq!((&told["found"]["settled"], there.sandbox.count()), (&json!(true), 3));
    let backup = told["backup_path"].as_str().expect("a backup").to_string();
    assert_eq!(there.backups(), [PathBuf::from(&backup)]);
    let kept = there.sandbox.json(&["stats", "--capsule", &backup]);
    assert_eq!(kept["uri_count"], 0, "{kept}");
    let record = there.sandbox.json(&["get", "local-memory/memory/m1"]);
    assert_eq!(record["text"], "The port is 5433.");
    assert_eq!(record["tags"], json!({"rare": "", "stage": "plan"}));
    assert_eq!(
        (&record["trust"], &record["metadata"]["importance"]),
        (&json!("import"), &json!(8))
    );
    assert_eq!(record["metadata"]["embedding"], Value::Null);
    assert_eq!(record["created_at"], "2025-01-02T00:00:00Z");

    let (code, told) = there.told(&["--all"]);
    assert_eq!(
        (code, &told["stored_count"], &told["skipped_count"]),
        (Some(0), &json!(0), &json!(3))
    );
    assert_eq!((&told["backup_path"], there.backups().len()), (&Value::Null, 1));
    assert_eq!((there.told(&["--verify"]).0, there.sandbox.count()), (Some(0), 3));
    let run = there.run(&["--status"]);
    assert_eq!(run.out, "3 memories of local-memory: 3 here as they are there\n");
}

#[test]
fn a_comparison_names_what_differs_and_what_is_not_here() {
    let there = There::new(Daemon::Up);
    three(&there);
    assert_eq!(there.told(&["--all"]).0, Some(0));
    there.sandbox.ok(&["put", "--uri", "local-memory/memory/m1", "--text", "The port is 1."]);
    there.sandbox.ok(&["forget", "local-memory/memory/m22"]);
    let (code, told) = there.told(&["--verify"]);
    assert_eq!((code, &told["same"], &told["here"]), (Some(1), &json!(false), &json!(1)), "{told}");
    assert_eq!(told["differing"], json!(["mv2://default/local-memory/memory/m1"]));
    assert_eq!(told["missing"], json!(["mv2://default/local-memory/memory/m22"]));
    let run = there.run(&["--verify"]);
    assert_eq!(
        (run.code, run.out.as_str()),
        (
            Some(1),
            "3 memories of local-memory: 1 here as they are there, 1 not here, 1 that differ \
             here\n  not here: local-memory/memory/m22\n  differs: local-memory/memory/m1\n"
        )
    );
}

#[test]
fn stored_and_skipped_are_what_is_there() {
    let there = There::new(Daemon::Up);
    let mut all = vec![
        memory("m1", "Said twice.", &[]),
        memory("m22", "Said twice.", &[]),
        memory("m333", "", &[]),
        json!({"content": "Without an id."}),
        json!("no object"),
    ];
    all.push(all[0].clone());
    there.answers("*", &all);
    let (code, told) = there.told(&["--all"]);
    assert_eq!((code, &told["source_count"]), (Some(1), &json!(5)), "{told}");
    assert_eq!((&told["stored_count"], &told["skipped_count"]), (&json!(2), &json!(3)), "{told}");
    assert_eq!((&told["doubled"], told["skipped"].as_array().map(Vec::len)), (&json!(1), Some(2)));
    assert_eq!(there.sandbox.json(&["get", "local-memory/memory/m1"])["text"], "Said twice.");
    let (code, told) = there.told(&["--all"]);
    assert_eq!((code, &told["stored_count"], &told["unchanged"]), (Some(1), &json!(0), &json!(2)));
}

#[test]
fn hostile_answers_meet_a_limit_and_leave_the_capsule_as_it_is() {
    let there = There::new(Daemon::Up);
    let before = bytes(&there.sandbox.capsule());
    for (script, told) in [
        ("head -c 40000000 /dev/zero", "answers more than 16777216 bytes"),
        ("yes '{'", "more than"),
        ("echo '{\"success\": tru'", "cannot be read"),
        ("echo '{\"success\": true, \"data\": {\"results\": 5}}'", "cannot be read"),
        ("echo '{\"success\": false, \"error\": \"no\\u001b[31m index\"}'", "no"),
        ("exit 3", "cannot be read"),
    ] {
        there.program(script);
        let (code, error) = there.told(&["--all"]);
        let message = error["error"]["message"].as_str().unwrap_or_default();
        assert_eq!((code, &error["error"]["code"]), (Some(1), &json!("backend_unavailable")));
        assert!(message.contains(told) && message.len() < 1000, "{script}: {message}");
        let run = there.run(&["--all"]);
        assert!(!run.err.contains('\u{1b}'), "{script}: {:?}", run.err);
    }
    there.program("echo '{\"success\": true, \"data\": {\"results\": null}, \"error\": null}'");
    let (code, told) = there.told(&["--all"]);
    assert_eq!((code, &told["source_count"]), (Some(0), &json!(0)), "{told}");
    assert_eq!((before, there.backups().len()), (bytes(&there.sandbox.capsule()), 0));
}

#[test]
fn a_store_that_has_ever_more_is_left_after_a_number_of_searches() {
    let there = There::new(Daemon::Up);
    without_end(&there.sandbox);
    let (code, told) = there.told(&["--status"]);
    assert_eq!((code, &told["found"]["searches"]), (Some(0), &json!(300)), "{told}");
    assert_eq!(told["found"]["settled"], false);
    assert_eq!(told["warnings"][0]["code"], "source_not_settled");
}

#[test]
fn control_characters_reach_no_terminal_and_no_name() {
    let there = There::new(Daemon::Up);
    let evil = "../\u{1b}[2J\nx";
    there.answers(
        "*",
        &[
            json!({"id": evil, "content": "A note\u{1b}]0;x\u{7} of it.", "tags": [evil]}),
            json!({"id": format!("{evil}2"), "content": ""}),
        ],
    );
    for mode in ["--dry-run", "--all", "--verify", "--status"] {
        let run = there.run(&[mode]);
        assert!(!run.out.contains(['\u{1b}', '\u{7}']), "{run:?}");
        assert!(!run.err.contains(['\u{1b}', '\u{7}']), "{run:?}");
    }
    // What hides characters waits for a review, and does not come again meanwhile.
    let waiting = there.sandbox.json(&["review", "list"])["pending"].clone();
    let uri = waiting[0]["target"].to_string();
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "{waiting}");
    assert!(uri.contains("local-memory/memory/") && !uri.contains(".."), "{uri}");
    let (_, told) = there.told(&["--all"]);
    assert_eq!((&told["stored_count"], &told["unchanged"]), (&json!(0), &json!(1)), "{told}");
    assert_eq!(there.backups().len(), 1);
}

#[test]
fn without_its_daemon_the_program_is_not_asked() {
    for daemon in [Daemon::Down, Daemon::Slow] {
        let there = There::new(daemon);
        for mode in ["--status", "--dry-run", "--all", "--verify"] {
            let (code, told) = there.told(&[mode]);
            assert_eq!((code, &told["error"]["code"]), (Some(1), &json!("backend_unavailable")));
            assert!(told["error"]["hint"].as_str().is_some_and(|hint| hint.contains("daemon")));
        }
        assert!(!there.sandbox.path("calls").exists());
    }
}

#[test]
fn one_of_the_four_modes_is_named() {
    let there = There::new(Daemon::Down);
    for args in [&[][..], &["--all", "--verify"], &["--dry-run", "--status"]] {
        assert_eq!(there.told(args).1["error"]["code"], "usage", "{args:?}");
    }
    for args in [["vault.kapsa", "--status"], ["other.kapsa", "--verify"]] {
        let error = there.sandbox.fails(&["import", args[0], args[1]], 1, "usage");
        assert!(
            error["message"].as_str().is_some_and(|why| why.contains("local-memory")),
            "{error}"
        );
    }
}
