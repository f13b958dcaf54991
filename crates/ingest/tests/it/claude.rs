//! Transcripts of Claude Code.

use kapsa_ingest::{Agent, Reason};

use crate::{one, read, read_file, shown, turns};

/// A record with the keys that all have.
fn record(kind: &str, uuid: &str, rest: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","sessionId":"s1","cwd":"/srv/app","gitBranch":"main","timestamp":"2026-01-02T03:04:05.678Z",{rest}}}"#
    )
}

fn user(uuid: &str, content: &str) -> String {
    record("user", uuid, &format!(r#""message":{{"role":"user","content":{content}}}"#))
}

fn assistant(uuid: &str, id: &str, parts: &str) -> String {
    let message = format!(r#""message":{{"id":"{id}","role":"assistant","content":[{parts}]}}"#);
    record("assistant", uuid, &message)
}

#[test]
fn a_session_has_its_turns_and_places() {
    let text = [
        user("u1", r#""run the tests""#),
        assistant("a1", "m1", r#"{"type":"thinking","thinking":"which ones?"}"#),
        assistant("a2", "m1", r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make test"}}"#),
        user("u2", r#"[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 2\nno rule"}]"#),
    ]
    .join("\n");
    let session = one(&text);
    assert_eq!(session.agent, Agent::Claude);
    assert_eq!(session.id, "stem", "the file names the session");
    assert_eq!(session.cwd.as_deref(), Some("/srv/app"));
    assert_eq!(session.branch.as_deref(), Some("main"));
    assert_eq!(session.started, Some(1_767_323_045_678_000));
    let shown: Vec<String> = session.turns.iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            "1 user: run the tests",
            "2 assistant thinks: which ones?",
            r#"3 assistant calls t1 Bash {"command":"make test"}: "#,
            "4 tool t1 failed 2: Exit code 2\nno rule",
        ]
    );
}

#[test]
fn parts_of_a_message_are_taken_once() {
    let text = [
        assistant("a1", "m1", r#"{"type":"text","text":"I look"}"#),
        assistant("a2", "m1", r#"{"type":"text","text":"I look at it"}"#),
        assistant("a3", "m1", r#"{"type":"text","text":"I look at it"},{"type":"tool_use","id":"t1","name":"Go","input":{}}"#),
        assistant("a4", "m1", r#"{"type":"tool_use","id":"t1","name":"Go","input":{"path":"a"}}"#),
        assistant("a5", "m2", r#"{"type":"text","text":"I look"}"#),
    ]
    .join("\n");
    assert_eq!(
        turns(&text),
        [
            "1-3 assistant: I look at it",
            r#"3-4 assistant calls t1 Go {"path":"a"}: "#,
            "5 assistant: I look",
        ]
    );
}

/// Where two prompts follow one record, the user went back and said something else.
#[test]
fn what_the_user_went_back_from_is_left_out() {
    let after = |parent: &str, record: String| {
        record.replacen("\"sessionId\"", &format!("\"parentUuid\":\"{parent}\",\"sessionId\""), 1)
    };
    let says = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let calls = r#"{"type":"tool_use","id":"t1","name":"Go","input":{}}"#;
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"done"}]"#;
    let text = [
        user("u1", r#""use tabs""#),
        after("u1", assistant("a1", "m1", &says("tabs"))),
        after("a1", user("u2", r#""no, four spaces""#)),
        after("u2", assistant("a2", "m2", calls)),
        after("a2", user("r2", result)),
        after("a1", user("u3", r#""no, two spaces""#)),
        after("u3", assistant("a3", "m3", &says("two"))),
    ]
    .join("\n");
    let (sessions, reading) = read(&text);
    let shown: Vec<String> = sessions[0].turns.iter().map(shown).collect();
    let expected =
        ["1 user: use tabs", "2 assistant: tabs", "6 user: no, two spaces", "7 assistant: two"];
    assert_eq!(shown, expected);
    assert_eq!(reading.skipped.of(Reason::TakenBack), 3);
}

#[test]
fn what_the_program_wrote_is_injected() {
    let compact = r#""isCompactSummary":true,"message":{"content":"they want tabs"}"#;
    let meta = r#""isMeta":true,"message":{"content":"remember the rules"}"#;
    let error =
        r#""isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error"}]}"#;
    let text = [
        record("user", "1", compact),
        record("user", "2", meta),
        user("3", r#""<ide_opened_file>a.rs</ide_opened_file>use spaces""#),
        user("4", r#""[Request interrupted by user]""#),
        user("5", r#""<command-name>/plan</command-name><command-args>the port</command-args>""#),
        record("assistant", "6", error),
    ]
    .join("\n");
    assert_eq!(
        turns(&text),
        [
            "1 injected: they want tabs",
            "2 injected: remember the rules",
            "3 injected: <ide_opened_file>a.rs</ide_opened_file>",
            "3 user: use spaces",
            "4 injected: [Request interrupted by user]",
            "5 injected: <command-name>/plan</command-name>",
            "5 user: the port",
            "6 injected: API Error",
        ]
    );
}

#[test]
fn words_typed_while_the_agent_works_are_the_users() {
    let queued = r#"{"type":"attachment","uuid":"a","attachment":{"type":"queued_command","prompt":"parser first"}}"#;
    let removed = r#"{"type":"queue-operation","operation":"remove","content":"parser first","sessionId":"s1"}"#;
    let other = r#"{"type":"queue-operation","operation":"remove","content":"then the tests","sessionId":"s1"}"#;
    let entered = r#"{"type":"queue-operation","operation":"enqueue","content":"never mind","sessionId":"s1"}"#;
    let text = [entered, removed, queued, other].join("\n");
    assert_eq!(turns(&text), ["2 user: parser first", "4 user: then the tests"]);
}

#[test]
fn what_is_typed_into_a_refusal_is_the_users() {
    let refusal =
        "The user doesn't want to proceed with this tool use. the user said:\\nuse the API";
    let rest = format!(
        r#""toolUseResult":"Error: rejected","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"{refusal}"}}]}}"#
    );
    let answer = r#""toolUseResult":{"questions":[],"answers":{"Which port?":"8080"}},"message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"answered"}]}"#;
    let call = |id: &str, name: &str| {
        let part = format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#);
        record("assistant", &format!("c{id}"), &format!(r#""message":{{"content":[{part}]}}"#))
    };
    let said = |first: &str, second: &str| {
        let (refused, answered) = (record("user", "1", &rest), record("user", "2", answer));
        let text = [call("t1", first), refused, call("t2", second), answered].join("\n");
        let mut found = turns(&text);
        found.retain(|turn| turn.contains(" user: "));
        found
    };
    assert_eq!(said("Bash", "AskUserQuestion"), ["2 user: use the API", "4 user: 8080"]);
    // What a tool prints is not, whatever it looks like.
    assert_eq!(said("mcp__web__get", "Bash"), [] as [&str; 0]);
    let printed = rest.replace(r#""is_error":true,"#, "");
    let text = [call("t1", "Bash"), record("user", "1", &printed)].join("\n");
    assert!(!turns(&text).iter().any(|turn| turn.contains(" user: ")));
}

#[test]
fn nobody_but_an_agent_speaks_to_a_sub_agent() {
    let side = r#""isSidechain":true,"message":{"content":"find the callers"}"#;
    let text = [user("1", r#""refactor""#), record("user", "2", side)].join("\n");
    let (sessions, _) = read(&text);
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0].parent, None);
    assert_eq!(sessions[1].id, "stem/sidechain");
    assert_eq!(sessions[1].parent.as_deref(), Some("stem"));
    assert_eq!(shown(&sessions[1].turns[0]), "2 injected: find the callers");
    // A file of its own names its parent.
    let session = one(&record("user", "3", side));
    assert_eq!((session.id.as_str(), session.parent.as_deref()), ("stem", Some("s1")));
}

#[test]
fn unknown_records_are_counted() {
    let text = [
        r#"{"type":"summary","summary":"of another session","leafUuid":"x"}"#.to_owned(),
        r#"{"type":"brand-new","sessionId":"s1"}"#.to_owned(),
        r#"{"type":"system","subtype":"turn_duration","uuid":"y"}"#.to_owned(),
        user(
            "1",
            r#"[{"type":"image","source":{}},{"type":"hologram"},{"type":"text","text":"hi"}]"#,
        ),
        user("1", r#""hi""#),
        "not json".to_owned(),
    ]
    .join("\n");
    let (sessions, reading) = read(&format!("{text}\n"));
    assert_eq!(sessions[0].turns.len(), 1);
    let counts: Vec<(Reason, &str, u64)> = reading.skipped.iter().collect();
    assert_eq!(
        counts,
        [
            (Reason::UnknownType, "brand-new", 1),
            (Reason::UnknownType, "hologram", 1),
            (Reason::NotDialogue, "image", 1),
            (Reason::NotDialogue, "summary", 1),
            (Reason::NotDialogue, "system turn_duration", 1),
            (Reason::NotJson, "line", 1),
            (Reason::Replayed, "user", 1),
        ]
    );
    assert_eq!(sessions[0].skipped, reading.skipped);
    assert!(reading.skipped.to_string().contains("1 × brand-new (unknown type)"));
}

#[test]
fn persisted_output_is_read_only_beside_the_session() {
    let root = tempfile::tempdir().expect("a folder");
    let outputs = root.path().join("s1/tool-results");
    std::fs::create_dir_all(&outputs).expect("a folder");
    std::fs::write(outputs.join("t1.txt"), "the whole output").expect("a file");
    std::fs::write(root.path().join("other.txt"), "a secret").expect("a file");
    let result = |path: &std::path::Path| {
        let path = serde_json::to_string(&path.to_string_lossy()).expect("a text");
        format!(
            r#""toolUseResult":{{"persistedOutputPath":{path}}},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"<persisted-output>start</persisted-output>"}}]}}"#
        )
    };
    let inside = record("user", "1", &result(&outputs.join("t1.txt")));
    let outside = record("user", "2", &result(&root.path().join("other.txt")));
    let file = root.path().join("s1.jsonl");
    std::fs::write(&file, format!("{inside}\n{outside}\n")).expect("a file");
    let (sessions, _) = read_file(&file);
    let texts: Vec<&str> = sessions[0].turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts, ["the whole output", "<persisted-output>start</persisted-output>"]);
}

#[test]
fn programs_that_write_alike_are_read() {
    let text = [
        r#"{"uuid":"1","parentUuid":null,"sessionId":"q","type":"user","cwd":"/srv","message":{"role":"user","parts":[{"text":"list"}]}}"#,
        r#"{"uuid":"2","sessionId":"q","type":"assistant","message":{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c1","name":"ls","args":{"path":"."}}}]}}"#,
        r#"{"uuid":"3","sessionId":"q","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"ls","response":{"error":"no such folder"}}}]}}"#,
    ]
    .join("\n");
    assert_eq!(
        turns(&text),
        [
            "1 user: list",
            "2 assistant thinks: hm",
            r#"2 assistant calls c1 ls {"path":"."}: "#,
            "3 tool c1 failed: no such folder",
        ]
    );
}
