//! Sessions of OpenCode: exports and databases.

use kapsa_ingest::{Agent, Error, Reason, sessions};
use rusqlite::Connection;

use crate::{one, read_file, shown, turns};

#[test]
fn an_export_is_a_session() {
    let text = r#"{
 "info": {"id": "ses_1", "directory": "/srv/app", "time": {"created": 1770000000000}},
 "messages": [
  {"info": {"role": "user"}, "parts": [
    {"type": "text", "text": "run it"}, {"type": "text", "synthetic": true, "text": "file contents"}]},
  {"info": {"role": "assistant"}, "parts": [
    {"type": "step-start"}, {"type": "reasoning", "text": "hm"},
    {"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed",
      "input": {"command": "make"}, "output": "no rule", "metadata": {"exit": 2}}},
    {"type": "tool", "tool": "invalid", "callID": "c2", "state": {"status": "completed", "input": {}, "output": "bad"}},
    {"type": "tool", "tool": "edit", "callID": "c3", "state": {"status": "error", "input": {},
      "error": "The user rejected permission to use this tool"}},
    {"type": "tool", "tool": "read", "callID": "c4", "state": {"status": "running", "input": {}}}]}
 ]
}"#;
    let session = one(text);
    assert_eq!(session.agent, Agent::OpenCode);
    assert_eq!((session.id.as_str(), session.cwd.as_deref()), ("ses_1", Some("/srv/app")));
    assert_eq!(
        turns(text),
        [
            "m0 user: run it",
            "m0 injected: file contents",
            "m1 assistant thinks: hm",
            r#"m1 assistant calls c1 bash {"command":"make"}: "#,
            "m1 tool c1 failed 2: no rule",
            "m1 assistant calls c2 invalid {}: ",
            "m1 tool c2 failed: bad",
            "m1 assistant calls c3 edit {}: ",
            "m1 tool c3 refused: The user rejected permission to use this tool",
            "m1 assistant calls c4 read {}: ",
        ]
    );
}

const SCHEMA: &str = "
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
INSERT INTO session VALUES ('s2', 's1', '/srv', 1770000002000, 1770000002000),
  ('s1', NULL, '/srv', 1770000000000, 1770000000000);
INSERT INTO message VALUES ('m2', 's1', 1770000001000, '{\"role\":\"assistant\"}'),
  ('m1', 's1', 1770000000000, '{\"role\":\"user\"}'), ('m3', 's2', 1770000002000, '{\"role\":\"user\"}');
INSERT INTO part VALUES ('p2', 'm2', 's1', '{\"type\":\"text\",\"text\":\"done\"}'),
  ('p1', 'm1', 's1', '{\"type\":\"text\",\"text\":\"fix it\"}'),
  ('p3', 'm3', 's2', '{\"type\":\"text\",\"text\":\"explore\"}');";

#[test]
fn a_database_has_many_sessions() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("opencode.db");
    let database = Connection::open(&path).expect("a database");
    database.execute_batch("PRAGMA journal_mode = WAL;").expect("a log");
    database.execute_batch(SCHEMA).expect("tables");
    // The program still has it open, and most of it is in the log beside it.
    let (sessions, _) = read_file(&path);
    assert_eq!(sessions.len(), 2);
    let found: Vec<String> = sessions[0].turns.iter().map(shown).collect();
    assert_eq!(found, ["m0 user: fix it", "m1 assistant: done"]);
    assert_eq!(sessions[1].parent.as_deref(), Some("s1"));
    assert_eq!(shown(&sessions[1].turns[0]), "m0 injected: explore");
    drop(database);
}

#[test]
fn a_database_that_is_being_written_is_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("opencode.db");
    let database = Connection::open(&path).expect("a database");
    database.execute_batch(SCHEMA).expect("tables");
    database.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    let error = sessions(&path, &mut |_| std::ops::ControlFlow::Continue(())).expect_err("in use");
    assert!(matches!(error, Error::Busy { .. }), "{error}");
}

#[test]
fn a_broken_database_is_an_error() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("broken.db");
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.extend_from_slice(&[7; 4096]);
    std::fs::write(&path, bytes).expect("a file");
    let error = sessions(&path, &mut |_| std::ops::ControlFlow::Continue(())).expect_err("broken");
    assert!(matches!(error, Error::Database { .. }), "{error}");
}

/// A file for each session, message and part, as before there was a database.
#[test]
fn a_folder_has_a_file_for_each_record() {
    let root = tempfile::tempdir().expect("a folder");
    let storage = root.path().join("storage");
    let write = |path: &str, text: &str| {
        let path = storage.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    let about = r#"{"id":"ses_1","version":"0.9","projectID":"p","directory":"/srv","title":"t","time":{"created":1770000000000}}"#;
    write("session/p/ses_1.json", about);
    write("message/ses_1/msg_2.json", r#"{"id":"msg_2","role":"assistant","path":{"cwd":"/srv"}}"#);
    write("message/ses_1/msg_1.json", r#"{"id":"msg_1","role":"user"}"#);
    write("message/ses_1/msg_3.json", "{cut");
    write("message/ses_2/msg_9.json", r#"{"id":"msg_9","role":"user"}"#);
    write("part/msg_1/prt_1.json", r#"{"id":"prt_1","type":"text","text":"fix it"}"#);
    write("part/msg_2/prt_3.json", r#"{"id":"prt_3","type":"text","text":"done"}"#);
    write(
        "part/msg_2/prt_2.json",
        r#"{"id":"prt_2","type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"ok","metadata":{"exit":0}}}"#,
    );
    write("part/msg_9/prt_9.json", r#"{"id":"prt_9","type":"text","text":"of another session"}"#);
    #[cfg(unix)]
    {
        let outside = root.path().join("secret.json");
        std::fs::write(&outside, r#"{"type":"text","text":"outside"}"#).expect("a file");
        std::os::unix::fs::symlink(outside, storage.join("part/msg_1/prt_2.json")).expect("a link");
    }
    let (sessions, reading) = read_file(&storage.join("session/p/ses_1.json"));
    assert_eq!(sessions.len(), 1, "{reading:?}");
    assert_eq!((sessions[0].id.as_str(), sessions[0].cwd.as_deref()), ("ses_1", Some("/srv")));
    let found: Vec<String> = sessions[0].turns.iter().map(shown).collect();
    assert_eq!(
        found,
        [
            "m0 user: fix it",
            "m1 assistant calls c bash {}: ",
            "m1 tool c ok: ok",
            "m1 assistant: done",
        ]
    );
    assert_eq!(reading.skipped.of(Reason::NotJson), 1);
    write("session/p/ses_1.json", &about[..about.len() - 5]);
    let (_, reading) = read_file(&storage.join("session/p/ses_1.json"));
    assert_eq!((reading.skipped.of(Reason::Cut), reading.waiting), (1, Some(0)));
}
