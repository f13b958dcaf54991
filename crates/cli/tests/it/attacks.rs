//! What a principal tries that is not its to do, through the command line. Each test is one kind of
//! attempt.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A capsule with three principals of different domains, and a record of each level in `hr`.
fn capsule() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "rev", "revenue=confidential"]);
    sandbox.ok(&["clearance", "set", "hr", "hr=confidential"]);
    sandbox.ok(&["clearance", "set", "gen", "=confidential"]);
    for level in ["public", "internal", "confidential"] {
        put(&sandbox, &format!("note/{level}"), "hr", level, "what hr keeps");
    }
    sandbox
}

fn put(sandbox: &Sandbox, uri: &str, domain: &str, level: &str, text: &str) {
    let of = ["--domain", domain, "--classification", level];
    sandbox.ok(&[&["put", "--uri", uri, "--text", text], &of[..]].concat());
}

/// The code of the error that a call ends with.
fn code(sandbox: &Sandbox, call: &[&str]) -> Value {
    sandbox.error(call).1["code"].clone()
}

fn texts(listed: &Value, list: &str) -> Vec<String> {
    let all = listed[list].as_array().expect("a list").iter();
    all.map(|record| record["text"].as_str().unwrap_or_default().to_string()).collect()
}

#[test]
fn nobody_changes_what_it_may_only_read() {
    let sandbox = capsule();
    let to = ["--domain", "revenue", "--classification", "confidential"];
    for principal in ["rev", "gen", "stranger"] {
        let take = ["put", "--uri", "note/public", "--text", "taken", "--as", principal];
        assert_eq!(code(&sandbox, &[&take[..], &to].concat()), "access_denied", "{principal}");
        assert_eq!(code(&sandbox, &take), "access_denied", "{principal}");
        let end = ["forget", "note/public", "--as", principal];
        assert_eq!(code(&sandbox, &end), "access_denied", "{principal}");
        let told = |uri: &str| {
            let (code, error) = sandbox.error(&["forget", uri, "--as", principal]);
            (code, error.to_string().replace(uri, "X"))
        };
        assert_eq!(told("note/confidential"), told("note/none"), "hidden is absent");
    }
    let left = sandbox.json(&["get", "note/public"]);
    assert_eq!((&left["text"], &left["domain"]), (&json!("what hr keeps"), &json!("hr")));
    sandbox.ok(&["put", "--uri", "note/public", "--text", "by hr", "--as", "hr"]);
    sandbox.ok(&["forget", "note/public", "--as", "hr"]);
}

