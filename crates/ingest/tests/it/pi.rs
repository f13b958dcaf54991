//! Sessions of pi.

use kapsa_ingest::Agent;

use crate::{one, turns};

#[test]
fn a_session_of_pi() {
    let text = [
        r#"{"type":"session","version":3,"id":"p-1","timestamp":"2026-01-02T03:04:05Z","cwd":"/srv"}"#,
        r#"{"type":"model_change","id":"a","timestamp":"2026-01-02T03:04:05Z","modelId":"m"}"#,
        r#"{"type":"message","id":"b","timestamp":"2026-01-02T03:04:06Z","message":{"role":"user","content":[{"type":"text","text":"list it"}]}}"#,
        r#"{"type":"message","id":"c","timestamp":"2026-01-02T03:04:07Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"t1","name":"ls","arguments":{"path":"."}}]}}"#,
        r#"{"type":"message","id":"d","timestamp":"2026-01-02T03:04:08Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"ls","isError":true,"content":[{"type":"text","text":"no such folder"}]}}"#,
        r#"{"type":"message","id":"e","timestamp":"2026-01-02T03:04:09Z","message":{"role":"bashExecution","command":"make","output":"no rule","exitCode":2}}"#,
        r#"{"type":"compaction","id":"f","timestamp":"2026-01-02T03:04:10Z","summary":"a list"}"#,
        r#"{"type":"message","id":"g","timestamp":"2026-01-02T03:04:11Z","message":{"role":"assistant","content":[],"errorMessage":"Operation aborted"}}"#,
    ]
    .join("\n");
    let session = one(&text);
    assert_eq!((session.agent, session.id.as_str()), (Agent::Pi, "p-1"));
    assert_eq!(
        turns(&text),
        [
            "3 user: list it",
            "4 assistant thinks: hm",
            r#"4 assistant calls t1 ls {"path":"."}: "#,
            "5 tool t1 failed: no such folder",
            "6 assistant calls  bash \"make\": ",
            "6 tool  failed 2: no rule",
            "7 injected: a list",
            "8 injected: [Operation aborted]",
        ]
    );
}
