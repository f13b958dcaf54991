//! Spans of OpenTelemetry and runs of LangSmith.

use kapsa_ingest::{Agent, Reason};

use crate::{one, turns};

fn span(start: u64, attributes: &[(&str, &str)]) -> String {
    let attributes: Vec<String> = attributes
        .iter()
        .map(|(key, value)| {
            let value = serde_json::to_string(value).expect("a text");
            format!(r#"{{"key":"{key}","value":{{"stringValue":{value}}}}}"#)
        })
        .collect();
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"t","spanId":"s","name":"chat","startTimeUnixNano":"17673230{start}000000000","endTimeUnixNano":"17673230{start}500000000","attributes":[{}]}}]}}]}}]}}"#,
        attributes.join(",")
    )
}

#[test]
fn spans_become_one_conversation() {
    let id = ("gen_ai.conversation.id", "c-1");
    let first = r#"[{"role":"user","parts":[{"type":"text","content":"list it"}]}]"#;
    let called = r#"[{"role":"assistant","parts":[{"type":"tool_call","id":"t1","name":"ls","arguments":{"path":"."}}]}]"#;
    let second = format!(
        "{},{},{}]",
        first.trim_end_matches(']'),
        called.trim_matches(['[', ']']),
        r#"{"role":"tool","parts":[{"type":"tool_call_response","id":"t1","response":"a"}]},{"role":"user","parts":[{"type":"text","content":"list it"}]}"#
    );
    let text = [
        span(
            20,
            &[
                id,
                ("gen_ai.input.messages", &second),
                (
                    "gen_ai.output.messages",
                    r#"[{"role":"assistant","parts":[{"type":"text","content":"done"}]}]"#,
                ),
            ],
        ),
        span(
            15,
            &[
                id,
                ("gen_ai.tool.name", "ls"),
                ("gen_ai.tool.call.id", "t1"),
                ("gen_ai.tool.call.result", "a"),
            ],
        ),
        span(
            10,
            &[
                id,
                ("gen_ai.system_instructions", "be kind"),
                ("gen_ai.input.messages", first),
                ("gen_ai.output.messages", called),
            ],
        ),
    ];
    let chronological = [&text[2], &text[1], &text[0]].map(String::as_str).join("\n");
    let session = one(&chronological);
    assert_eq!((session.agent, session.id.as_str()), (Agent::Otel, "c-1"));
    assert!(session.skipped.of(Reason::Replayed) > 0);
    assert_eq!(
        turns(&chronological),
        [
            "1 injected: be kind",
            "1 user: list it",
            r#"1 assistant calls t1 ls {"path":"."}: "#,
            "2 tool t1 ok: a",
            "3 user: list it",
            "3 assistant: done",
        ]
    );
}

#[test]
fn runs_of_langsmith() {
    let text = [
        r#"{"id":"r2","trace_id":"t-1","run_type":"llm","parent_run_id":"r1","start_time":"2026-01-02T03:04:06","end_time":"2026-01-02T03:04:07","inputs":{"messages":[[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"list it"}}]]},"outputs":{"generations":[[{"text":"I do","message":{"lc":1,"type":"constructor","id":["x","AIMessage"],"kwargs":{"content":"I do","tool_calls":[{"id":"c1","name":"ls","args":{"path":"."}}]}}}]]}}"#,
        r#"{"id":"r1","trace_id":"t-1","run_type":"chain","start_time":"2026-01-02T03:04:05","end_time":"2026-01-02T03:04:09","inputs":{"input":"list it"},"outputs":{"output":"done"}}"#,
        r#"{"id":"r3","trace_id":"t-1","run_type":"tool","name":"ls","parent_run_id":"r1","start_time":"2026-01-02T03:04:08","end_time":"2026-01-02T03:04:08","inputs":{"input":"."},"outputs":null,"error":"no such folder"}"#,
        r#"{"id":"r4","trace_id":"t-1","run_type":"retriever","parent_run_id":"r1","inputs":{},"outputs":{}}"#,
    ]
    .join("\n");
    let session = one(&text);
    assert_eq!((session.agent, session.id.as_str()), (Agent::LangSmith, "t-1"));
    assert_eq!(
        turns(&text),
        [
            "1 user: list it",
            "1 assistant: I do",
            r#"1 assistant calls c1 ls {"path":"."}: "#,
            "3 assistant calls r3 ls \".\": ",
            "3 tool r3 failed: no such folder",
        ]
    );
}

/// The same messages in log records: in attributes, or, as older conventions have it, in bodies.
#[test]
fn log_records_become_one_conversation() {
    let record = |at: u64, rest: &str| {
        format!(
            r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"timeUnixNano":"17673230{at}000000000","traceId":"t",{rest}}}]}}]}}]}}"#
        )
    };
    let body = |text: &str| {
        format!(
            r#""body":{{"kvlistValue":{{"values":[{{"key":"content","value":{{"stringValue":"{text}"}}}}]}}}}"#
        )
    };
    let output =
        r#"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"two files\"}]}]"#;
    let text = [
        record(10, &format!(r#""eventName":"gen_ai.user.message","attributes":[],{}"#, body("list it"))),
        record(11, &format!(r#""attributes":[{{"key":"event.name","value":{{"stringValue":"gen_ai.assistant.message"}}}}],{}"#, body("listed"))),
        record(12, &format!(r#""eventName":"gen_ai.client.inference.operation.details","attributes":[{{"key":"gen_ai.output.messages","value":{{"stringValue":"{output}"}}}}]"#)),
        record(13, r#""body":{"stringValue":"started"},"attributes":[]"#),
    ]
    .join("\n");
    assert_eq!(turns(&text), ["1 user: list it", "2 assistant: listed", "3 assistant: two files"]);
    assert_eq!(one(&text).started, Some(1_767_323_010_000_000));
}