#[test]
fn a_revision_keeps_the_domain_and_level_that_are_not_named() {
    let sandbox = capsule();
    let kept = |uri: &str| {
        let record = sandbox.json(&["get", uri]);
        (record["domain"].clone(), record["classification"].clone())
    };
    let secret = (json!("hr"), json!("confidential"));
    sandbox.ok(&["put", "--uri", "note/confidential", "--text", "new words"]);
    assert_eq!(kept("note/confidential"), secret, "by the owner");
    sandbox.json_with(&["put", "-"], br#"{"uri": "note/confidential", "text": "newer words"}"#);
    assert_eq!(kept("note/confidential"), secret, "as JSON");
    sandbox.ok(&["put", "--uri", "note/confidential", "--text", "by hr", "--as", "hr"]);
    assert_eq!(kept("note/confidential"), secret, "by a principal");
    put(&sandbox, "note/confidential", "ops", "internal", "said");
    assert_eq!(kept("note/confidential"), (json!("ops"), json!("internal")));

    sandbox.write("pay.md", "# Pay\n\nOne grade.\n\n# Rises\n\nIn May.\n");
    sandbox.ok(&["put", "pay.md", "--domain", "hr", "--classification", "confidential"]);
    let more = "# Pay\n\nTwo grades.\n\n# Rises\n\nIn May.\n\n# Cuts\n\nNever.\n";
    sandbox.write("pay.md", more);
    sandbox.ok(&["put", "pay.md"]);
    let passages = sandbox.json(&["timeline", "--kind", "doc"]);
    let passages = passages["records"].as_array().expect("a list");
    assert_eq!(passages.len(), 3);
    for passage in passages {
        let level = (passage["domain"].clone(), passage["classification"].clone());
        assert_eq!(level, secret, "{passage}");
    }
}

#[test]
fn what_a_principal_writes_as_restricted_names_it() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "cro", "ops=restricted"]);
    let to = ["--domain", "ops", "--classification", "restricted", "--as", "cro"];
    let fact = [&["fact", "add", "The vault opens at nine", "--id", "f1"], &to[..]].concat();
    sandbox.ok(&["put", "--uri", "fact/f2", "--kind", "fact", "--domain", "ops", "--text", "Open"]);
    let over = [&["fact", "add", "The gate is shut", "--id", "f2"], &to[..]].concat();
    let note = [&["put", "--uri", "note/n1", "--text", "The code is kept"], &to[..]].concat();
    let other = [&["put", "--uri", "note/n2", "--text", "x", "--named", "cfo"], &to[..]].concat();
    for call in [&fact, &over, &note, &other] {
        let told = sandbox.json(call);
        assert!(told.get("warnings").is_none(), "{told}");
    }
    let names = |uri: &str| sandbox.json(&["get", uri, "--as", "cro"])["named"].clone();
    assert_eq!(["fact/f1", "fact/f2", "note/n1"].map(names), [(); 3].map(|()| json!(["cro"])));
    assert_eq!(names("note/n2"), json!(["cfo", "cro"]));
    // The same again changes nothing.
    let head = |sandbox: &Sandbox| sandbox.json(&["log"])["commits"][0]["serial"].clone();
    let before = head(&sandbox);
    for call in [&fact, &note, &other] {
        sandbox.ok(call);
    }
    assert_eq!(head(&sandbox), before);
}

#[test]
fn names_and_kinds_of_the_owners_verbs_are_not_written() {
    let sandbox = capsule();
    let names = ["policy/x", "run/17", "access/f1", "kapsa/x", "clearance/gen", "s/r/card/acme"];
    for name in names {
        let call = ["put", "--uri", name, "--text", "x", "--as", "gen"];
        assert_eq!(code(&sandbox, &call), "access_denied", "{name}");
    }
    let kinds = ["run", "task", "plan", "event", "card", "edge", "policy", "audit", "artifact"];
    for kind in kinds {
        let call = ["put", "--kind", kind, "--text", "x", "--as", "gen"];
        assert_eq!(code(&sandbox, &call), "access_denied", "{kind}");
    }
    for uri in ["insight/hr/i1", "episode/hr/e1"] {
        let call = ["put", "--uri", uri, "--text", "x", "--as", "gen"];
        assert_eq!(code(&sandbox, &call), "access_denied", "{uri}");
    }
}

/// A run is changed by the verbs of runs, and nobody puts a line into another task's context.
#[test]
fn runs_are_left_alone() {
    let sandbox = capsule();
    sandbox.ok(&["run", "start", "--run", "17", "--title", "Acme"]);
    for task in ["t1", "t2"] {
        sandbox.ok(&["run", "task", "start", task, "--run", "17", "--title", "Acme task"]);
    }
    let done = r#"{"run_id": "17", "status": "done"}"#;
    for call in [
        &["--branch", "run/17/t1", "put", "--text", "acme FORGED"][..],
        &["--branch", "run/17/t1", "fact", "add", "acme FORGED"],
        &[
            "--branch", "run/17", "put", "--uri", "run/17", "--kind", "run", "--text", "x",
            "--meta", done,
        ],
        &["--branch", "run/17", "forget", "run/17"],
    ] {
        assert_eq!(code(&sandbox, &[call, &["--as", "gen"]].concat()), "access_denied", "{call:?}");
    }
    assert_eq!(sandbox.json(&["run", "status", "--run", "17"])["status"], "running");
    let context =
        sandbox.run(&["run", "context", "--run", "17", "--task", "t2", "--role", "builder"]);
    assert!(!context.out.contains("FORGED"), "{context:?}");
}

