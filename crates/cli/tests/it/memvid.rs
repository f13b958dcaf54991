//! Files of Memvid: what the helper program says becomes records, and records a file. A script
//! stands in for the program where only its answers count; the program itself is tested where it is
//! there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Run, Sandbox, bytes, output};

/// How a file of Memvid's begins.
const MAGIC: &[u8] = b"MV2\0";

/// A program that does what the script says.
pub(crate) fn stand_in(sandbox: &Sandbox, script: &str) -> PathBuf {
    let path = sandbox.write("bin/kapsa-memvid", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// A program that answers a read with these lines.
pub(crate) fn answering(sandbox: &Sandbox, lines: &[Value]) -> PathBuf {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let answer = sandbox.write("answer.jsonl", lines);
    stand_in(sandbox, &format!("cat '{}'", answer.display()))
}

fn call(sandbox: &Sandbox, helper: &PathBuf, args: &[&str]) -> Run {
    let mut command = sandbox.command();
    command.env("KAPSA_MEMVID", helper).env("KAPSA_MEMVID_SECONDS", "5").args(args);
    output(command, b"").into()
}

fn answer(sandbox: &Sandbox, helper: &PathBuf, args: &[&str]) -> (Option<i32>, Value) {
    let run = call(sandbox, helper, &[args, &["--json"]].concat());
    let said = if run.out.is_empty() { &run.err } else { &run.out };
    (run.code, serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {run:?}")))
}

#[test]
fn documents_revisions_and_cards_become_records() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("old.mv2", [MAGIC, b"anything"].concat());
    let before = bytes(&file);
    let frame = |id: u64, uri: &str, status: &str, text: &str, from: &str| {
        json!({"frame": {"id": id, "uri": uri, "status": status, "title": format!("T{id}"),
            "timestamp": 1_700_000_000 + id, "labels": ["ops", "late"], "tags": ["a", "lang=rust"],
            "metadata": {"author": "\"ann\"", "n": "3", "plain": "as it is"}, "text": text,
            "text_from": from}})
    };
    let helper = answering(
        &sandbox,
        &[
            frame(0, "mv2://a/port", "superseded", "Port 5433.", "payload"),
            frame(1, "mv2://a/port", "active", "Port 5434.\n\n\tIndented.\n", "payload"),
            frame(2, "mv2://a/gone", "deleted", "Gone.", "payload"),
            json!({"frame": {"id": 3, "status": "active", "timestamp": 9, "text": "No name.",
            "text_from": "index"}}),
            json!({"frame": {"id": 4, "status": "active", "timestamp": 9, "bytes": 77,
            "mime": "image/png"}}),
            json!({"card": {"entity": "Ann", "slot": "lives_in", "value": "Rome",
            "relation": "sets", "created_at": 1_700_000_000}}),
            json!({"card": {"entity": "Ann", "slot": "lives_in", "value": "Oslo",
            "relation": "updates", "created_at": 1_700_000_100, "event_date": 1_700_000_050}}),
            json!({"end": {"images": 2}}),
        ],
    );
    let (code, told) = answer(&sandbox, &helper, &["import", "old.mv2", "--dry-run"]);
    assert_eq!((code, &told["added"], &told["dry_run"]), (Some(1), &json!(4), &json!(true)));
    assert_eq!(sandbox.count(), 0);
    let (code, told) = answer(&sandbox, &helper, &["import", "memvid", "old.mv2"]);
    assert_eq!((code, &told["source_count"]), (Some(1), &json!(5)), "{told}");
    assert_eq!((&told["added"], &told["revisions"]), (&json!(4), &json!(1)), "{told}");
    assert_eq!(told["skipped"][0]["reason"], "it is 77 bytes of image/png without text");
    let left = json!([{"what": "images", "count": 2}, {"what": "deleted documents", "count": 1}]);
    assert_eq!(told["left"], left);
    assert_eq!(told["warnings"][0]["code"], "texts_shortened");

    let uris = sandbox.json(&["timeline", "--limit", "10"]);
    let found =
        uris["records"].as_array().expect("records").iter().find(|entry| entry["title"] == "T1");
    let uri = found.expect("the document")["uri"].as_str().expect("a URI").to_string();
    let record = sandbox.json(&["get", &uri]);
    assert_eq!(record["text"], "Port 5434.\n\n\tIndented.\n");
    assert_eq!((&record["title"], &record["label"]), (&json!("T1"), &json!("ops")));
    assert_eq!(record["tags"], json!({"a": "", "lang": "rust"}));
    let metadata = &record["metadata"];
    assert_eq!((&metadata["author"], &metadata["n"]), (&json!("ann"), &json!(3)));
    assert_eq!((&metadata["plain"], &metadata["labels"][1]), (&json!("as it is"), &json!("late")));
    assert_eq!(metadata["imported_from"]["id"], "mv2://a/port");
    assert_eq!(record["created_at"], "2023-11-14T22:13:21Z");
    assert_eq!(record["trust"], "import");
    assert_eq!(sandbox.json(&["history", &uri])["records"][0]["text"], "Port 5433.");
    let facts = sandbox.ok(&["fact", "list", "--entity", "Ann"]);
    assert!(facts.contains("Rome  [Ann; until 2023") && facts.contains("Oslo  [Ann; from 2023"));

    let (_, again) = answer(&sandbox, &helper, &["import", "old.mv2"]);
    assert_eq!((&again["added"], &again["unchanged"]), (&json!(0), &json!(4)), "{again}");
    assert_eq!(before, bytes(&file));
}

#[test]
fn a_newer_file_brings_only_the_revisions_that_are_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("old.mv2", MAGIC);
    let frames = |texts: &[&str]| {
        let frame = |(id, text): (usize, &&str)| {
            let status = if id + 1 == texts.len() { "active" } else { "superseded" };
            json!({"frame": {"id": id, "uri": "mv2://a/b", "status": status, "text": text,
                "timestamp": 1_700_000_000 + id, "text_from": "payload"}})
        };
        let end = [json!({"end": {}})];
        texts.iter().enumerate().map(frame).chain(end).collect::<Vec<Value>>()
    };
    let helper = answering(&sandbox, &frames(&["one", "two"]));
    answer(&sandbox, &helper, &["import", "old.mv2"]);
    let helper = answering(&sandbox, &frames(&["one", "two", "three", "four"]));
    let (_, told) = answer(&sandbox, &helper, &["import", "old.mv2"]);
    assert_eq!((&told["replaced"], &told["revisions"]), (&json!(1), &json!(1)), "{told}");
    let uri = sandbox.json(&["timeline"])["records"][0]["uri"].as_str().expect("one").to_string();
    let history = sandbox.json(&["history", &uri]);
    let texts: Vec<&str> = history["records"]
        .as_array()
        .expect("records")
        .iter()
        .map(|revision| revision["text"].as_str().expect("a text"))
        .collect();
    assert!(matches!(texts[..], ["four", "three", "two", "one"] | ["one", "two", "three", "four"]));
}

#[test]
fn a_program_that_fails_is_told_and_leaves_the_capsule_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("old.mv2", [MAGIC, b"damaged"].concat());
    let before = bytes(&sandbox.capsule());
    let said = r#"echo '{"error":{"code":"damaged","message":"no footer"}}'; exit 1"#;
    for (script, code, told) in [
        ("exec sleep 30", "memvid_timeout", "longer than 1 s"),
        (said, "foreign_source", "no footer (damaged)"),
        ("echo '{\"frame\":{}}'", "foreign_source", "ended before the end"),
        ("echo nonsense", "foreign_source", "not JSON"),
        ("echo out of memory >&2; kill -9 $$", "memvid_failed", "out of memory"),
        ("exit 3", "memvid_failed", "it says nothing"),
    ] {
        let helper = stand_in(&sandbox, script);
        let mut command = sandbox.command();
        command.env("KAPSA_MEMVID", helper).env("KAPSA_MEMVID_SECONDS", "1");
        command.args(["--json", "import", "old.mv2"]);
        let run: Run = output(command, b"").into();
        let error: Value = serde_json::from_str(&run.err).expect("JSON");
        assert_eq!((run.code, error["error"]["code"].as_str()), (Some(1), Some(code)), "{error}");
        assert!(error["error"]["message"].as_str().is_some_and(|said| said.contains(told)));
    }
    let (code, error) = answer(&sandbox, &sandbox.path("none"), &["import", "old.mv2"]);
    assert_eq!((code, &error["error"]["code"]), (Some(1), &json!("no_memvid_helper")));
    assert!(error["error"]["hint"].as_str().is_some_and(|hint| hint.contains("cargo build")));
    let huge = std::fs::File::create(sandbox.path("huge.mv2")).expect("made");
    huge.set_len(10 << 30).expect("sparse");
    let (_, error) = answer(&sandbox, &stand_in(&sandbox, "true"), &["import", "huge.mv2"]);
    assert_eq!(error["error"]["code"], "source_too_large", "{error}");
    assert_eq!(before, bytes(&sandbox.capsule()));
}

