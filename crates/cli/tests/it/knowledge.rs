//! Policies, graphs and replays, by real processes.

use crate::support::Sandbox;

#[test]
fn a_policy_is_captured_when_it_changes_and_named_by_stages() {
    let sandbox = Sandbox::new();
    sandbox.write("one.json", r#"{"weights":{"a":1},"prompts":["p","q"]}"#);
    sandbox.write("same.json", r#"{"prompts":["q","p"],"weights":{"a":1}}"#);
    sandbox.write("two.json", r#"{"prompts":["p","q"],"weights":{"a":2}}"#);
    sandbox.write("odd.json", r#"{"wieghts":1}"#);
    let first = sandbox.json(&["policy", "capture", "one.json"]);
    let again = sandbox.json(&["policy", "capture", "same.json"]);
    assert_eq!((&first["captured"], &again["captured"]), (&true.into(), &false.into()));
    assert_eq!((&first["policy_id"], &first["hash"]), (&again["policy_id"], &again["hash"]));
    let second = sandbox.json(&["policy", "capture", "two.json"]);
    assert_eq!((&second["captured"], &second["drift_from"]), (&true.into(), &first["policy_id"]));
    assert_eq!(sandbox.json(&["policy", "list"])["count"], 2);
    assert_eq!(sandbox.json(&["policy", "show"])["hash"], second["hash"]);
    let id = first["policy_id"].as_str().expect("an id");
    let diff = sandbox.json(&["policy", "diff", id]);
    assert_eq!(
        (&diff["differences"][0]["part"], diff["differences"].as_array().map(Vec::len)),
        (&"weights".into(), Some(1))
    );
    let json = sandbox.ok(&["resolve-uri", first["uri"].as_str().expect("a URI")]);
    let parts = serde_json::from_str(&json).expect("an object");
    assert_eq!(kapsa_memory::policy::hash(&parts), first["hash"], "{json}");
    sandbox.ok(&["commit", "--stage", "plan"]);
    let events = sandbox.json(&["events", "--type", "StageTransition"]);
    assert_eq!(events["events"][0]["payload"]["policy_hash"], second["hash"]);
    assert_eq!(sandbox.json(&["events", "--type", "PolicySnapshotRef"])["count"], 2);
    sandbox.fails(&["policy", "capture", "odd.json"], 1, "invalid_operation");
    sandbox.fails(&["policy", "validate", "odd.json"], 1, "invalid_operation");
    sandbox.fails(&["policy", "show", "nothing"], 1, "policy_not_found");
}

#[test]
fn test_memory_card_round_trip_and_edges_join_logical_uris_only() {
    let sandbox = Sandbox::new();
    let add = [
        "graph",
        "add-card",
        "--type",
        "component",
        "--title",
        "The Parser",
        "--fact",
        "owner=ana",
        "--fact",
        "lines=1200:number",
    ];
    let card = sandbox.json(&add);
    assert_eq!(card["uri"], "mv2://default/_global/_manual/card/the-parser");
    sandbox.ok(&[
        "graph",
        "add-card",
        "--type",
        "component",
        "--title",
        "The Parser",
        "--fact",
        "owner=bob",
    ]);
    let kept = sandbox.json(&["get", "_global/_manual/card/the-parser"]);
    assert_eq!(
        kept["metadata"]["facts"].as_array().map(Vec::len),
        Some(3),
        "a second owner stands beside the first"
    );
    assert_eq!(
        (&kept["metadata"]["facts"][1]["value"], &kept["entity"]),
        (&1200.into(), &"The Parser".into())
    );
    assert_eq!(sandbox.json(&["find", "who is the owner bob"])["hits"][0]["kind"], "card");
    for (from, to) in [("c/parser", "c/lexer"), ("c/lexer", "c/text"), ("c/tests", "c/parser")] {
        sandbox.ok(&["graph", "add-edge", "--type", "depends_on", "--from", from, "--to", to]);
    }
    sandbox.ok(&[
        "graph",
        "add-edge",
        "--type",
        "depends_on",
        "--from",
        "c/parser",
        "--to",
        "c/lexer",
        "--weight",
        "0.5",
    ]);
    let count = |args: &[&str]| {
        sandbox.json(&[&["graph", "query", "--uri", "c/parser"], args].concat())["count"].clone()
    };
    assert_eq!(
        (count(&[]), count(&["--direction", "out"]), count(&["--depth", "2"])),
        (2.into(), 1.into(), 3.into())
    );
    assert_eq!(count(&["--type", "blocks"]), 0);
    assert_eq!(sandbox.json(&["graph", "query", "--type", "component"])["count"], 1);
    for odd in ["#12", "12", "http://x/y", ""] {
        sandbox.fails(
            &["graph", "add-edge", "--type", "owns", "--from", odd, "--to", "c/x"],
            1,
            "invalid_uri",
        );
    }
    sandbox.fails(
        &["graph", "add-edge", "--type", "likes", "--from", "a/b", "--to", "c/x"],
        1,
        "invalid_operation",
    );
    sandbox.fails(
        &["graph", "add-card", "--type", "thing", "--title", "x"],
        1,
        "invalid_operation",
    );
    sandbox.fails(
        &["graph", "add-card", "--type", "task", "--title", "x", "--fact", "n=y:number"],
        1,
        "invalid_operation",
    );
    sandbox.fails(&["graph", "query", "--uri", "a/b", "--depth", "9"], 1, "invalid_operation");
}

#[test]
fn test_replay_timeline_deterministic_and_offline_retrieval_exact() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "a", "--text", "the port is 5433"]);
    sandbox.ok(&["branch", "create", "run/7"]);
    let emit = |kind: &str, payload: &str| {
        sandbox.ok(&[
            "--branch",
            "run/7",
            "event",
            "emit",
            kind,
            "--run",
            "7",
            "--payload",
            payload,
        ]);
    };
    let asked = |id: &str| {
        format!(
            r#"{{"request_id":"{id}","query":"which port","config":{{"k":5}},"source":"kapsa"}}"#
        )
    };
    emit("RetrievalRequest", &asked("r1"));
    emit("RetrievalResponse", r#"{"request_id":"r1","hit_uris":["mv2://default/a"]}"#);
    sandbox.ok(&["--branch", "run/7", "commit", "--stage", "plan", "--run", "7"]);
    sandbox.ok(&["put", "--uri", "b", "--text", "another port, on main, later"]);
    sandbox.ok(&["--branch", "run/7", "put", "--uri", "a", "--text", "the port moved"]);
    let replay = || sandbox.ok(&["replay", "run", "--run", "run_7", "--json"]);
    assert_eq!(replay(), replay());
    let told = sandbox.json(&["replay", "run", "--run", "7"]);
    assert_eq!(told["count"], 4);
    assert!(told["statement"].as_str().is_some_and(|text| text.contains("each call stored")));
    let verified = sandbox.json(&["replay", "verify", "--run", "7"]);
    assert_eq!((&verified["passed"], &verified["count"]), (&true.into(), &0.into()));
    emit("RetrievalRequest", &asked("r2"));
    emit("RetrievalResponse", r#"{"request_id":"r2","hit_uris":["mv2://default/b"]}"#);
    let broken = sandbox.run(&["replay", "verify", "--run", "7", "--json"]);
    assert_eq!(broken.code, Some(1));
    assert!(
        broken.out.contains("\"passed\":false") && broken.out.contains("resolves to nothing"),
        "{}",
        broken.out
    );
    sandbox.fails(&["replay", "run", "--run", "nobody"], 1, "invalid_operation");
}

/// A run that has a branch may have said something on another one, before or after.
#[test]
fn a_replay_has_what_other_branches_say_of_the_run() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["branch", "create", "run/7"]);
    let emit = |branch: &str, run: &str| {
        let payload = r#"{"request_id":"r1","query":"q","config":{},"source":"x"}"#;
        let kind = ["event", "emit", "RetrievalRequest", "--payload", payload];
        sandbox.ok(&[&["--branch", branch], &kind[..], &["--run", run]].concat());
    };
    emit("main", "7");
    emit("run/7", "7");
    emit("main", "run_7");
    emit("main", "8");
    sandbox.ok(&["commit", "--stage", "plan", "--run", "7"]);
    for branch in ["main", "run/7"] {
        let told = sandbox.json(&["--branch", branch, "replay", "run", "--run", "7"]);
        let kinds = told["entries"].to_string();
        let of = |what: &str| kinds.matches(&format!("{what:?}")).count();
        assert_eq!(of("RetrievalRequest"), 3, "{told}");
        assert_eq!(told["count"], 5, "three requests, a checkpoint and its event: {told}");
    }
}
