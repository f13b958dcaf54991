//! Folders of traces.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use kapsa_ingest::{Reason, Session, Walk, walk};

fn walked(folder: &Path) -> (Vec<Session>, Walk) {
    let mut sessions = Vec::new();
    let walk = walk(folder, &mut |_, session| {
        sessions.push(session);
        ControlFlow::Continue(())
    });
    (sessions, walk.expect("the folder can be read"))
}

fn said(uuid: &str, session: &str, rest: &str, text: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"sessionId\":\"{session}\",{rest}\"message\":{{\"content\":\"{text}\"}}}}\n"
    )
}

#[test]
fn forks_give_only_what_is_new_and_sub_agents_follow_their_parent() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("project");
    fs::create_dir_all(folder.join("a/subagents")).expect("a folder");
    fs::create_dir_all(folder.join("a/tool-results")).expect("a folder");
    let one = said("1", "a", "", "one");
    fs::write(folder.join("a.jsonl"), format!("{one}{}", said("2", "a", "", "two")))
        .expect("a file");
    let fork = said("1", "b", "", "one");
    fs::write(folder.join("b.jsonl"), format!("{fork}{}", said("3", "b", "", "three")))
        .expect("a file");
    let side = said("4", "a", "\"isSidechain\":true,", "explore");
    fs::write(folder.join("a/subagents/agent-x.jsonl"), side).expect("a file");
    fs::write(folder.join("a/subagents/agent-x.meta.json"), "{\"model\":\"m\"}").expect("a file");
    fs::write(folder.join("a/tool-results/t.jsonl"), &one).expect("a file");
    fs::write(folder.join("notes.txt"), "nothing").expect("a file");
    let (sessions, walk) = walked(root.path());
    let shown: Vec<(&str, Option<&str>, Vec<&str>)> = sessions
        .iter()
        .map(|session| {
            let texts = session.turns.iter().map(|turn| turn.text.as_str()).collect();
            (session.id.as_str(), session.parent.as_deref(), texts)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a", None, vec!["one", "two"]),
            ("agent-x", Some("a"), vec!["explore"]),
            ("b", None, vec!["three"]),
        ]
    );
    assert_eq!((walk.traces, walk.others, walk.sessions), (3, 2, 3));
    assert_eq!(walk.skipped.of(Reason::Replayed), 1);
    assert!(walk.failed.is_empty() && walk.waiting.is_empty());
}

#[test]
fn forks_of_codex_repeat_the_turns_of_another_file() {
    let root = tempfile::tempdir().expect("a folder");
    let turn = |id: &str, text: &str| {
        format!(
            "{{\"type\":\"turn_context\",\"payload\":{{\"turn_id\":\"{id}\"}}}}\n{{\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let meta = |id: &str, rest: &str| {
        format!("{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\"{rest}}}}}\n")
    };
    let first = format!("{}{}", meta("a", ""), turn("t1", "one"));
    let second = format!(
        "{}{}{}",
        meta("b", ",\"forked_from_id\":\"a\""),
        turn("t1", "one"),
        turn("t2", "two")
    );
    fs::write(root.path().join("a.jsonl"), &first).expect("a file");
    fs::write(root.path().join("b.jsonl"), second).expect("a file");
    let packed = zstd::encode_all(first.as_bytes(), 3).expect("bytes");
    fs::write(root.path().join("a.jsonl.zst"), packed).expect("a file");
    let (sessions, walk) = walked(root.path());
    let texts: Vec<&str> =
        sessions.iter().flat_map(|session| &session.turns).map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(walk.traces, 2, "the plain file wins over its compressed twin");
}

#[test]
fn a_walk_stops_when_it_is_to() {
    let root = tempfile::tempdir().expect("a folder");
    for name in ["a", "b"] {
        fs::write(root.path().join(format!("{name}.jsonl")), said(name, name, "", "hi"))
            .expect("a file");
    }
    let mut count = 0;
    let walk = walk(root.path(), &mut |_, _| {
        count += 1;
        ControlFlow::Break(())
    });
    assert_eq!((count, walk.expect("a folder").sessions), (1, 1));
    assert!(
        kapsa_ingest::walk(&root.path().join("gone"), &mut |_, _| ControlFlow::Continue(()))
            .is_err()
    );
}
