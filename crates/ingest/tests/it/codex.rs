//! Rollouts of Codex.

use kapsa_ingest::Reason;

use crate::{one, read, read_bytes, turns};

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-02T03:04:05Z","type":"{kind}","payload":{payload}}}"#)
}

fn item(payload: &str) -> String {
    line("response_item", payload)
}

fn message(role: &str, text: &str) -> String {
    item(&format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}"#
    ))
}

fn event(kind: &str, text: &str) -> String {
    line("event_msg", &format!(r#"{{"type":"{kind}","message":"{text}"}}"#))
}

const META: &str = r#"{"id":"thread-1","cwd":"/srv/app","git":{"branch":"main","repository_url":"https://example.org/app.git"}}"#;

#[test]
fn items_come_first_and_events_only_without_them() {
    let both = [
        line("session_meta", META),
        message("user", "fix it"),
        event("user_message", "fix it"),
        event("agent_message", "done"),
        message("assistant", "done"),
    ]
    .join("\n");
    let session = one(&both);
    assert_eq!(session.id, "thread-1");
    assert_eq!(session.repo.as_deref(), Some("https://example.org/app.git"));
    assert_eq!(turns(&both), ["2 user: fix it", "5 assistant: done"]);
    let mixed = [event("user_message", "fix it"), message("assistant", "done")].join("\n");
    assert_eq!(turns(&mixed), ["1 user: fix it", "2 assistant: done"]);
}

#[test]
fn context_is_injected_and_wrappers_are_unwrapped() {
    let wrapper = "# Context from my IDE setup:\\n\\n## Open tabs\\n- a.rs\\n\\n## My request for Codex:\\nrename it";
    let text = [
        message("developer", "be brief"),
        message(
            "user",
            "# AGENTS.md instructions for /srv\\n\\n<INSTRUCTIONS>\\nuse tabs\\n</INSTRUCTIONS>",
        ),
        message("user", "<environment_context>\\n<cwd>/srv</cwd>\\n</environment_context>"),
        message("user", wrapper),
    ]
    .join("\n");
    let found = turns(&text);
    let users: Vec<&String> = found.iter().filter(|turn| turn.contains(" user")).collect();
    assert_eq!(users, ["4 user: rename it"], "{found:?}");
}

#[test]
fn outcomes_of_calls_are_read() {
    let call = |id: &str, arguments: &str| {
        item(&format!(
            r#"{{"type":"function_call","name":"shell","arguments":{arguments},"call_id":"{id}"}}"#
        ))
    };
    let output = |id: &str, text: &str| {
        item(&format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#))
    };
    let text = [
        call("1", r#""{\"command\":\"make\"}""#),
        output("1", r#"{\"output\":\"no rule\",\"metadata\":{\"exit_code\":2}}"#),
        call("2", r#"{"command":"ls"}"#),
        output("2", r"Exit code: 0\nOutput:\na"),
        output("3", "patch rejected by user"),
        output("4", "Plan updated"),
    ]
    .join("\n");
    assert_eq!(
        turns(&text),
        [
            r#"1 assistant calls 1 shell {"command":"make"}: "#,
            "2 tool 1 failed 2: no rule",
            r#"3 assistant calls 2 shell {"command":"ls"}: "#,
            "4 tool 2 ok: Exit code: 0\nOutput:\na",
            "5 tool 3 refused: patch rejected by user",
            "6 tool 4 unknown: Plan updated",
        ]
    );
}

#[test]
fn what_a_fork_repeats_is_left_out() {
    let meta = r#"{"id":"child","parent_thread_id":"thread-1","subagent_history_start_ordinal":2}"#;
    let numbered =
        |ordinal: u64, line: &str| line.replacen('{', &format!(r#"{{"ordinal":{ordinal},"#), 1);
    let text = [
        line("session_meta", meta),
        numbered(1, &message("user", "the parent's words")),
        numbered(2, &message("user", "look at the parser")),
    ]
    .join("\n");
    let session = one(&text);
    assert_eq!(session.parent.as_deref(), Some("thread-1"));
    assert_eq!(session.skipped.of(Reason::Replayed), 1);
    assert_eq!(turns(&text), ["3 injected: look at the parser"], "an agent speaks to it");
}

#[test]
fn turns_that_were_taken_back_are_gone() {
    let text = [
        message("user", "one"),
        message("assistant", "done"),
        message("user", "two"),
        message("assistant", "done too"),
        line("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
        message("user", "three"),
        line("event_msg", r#"{"type":"turn_aborted","reason":"interrupted"}"#),
    ]
    .join("\n");
    let found = turns(&text);
    assert_eq!(
        found,
        [
            "1 user: one",
            "2 assistant: done",
            "6 user: three",
            "7 injected: [turn aborted: interrupted]",
        ]
    );
    assert_eq!(one(&text).skipped.of(Reason::TakenBack), 2);
}

#[test]
fn events_of_exec_are_read() {
    let text = [
        r#"{"type":"thread.started","thread_id":"t-9"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.completed","item":{"id":"i0","type":"reasoning","text":"hm"}}"#,
        r#"{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"make","aggregated_output":"no","exit_code":1,"status":"failed"}}"#,
        r#"{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"it fails"}}"#,
    ]
    .join("\n");
    assert_eq!(one(&text).id, "t-9");
    assert_eq!(
        turns(&text),
        [
            "3 assistant thinks: hm",
            "4 assistant calls i1 shell \"make\": ",
            "4 tool i1 failed 1: no",
            "5 assistant: it fails",
        ]
    );
}

#[test]
fn old_rollouts_have_no_payloads() {
    let text = [
        r#"{"id":"old-1","timestamp":"2025-05-01T00:00:00Z","instructions":null}"#,
        r#"{"record_type":"state"}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}"#,
    ]
    .join("\n");
    let session = one(&text);
    assert_eq!((session.id.as_str(), session.turns.len()), ("old-1", 1));
}

#[test]
fn compressed_rollouts_are_read() {
    let packed = zstd::encode_all(message("user", "hello").as_bytes(), 3).expect("bytes");
    let (sessions, reading) = read_bytes(&packed);
    assert_eq!(sessions[0].turns[0].text, "hello");
    // A last line without an end is a record all the same, if it is whole.
    assert_eq!(reading.waiting, None);
    let (_, reading) = read(&message("user", "hello")[..110]);
    assert_eq!(reading.waiting, Some(1));
}
