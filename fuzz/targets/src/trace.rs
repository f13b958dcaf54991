//! Target: any bytes as a session trace give turns within the limits and with places in the file,
//! and what is extracted from them is short and says where it stands.

use std::ops::ControlFlow;

use kapsa_extract::{
    BODY_CHARS_MAX, CANDIDATES_MAX, Extraction, LESSONS_MAX, SUMMARY_WORDS_MAX, TITLE_CHARS_MAX,
    extract, summarise,
};
use kapsa_ingest::{
    ARGUMENT_CHARS_MAX, Place, RESULT_CHARS_MAX, Reading, Seen, Session, Speaker, TEXT_CHARS_MAX,
    Turn, TurnKind, sessions_in,
};

/// Reads the bytes as a file of any format, twice: the second time, replays are known.
pub fn trace(data: &[u8]) {
    let lines = data.split(|&byte| byte == b'\n').count() as u64;
    let mut seen = Seen::new();
    let (first, reading) = read(data, &mut seen);
    assert_eq!(first.len() as u64, reading.sessions, "each session is handed out once");
    for session in &first {
        assert!(!session.turns.is_empty(), "a session without turns");
        assert!(session.started <= session.ended, "{:?} to {:?}", session.started, session.ended);
        session.turns.iter().for_each(|turn| check(turn, lines, data.len()));
        check_extraction(session);
    }
    let (again, _) = read(data, &mut Seen::new());
    assert_eq!(first, again, "the same bytes give the same sessions");
    // What is left of a replay depends on what else the file holds: it has only to be in order.
    let (replayed, _) = read(data, &mut seen);
    let turns = replayed.iter().flat_map(|session| &session.turns);
    turns.for_each(|turn| check(turn, lines, data.len()));
}

fn check_extraction(session: &Session) {
    let Extraction { candidates } = extract(session);
    assert!(
        candidates.len() <= 2 * CANDIDATES_MAX + LESSONS_MAX + 1,
        "{} candidates",
        candidates.len()
    );
    for candidate in &candidates {
        // One more for the mark of a cut.
        assert!(candidate.title.chars().count() <= TITLE_CHARS_MAX + 1, "{candidate:?}");
        assert!(candidate.body.chars().count() <= BODY_CHARS_MAX + 1, "{candidate:?}");
        assert!((0.0..=1.0).contains(&candidate.confidence), "{candidate:?}");
        assert!(!candidate.evidence.is_empty(), "{candidate:?}");
    }
    let words = summarise(session).text.split_whitespace().count();
    assert!(words <= SUMMARY_WORDS_MAX, "{words} words");
}

fn read(data: &[u8], seen: &mut Seen) -> (Vec<Session>, Reading) {
    let mut sessions = Vec::new();
    let reading = sessions_in("trace", data, seen, &mut |session| {
        sessions.push(session);
        ControlFlow::Continue(())
    });
    // Bytes that are not what their compression says are refused.
    let reading = reading
        .unwrap_or_else(|_| Reading { sessions: sessions.len() as u64, ..Reading::default() });
    (sessions, reading)
}

fn check(turn: &Turn, lines: u64, bytes: usize) {
    match turn.place {
        // Compressed bytes have other lines.
        Place::Lines { first, last } if bytes == 0 || lines > 1 || last == 1 => {
            assert!(1 <= first && first <= last, "lines {first} to {last}");
        }
        Place::Lines { .. } | Place::Message(_) => {}
    }
    let chars = turn.text.chars().count();
    let is_result = turn.kind == TurnKind::ToolResult;
    let limit = if is_result { RESULT_CHARS_MAX } else { TEXT_CHARS_MAX };
    assert!(chars <= limit, "{chars} characters of a {:?}", turn.kind);
    assert_eq!(turn.speaker == Speaker::Tool, is_result);
    assert_eq!(turn.result.is_some(), is_result);
    assert_eq!(turn.call.is_some(), turn.kind == TurnKind::ToolCall);
    if let Some(call) = &turn.call
        && let Some(text) = call.arguments.as_str()
    {
        assert!(text.chars().count() <= ARGUMENT_CHARS_MAX, "long arguments");
    }
}

