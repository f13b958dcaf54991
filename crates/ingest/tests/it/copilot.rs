//! Copilot: events of its command line, and chats of VS Code.

use kapsa_ingest::Agent;

use crate::{one, turns};

#[test]
fn events_of_the_command_line() {
    let text = [
        r#"{"type":"session.start","data":{"sessionId":"s-1","context":{"cwd":"/srv","branch":"main","repository":"me/app"}},"timestamp":"2026-01-02T03:04:05Z"}"#,
        r#"{"type":"user.message","data":{"content":"make a file"}}"#,
        r#"{"type":"assistant.message","data":{"content":"I do","toolRequests":[{"toolCallId":"t1","name":"create","arguments":"{\"path\":\"a\"}"}]}}"#,
        r#"{"type":"tool.execution_start","data":{"toolCallId":"t1","toolName":"create","arguments":{"path":"a"}}}"#,
        r#"{"type":"tool.execution_complete","data":{"toolCallId":"t1","success":false,"error":{"message":"disk full"}}}"#,
        r#"{"type":"assistant.turn_end","data":{}}"#,
    ]
    .join("\n");
    let session = one(&text);
    assert_eq!((session.agent, session.id.as_str()), (Agent::Copilot, "s-1"));
    assert_eq!(session.repo.as_deref(), Some("me/app"));
    assert_eq!(
        turns(&text),
        [
            "2 user: make a file",
            "3 assistant: I do",
            r#"3 assistant calls t1 create {"path":"a"}: "#,
            "5 tool t1 failed: disk full",
        ]
    );
}

const ANSWER: &str = r#"[{"value":"I look. "},{"kind":"inlineReference","inlineReference":{"path":"/srv/a"}},{"kind":"toolInvocationSerialized","toolId":"run","toolCallId":"t1","isConfirmed":{"type":0},"pastTenseMessage":{"value":"Ran make"}},{"value":"Then not."}]"#;
const ANSWERED: [&str; 5] = [
    "user: run it",
    "assistant: I look. /srv/a",
    "assistant calls t1 run null: ",
    "tool t1 refused: Ran make",
    "assistant: Then not.",
];

#[test]
fn a_chat_of_vs_code_is_a_document() {
    let request = format!(r#"{{"message":{{"text":"run it"}},"response":{ANSWER}}}"#);
    let text =
        format!("{{\n\"version\": 3,\n\"sessionId\": \"v-1\",\n\"requests\": [{request}]\n}}");
    assert_eq!(one(&text).id, "v-1");
    assert_eq!(turns(&text), ANSWERED.map(|turn| format!("m0 {turn}")));
}

#[test]
fn a_chat_of_vs_code_is_a_journal() {
    let text = [
        r#"{"kind":0,"v":{"version":3,"sessionId":"v-1","requests":[]}}"#.to_owned(),
        r#"{"kind":2,"k":["requests"],"v":[{"message":{"text":"run"},"response":[]}]}"#.to_owned(),
        r#"{"kind":1,"k":["requests",0,"message"],"v":{"text":"run it"}}"#.to_owned(),
        format!(r#"{{"kind":2,"k":["requests",0,"response"],"v":{ANSWER}}}"#),
        r#"{"kind":1,"k":["customTitle"],"v":"a title"}"#.to_owned(),
    ]
    .join("\n");
    assert_eq!(one(&text).id, "v-1");
    assert_eq!(turns(&text), ANSWERED.map(|turn| format!("2 {turn}")));
}

#[test]
fn rounds_of_calls_hold_more_than_what_was_shown() {
    let metadata = r#"{"toolCallRounds":[{"response":"I look","toolCalls":[{"name":"read","id":"t1","arguments":"{\"path\":\"a\"}"}]},{"response":"fine","toolCalls":[]}],"toolCallResults":{"t1":{"content":[{"value":{"node":{"type":1,"children":[{"type":2,"text":"line 1"}]}}}]}}}"#;
    let text = format!(
        r#"{{"version":3,"requests":[{{"message":{{"text":"check"}},"response":[{{"value":"shown"}}],"result":{{"metadata":{metadata}}}}}]}}"#
    );
    assert_eq!(
        turns(&text),
        [
            "m0 user: check",
            "m0 assistant: I look",
            r#"m0 assistant calls t1 read {"path":"a"}: "#,
            "m0 tool t1 unknown: line 1",
            "m0 assistant: fine",
        ]
    );
}