#[test]
fn an_export_gets_its_name_when_the_program_has_written_it() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "note/a", "--title", "A", "--text", "one\n\ntwo"]);
    let out = sandbox.path("out.mv2");
    let failing = stand_in(&sandbox, "cat >\"$2\"; exit 1");
    let args = ["export", "--format", "mv2", "--out", "out.mv2"];
    let (code, error) = answer(&sandbox, &failing, &args);
    assert_eq!((code, &error["error"]["code"]), (Some(1), &json!("memvid_failed")), "{error}");
    assert!(!out.exists());
    let script = r#"cat >"$2"; echo '{"end":{"records":1}}'"#;
    let (code, told) = answer(&sandbox, &stand_in(&sandbox, script), &args);
    assert_eq!((code, &told["format"]), (Some(0), &json!("mv2")), "{told}");
    let line: Value = serde_json::from_slice(&bytes(&out)).expect("the record as JSON");
    assert_eq!((&line["title"], &line["text"]), (&json!("A"), &json!("one\n\ntwo")));
}

/// The program itself: named by the environment, or beside `kapsa`.
pub(crate) fn helper(test: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_BIN_EXE_kapsa")).with_file_name("kapsa-memvid");
    let found = std::env::var_os("KAPSA_MEMVID").map(PathBuf::from).or(Some(beside));
    let found = found.filter(|program| program.is_file());
    if found.is_none() {
        eprintln!("skipped {test}: there is no kapsa-memvid (KAPSA_MEMVID names one)");
    }
    found
}

