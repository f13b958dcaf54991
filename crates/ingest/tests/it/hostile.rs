//! Bytes of any kind: no panic, and places that are in the file.

use kapsa_ingest::{Place, Speaker};

use crate::{read, read_bytes};

/// Traces of every format from which hostile ones are made.
const SAMPLES: [&str; 17] = [
    r#"{"type":"user","uuid":"1","sessionId":"s","message":{"content":[{"type":"text","text":"a <system-reminder>b</system-reminder>"},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"c"}]}]}}"#,
    r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}"}}"#,
    r#"{"type":"item.completed","item":{"id":"i","type":"command_execution","exit_code":1}}"#,
    r#"{"sessionId":"g","projectHash":"h","messages":[{"id":"1","type":"user","content":"a"}]}"#,
    "{\"sessionId\":\"g\",\"projectHash\":\"h\"}\n{\"id\":\"1\",\"type\":\"user\",\"content\":\"a\"}\n{\"$rewindTo\":\"1\"}",
    r#"{"info":{"id":"s"},"messages":[{"info":{"role":"user"},"parts":[{"type":"text","text":"a"}]}]}"#,
    r#"{"_v":3,"type":2,"bubbleId":"b","toolFormerData":{"name":"n","params":"{}","result":"{}"}}"#,
    r#"{"type":"assistant.message","data":{"content":"a","toolRequests":[{"name":"n"}]}}"#,
    "{\"kind\":0,\"v\":{\"requests\":[{\"message\":{\"text\":\"a\"}}]}}\n{\"kind\":2,\"k\":[\"requests\",0,\"response\"],\"v\":[{\"value\":\"b\"}]}",
    r#"{"type":"message","id":"b","message":{"role":"user","content":[{"type":"text","text":"a"}]}}"#,
    "# aider chat started at 2026-01-02 03:04:05\n\n#### a  \n\nb\n",
    "_**User**_\n\na\n\n---\n\n_**Assistant**_\n\nb\n",
    "# me: a\n\n**GitHub Copilot:** b\n",
    "user:\n<user_query>\na\n</user_query>\n\nassistant:\n[Tool call] b\n  c: d\n\ne\n",
    r#"{"mapping":{"a":{"parent":"a","children":["a"],"message":{"author":{"role":"user"},"content":{"parts":["x"]}}}},"current_node":"a","title":"t"}"#,
    r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"n","attributes":[{"key":"gen_ai.prompt","value":{"stringValue":"a"}}]}]}]}]}"#,
    r#"{"id":"r","run_type":"llm","inputs":{"messages":[{"role":"user","content":"a"}]},"outputs":{}}"#,
];

/// Numbers that look drawn and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

fn check(bytes: &[u8]) {
    let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
    let (sessions, _) = read_bytes(bytes);
    for turn in sessions.iter().flat_map(|session| &session.turns) {
        match turn.place {
            Place::Lines { first, last } => {
                assert!(
                    1 <= first && first <= last && last <= lines,
                    "{:?} of {lines}",
                    turn.place
                );
            }
            Place::Message(index) => assert!(index <= bytes.len() as u64),
        }
        assert_eq!(turn.speaker == Speaker::Tool, turn.result.is_some());
    }
}

#[test]
fn changed_and_cut_traces_are_harmless() {
    let mut numbers = Numbers(7);
    let odd: [&[u8]; 12] = [
        b"\"", b"{", b"}", b"[", b"]", b"\\", b"\0", b"\xff", b"\n", b"null", b"-1e999", b"<skill ",
    ];
    for sample in SAMPLES {
        let (_, reading) = read(sample);
        assert!(reading.format.is_some(), "{sample}");
        for end in 0..sample.len() {
            check(&sample.as_bytes()[..end]);
        }
        for _ in 0..300 {
            let mut bytes = sample.as_bytes().to_vec();
            for _ in 0..=numbers.next(4) {
                let at = numbers.next(bytes.len());
                let end = (at + numbers.next(8)).min(bytes.len());
                bytes.splice(at..end, odd[numbers.next(odd.len())].iter().copied());
                if bytes.is_empty() {
                    bytes.push(b'{');
                }
            }
            check(&bytes);
        }
    }
}

#[test]
fn any_value_in_any_place_is_harmless() {
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "\"\"",
        "\"x\"",
        "[]",
        "{}",
        "[[[]]]",
        "[null]",
        r#"{"type":"text"}"#,
        "18446744073709551616",
    ];
    for sample in SAMPLES.iter().filter(|sample| sample.starts_with('{')) {
        let starts: Vec<usize> = sample.match_indices(':').map(|(at, _)| at + 1).collect();
        for start in starts {
            let rest = &sample[start..];
            let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
            for value in values {
                check(format!("{}{value}{}", &sample[..start], &rest[end..]).as_bytes());
            }
        }
    }
}

#[test]
fn deep_nesting_ends() {
    for open in ["[", "{\"a\":", "{\"content\":[", "{\"messages\":["] {
        let deep = open.repeat(200_000);
        check(deep.as_bytes());
        check(
            format!("{{\"type\":\"user\",\"uuid\":\"1\",\"message\":{{\"content\":{deep}")
                .as_bytes(),
        );
        let closed = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        check(format!("{{\"role\":\"user\",\"content\":{closed}}}\n").as_bytes());
        check(format!("{{\"type\":\"response_item\",\"payload\":{{\"type\":\"function_call\",\"arguments\":{closed}}}}}").as_bytes());
    }
}

#[test]
fn marks_that_never_end_take_no_time() {
    for mark in ["<skill ", "<skill>", "<user_query>", "<", "```", "#### "] {
        let text = mark.repeat(40_000 / mark.len());
        let text = serde_json::to_string(&text).expect("a text");
        check(format!("{{\"role\":\"user\",\"content\":{text}}}\n").as_bytes());
    }
}
