//! Branches, checkpoints, time travel and merges, by real processes. The names of the acceptance
//! tests are those of the contract.

use serde_json::Value;

use crate::support::Sandbox;

fn hits(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().expect("hits");
    hits.iter().map(|hit| hit["snippet"].as_str().expect("a snippet")).collect()
}

/// A fact that two runs change.
fn two_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "config/port", "--text", "the port is 5433"]);
    for (run, port) in [("run/17", "6000"), ("run/18", "7000")] {
        sandbox.ok(&["branch", "create", run]);
        let text = format!("the port is {port}");
        sandbox.ok(&[
            "--branch",
            run,
            "put",
            "--uri",
            "config/port",
            "--text",
            &text,
            "--agent",
            "builder",
            "--run",
            &run[4..],
        ]);
    }
    sandbox
}

#[test]
fn test_971_a2_a_uri_is_stable_and_its_bytes_are_identical_after_reopen() {
    let sandbox = Sandbox::new();
    let text = "bytes\u{0}\r\n\u{1b}[31m and é, as they came";
    let put =
        sandbox.json_with(&["put", "--plain", "--uri", "S-1/r2/artifact/plan.md"], text.as_bytes());
    let uri = put["uri"].as_str().expect("a URI");
    assert_eq!(uri, "mv2://default/S-1/r2/artifact/plan.md");
    assert_eq!(sandbox.ok(&["resolve-uri", uri]), text);
    sandbox.ok(&["resolve-uri", uri, "--out", "copy"]);
    assert_eq!(std::fs::read(sandbox.path("copy")).expect("written"), text.as_bytes());
    let shown = sandbox.json(&["resolve-uri", uri]);
    assert_eq!((&shown["size_bytes"], shown["as_of"].is_null()), (&text.len().into(), true));
    sandbox.ok(&["compact"]);
    assert_eq!(sandbox.ok(&["resolve-uri", uri]), text);
    assert_eq!(sandbox.json(&["find", "bytes"])["hits"][0]["uri"], uri);
}

#[test]
fn test_971_a3_a_stage_commit_makes_a_checkpoint_that_is_listed_in_order() {
    let sandbox = Sandbox::new();
    let commit = |stage: &str| {
        sandbox.json(&[
            "commit",
            "--stage",
            stage,
            "--spec",
            "S-1",
            "--run",
            "r2",
            "--git-commit",
            "abc123",
        ])
    };
    let made: Vec<Value> = ["plan", "tasks", "implement"].into_iter().map(commit).collect();
    let listed = sandbox.json(&["checkpoints"]);
    assert_eq!(listed["count"], 3);
    for (made, listed) in made.iter().zip(listed["checkpoints"].as_array().expect("a list")) {
        assert_eq!(made["checkpoint_id"], listed["checkpoint_id"]);
        assert_eq!(
            (&listed["git_commit"], &listed["run"], &listed["is_manual"]),
            (&"abc123".into(), &"r2".into(), &false.into())
        );
    }
    assert_eq!(listed, sandbox.json(&["checkpoints"]), "the order is the same every time");
    let events = sandbox.json(&["events", "--stage", "plan"]);
    assert_eq!(
        (&events["count"], &events["events"][0]["event_type"]),
        (&1.into(), &"StageTransition".into())
    );
    assert_eq!(events["filters"]["stage"], "plan");
    let uri = events["events"][0]["uri"].as_str().expect("a URI");
    assert!(sandbox.ok(&["resolve-uri", uri]).contains("checkpoint_id"), "an event's URI resolves");
}

#[test]
fn test_971_a4_a_run_that_ends_a_stage_leaves_a_checkpoint_on_its_branch() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["branch", "create", "run/run_9"]);
    sandbox.ok(&["put", "--branch", "run/9", "--text", "what the run found", "--run", "9"]);
    sandbox.ok(&["commit", "--branch", "run/9", "--stage", "implement", "--run", "9"]);
    assert_eq!(sandbox.json(&["checkpoints", "--branch", "run/9"])["count"], 1);
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 0);
    assert_eq!(sandbox.json(&["checkpoints", "--all"])["checkpoints"][0]["branch"], "run/9");
}

