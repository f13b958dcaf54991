//! `sync`, `trace` and `status` at the command line: reports, exit codes, what is refused.

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A trace of Claude Code in the repository `shop`.
pub(crate) fn write_session(sandbox: &Sandbox, name: &str, id: &str, said: &[&str]) {
    let mut text = String::new();
    for (minute, said) in said.iter().enumerate() {
        let (speaker, said) =
            said.strip_prefix("assistant: ").map_or(("user", *said), |said| ("assistant", said));
        let line = json!({
            "type": speaker,
            "uuid": format!("{id}-{minute}"),
            "sessionId": id,
            "cwd": "/src/shop",
            "timestamp": format!("2026-06-01T10:{minute:02}:00.000Z"),
            "message": {"role": speaker, "content": said},
        });
        text.push_str(&format!("{line}\n"));
    }
    sandbox.write(name, text);
}

const RULE: &str = "Never edit the files in generated/ by hand.";

fn folder() -> Sandbox {
    let sandbox = Sandbox::new();
    write_session(&sandbox, "traces/aa11.jsonl", "aa11", &["Rename it", "assistant: Done.", RULE]);
    sandbox
}

fn memories(sandbox: &Sandbox) -> Vec<Value> {
    let facts = sandbox.json(&["fact", "list", "--all"]);
    facts["facts"].as_array().expect("a list").clone()
}

#[test]
fn what_a_person_asked_for_is_found_later_with_its_place() {
    let sandbox = folder();
    let run = sandbox.run(&["sync", "traces"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("generated") && run.out.contains("aa11.jsonl:3"), "{}", run.out);
    assert!(run.out.contains("1 added"), "{}", run.out);
    let found = memories(&sandbox);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["trust"], &found[0]["source"]), (&json!("trace"), &json!("claude/aa11")));
    let place = found[0]["evidence"][0]["place"].as_str().expect("a place");
    assert!(place.ends_with("aa11.jsonl:3"), "{place}");
    let context = sandbox.ok(&["context", "--query", "generated files"]);
    assert!(context.contains("generated"), "{context}");
}