/// A branch that was made by hand below `run/` is listed as a run, as it is used as one; other runs
/// are told nothing of it.
#[test]
fn a_branch_made_by_hand_is_told_to_no_other_run() {
    let sandbox = capsule();
    sandbox.ok(&["run", "start", "--run", "17"]);
    sandbox.ok(&["branch", "create", "run/99"]);
    let listed = sandbox.json(&["run", "list"]);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2), "{listed}");
    assert_eq!(sandbox.run(&["run", "list"]).err, "");
    sandbox.ok(&["--branch", "run/99", "put", "--text", "acme by hand"]);
    sandbox.ok(&["run", "task", "start", "t1", "--run", "17", "--title", "acme"]);
    let past =
        ["run", "context", "--run", "17", "--task", "t1", "--role", "builder", "--past-runs"];
    let context = sandbox.run(&past);
    assert!(context.code == Some(0) && !context.out.contains("by hand"), "{context:?}");
}

#[test]
fn a_policy_that_was_changed_is_an_error() {
    let sandbox = capsule();
    sandbox.write("p.json", r#"{"weights": {"quality": 0.85}}"#);
    sandbox.ok(&["policy", "capture", "p.json"]);
    let id = sandbox.json(&["policy", "list"])["policies"][0]["policy_id"].clone();
    let uri = format!("policy/{}", id.as_str().expect("an id"));
    let as_gen = ["put", "--uri", &uri, "--text", "all is allowed", "--as", "gen"];
    assert_eq!(code(&sandbox, &as_gen), "access_denied");
    sandbox.ok(&["policy", "show"]);
    let json = sandbox.ok(&["resolve-uri", &uri]);
    let parts = serde_json::from_str(&json).expect("an object");
    let hash = sandbox.json(&["policy", "list"])["policies"][0]["hash"].clone();
    assert_eq!(kapsa_memory::policy::hash(&parts), hash, "the JSON that was captured: {json}");
    let mut record = sandbox.json(&["get", &uri]);
    let fields = record.as_object_mut().expect("an object");
    fields["metadata"]["weights"]["quality"] = json!(0.1);
    fields.retain(|name, _| ["uri", "text", "kind", "title", "metadata"].contains(&name.as_str()));
    sandbox.json_with(&["put", "-"], record.to_string().as_bytes());
    let (exit, error) = sandbox.error(&["policy", "show"]);
    assert_eq!((exit, &error["code"], &error["policy"]), (2, &json!("policy_changed"), &id));
    assert_eq!(code(&sandbox, &["policy", "show", &uri]), "policy_changed");
    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.code == Some(2) && doctor.out.contains("policy_changed"), "{doctor:?}");
    assert!(sandbox.run(&["policy", "list"]).err.contains("does not match its hash"));
    sandbox.ok(&["policy", "capture", "p.json"]);
    sandbox.ok(&["policy", "show"]);
}