#[test]
fn a_branch_is_chosen_by_flag_then_variable_then_switch() {
    let sandbox = two_runs();
    let port = |args: &[&str]| sandbox.ok(&[&["get", "config/port", "--raw"], args].concat());
    assert_eq!(port(&[]), "the port is 5433");
    assert_eq!(port(&["--branch", "run/17"]), "the port is 6000");
    sandbox.ok(&["branch", "switch", "run/18"]);
    assert_eq!(port(&[]), "the port is 7000");
    assert_eq!(port(&["--branch", "main"]), "the port is 5433");
    let by_variable = sandbox
        .command()
        .env("KAPSA_BRANCH", "run/17")
        .args(["get", "config/port", "--raw"])
        .output()
        .expect("runs");
    assert_eq!(String::from_utf8_lossy(&by_variable.stdout), "the port is 6000");
    let listed = sandbox.json(&["branch", "list"]);
    assert_eq!((&listed["branch"], &listed["count"]), (&"run/18".into(), &3.into()));
    sandbox.fails(&["get", "config/port", "--branch", "run/99"], 1, "branch_not_found");
    sandbox.fails(&["put", "--text", "x", "--branch", "a b"], 1, "invalid_operation");
    sandbox.fails(&["branch", "create", "run/17"], 1, "invalid_operation");
    sandbox.ok(&["branch", "archive", "run/17"]);
    sandbox.fails(&["put", "--text", "x", "--branch", "run/17"], 1, "invalid_operation");
    assert_eq!(port(&["--branch", "run/17"]), "the port is 6000");
    assert_eq!(sandbox.json(&["branch", "list", "--all"])["count"], 3);
}

#[test]
fn as_of_reads_the_past_and_refuses_what_it_does_not_know() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "a", "--text", "old words"]);
    let made = sandbox.json(&["commit", "--label", "v1"]);
    assert_eq!((&made["created"], &made["label"]), (&true.into(), &"v1".into()));
    sandbox.ok(&["put", "--uri", "a", "--text", "new words"]);
    sandbox.ok(&["put", "--uri", "b", "--text", "later words"]);
    let id = made["checkpoint_id"].as_str().expect("an id");
    for moment in ["v1", id, "1", "#2", made["created_at"].as_str().expect("a time")] {
        assert_eq!(sandbox.ok(&["get", "a", "--raw", "--as-of", moment]), "old words", "{moment}");
        assert_eq!(
            hits(&sandbox.json(&["find", "words", "--as-of", moment])),
            ["old words"],
            "{moment}"
        );
        assert_eq!(sandbox.json(&["timeline", "--as-of", moment])["count"], 1);
        assert_eq!(sandbox.json(&["stats", "--count", "--as-of", moment])["uri_count"], 1);
        sandbox.fails(&["get", "b", "--as-of", moment], 1, "uri_not_found");
        assert_eq!(sandbox.json(&["diff", moment, "--names"])["count"], 2);
    }
    for odd in ["v2", "99", "0", "1999-01-01"] {
        sandbox.fails(&["find", "words", "--as-of", odd], 1, "unknown_moment");
    }
    let error = sandbox.fails(&["commit", "--label", "v1"], 1, "duplicate_label");
    assert_eq!(error["error_code"], "DUPLICATE_LABEL");
    sandbox.ok(&["commit", "--label", "v1", "--force"]);
    sandbox.fails(&["commit", "--label", " "], 1, "invalid_operation");
    sandbox.fails(&["commit"], 1, "usage");
    sandbox.fails(&["events", "--since-checkpoint", "v9"], 1, "unknown_moment");
    sandbox.fails(&["stats", "--capsule", "nothing.kapsa"], 1, "capsule_not_found");
    assert!(!sandbox.path("nothing.kapsa").exists(), "reading makes no capsule");
}