#[test]
fn a_second_call_reads_and_writes_nothing() {
    let sandbox = folder();
    sandbox.ok(&["sync", "traces"]);
    let before = std::fs::read(sandbox.capsule()).expect("a capsule");
    let again = sandbox.json(&["sync", "traces"]);
    assert_eq!(
        (&again["files"]["read_count"], &again["files"]["unchanged_count"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(std::fs::read(sandbox.capsule()).expect("a capsule"), before);
}

#[test]
fn a_dry_run_says_what_would_be_and_stores_nothing() {
    let sandbox = folder();
    let before = std::fs::read(sandbox.capsule()).expect("a capsule");
    let run = sandbox.run(&["sync", "--dry-run", "traces"]);
    assert!(run.out.contains("1 added") && run.err.contains("nothing was stored"), "{run:?}");
    assert_eq!(std::fs::read(sandbox.capsule()).expect("a capsule"), before);
    assert!(sandbox.run(&["status"]).err.contains("nothing was synced yet"));
}

#[test]
fn what_a_trace_holds_is_shown_without_a_capsule() {
    let sandbox = Sandbox::empty();
    write_session(&sandbox, "aa11.jsonl", "aa11", &["Rename it", "assistant: Done.", RULE]);
    let extracted = sandbox.json(&["trace", "extract", "aa11.jsonl"]);
    let candidates = extracted["candidates"].as_array().expect("a list");
    assert_eq!(candidates.len(), 1, "{extracted}");
    assert_eq!(candidates[0]["evidence"], json!(["3"]));
    assert_eq!(candidates[0]["primitive"], "learning");
    assert!(sandbox.run(&["trace", "extract", "aa11.jsonl"]).out.contains("generated"));
    assert!(!sandbox.path(".kapsa").exists());
    sandbox.write("notes.md", "only notes");
    let error = sandbox.fails(&["trace", "extract", "notes.md"], 1, "no_trace");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("notes.md")), "{error}");
}

#[test]
fn a_session_is_kept_without_secrets_and_shown_by_the_beginning_of_its_id() {
    let sandbox = Sandbox::new();
    let token = format!("{}_{}", "ghp", "q7Zk3Qm81xYtR5vB9cLw2NfHs6DgJp4aUe0o");
    let said = format!("Push it with {token} and \u{1b}[31mred\u{1b}[0m");
    write_session(&sandbox, "aa11.jsonl", "aa11", &[&said, "assistant: Done."]);
    write_session(&sandbox, "aa22.jsonl", "aa22", &["Hello", "assistant: Hi."]);
    sandbox.ok(&["sync", "aa11.jsonl", "aa22.jsonl"]);
    let shown = sandbox.ok(&["trace", "show", "aa1"]);
    assert!(shown.contains("[REDACTED:github_token]") && shown.contains("claude/aa11"), "{shown}");
    assert!(!shown.contains(&token) && !shown.contains('\u{1b}'), "{shown}");
    let kept = sandbox.json(&["trace", "show", "aa11"]);
    assert_eq!(kept["original"]["turns"][1]["text"], "Done.");
    sandbox.fails(&["trace", "show", "aa"], 1, "session_ambiguous");
    sandbox.fails(&["trace", "show", "bb"], 1, "session_not_found");
    sandbox.ok(&["verify"]);
    let bytes = std::fs::read(sandbox.capsule()).expect("a capsule");
    let is_there = bytes.windows(token.len()).any(|bytes| bytes == token.as_bytes());
    assert!(!is_there, "the secret is in the file");
}

#[test]
fn exit_codes_are_those_of_a_sync() {
    let sandbox = folder();
    sandbox.fails(&["sync", "missing"], 1, "trace_not_found");
    assert_eq!(sandbox.run(&["sync"]).code, Some(2));
    assert_eq!(sandbox.run(&["--json", "sync"]).code, Some(2));
    sandbox.fails(&["sync", "--agent", "nobody", "traces"], 2, "usage");
    sandbox.fails(&["trace", "show"], 2, "usage");
    sandbox.write("traces/broken.db", b"SQLite format 3\0broken");
    let run = sandbox.run(&["sync", "traces"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.err.contains("broken.db"), "{}", run.err);
    assert_eq!(memories(&sandbox).len(), 1, "the other file was read");
    let status = sandbox.json(&["status"]);
    assert_eq!((&status["failed_count"], &status["read_count"]), (&json!(1), &json!(1)));
    assert_eq!(status["files"][0]["state"], "failed");
    assert!(sandbox.ok(&["status"]).contains("1 claude"));
    let mut writer = sandbox.hold_lock();
    write_session(&sandbox, "traces/c.jsonl", "cc", &[RULE]);
    sandbox.fails(&["sync", "traces", "--lock-timeout", "0"], 4, "locked_by_writer");
    drop(writer.stdin.take());
    assert!(writer.wait().expect("it ends").success());
}

#[test]
fn sync_is_the_owners() {
    let sandbox = folder();
    sandbox.fails(&["sync", "traces", "--as", "intern"], 1, "access_denied");
    sandbox.fails(&["trace", "show", "aa11", "--as", "intern"], 1, "access_denied");
    sandbox.fails(&["status", "--as", "intern"], 1, "access_denied");
}

#[test]
fn a_run_over_one_trace_leaves_its_folder_and_notes() {
    let sandbox = folder();
    let run =
        sandbox.json(&["sync", "--memory-root", "memory", "--mode", "hot", "traces/aa11.jsonl"]);
    assert_eq!((&run["run_mode"], &run["counts"]["add"]), (&json!("hot"), &json!(1)));
    let id = run["run"].as_str().expect("an id");
    assert!(id.starts_with("hot-") && sandbox.path(".acreta/workspace").join(id).is_dir(), "{id}");
    let written = run["written_memory_paths"][0].as_str().expect("a path");
    let note = std::fs::read_to_string(written).expect("a note");
    assert!(note.contains("generated"), "{note}");
    assert!(sandbox.path("memory/summaries").read_dir().expect("a folder").count() == 1);
    let error = sandbox.fails(
        &["sync", "--memory-root", "memory", "--mode", "warm", "traces/aa11.jsonl"],
        1,
        "run_failed",
    );
    assert_eq!(error["message"], "invalid_run_mode:warm");
    sandbox.fails(&["sync", "--memory-root", "memory", "traces/aa11.jsonl", "x.jsonl"], 2, "usage");
    sandbox.fails(&["sync", "--mode", "hot", "traces"], 2, "usage");
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let sandbox = folder();
    let made = std::process::Command::new("mkfifo").arg(sandbox.path("pipe.jsonl")).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    for place in ["pipe.jsonl", "/dev/zero"] {
        let run = sandbox.run(&["sync", place]);
        assert_eq!(run.code, Some(3), "{place}: {}", run.err);
        assert!(run.err.contains("not a regular file"), "{}", run.err);
        assert_eq!(sandbox.run(&["trace", "extract", place]).code, Some(1), "{place}");
    }
}

/// Long outputs are shortened, and names are stored beside texts: no secret is in either.
#[test]
fn secrets_are_gone_from_what_is_cut_and_from_names() {
    let sandbox = Sandbox::new();
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(60);
    let output = format!(
        "{}-----BEGIN RSA PRIVATE KEY-----\n{key}-----END RSA PRIVATE KEY-----\n",
        "log\n".repeat(1500)
    );
    let token = format!("ghp_{}", "q7Zk3Qm81xYtR5vB9cLw2NfHs6DgJp4aUe0o");
    let record = |kind: &str, message: Value| {
        let cwd = format!("/src/{token}");
        json!({"type": kind, "sessionId": "s", "cwd": cwd, "message": message}).to_string()
    };
    let call = json!([{"type": "tool_use", "id": "c", "name": token, "input": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "c", "content": output}]);
    let lines = [
        record("user", json!({"content": "Never push to main without a review."})),
        record("assistant", json!({"role": "assistant", "content": call})),
        record("user", json!({"content": result})),
        record(&token, json!({"content": "x"})),
    ];
    sandbox.write("s.jsonl", lines.join("\n") + "\n");
    let synced = sandbox.ok(&["sync", "s.jsonl"]);
    let shown = sandbox.ok(&["trace", "show", "s"]);
    let facts = sandbox.ok(&["fact", "list", "--json", "--all"]);
    let run = sandbox.json(&["sync", "--memory-root", "memory", "s.jsonl"]);
    let summary = std::fs::read_to_string(run["summary_path"].as_str().expect("a path"));
    for text in [&synced, &shown, &facts, &summary.expect("a note")] {
        assert!(!text.contains(&token[4..]) && !text.contains("ANBgkqhkiG9w0"), "{text}");
    }
    let capsule = std::fs::read(sandbox.capsule()).expect("a capsule");
    assert!(!capsule.windows(20).any(|part| part == &token.as_bytes()[..20]));
    assert!(shown.contains("REDACTED:private_key"), "{shown}");
}