/// What the memory counts and decides, and whose name is not the principal's.
#[test]
fn fields_of_the_memory_and_of_others_are_refused_by_name() {
    let sandbox = capsule();
    sandbox.ok(&["fact", "add", "the port is 1", "--id", "f1", "--entity", "db"]);
    for (call, field) in [
        (&["put", "--text", "x", "--agent", "hr"][..], "agent"),
        (&["put", "--text", "x", "--confidence", "1"], "confidence"),
        (&["put", "--text", "x", "--tag", "kapsa.place=1"], "tags.kapsa.place"),
        (
            &["put", "--uri", "fact/x", "--text", "x", "--meta", r#"{"evidence_count": 99}"#],
            "metadata.evidence_count",
        ),
        (
            &["put", "--kind", "insight", "--text", "x", "--meta", r#"{"evidence": []}"#],
            "metadata.evidence",
        ),
        (&["fact", "add", "x", "--source", "boss"], "source"),
        (&["fact", "add", "x", "--confidence", "1"], "confidence"),
        (&["fact", "supersede", "f1", "the port is 2", "--source", "boss"], "source"),
        (&["fact", "add", "x", "--tag", "kapsa.place"], "tags.kapsa.place"),
        (&["fact", "resolve", "f1", "--accept", "--by", "boss"], "by"),
    ] {
        let (exit, error) = sandbox.error(&[call, &["--as", "gen"]].concat());
        assert_eq!((exit, &error["code"]), (1, &json!("access_denied")), "{call:?}");
        assert_eq!(error["field"], field, "{call:?}");
        assert!(error["message"].as_str().is_some_and(|told| told.contains(field)), "{error}");
    }
    sandbox.ok(&["fact", "add", "x", "--source", "gen", "--as", "gen"]);
}

#[test]
fn what_the_capsule_writes_about_itself_is_the_owners() {
    let sandbox = capsule();
    sandbox.ok(&["branch", "create", "secret-merger"]);
    sandbox.ok(&["checkpoint", "--label", "secret-checkpoint"]);
    sandbox.write("p.json", r#"{"weights": {"quality": 1}}"#);
    sandbox.ok(&["policy", "capture", "p.json"]);
    sandbox.ok(&["fact", "add", "known", "--id", "f1"]);
    sandbox.run(&["log", "--as", "rev"]);
    for kind in ["event", "branch", "checkpoint", "audit", "clearance", "access"] {
        let owners = sandbox.json(&["timeline", "--kind", kind]);
        for record in owners["records"].as_array().expect("a list") {
            let uri = record["uri"].as_str().expect("a URI");
            for verb in ["get", "history"] {
                assert_eq!(code(&sandbox, &[verb, uri, "--as", "gen"]), "uri_not_found", "{uri}");
            }
        }
        let listed = sandbox.json(&["timeline", "--kind", kind, "--as", "gen"]);
        assert_eq!(texts(&listed, "records"), [""; 0], "{kind}");
        let found = sandbox.json(&["find", "secret", "--kind", kind, "--as", "gen"]);
        assert_eq!(found["hits"], json!([]), "{kind}");
    }
}

/// Neither an error nor a moment says where the owner works and how much there is.
#[test]
fn errors_and_moments_say_nothing_of_the_owner() {
    let sandbox = capsule();
    sandbox.ok(&["branch", "create", "secret-merger"]);
    sandbox.ok(&["branch", "switch", "secret-merger"]);
    for call in [
        &["timeline"][..],
        &["find", "hr"],
        &["put", "--domain", "revenue", "--text", "x"],
        &["fact", "add", "x", "--domain", "revenue"],
        &["context"],
    ] {
        let run = sandbox.run(&[call, &["--as", "rev"]].concat());
        assert_eq!(run.code, Some(0), "{call:?} {run:?}");
        assert!(!run.err.contains("secret-merger"), "{run:?}");
    }
    sandbox.ok(&["branch", "switch", "main"]);
    let then = |moment: &str| sandbox.json(&["timeline", "--as-of", moment, "--as", "stranger"]);
    assert_eq!(then("#3000"), then("#30"), "more than there are");
    assert_eq!(texts(&then("#1"), "records"), [""; 0]);
    assert_eq!(texts(&then("2000-01-01"), "records"), [""; 0]);
}

/// Whoever waits for the lock in vain does not learn what the owner is at.
#[test]
fn who_holds_the_lock_is_the_owners() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.hold_lock();
    let call = ["put", "--text", "x", "--lock-timeout", "0", "--as", "rev"];
    let error = sandbox.fails(&call, 2, "locked_by_writer");
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
    let fields: Vec<&String> = error.as_object().expect("an object").keys().collect();
    assert_eq!(fields, ["code", "hint", "message"], "{error}");
    assert!(!error.to_string().contains("run-7"), "{error}");
}

/// Whichever side of a conflict came last, every verb shows the one that may be read.
#[test]
fn a_hidden_side_of_a_conflict_is_hidden_alike() {
    let sandbox = capsule();
    let fact = ["put", "--kind", "fact", "--uri", "fact/c", "--text"];
    sandbox.ok(&[&fact[..], &["base"]].concat());
    sandbox.ok(&["branch", "create", "try"]);
    let secret = ["secret side", "--classification", "confidential", "--branch", "try"];
    sandbox.ok(&[&fact[..], &secret].concat());
    sandbox.ok(&[&fact[..], &["open side"]].concat());
    sandbox.ok(&["merge", "--from", "try", "--contested"]);
    sandbox.ok(&["clearance", "set", "low", "=internal"]);
    let as_low = |call: &[&str]| sandbox.json(&[call, &["--as", "low"]].concat());
    assert_eq!(texts(&as_low(&["timeline"]), "records"), ["what hr keeps", "open side"]);
    let uri = json!("mv2://default/fact/c");
    let hits = as_low(&["find", "side"])["hits"].clone();
    assert_eq!((hits.as_array().map(Vec::len), &hits[0]["uri"]), (Some(1), &uri), "{hits}");
    assert_eq!(as_low(&["get", "fact/c"])["text"], "open side");
    assert_eq!(as_low(&["fact", "get", "c"])["text"], "open side");
    let context = sandbox.ok(&["context", "--as", "low"]);
    assert!(context.contains("open side") && !context.contains("secret"), "{context}");
    let tree = sandbox.ok(&["fs", "tree", "--depth", "4", "--as", "low"]);
    assert!(tree.contains("open side") && !tree.contains("secret"), "{tree}");
}

/// Whoever says again what a fact with a hidden side says, or revises it, is answered as if there
/// were no such side, and that is still there for the owner.
#[test]
fn a_hidden_side_of_a_fact_changes_no_answer() {
    let fact = ["put", "--kind", "fact", "--uri", "fact/c", "--text"];
    let capsule = |is_hidden: bool| {
        let sandbox = capsule();
        sandbox.ok(&[&fact[..], &["base"]].concat());
        sandbox.ok(&["branch", "create", "try"]);
        sandbox.ok(&[&fact[..], &["the open side of the ferry"]].concat());
        if is_hidden {
            let secret = ["secret side", "--classification", "restricted", "--branch", "try"];
            sandbox.ok(&[&fact[..], &secret, &["--named", "board"]].concat());
            sandbox.ok(&["merge", "--from", "try", "--contested"]);
        }
        sandbox
    };
    let (hidden, without) = (capsule(true), capsule(false));
    for call in [
        &["fact", "add", "ferry and ferry of ferry"][..],
        &["fact", "add", "the open side of the ferry", "--tag", "again"],
        &["fact", "get", "c"],
        &["fact", "add", "another side of the ferry", "--id", "c"],
        &[&fact[..], &["a third side"]].concat(),
        &["fact", "supersede", "c", "the last side of the ferry", "--id", "d"],
        &["fact", "list", "--all"],
    ] {
        let told = |sandbox: &Sandbox| {
            let mut told = sandbox.json(&[call, &["--as", "gen"]].concat());
            without_moments(&mut told);
            told
        };
        assert_eq!(told(&hidden), told(&without), "{call:?}");
    }
    let records = hidden.json(&["timeline", "--kind", "fact"]);
    assert!(texts(&records, "records").contains(&"secret side".to_string()), "{records}");
}

/// Leaves out what differs between two calls of the same.
fn without_moments(told: &mut Value) {
    match told {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.ends_with("_at") && name != "sequence");
            fields.values_mut().for_each(without_moments);
        }
        Value::Array(all) => all.iter_mut().for_each(without_moments),
        _ => {}
    }
}