#[test]
fn two_runs_change_a_fact_one_merges_one_conflicts_and_blame_tells_why() {
    let sandbox = two_runs();
    let dry = sandbox.json(&["merge", "--from", "run/17", "--dry-run"]);
    assert_eq!((&dry["merged"], &dry["items"][0]["outcome"]), (&false.into(), &"changed".into()));
    assert_eq!(sandbox.json(&["merge", "--from", "run/17", "--by", "ana"])["uris_merged"], 1);

    let before = std::fs::read(sandbox.capsule()).expect("readable");
    let refused = sandbox.run(&["merge", "--from", "run/18", "--json"]);
    assert_eq!(refused.code, Some(1));
    let told: Value = serde_json::from_str(&refused.out).expect("the conflicts are data");
    assert_eq!(
        (&told["conflict_count"], &told["items"][0]["base"]["text"]),
        (&1.into(), &"the port is 5433".into())
    );
    assert_eq!(std::fs::read(sandbox.capsule()).expect("readable"), before, "nothing was written");

    sandbox.ok(&["merge", "--from", "run/18", "--plan", "review.json", "--by", "bob"]);
    let mut plan: Value =
        serde_json::from_slice(&std::fs::read(sandbox.path("review.json")).expect("written"))
            .expect("JSON");
    assert!(plan["items"][0]["decision"].is_null());
    plan["items"][0]["decision"] = "theirs".into();
    plan["items"][0]["note"] = "measured on the new host".into();
    sandbox.write("review.json", plan.to_string());
    assert_eq!(sandbox.json(&["merge", "--apply", "review.json"])["uris_merged"], 1);

    let blame = sandbox.json(&["blame", "config/port"]);
    let last = blame["revisions"].as_array().and_then(|all| all.last()).expect("revisions").clone();
    assert_eq!(
        (&last["text"], &last["from_branch"]),
        (&"the port is 7000".into(), &"run/18".into())
    );
    assert_eq!(last["origin"]["decision"], "theirs");
    assert_eq!(
        (&last["origin"]["by"], &last["origin"]["note"]),
        (&"bob".into(), &"measured on the new host".into())
    );
    let people = sandbox.ok(&["blame", "config/port"]);
    assert!(people.contains("because: measured on the new host"), "{people}");
    let merged = sandbox.json(&["events", "--type", "BranchMerged"]);
    assert_eq!(merged["count"], 2);
    assert!(sandbox.ok(&["log", "--graph"]).contains("merge:run/18"));
    sandbox.fails(&["merge", "--from", "main"], 1, "invalid_operation");
    sandbox.fails(&["merge", "--from", "run/17", "--to", "run/18"], 1, "invalid_operation");
}

#[test]
fn a_review_holds_for_what_was_reviewed_only() {
    let sandbox = two_runs();
    sandbox.ok(&["merge", "--from", "run/17"]);
    sandbox.ok(&["merge", "--from", "run/18", "--plan", "review.json"]);
    let text = std::fs::read_to_string(sandbox.path("review.json")).expect("written");
    sandbox.write("review.json", text.replace("\"decision\": null", "\"decision\": \"ours\""));
    sandbox.ok(&["put", "--uri", "config/port", "--text", "the port is 8000"]);
    sandbox.fails(&["merge", "--apply", "review.json"], 1, "invalid_operation");
    for odd in [
        "{}",
        "[]",
        "not JSON",
        "{\"kapsa_merge_plan\":2,\"from\":\"a\",\"to\":\"b\",\"mode\":\"full\",\"items\":[]}",
    ] {
        sandbox.write("odd.json", odd);
        sandbox.fails(&["merge", "--apply", "odd.json"], 1, "invalid_plan");
    }
}

