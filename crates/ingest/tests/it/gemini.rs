//! Chats of Gemini CLI.

use kapsa_ingest::{Agent, Reason};

use crate::{one, turns};

#[test]
fn a_document_is_a_chat() {
    let text = r#"{
  "sessionId": "g-1",
  "projectHash": "abc",
  "startTime": "2026-01-02T03:04:05Z",
  "messages": [
    {"id": "1", "type": "info", "content": "update available"},
    {"id": "2", "type": "user", "content": [{"text": "read @a"}, {"text": "\n--- Content from referenced files ---"}, {"text": "the file"}]},
    {"id": "3", "type": "gemini", "content": "I read it",
     "thoughts": [{"subject": "Plan", "description": "read"}],
     "toolCalls": [{"id": "c1", "name": "read_file", "args": {"path": "a"}, "status": "cancelled",
                    "result": [{"functionResponse": {"response": {"error": "no"}}}]}]}
  ]
}"#;
    let session = one(text);
    assert_eq!((session.agent, session.id.as_str()), (Agent::Gemini, "g-1"));
    assert_eq!(
        turns(text),
        [
            "m0 injected: update available",
            "m1 user: read @a",
            "m1 injected: --- Content from referenced files ---",
            "m1 injected: the file",
            "m2 assistant thinks: Plan\nread",
            "m2 assistant: I read it",
            r#"m2 assistant calls c1 read_file {"path":"a"}: "#,
            "m2 tool c1 refused: no",
        ]
    );
}

#[test]
fn lines_change_what_came_before() {
    let text = [
        r#"{"sessionId":"g-2","projectHash":"abc","startTime":"2026-01-02T03:04:05Z"}"#,
        r#"{"id":"1","type":"user","content":"one"}"#,
        r#"{"id":"2","type":"gemini","content":"do"}"#,
        r#"{"id":"2","type":"gemini","content":"done"}"#,
        r#"{"id":"3","type":"user","content":"two"}"#,
        r#"{"$rewindTo":"3"}"#,
        r#"{"$set":{"lastUpdated":"2026-01-02T03:05:00Z"}}"#,
        r#"{"id":"4","type":"user","content":"three"}"#,
    ]
    .join("\n");
    assert_eq!(turns(&text), ["2 user: one", "4 assistant: done", "8 user: three"]);
    assert_eq!(one(&text).skipped.of(Reason::TakenBack), 1);
    let checkpoint = r#"{"$set":{"messages":[{"id":"1","type":"user","content":"one"},{"id":"9","type":"gemini","content":"new"}]}}"#;
    assert_eq!(turns(&format!("{text}\n{checkpoint}")), ["2 user: one", "9 assistant: new"]);
    let unknown = format!(
        "{text}\n{{\"$rewindTo\":\"x\"}}\n{{\"id\":\"5\",\"type\":\"user\",\"content\":\"anew\"}}"
    );
    assert_eq!(turns(&unknown), ["10 user: anew"], "an unknown id clears everything");
}