const ROLES: &str = r#"
[role.rev]
soul = "You sell."
model = "scripted:model.json"
clearance = { revenue = "confidential" }

[[role.rev.operators]]
id = "ops"

[[role.rev.operators.nodes]]
name = "tell"
prompt = "Tell hr"
tools = ["memory_write"]
output = "told"

[[role.rev.operators.nodes]]
name = "own"
prompt = "Note it"
tools = ["memory_write"]
output = "noted"

[[role.rev.operators.nodes]]
name = "scoped"
prompt = "Work there"
output = "done"
scope = { domain = "hr" }
"#;

const MODEL: &str = r#"{"rules": [
    {"contains": "kept as", "text": "kept"},
    {"contains": "may not", "text": "refused"},
    {"contains": "Work there", "text": "FORGED by a prompt"},
    {"contains": "Note it", "tool_calls": [{"id": "1", "name": "memory_write", "arguments": {"content": "Acme is slow"}}]},
    {"contains": "Tell hr", "tool_calls": [{"id": "1", "name": "memory_write", "arguments": {"content": "FORGED by a tool", "domain": "hr", "confidence": 1}}]}
]}"#;

/// A role writes no further than `insight add --as` of the same name does, whichever way it takes.
#[test]
fn a_role_writes_within_its_clearance() {
    let sandbox = capsule();
    sandbox.write("kapsa.toml", ROLES);
    sandbox.write("model.json", MODEL);
    let add = ["insight", "add", "x", "--as", "rev", "--domain", "hr"];
    assert_eq!(code(&sandbox, &add), "access_denied", "the measure of all below");
    let ran = sandbox.json(&["role", "run", "rev", "tell"]);
    assert_eq!(ran["nodes"][0]["output"], "refused", "{ran}");
    sandbox.ok(&["role", "run", "rev", "scoped"]);
    let ran = sandbox.json(&["role", "run", "rev", "own"]);
    assert_eq!(ran["nodes"][0]["output"], "kept", "{ran}");
    let insights = sandbox.json(&["insight", "list", "--agent", "rev"]);
    assert_eq!(texts(&insights, "insights"), ["Acme is slow"]);
    assert_eq!(insights["insights"][0]["domain"], "revenue", "its only one");
    let write = ["fs", "write", "/knowledge/hr/x", "FORGED by a file", "--as", "rev"];
    assert_eq!(code(&sandbox, &write), "access_denied");
    // The owner may file what it likes in the role's memory; the role does not spread it.
    sandbox.ok(&["insight", "add", "FORGED by publishing", "--agent", "rev", "--domain", "hr"]);
    sandbox.ok(&["insight", "add", "FORGED everywhere", "--agent", "rev"]);
    let published = sandbox.run(&["role", "publish", "rev"]);
    assert!(published.err.contains("left out 2 insights"), "{published:?}");
    assert_eq!(texts(&sandbox.json(&["fact", "list"]), "facts"), ["Acme is slow"]);
    let episodes = sandbox.json(&["episode", "list", "--agent", "rev", "--domain", "hr"]);
    assert_eq!(episodes["episodes"][0]["classification"], "restricted");
    let found = sandbox.json(&["find", "prompt tool file", "--as", "hr"]);
    assert_eq!(found["hits"], json!([]));
    assert!(!sandbox.run(&["context", "--as", "hr"]).out.contains("FORGED"));
}

