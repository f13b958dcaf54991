//! The acceptance scenarios of a run over one trace, A to H, through the program: one test each.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::traces::write_session;

const RULE: &str = "Never edit the files in generated/ by hand.";
/// What is in the trace and is no memory.
const CHATTER: &str = "does the zebra kumquat page load now?";

/// A folder with a capsule and a trace in which a rule is said.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let said = ["Rename it", "assistant: Done.", CHATTER, "assistant: It does.", RULE];
    write_session(&sandbox, "a.jsonl", "a", &said);
    sandbox
}

/// What a run over a trace answers.
fn run(sandbox: &Sandbox, trace: &str) -> Value {
    sandbox.json(&["sync", "--memory-root", "memory", trace])
}

/// The files of a run's folder, or of a folder of the memory.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    all
}

fn run_folder(run: &Value) -> PathBuf {
    PathBuf::from(run["run_folder"].as_str().expect("a path"))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A: a run knows its trace by the path; what was said there goes to no log and no report.
#[test]
fn the_path_of_a_trace_is_passed_on_and_not_its_text() {
    let sandbox = sandbox();
    let folder = run_folder(&run(&sandbox, "a.jsonl"));
    let report = text(&folder.join("memory_actions.json"));
    assert!(report.contains("a.jsonl"), "{report}");
    for file in ["memory_actions.json", "agent.log", "subagents.log", "summary.json"] {
        let text = text(&folder.join(file));
        assert!(!text.contains("kumquat"), "{file}: {text}");
    }
}

/// B: each of the seven steps is pending, then in progress, then completed, in their order.
#[test]
fn seven_steps_are_taken_one_after_the_other() {
    let sandbox = sandbox();
    let log = text(&run_folder(&run(&sandbox, "a.jsonl")).join("agent.log"));
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let of_state = |state: &str| -> Vec<String> {
        lines
            .clone()
            .filter(|line| line["to"] == state)
            .map(|line| line["step"].as_str().expect("a step").to_string())
            .collect()
    };
    let steps = ["validate_inputs", "extract", "summarise", "explore", "decide", "write", "report"];
    for state in ["pending", "in_progress", "completed"] {
        assert_eq!(of_state(state), steps, "{state}");
    }
}

/// C: the pipelines leave files that parse.
#[test]
fn pipelines_leave_their_artefacts() {
    let sandbox = sandbox();
    let folder = run_folder(&run(&sandbox, "a.jsonl"));
    let of = |name: &str| -> Value { serde_json::from_str(&text(&folder.join(name))).expect(name) };
    assert_eq!(of("extract.json")[0]["title"], RULE);
    assert!(Path::new(of("summary.json")["summary_path"].as_str().expect("a path")).is_file());
}

/// D: each run adds one summary below `summaries/`.
#[test]
fn each_run_adds_one_summary() {
    let sandbox = sandbox();
    for runs in 1..=3 {
        run(&sandbox, "a.jsonl");
        assert_eq!(files(&sandbox.path("memory/summaries")).len(), runs);
    }
}

/// E: what is known and said with more is updated in its file, and not written a second time.
#[test]
fn an_update_makes_no_second_file() {
    let sandbox = sandbox();
    let before = run(&sandbox, "a.jsonl");
    assert_eq!(before["counts"], json!({"add": 1, "no_op": 0, "update": 0}));
    let learnings = sandbox.path("memory/learnings");
    let (files_before, text_before) = (files(&learnings), text(&files(&learnings)[0]));
    let more = "Never edit the files in generated/ by hand, the build overwrites them.";
    write_session(&sandbox, "b.jsonl", "b", &["Add a field", "assistant: Done.", more]);
    let after = run(&sandbox, "b.jsonl");
    assert_eq!(after["counts"], json!({"add": 0, "no_op": 0, "update": 1}), "{after}");
    assert_eq!(files(&learnings), files_before);
    let created = |text: &str| {
        text.lines().find(|line| line.starts_with("created:")).expect("a key").to_string()
    };
    let text_after = text(&files_before[0]);
    assert!(text_after.contains("overwrites") && text_after != text_before, "{text_after}");
    assert_eq!(created(&text_after), created(&text_before));
    // The same candidate once more is known.
    assert_eq!(run(&sandbox, "b.jsonl")["counts"], json!({"add": 0, "no_op": 1, "update": 0}));
}

/// F: what is written outside the memory and the run's folder is denied.
#[test]
fn writes_stay_within_the_memory_and_the_run() {
    let sandbox = sandbox();
    let folder = run_folder(&run(&sandbox, "a.jsonl")).to_string_lossy().into_owned();
    let guard = ["hook", "write-guard", "--memory-root", "memory", "--run-folder", &folder];
    let decided = |path: &str| {
        let input = json!({"file_path": path, "content": "x"});
        let event = json!({
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": input,
            "cwd": sandbox.path(""),
        });
        sandbox.run_with(&guard, event.to_string().as_bytes()).out
    };
    assert_eq!(decided(&format!("{folder}/notes.md")), "");
    for path in ["../outside.md", "/etc/motd", "memory/../b.md", "src/main.rs"] {
        assert!(decided(path).contains("write_outside_allowed_roots"), "{path}");
    }
}

/// G: folders, candidates and notes know the same types, those of one module.
#[test]
fn types_are_those_of_one_module() {
    let sandbox = sandbox();
    let folder = run_folder(&run(&sandbox, "a.jsonl"));
    let found: Value = serde_json::from_str(&text(&folder.join("extract.json"))).expect("an array");
    let names: Vec<&str> = kapsa_notes::Primitive::ALL.iter().map(|one| one.name()).collect();
    assert_eq!(names, ["decision", "learning", "summary"]);
    assert!(names.contains(&found[0]["primitive"].as_str().expect("a text")));
    for primitive in kapsa_notes::Primitive::ALL {
        assert!(sandbox.path("memory").join(primitive.folder()).is_dir(), "{}", primitive.name());
    }
}

/// H: one flat folder holds what a run leaves.
#[test]
fn the_folder_of_a_run_is_flat_and_complete() {
    let sandbox = sandbox();
    let folder = run_folder(&run(&sandbox, "a.jsonl"));
    let names: Vec<String> = files(&folder)
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        names,
        ["agent.log", "extract.json", "memory_actions.json", "subagents.log", "summary.json"]
    );
    assert_eq!(files(&sandbox.path(".acreta/workspace")), [folder]);
}