/// A text of which the library alone would keep a quarter.
fn long_text() -> String {
    let paragraphs: String = (0..99).map(|n| format!("Sentence {n} of it.\n\n")).collect();
    let rows: String = (0..300).map(|n| format!("| row {n} | value |\n")).collect();
    format!("{paragraphs}{rows}\n```\n{}\n```\n", "code();\n".repeat(200))
}

/// A file that the program wrote of a few records.
fn written(sandbox: &Sandbox, helper: &PathBuf) {
    let long = long_text();
    let records = [
        json!({"uri": "n/one", "title": "One", "text": "first line\n\n  second line\n",
            "label": "ops", "tags": {"a": "", "lang": "rust"}, "metadata": {"n": 3, "who": "ann"},
            "created_at": "2024-02-03T04:05:06Z"}),
        json!({"uri": "n/two", "text": "The ferret sleeps.", "entity": "ferret"}),
        json!({"uri": "n/long", "title": "Long", "text": long}),
    ];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    sandbox.run_with(&["put", "--json", "-"], lines.as_bytes());
    let run = call(sandbox, helper, &["export", "--format", "mv2", "--out", "all.mv2"]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn what_the_program_wrote_comes_back_as_it_was() {
    let Some(helper) = helper("what_the_program_wrote_comes_back_as_it_was") else { return };
    let (from, to) = (Sandbox::new(), Sandbox::new());
    written(&from, &helper);
    std::fs::copy(from.path("all.mv2"), to.path("all.mv2")).expect("copied");
    let (code, told) = answer(&to, &helper, &["import", "all.mv2"]);
    assert_eq!((code, &told["added"]), (Some(0), &json!(3)), "{told}");
    assert_eq!(told["warnings"], Value::Null, "nothing is lost");
    let entries = to.json(&["timeline"]);
    let get = |title: &str| {
        let entries = entries["records"].as_array().expect("records");
        let entry = entries.iter().find(|entry| entry["title"].as_str().unwrap_or("") == title);
        to.json(&["get", entry.expect("it")["uri"].as_str().expect("a URI")])
    };
    let one = get("One");
    assert_eq!(one["text"], "first line\n\n  second line\n");
    assert_eq!((&one["label"], &one["tags"]), (&json!("ops"), &json!({"a": "", "lang": "rust"})));
    assert_eq!((&one["metadata"]["n"], &one["metadata"]["who"]), (&json!(3), &json!("ann")));
    assert_eq!(one["created_at"], "2024-02-03T04:05:06Z");
    assert_eq!(get("")["entity"], "ferret");
    assert_eq!(get("Long")["text"], long_text());
}

#[test]
fn damaged_files_are_refused_in_time_and_change_nothing() {
    let Some(helper) = helper("damaged_files_are_refused_in_time_and_change_nothing") else {
        return;
    };
    let sandbox = Sandbox::new();
    written(&sandbox, &helper);
    let whole = bytes(&sandbox.path("all.mv2"));
    let mut damaged = vec![MAGIC.to_vec(), [MAGIC, &[0xa5; 70_000]].concat()];
    damaged.extend(
        [10, 4096, 70_000, whole.len() / 2, whole.len() - 1]
            .map(|at| whole[..at.min(whole.len())].to_vec()),
    );
    for at in [6, 12, 20, 40, whole.len() - 30] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xff;
        damaged.push(flipped);
    }
    // A length of 10 GB where the header has its offsets.
    let mut long = whole.clone();
    long[8..16].copy_from_slice(&(10_u64 << 30).to_le_bytes());
    damaged.push(long);
    let before = bytes(&sandbox.capsule());
    for (number, content) in damaged.iter().enumerate() {
        sandbox.write("damaged.mv2", content);
        let begun = Instant::now();
        let (code, told) = answer(&sandbox, &helper, &["import", "damaged.mv2", "--dry-run"]);
        let is_refused = code == Some(1) && told["error"]["code"].is_string();
        // What the library recovers is read.
        assert!(is_refused || told["source_count"].is_u64(), "{number}: {told}");
        eprintln!("{number}: {:?} after {:?}", told["error"]["code"], begun.elapsed());
    }
    assert_eq!(before, bytes(&sandbox.capsule()));
}