/// Who runs the program says who acts, once.
#[test]
fn a_principal_of_the_environment_is_not_exchanged() {
    let sandbox = capsule();
    let run = |args: &[&str]| {
        let mut command = sandbox.command();
        command.args(args).args(["--json"]).env("KAPSA_PRINCIPAL", "rev");
        command.output().expect("it runs")
    };
    let told = run(&["timeline", "--as", "hr"]);
    assert_eq!((told.status.code(), told.stdout.len()), (Some(1), 0));
    let error: Value = serde_json::from_slice(&told.stderr).expect("JSON");
    assert_eq!(error["error"]["code"], "access_denied", "{error}");
    assert_eq!(run(&["timeline", "--as", "rev"]).status.code(), Some(0), "it says the same");
    let audit = sandbox.json(&["timeline", "--kind", "audit"]);
    assert_eq!(texts(&audit, "records"), ["rev was denied: --as"]);
}

/// What ends or renames something hidden counts for nobody's scores, wherever it is stored.
#[test]
fn the_ends_and_other_names_of_hidden_records_move_no_score() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "gen", "=internal"]);
    put(&sandbox, "note/press", "", "internal", "the press may know of the lantern");
    for uri in ["note/h1", "note/h2"] {
        put(&sandbox, uri, "hr", "internal", "a hidden ferry");
    }
    let score = || {
        let found = sandbox.json(&["find", "press", "--mode", "lex", "--as", "gen"]);
        found["hits"][0]["score"].clone()
    };
    let before = score();
    assert!(before.is_number());
    sandbox.ok(&["alias", "note/other", "note/h1"]);
    assert_eq!(score(), before, "another name");
    sandbox.ok(&["forget", "note/h2"]);
    assert_eq!(score(), before, "an end");
    sandbox.ok(&["optimize"]);
    assert_eq!(score(), before, "in a segment");
}