/// A trace of each format.
pub(crate) const TRACES: [&str; 18] = [
    r#"{"type":"user","uuid":"1","sessionId":"s","timestamp":"2026-01-02T03:04:05Z","message":{"content":[{"type":"text","text":"a <system-reminder>b</system-reminder>"},{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"Exit code 2"}]}]}}"#,
    "{\"type\":\"assistant\",\"uuid\":\"2\",\"sessionId\":\"s\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}\n{\"type\":\"assistant\",\"uuid\":\"3\",\"isSidechain\":true,\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{\"a\":[1]}}]}}\n",
    "{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\",\"forked_from_id\":\"y\"}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"name\":\"n\",\"call_id\":\"c\",\"arguments\":\"{}\"}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"{\\\"output\\\":\\\"x\\\",\\\"metadata\\\":{\\\"exit_code\\\":1}}\"}}",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"a\"}}\n{\"type\":\"event_msg\",\"payload\":{\"type\":\"thread_rolled_back\",\"num_turns\":1}}",
    r#"{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"c","exit_code":1}}"#,
    r#"{"sessionId":"g","projectHash":"h","messages":[{"id":"1","type":"user","content":[{"text":"a"}]},{"id":"2","type":"gemini","content":"b","toolCalls":[{"id":"c","name":"n","args":{},"status":"error"}]}]}"#,
    "{\"sessionId\":\"g\",\"projectHash\":\"h\"}\n{\"id\":\"1\",\"type\":\"user\",\"content\":\"a\"}\n{\"$set\":{\"messages\":[]}}\n{\"$rewindTo\":\"1\"}",
    r#"{"info":{"id":"s"},"messages":[{"info":{"role":"user"},"parts":[{"type":"text","text":"a"},{"type":"tool","tool":"t","state":{"status":"completed","metadata":{"exit":1}}}]}]}"#,
    "{\"_v\":13,\"composerId\":\"c\",\"fullConversationHeadersOnly\":[{\"bubbleId\":\"b\"}]}\n{\"_v\":3,\"type\":2,\"bubbleId\":\"b\",\"toolFormerData\":{\"name\":\"n\",\"params\":\"{}\",\"result\":\"{}\"}}",
    "{\"type\":\"user.message\",\"data\":{\"content\":\"a\"}}\n{\"type\":\"assistant.message\",\"data\":{\"content\":\"a\",\"toolRequests\":[{\"name\":\"n\"}]}}",
    "{\"kind\":0,\"v\":{\"requests\":[{\"message\":{\"text\":\"a\"}}]}}\n{\"kind\":2,\"k\":[\"requests\",0,\"response\"],\"v\":[{\"value\":\"b\"}]}\n{\"kind\":1,\"k\":[\"requests\",0,\"response\",0],\"v\":{\"value\":\"c\"}}",
    r#"{"type":"message","id":"b","message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"n","arguments":{}}]}}"#,
    "# aider chat started at 2026-01-02 03:04:05\n\n> v1  \n\n#### a  \n\nb\n```\n#### c\n```\n",
    "<!-- Generated by SpecStory -->\n\n_**User (2026-01-02 03:04Z)**_\n\na\n\n---\n\n_**Assistant**_\n\nb\n",
    "# me: a\n\n**GitHub Copilot:** b\n",
    r#"[{"title":"t","mapping":{"r":{"parent":null,"children":["a"]},"a":{"parent":"r","children":[],"message":{"author":{"role":"user"},"content":{"parts":["x"]}}}},"current_node":"a"}]"#,
    r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"n","startTimeUnixNano":"1767323045000000000","attributes":[{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"a\"}]}]"}},{"key":"gen_ai.tool.name","value":{"stringValue":"t"}}]}]}]}]}"#,
    r#"{"id":"r","run_type":"llm","start_time":"2026-01-02T03:04:05","inputs":{"messages":[[{"id":["HumanMessage"],"kwargs":{"content":"a"}}]]},"outputs":{"generations":[[{"text":"b"}]]}}"#,
];