#[test]
fn test_emit_wiring_best_effort_never_fails() {
    let sandbox = Sandbox::new();
    let payload = r#"{"gate_name":"tests","outcome":"Pass","stage":"review","blocking":true}"#;
    let event =
        sandbox.json(&["event", "emit", "GateDecision", "--stage", "review", "--payload", payload]);
    assert_eq!(
        (&event["event_type"], &event["is_audit_critical"], &event["branch"]),
        (&"GateDecision".into(), &true.into(), &"main".into())
    );
    sandbox.fails(&["event", "emit", "GateDecision", "--payload", "{}"], 1, "invalid_operation");
    let unknown = sandbox.fails(&["events", "--type", "Nonsense"], 1, "unknown_event_type");
    assert_eq!(unknown["valid_types"].as_array().map(Vec::len), Some(19));
    for args in [
        ["event", "emit", "GateDecision", "--best-effort", "--payload", "{}"],
        ["event", "emit", "Nonsense", "--best-effort", "--payload", "{}"],
        ["event", "emit", "DebugTrace", "--best-effort", "--capsule", "missing.kapsa"],
    ] {
        let run = sandbox.run(&args);
        assert_eq!((run.code, run.err.starts_with("error:")), (Some(0), true), "{args:?}");
    }
    assert_eq!(sandbox.json(&["events"])["count"], 1);
}

#[test]
fn reverting_and_picking() {
    let sandbox = two_runs();
    sandbox.ok(&["merge", "--from", "run/17"]);
    let undone = sandbox.json(&["revert", "--run", "17", "--by", "ana", "--note", "wrong host"]);
    assert_eq!(undone["restored"][0], "mv2://default/config/port");
    assert_eq!(sandbox.ok(&["get", "config/port", "--raw"]), "the port is 5433");
    sandbox.ok(&["cherry-pick", "config/port", "--from", "run/18"]);
    assert_eq!(sandbox.ok(&["get", "config/port", "--raw"]), "the port is 7000");
    sandbox.fails(&["revert", "--run", "nobody"], 1, "invalid_operation");
    sandbox.fails(&["revert"], 1, "usage");
    sandbox.write("notes.md", "# One\n\nfirst\n");
    sandbox.ok(&["put", "notes.md"]);
    assert_eq!(
        sandbox.json(&["revert", "--source", "notes.md"])["removed"].as_array().map(Vec::len),
        Some(1)
    );
    sandbox.ok(&["alias", "config/old-port", "config/port"]);
    assert_eq!(sandbox.ok(&["get", "config/old-port", "--raw"]), "the port is 7000");
}

#[test]
fn clones_pull_and_push_what_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "a", "--text", "the first"]);
    sandbox.ok(&["clone", "copy.kapsa"]);
    sandbox.fails(&["clone", "copy.kapsa"], 1, "invalid_operation");
    sandbox.ok(&["put", "--uri", "a", "--text", "the second"]);
    assert_eq!(sandbox.json(&["push", "copy.kapsa"])["relation"], "fast_forward");
    assert_eq!(sandbox.ok(&["get", "a", "--raw", "--capsule", "copy.kapsa"]), "the second");
    assert_eq!(sandbox.json(&["pull", "copy.kapsa"])["relation"], "up_to_date");
    sandbox.ok(&["put", "--uri", "a", "--text", "here"]);
    sandbox.ok(&["put", "--uri", "a", "--text", "there", "--capsule", "copy.kapsa"]);
    sandbox.fails(&["pull", "copy.kapsa"], 1, "merge_conflicts");
    assert_eq!(sandbox.ok(&["get", "a", "--raw", "--branch", "copy/main"]), "there");
    sandbox.fails(&["put", "--text", "x", "--branch", "copy/main"], 1, "invalid_operation");
    sandbox.fails(&["push", "copy"], 1, "invalid_operation");
    assert_eq!(sandbox.run(&["merge", "--from", "copy/main"]).code, Some(1));
    sandbox.ok(&["merge", "--from", "copy/main", "--theirs"]);
    assert_eq!(sandbox.ok(&["get", "a", "--raw"]), "there");
    assert_eq!(sandbox.ok(&["merge", "copy/main"]), "up to date\n");
    assert_eq!(sandbox.json(&["push", "copy"])["relation"], "pushed");
    for verb in ["fetch", "pull", "push"] {
        let again = sandbox.json(&[verb, "copy"]);
        let moved = (&again["relation"], &again["record_count"], &again["byte_count"]);
        assert_eq!(moved, (&"up_to_date".into(), &0.into(), &0.into()), "{verb}");
    }
    assert_eq!(sandbox.ok(&["remote"]).split_whitespace().next(), Some("copy"));
    let branches = sandbox.json(&["branch", "list"]);
    assert_eq!(branches["branches"][1]["remote"], "copy");
    sandbox.ok(&["create", "stranger.kapsa"]);
    sandbox.ok(&["put", "--text", "x", "--capsule", "stranger.kapsa"]);
    sandbox.fails(&["pull", "stranger.kapsa"], 1, "invalid_operation");
    sandbox.fails(&["pull", "missing.kapsa"], 1, "capsule_not_found");
    sandbox.ok(&["verify"]);
}