/// The prompt of a shell says where lines work, which is not the owner's branch for everybody.
#[test]
fn a_prompt_says_nothing_of_the_owners_branch() {
    let sandbox = capsule();
    sandbox.ok(&["branch", "create", "secret-merger", "--switch"]);
    let shown = |principal: &str| {
        let (mut keys, end) = crate::terminal::open_terminal();
        let mut command = sandbox.command();
        let copy = || end.try_clone().expect("a copy");
        command.args(["shell", "--as", principal]).stdin(copy()).stdout(copy()).stderr(copy());
        command.env("XDG_STATE_HOME", sandbox.path("state")).env("TERM", "xterm");
        let mut child = command.spawn().expect("it starts");
        drop((command, end));
        keys.write_all(b"exit\r").expect("it reads");
        let mut shown = Vec::new();
        // May be dropped: the terminal of a program that has ended cannot be read any further.
        keys.read_to_end(&mut shown).ok();
        assert!(child.wait().expect("it ends").success());
        String::from_utf8_lossy(&shown).into_owned()
    };
    assert!(shown("gen").contains("secret-merger"), "who may read branches");
    let prompt = shown("rev");
    assert!(prompt.contains("kapsa workspace") && !prompt.contains("secret-merger"), "{prompt}");
}

/// A line that is completed is bound as one that is called.
#[test]
fn completion_offers_no_names_of_another_principal() {
    let sandbox = capsule();
    sandbox.ok(&[
        "put",
        "--domain",
        "hr",
        "--uri",
        "note/secret",
        "--run",
        "secret",
        "--text",
        "x",
    ]);
    let offered = |principal: &str, line: &[&str]| {
        let mut command = sandbox.command();
        command.env("KAPSA_PRINCIPAL", principal).env("KAPSA_COMPLETE", "fish");
        command.args(["--", "kapsa"]).args(line);
        crate::support::Run::from(crate::support::output(command, b"")).out
    };
    assert!(offered("hr", &["get", "note/se"]).contains("note/secret"));
    assert!(offered("hr", &["get", "--as", "hr", "note/se"]).contains("note/secret"));
    for line in [
        &["get", "note/se"][..],
        &["get", "--as", "hr", "note/se"],
        &["get", "--as=hr", "note/se"],
        &["find", "x", "--as", "hr", "--run", "se"],
    ] {
        assert_eq!(offered("rev", line), "", "{line:?}");
    }
}

/// The tags that the memory keeps for itself hold sequences, which count what is hidden.
#[test]
fn values_of_the_memorys_own_tags_are_not_suggested() {
    let sandbox = capsule();
    sandbox.ok(&["fact", "add", "Acme pays late", "--id", "f1", "--classification", "public"]);
    sandbox.ok(&["fact", "add", "Acme pays on time now", "--id", "f1"]);
    for principal in [&["--as", "rev"][..], &[]] {
        let asked = ["find", "acme", "--tag", "kapsa.place=1"];
        let found = sandbox.json(&[&asked[..], principal].concat());
        let warning = found["warnings"][0]["message"].as_str().expect("it warns").to_string();
        assert!(!warning.contains("there"), "{warning}");
    }
}

/// What a principal asks for and does not get leaves the same trace in the sequences, whether it is
/// hidden or was never there.
#[test]
fn the_sequences_do_not_say_what_is_hidden() {
    let sandbox = capsule();
    let put = || {
        let to = ["--domain", "revenue", "--as", "rev", "--text", "mine"];
        let put = sandbox.json(&[&["put"][..], &to].concat());
        put["sequence"].as_u64().expect("a sequence")
    };
    let used = |call: &[&str]| {
        let before = put();
        assert!(sandbox.run(&[call, &["--as", "rev"]].concat()).code == Some(1), "{call:?}");
        put() - before
    };
    for verb in ["get", "history", "forget"] {
        let (hidden, absent) = (used(&[verb, "note/confidential"]), used(&[verb, "note/none"]));
        assert_eq!(hidden, absent, "{verb}");
    }
    let audit = sandbox.json(&["timeline", "--kind", "audit"]);
    assert_eq!(audit["count"], 3, "what is absent is not a denial: {audit}");
}
