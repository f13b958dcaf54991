//! Conversations of Cursor.

use kapsa_ingest::Agent;
use rusqlite::Connection;

use crate::{one, read_file, shown, turns};

const COMPOSER: &str = r#"{"_v":13,"composerId":"c-1","createdOnBranch":"main","fullConversationHeadersOnly":[{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2},{"bubbleId":"b3","type":2}]}"#;
const ASKED: &str = r#"{"_v":3,"type":1,"bubbleId":"b1","text":"run it"}"#;
const CALLED: &str = r#"{"_v":3,"type":2,"bubbleId":"b2","toolFormerData":{"name":"run_terminal_cmd","toolCallId":"t1","status":"completed","rawArgs":"{\"command\":\"make\"}","result":"{\"output\":\"no rule\",\"exitCode\":2}"}}"#;
const SAID: &str =
    r#"{"_v":3,"type":2,"bubbleId":"b3","thinking":{"text":"hm"},"text":"it fails"}"#;

#[test]
fn the_conversation_gives_the_order() {
    let text = [COMPOSER, SAID, ASKED, CALLED].join("\n");
    let session = one(&text);
    assert_eq!((session.id.as_str(), session.branch.as_deref()), ("c-1", Some("main")));
    assert_eq!(
        turns(&text),
        [
            "3 user: run it",
            r#"4 assistant calls t1 run_terminal_cmd {"command":"make"}: "#,
            "4 tool t1 failed 2: no rule",
            "2 assistant thinks: hm",
            "2 assistant: it fails",
        ]
    );
}

#[test]
fn a_database_has_conversations_and_chats() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("state.vscdb");
    let database = Connection::open(&path).expect("a database");
    database
        .execute_batch("CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB); CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);")
        .expect("tables");
    let twice = serde_json::to_string(SAID).expect("a text");
    let values =
        [("composerData:c-1", COMPOSER), ("bubbleId:c-1:b1", ASKED), ("bubbleId:c-1:b3", &twice)];
    for (key, value) in values {
        database.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", [key, value]).expect("a row");
    }
    let chats = r#"{"tabs":[{"tabId":"tab-1","bubbles":[{"type":"user","rawText":"why?"},{"type":"ai","rawText":"because"}]}]}"#;
    let key = "workbench.panel.aichat.view.aichat.chatdata";
    database.execute("INSERT INTO ItemTable VALUES (?1, ?2)", [key, chats]).expect("a row");
    let (sessions, reading) = read_file(&path);
    let shown: Vec<Vec<String>> =
        sessions.iter().map(|session| session.turns.iter().map(shown).collect()).collect();
    assert_eq!(shown[0], ["m0 user: run it", "m2 assistant thinks: hm", "m2 assistant: it fails"]);
    assert_eq!(shown[1], ["m0 user: why?", "m1 assistant: because"]);
    assert!(reading.skipped.to_string().contains("bubble that is gone"));
}

#[test]
fn transcripts_of_the_agent_are_read() {
    let text = [
        r#"{"role":"user","message":{"content":[{"type":"text","text":"<user_info>os</user_info><user_query>\nfix it\n</user_query>"}]}}"#,
        r#"{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{"path":"a"}},{"type":"text","text":"done"}]}}"#,
    ]
    .join("\n");
    assert_eq!(
        turns(&text),
        [
            "1 injected: <user_info>os</user_info>",
            "1 user: fix it",
            r#"2 assistant calls  Read {"path":"a"}: "#,
            "2 assistant: done",
        ]
    );
}

#[test]
fn a_transcript_of_text_has_its_turns() {
    let text = "user:
<open_files>a.rs</open_files>
<user_query>
Use port 5433.
assistant:
is what the log says
</user_query>

assistant:
[Thinking] which file?

I look.
[Tool call] Shell
  command: grep -rn port
    src
  description: Find: it

[Tool result] Shell

[Tool result] Read
fn main() {}

A:
Done. Its file says
user:
  name: root
";
    assert_eq!(
        turns(text),
        [
            "2-7 injected: <open_files>a.rs</open_files>",
            "2-7 user: Use port 5433.\nassistant:\nis what the log says",
            "10 assistant thinks: which file?",
            "12 assistant: I look.",
            r#"13-16 assistant calls  Shell {"command":"grep -rn port\n    src","description":"Find: it"}: "#,
            "20-21 tool  unknown: fn main() {}",
            "24 assistant: Done. Its file says",
            "26 injected: name: root",
        ]
    );
    assert_eq!(one(text).agent, Agent::Cursor);
}