/// A shell that plays ssh: it runs what the other side is told to run, here.
#[test]
fn capsules_exchange_through_a_program_like_ssh() {
    let sandbox = Sandbox::new();
    let kapsa = env!("CARGO_BIN_EXE_kapsa");
    sandbox.write(
        "ssh",
        format!(
            "#!/bin/sh\nfor last; do :; done\nPATH=$(dirname {kapsa}):$PATH exec sh -c \"$last\"\n"
        )
        .as_bytes(),
    );
    let script = sandbox.path("ssh");
    let mut mode = std::fs::metadata(&script).expect("there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o700);
    std::fs::set_permissions(&script, mode).expect("made a program");
    sandbox.ok(&["put", "--uri", "a", "--text", "the first"]);
    sandbox.ok(&["create", "it's far.kapsa"]);
    sandbox.ok(&["put", "--uri", "b", "--text", "far away", "--capsule", "it's far.kapsa"]);
    let location = format!("ssh://ana@example.org{}", sandbox.path("it's far.kapsa").display());
    sandbox.ok(&["remote", "add", "far", &location]);
    let through = |args: &[&str]| {
        let mut command = sandbox.command();
        command.args(args).env("KAPSA_SSH", &script);
        let told = command.output().expect("it runs");
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).expect("UTF-8")
    };
    assert!(through(&["pull", "far"]).contains("fetched 1 record"));
    assert_eq!(sandbox.ok(&["get", "b", "--raw"]), "far away");
    assert!(through(&["push", "far"]).contains("pushed 1 record"));
    assert_eq!(sandbox.ok(&["get", "a", "--raw", "--capsule", "it's far.kapsa"]), "the first");
    for verb in ["fetch", "pull", "push"] {
        assert_eq!(through(&[verb, "far"]).trim(), "up to date");
    }
    sandbox.fails(&["remote", "add", "odd", "ssh://-oProxyCommand=id/p"], 1, "invalid_argument");
}

#[test]
fn a_merge_keeps_its_spec_and_what_is_reverted_is_reverted_once() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "a", "--text", "main"]);
    sandbox.ok(&["branch", "create", "run/17"]);
    for uri in ["a", "b", "c"] {
        sandbox.ok(&["--branch", "run/17", "put", "--uri", uri, "--text", "of the run"]);
    }
    sandbox.ok(&["merge", "run/17", "--spec", "S-1"]);
    assert_eq!(sandbox.json(&["checkpoints"])["checkpoints"][0]["spec"], "S-1");
    let events = sandbox.json(&["events", "--type", "BranchMerged", "--spec", "S-1"]);
    assert_eq!(events["events"][0]["payload"]["spec_id"], "S-1", "{events}");
    sandbox.ok(&["put", "--uri", "c", "--text", "of somebody else, later"]);
    let undone = sandbox.json(&["revert", "--run", "run_17"]);
    let uri = |name: &str| format!("mv2://default/{name}");
    assert_eq!(undone["restored"], serde_json::json!([uri("a")]), "{undone}");
    assert_eq!(undone["removed"], serde_json::json!([uri("b")]), "{undone}");
    assert_eq!(undone["kept"], serde_json::json!([uri("c")]), "{undone}");
    let again = sandbox.json(&["revert", "--run", "17"]);
    assert_eq!(again["kept"], serde_json::json!([uri("c")]), "only what changed later: {again}");
}
