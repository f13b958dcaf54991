//! `connect` and `maintain`, and a sync that asks a model.

use serde_json::{Value, json};

use crate::support::{Sandbox, output};
use crate::traces::write_session;

/// Calls with the sandbox as the home of its person.
fn at_home(sandbox: &Sandbox, args: &[&str]) -> Value {
    let mut command = sandbox.command();
    for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    command.env("HOME", sandbox.path("home")).args(args).arg("--json");
    let out = output(command, b"");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn paths(answer: &Value) -> Vec<String> {
    let all = answer["connected"].as_array().expect("a list");
    all.iter().map(|one| one["path"].as_str().expect("a path").to_owned()).collect()
}

#[test]
fn what_is_connected_is_synced_without_being_named() {
    let sandbox = Sandbox::new();
    let rule = ["Never edit the files in generated/ by hand. Remember that."];
    write_session(&sandbox, "home/.claude/projects/shop/a.jsonl", "a1", &rule);
    write_session(&sandbox, "exports/b.jsonl", "b1", &["Always run the linter before a commit."]);
    let claude = sandbox.path("home/.claude/projects").display().to_string();
    let shown = at_home(&sandbox, &["connect", "--dry-run"]);
    assert_eq!(paths(&shown), std::slice::from_ref(&claude));
    assert_eq!(shown["connected"][0]["agent"], json!("claude"));
    sandbox.fails(&["sync"], 2, "usage");
    let capsule = sandbox.capsule().display().to_string();
    sandbox.fails(&["--capsule", &capsule, "sync"], 2, "usage");
    sandbox.fails(&["--capsule", &capsule, "sync", "--odd"], 2, "usage");
    sandbox.fails(&["find", "--odd", "sync"], 1, "usage");
    let connected = at_home(&sandbox, &["connect", "exports"]);
    let exports = sandbox.path("exports").display().to_string();
    assert_eq!(paths(&connected), std::slice::from_ref(&exports), "what is named alone");
    let found = at_home(&sandbox, &["connect"]);
    assert_eq!(paths(&found).len(), 2);
    let synced = sandbox.json(&["sync"]);
    assert_eq!(synced["sessions"]["read_count"], json!(2), "{synced}");
    let again = at_home(&sandbox, &["connect"]);
    assert_eq!(again["connected"][0]["is_new"], json!(false));
    let left = at_home(&sandbox, &["connect", "--forget", &claude]);
    assert_eq!(paths(&left), [exports]);
    sandbox.fails(&["connect", "--forget", "nowhere"], 1, "not_connected");
    sandbox.fails(&["connect", "nowhere"], 1, "not_found");
}

#[test]
fn upkeep_shows_first_and_deletes_nothing() {
    let sandbox = Sandbox::new();
    let put = |id: &str, text: &str, confidence: &str| {
        let args = ["fact", "add", text, "--id", id, "--entity", "shop", "--trust", "trace"];
        sandbox.ok(&[&args[..], &["--confidence", confidence]].concat());
    };
    put("kept", "Invoices are numbered without gaps", "0.6");
    put("doubted", "The lamp in the hall may be broken", "0.1");
    let archived = |answer: &Value| answer["archived"][0]["id"].clone();
    let shown = sandbox.json(&["maintain"]);
    assert_eq!((archived(&shown), &shown["dry_run"]), (json!("doubted"), &json!(true)));
    let done = sandbox.json(&["maintain", "--apply"]);
    assert_eq!((archived(&done), &done["dry_run"]), (json!("doubted"), &json!(false)));
    let again = sandbox.json(&["maintain", "--apply", "--repository", "shop"]);
    assert_eq!((&again["archived"], &again["unchanged_count"]), (&json!([]), &json!(1)));
    assert!(sandbox.ok(&["fact", "get", "doubted"]).contains("lamp"), "it is still there");
}

#[cfg(unix)]
#[test]
fn a_program_may_propose_what_is_kept_and_rules_take_over_when_it_fails() {
    let sandbox = Sandbox::new();
    write_session(&sandbox, "traces/a.jsonl", "a1", &["We ship on mondays, said the team."]);
    let answer =
        r#"[{"type":"fact","title":"We ship on mondays","body":"Said by the team.","turns":[0]}]"#;
    sandbox.write("answer.json", answer);
    let model = format!("command:cat {}", sandbox.path("answer.json").display());
    let synced = sandbox.json(&["sync", "traces", "--model", &model]);
    assert_eq!(synced["memories"]["add_count"], json!(1), "{synced}");
    assert_eq!(synced["model"]["request_count"], json!(1));
    write_session(&sandbox, "traces/b.jsonl", "b1", &["Invoices must be numbered without gaps."]);
    let failed = sandbox.json(&["sync", "traces", "--model", "command:false"]);
    assert_eq!(failed["model"]["by_rules_count"], json!(1), "{failed}");
    assert!(failed["model"]["failed"].as_str().is_some_and(|why| why.contains("false")));
    assert_eq!(failed["memories"]["add_count"], json!(1), "{failed}");
}
