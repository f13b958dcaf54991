//! The pipelines of a run, called one by one: `trace extract` and `trace summarise`, also as the
//! modules that other programs call; and the settings of traces in `kapsa.toml`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::traces::write_session;

const RULE: &str = "Never edit the files in generated/ by hand.";

fn folder() -> Sandbox {
    let sandbox = Sandbox::empty();
    write_session(&sandbox, "a.jsonl", "a", &["Rename it", "assistant: Done.", RULE]);
    sandbox
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn files(sandbox: &Sandbox, folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(sandbox.path(folder)) else { return Vec::new() };
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn the_extraction_is_an_array_of_candidates_of_decisions_and_learnings() {
    let sandbox = folder();
    let found = json_of(&sandbox.ok(&["trace", "extract", "--trace-path", "a.jsonl"]));
    let candidate = found[0].as_object().expect("an object");
    let keys: Vec<&str> = candidate.keys().map(String::as_str).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["body", "confidence", "kind", "primitive", "tags", "title"]);
    assert_eq!((&candidate["primitive"], &candidate["title"]), (&json!("learning"), &json!(RULE)));
    assert!(candidate["body"].as_str().is_some_and(|body| body.contains("generated")), "{found}");
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert!(!sandbox.path(".kapsa").exists(), "it needs no capsule and makes none");
}

#[test]
fn a_client_of_the_modules_runs_unchanged() {
    let sandbox = folder();
    let extract = [
        "-m",
        "acreta.memory.extract_pipeline",
        "--trace-path",
        "a.jsonl",
        "--output",
        "run/extract.json",
        "--metadata-json",
        r#"{"run_id":"sync-20261130-101500-1a2b3c","turns":[1]}"#,
        "--metrics-json",
        "{}",
    ];
    assert_eq!(sandbox.ok(&extract), "", "the answer is in the file");
    let found = json_of(&fs::read_to_string(sandbox.path("run/extract.json")).expect("a file"));
    assert_eq!(found[0]["title"], RULE);
    assert_eq!(files(&sandbox, "run").len(), 1, "no temporary file is left");
    let summarise = [
        "-m",
        "acreta.memory.summarization_pipeline",
        "--trace-path",
        "a.jsonl",
        "--memory-root",
        "memory",
        "--metadata-json",
        r#"{"run_id":"sync-20261130-101500-1a2b3c","repo_name":"shop","coding_agent":"x"}"#,
    ];
    let answer = json_of(&sandbox.ok(&summarise));
    let path = PathBuf::from(answer["summary_path"].as_str().expect("a path"));
    assert_eq!(path.parent(), Some(sandbox.path("memory/summaries").as_path()));
    let note = fs::read_to_string(&path).expect("a note");
    for line in ["title: Rename it", "run_id: sync-20261130-101500-1a2b3c", "repo_name: shop"] {
        assert!(note.contains(line), "{line}: {note}");
    }
    assert!(note.split_whitespace().count() < 400, "{note}");
    sandbox.ok(&summarise);
    assert_eq!(files(&sandbox, "memory/summaries").len(), 2, "a summary is always a new file");
}

#[test]
fn an_empty_trace_has_no_candidates_and_no_summary() {
    let sandbox = Sandbox::empty();
    sandbox.write("empty.jsonl", "");
    sandbox.write("blank.jsonl", " \n\n");
    for file in ["empty.jsonl", "blank.jsonl"] {
        let found = sandbox.ok(&["trace", "extract", "--trace-path", file]);
        assert_eq!(json_of(&found), json!([]));
        let call = ["trace", "summarise", "--trace-path", file, "--memory-root", "memory"];
        assert_eq!(sandbox.fails(&call, 1, "run_failed")["message"], "session_trace_empty");
    }
    assert!(!sandbox.path("memory").exists());
    sandbox.write("notes.md", "only notes");
    sandbox.fails(&["trace", "extract", "--trace-path", "notes.md"], 1, "no_trace");
}

#[test]
fn what_is_called_wrongly_is_named() {
    let sandbox = folder();
    sandbox.write("traces/a.jsonl", "");
    for verb in ["extract", "summarise"] {
        for file in ["none.jsonl", "traces"] {
            let call = ["trace", verb, "--trace-path", file, "--memory-root", "memory"];
            let call = if verb == "extract" { &call[..4] } else { &call[..] };
            let error = sandbox.fails(call, 1, "trace_not_found");
            assert_eq!(error["message"], format!("session_file_missing:{file}"));
        }
        for flag in ["--metadata-json", "--metrics-json"] {
            for text in ["{", "[]", "1"] {
                let call = ["trace", verb, "--trace-path", "a.jsonl", flag, text];
                let error = sandbox.fails(&call, 2, "usage");
                let message = error["message"].as_str().expect("a text");
                assert!(message.contains(flag), "{message}");
            }
        }
        sandbox.fails(&["trace", verb], 2, "usage");
        sandbox.fails(&["trace", verb, "a.jsonl", "--trace-path", "a.jsonl"], 2, "usage");
    }
    let call = ["trace", "summarise", "--trace-path", "a.jsonl"];
    let error = sandbox.fails(&call, 2, "usage");
    assert!(error["message"].as_str().is_some_and(|it| it.contains("--memory-root")), "{error}");
    let odd = r#"{"run_id":7}"#;
    let call = [&call[..], &["--memory-root", "memory", "--metadata-json", odd]].concat();
    let error = sandbox.fails(&call, 2, "usage");
    assert!(error["message"].as_str().is_some_and(|it| it.contains("run_id")), "{error}");
    assert!(!sandbox.path("memory").exists());
}

#[test]
fn an_answer_that_cannot_be_written_leaves_what_is_there() {
    let sandbox = folder();
    sandbox.write("old.json", "old");
    fs::create_dir(sandbox.path("folder")).expect("a folder");
    let call = ["trace", "summarise", "--trace-path", "a.jsonl", "--memory-root", "memory"];
    let run = sandbox.run(&[&call[..], &["--output", "folder"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(files(&sandbox, "memory/summaries"), [] as [PathBuf; 0], "nothing was half done");
    sandbox.ok(&["trace", "extract", "a.jsonl", "--output", "old.json"]);
    let text = fs::read_to_string(sandbox.path("old.json")).expect("a file");
    assert_eq!(json_of(&text)[0]["title"], RULE, "the answer takes the file's place");
}

#[test]
fn a_summary_is_named_after_what_the_person_asked_and_not_after_a_sub_agent() {
    let sandbox = Sandbox::empty();
    let line = |uuid: &str, side: bool, speaker: &str, text: &str| {
        let line = json!({
            "type": speaker, "uuid": uuid, "sessionId": "a", "isSidechain": side,
            "cwd": "/src/shop", "timestamp": "2026-06-01T10:00:00.000Z",
            "message": {"role": speaker, "content": text},
        });
        format!("{line}\n")
    };
    let mut trace = line("1", false, "user", "Mend the import");
    trace += &line("2", false, "assistant", "I ask a helper.");
    for turn in 0..6 {
        trace += &line(&format!("s{turn}"), true, "user", "Search every file for imports");
        trace += &line(&format!("t{turn}"), true, "assistant", &format!("Found {turn}."));
    }
    trace += &line("3", false, "assistant", "It is mended.");
    sandbox.write("a.jsonl", trace);
    let call = ["trace", "summarise", "a.jsonl", "--memory-root", "memory"];
    let path = sandbox.ok(&call);
    let note = fs::read_to_string(path.trim_end()).expect("the path is the answer for people");
    assert!(note.contains("title: Mend the import"), "{note}");
    assert!(!note.contains("Search every file"), "{note}");
}

#[test]
fn a_fact_does_not_say_its_sentence_twice() {
    let sandbox = Sandbox::new();
    let long = "Never edit the files in generated/ by hand, because the build writes them anew \
                every night and whatever somebody changed there is gone in the morning.";
    write_session(&sandbox, "a.jsonl", "a", &["Look", "assistant: I did.", long]);
    sandbox.ok(&["sync", "a.jsonl"]);
    let context = sandbox.ok(&["context", "--query", "generated files"]);
    let words = context.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches("Never edit the files").count(), 1, "{context}");
    assert_eq!(words.matches("gone in the morning").count(), 1, "{context}");
}

#[test]
fn a_report_names_the_kinds_of_which_most_was_skipped() {
    let sandbox = Sandbox::new();
    write_session(&sandbox, "a.jsonl", "a", &["Hello", "assistant: Hi."]);
    let mut trace = fs::read_to_string(sandbox.path("a.jsonl")).expect("a trace");
    for kind in 0..12 {
        for number in 0..=kind {
            let line = json!({"type": format!("odd-{kind}"), "uuid": format!("{kind}-{number}"),
                "sessionId": "a", "timestamp": "2026-06-01T10:00:00.000Z"});
            trace += &format!("{line}\n");
        }
    }
    sandbox.write("a.jsonl", trace);
    let told = sandbox.json(&["sync", "--dry-run", "a.jsonl"]);
    let all = told["skipped"].as_array().expect("a list").len();
    assert!(all >= 12, "{told}");
    let shown = sandbox.run(&["sync", "--dry-run", "a.jsonl"]).out;
    let line = shown.lines().find(|line| line.starts_with("skipped")).expect("a line");
    let total = "78 in all: 12 odd-11";
    assert!(line.contains(total), "{shown}");
    assert!(shown.contains(&format!("of {} other kinds", all - 4)), "{shown}");
    assert!(!shown.contains("odd-1 "), "{shown}");
}

#[cfg(unix)]
#[test]
fn session_persistence_toggle_scopes_claude_config_dir() {
    let sandbox = folder();
    sandbox.ok(&["init"]);
    sandbox.write("home/.keep", "");
    let program =
        "cat > prompt.txt\necho \"dir=${CLAUDE_CONFIG_DIR-unset}\" > seen.txt\necho '[]'\n";
    sandbox.write("agent.sh", program);
    let seen = |flags: &[&str], variable: Option<&str>| {
        let mut command = sandbox.command();
        command.env("HOME", sandbox.path("home")).env_remove("CLAUDE_CONFIG_DIR");
        if let Some(value) = variable {
            command.env("KAPSA_TRACES_PERSIST_SESSIONS_IN_WORKSPACE", value);
        }
        command.args(["sync", "--dry-run", "--model", "command:sh agent.sh", "a.jsonl"]);
        command.args(flags);
        let output = crate::support::output(command, b"");
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(sandbox.path("seen.txt")).expect("it ran")
    };
    assert_eq!(seen(&[], None), "dir=unset\n");
    assert_eq!(seen(&[], Some("false")), "dir=unset\n");
    let folder = sandbox.path(".acreta/workspace/.claude").canonicalize();
    assert!(folder.is_err(), "nothing was made");
    let shown = seen(&["--persist-sessions"], None);
    assert!(shown.ends_with("/.acreta/workspace/.claude\n"), "{shown}");
    assert_eq!(seen(&[], Some("true")), shown);
    let mode = fs::metadata(sandbox.path(".acreta/workspace/.claude")).expect("a folder");
    assert_eq!(mode.permissions().mode() & 0o777, 0o700);
    assert_eq!(files(&sandbox, "home").len(), 1, "the global place is left alone");
    sandbox.write("kapsa.toml", "[traces]\npersist_sessions_in_workspace = true\n");
    let error = sandbox.fails(&["sync", "a.jsonl"], 1, "invalid_config");
    assert!(error["hint"].as_str().is_some_and(|it| it.contains("--persist-sessions")), "{error}");
}

#[test]
fn with_the_flag_off_nothing_is_written_to_memory() {
    let sandbox = folder();
    sandbox.ok(&["init"]);
    sandbox.write("kapsa.toml", "[traces]\nagent_memory_write_v2 = false\n");
    let before = fs::read(sandbox.capsule()).expect("a capsule");
    for flags in [&["a.jsonl"][..], &["--memory-root", "memory", "a.jsonl"]] {
        let run = sandbox.run(&[&["sync"], flags].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.err.contains("agent_memory_write_v2 is false"), "{run:?}");
        assert!(run.out.contains("1 added"), "what would be written is shown: {run:?}");
    }
    let call = ["trace", "summarise", "a.jsonl", "--memory-root", "memory"];
    sandbox.fails(&call, 1, "memory_write_off");
    let call = ["sync", "--memory-root", "memory", "--mode", "warm", "a.jsonl"];
    sandbox.fails(&call, 1, "run_failed");
    assert_eq!(fs::read(sandbox.capsule()).expect("a capsule"), before);
    assert!(!sandbox.path("memory").exists() && !sandbox.path(".acreta").exists());
}
