//! `hook write-guard` at the command line: its answers, its exit codes, what it logs.

use serde_json::{Value, json};

use crate::support::{Run, Sandbox};

const RUN: &str = "workspace/sync-20261130-101500-abcdef";
const NOTE: &str = "---\nid: a\ntitle: A\ncreated: '2026-11-30T10:15:00Z'\n\
                    updated: '2026-11-30T10:15:00Z'\nsource: run\n---\n\nIt is so.\n";

/// A folder with a memory and a run, and no capsule.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write(&format!("{RUN}/agent.log"), "");
    sandbox.write("memory/decisions/old.md", NOTE);
    sandbox
}

fn guard(sandbox: &Sandbox, event: &[u8]) -> Run {
    let args = ["hook", "write-guard", "--memory-root", "memory", "--run-folder", RUN];
    sandbox.run_with(&args, event)
}

fn event(sandbox: &Sandbox, tool: &str, input: Value) -> Vec<u8> {
    let cwd = sandbox.path("");
    let event = json!({
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": input,
        "cwd": cwd,
    });
    event.to_string().into_bytes()
}

fn log(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.path(RUN).join("agent.log")).expect("a log");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_is_allowed_is_answered_with_nothing() {
    let sandbox = sandbox();
    for (tool, input) in [
        ("Read", json!({"file_path": "/etc/hosts"})),
        ("Write", json!({"file_path": "memory/decisions/a.md", "content": NOTE})),
        (
            "Edit",
            json!({"file_path": "memory/decisions/old.md", "old_string": "It is so", "new_string": "It is not"}),
        ),
        ("Write", json!({"file_path": format!("{RUN}/plan.json"), "content": "{}"})),
        ("Bash", json!({"command": "ls memory | wc -l"})),
    ] {
        let run = guard(&sandbox, &event(&sandbox, tool, input));
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""), "{tool}");
    }
    assert_eq!(log(&sandbox), [] as [Value; 0]);
}

#[test]
fn what_is_denied_is_answered_with_the_reason_and_logged() {
    let sandbox = sandbox();
    let cases = [
        ("Write", json!({"file_path": "/etc/x.md"}), "write_outside_allowed_roots:/etc/x.md"),
        ("Edit", json!({}), "missing_file_path_for_write"),
        ("Bash", json!({"command": "mv a b"}), "shell_write_denied:program:mv"),
        ("WebFetch", json!({"url": "x"}), "tool_not_allowed:WebFetch"),
    ];
    for (tool, input, reason) in &cases {
        let run = guard(&sandbox, &event(&sandbox, tool, input.clone()));
        let answer: Value = serde_json::from_str(&run.out).expect("JSON");
        let expected = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }});
        assert_eq!((run.code, answer, run.err.as_str()), (Some(0), expected, ""));
    }
    let lines = log(&sandbox);
    assert_eq!(lines.len(), cases.len());
    for (line, (tool, _, reason)) in lines.iter().zip(&cases) {
        assert_eq!((&line["event"], &line["tool"]), (&json!("write_denied"), &json!(tool)));
        assert_eq!(line["reason"], *reason);
        assert!(line["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{line}");
    }
}

#[test]
fn an_event_that_cannot_be_read_blocks_the_tool() {
    let sandbox = sandbox();
    for event in [
        &b""[..],
        b"{}",
        b"[]",
        b"not JSON",
        b"{\"tool_name\":1}",
        b"{\"tool_name\":\"Write\"",
        b"{\"tool_name\":\"Read\",\"tool_name\":\"Write\"}",
        b"{\"tool_name\":\"Read\",\"cwd\":\"relative\"}",
        b"{\"tool_name\":\"Read\",\"cwd\":1}",
        b"{\"tool_name\":\"\xff\"}",
    ] {
        let run = guard(&sandbox, event);
        let shown = String::from_utf8_lossy(event);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{shown}");
        assert!(run.err.contains("cannot be read"), "{shown}: {}", run.err);
    }
}

#[test]
fn a_wrong_call_blocks_the_tool() {
    let sandbox = sandbox();
    let read = event(&sandbox, "Read", json!({}));
    for args in [
        &["hook"][..],
        &["hook", "write-guard"],
        &["hook", "write_guard"],
        &["hook", "WriteGaurd"],
        &["hook", "--memory-root", "memory", "write-guard"],
        &["hook", "write-guard", "--memory-root", "memory"],
        &["hook", "write-guard", "--memory-root", "memory", "--run-folder", "missing"],
        &["hook", "write-guard", "--memory-root", "memory", "--run-folder", RUN, "--nonsense"],
        &["hook", "write-guard", "--memory-root", "memory", "--run-folder", RUN, "--as", ""],
    ] {
        let run = sandbox.run_with(args, &read);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}: {}", run.err);
        assert_ne!(run.err, "", "{args:?}");
    }
}

#[test]
fn a_denial_that_cannot_be_logged_blocks_as_well() {
    let sandbox = sandbox();
    let log = sandbox.path(RUN).join("agent.log");
    std::fs::remove_file(&log).expect("removed");
    std::os::unix::fs::symlink(sandbox.path("elsewhere"), &log).expect("a link");
    let run = guard(&sandbox, &event(&sandbox, "Write", json!({})));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("missing_file_path_for_write"), "{}", run.err);
    assert!(!sandbox.path("elsewhere").exists());
}

#[test]
fn the_guard_works_for_an_agent_that_is_a_principal() {
    let sandbox = sandbox();
    let mut command = sandbox.command();
    let args = ["hook", "write-guard", "--memory-root", "memory", "--run-folder", RUN];
    command.env("KAPSA_PRINCIPAL", "guest").args(args);
    let run: Run = crate::support::output(command, &event(&sandbox, "Write", json!({}))).into();
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("missing_file_path_for_write"), "{}", run.out);
}

#[test]
fn hidden_characters_reach_neither_the_answer_nor_the_log() {
    let sandbox = sandbox();
    let input = json!({"file_path": "memory/decisions/\u{202e}\u{1b}[31m.md", "content": NOTE});
    let run = guard(&sandbox, &event(&sandbox, "Write", input));
    assert!(run.out.contains("write_outside_allowed_roots:"), "{}", run.out);
    let text = format!("{}{:?}", run.out, log(&sandbox));
    for odd in ["\u{202e}", "\u{1b}", "u202e", "u001b"] {
        assert!(!text.contains(odd), "{text}");
    }
}
