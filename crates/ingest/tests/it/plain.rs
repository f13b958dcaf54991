//! Messages with a role and a content, and exports of ChatGPT.

use kapsa_ingest::Agent;

use crate::{one, read, turns};

#[test]
fn messages_one_a_line() {
    let text = [
        r#"{"session_id":"s-1","cwd":"/srv"}"#,
        r#"{"role":"system","content":"be kind"}"#,
        r#"{"role":"user","content":"list it","timestamp":"2026-01-02T03:04:05Z"}"#,
        r#"{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]}"#,
        r#"{"role":"tool","tool_call_id":"t1","content":"a\nb"}"#,
        r#"{"role":"tool","tool_name":"read","tool_input":{"path":"a"},"tool_output":"x"}"#,
        r#"{"role":"narrator","content":"once"}"#,
    ]
    .join("\n");
    let session = one(&text);
    assert_eq!((session.agent, session.id.as_str()), (Agent::Plain, "s-1"));
    assert_eq!(session.started, Some(1_767_323_045_000_000));
    assert_eq!(
        turns(&text),
        [
            "2 injected: be kind",
            "3 user: list it",
            "4 assistant thinks: hm",
            r#"4 assistant calls t1 ls {"path":"."}: "#,
            "5 tool t1 unknown: a\nb",
            r#"6 assistant calls  read {"path":"a"}: "#,
            "6 tool  unknown: x",
        ]
    );
}

#[test]
fn lists_of_messages() {
    let list = r#"[{"role":"user","content":[{"type":"text","text":"one"}]},{"from":"gpt","value":"two"}]"#;
    assert_eq!(turns(list), ["m0 user: one", "m1 assistant: two"]);
    let held = format!("{{\"id\":\"x\",\"messages\":{list}}}");
    assert_eq!(one(&held).id, "x");
    assert_eq!(turns(&held), ["m0 user: one", "m1 assistant: two"]);
    let (sessions, _) = read(&format!("{held}\n{held}\n"));
    assert_eq!(sessions.len(), 2, "each line is a session");
}

#[test]
fn an_export_of_chatgpt() {
    let node = |id: &str, parent: &str, role: &str, text: &str| {
        format!(
            r#""{id}":{{"id":"{id}","parent":{parent},"children":[],"message":{{"author":{{"role":"{role}"}},"content":{{"content_type":"text","parts":["{text}"]}},"create_time":1767323045.5}}}}"#
        )
    };
    let mapping = [
        r#""root":{"id":"root","parent":null,"children":["a"],"message":null}"#.to_owned(),
        node("a", r#""root""#, "user", "one"),
        node("b", r#""a""#, "assistant", "not this branch"),
        node("c", r#""a""#, "assistant", "two"),
    ]
    .join(",");
    let conversation = format!(
        r#"{{"title":"t","create_time":1767323045,"conversation_id":"chat-1","current_node":"c","mapping":{{{mapping}}}}}"#
    );
    for text in [conversation.clone(), format!("[{conversation}]")] {
        let session = one(&text);
        assert_eq!((session.agent, session.id.as_str()), (Agent::ChatGpt, "chat-1"));
        assert_eq!(turns(&text), ["m0 user: one", "m1 assistant: two"]);
        assert_eq!(session.turns[0].at, Some(1_767_323_045_500_000));
    }
}
