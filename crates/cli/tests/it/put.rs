//! `put` of texts and records.

use serde_json::json;

use crate::support::{Run, Sandbox, bytes, output};

#[test]
fn one_text_is_acknowledged_with_uri_and_sequence() {
    let sandbox = Sandbox::new();
    let out = sandbox.ok(&["put", "--text", "hello", "--uri", "note/a"]);
    assert_eq!(out, "note/a  #1  added\n");
    let put = sandbox.json(&["put", "--text", "hello again", "--uri", "note/a"]);
    assert_eq!(put, json!({ "uri": "mv2://default/note/a", "sequence": 2, "change": "revised" }));
    let fresh = sandbox.json(&["put", "--text", "no name"]);
    assert!(fresh["uri"].as_str().is_some_and(|uri| uri.starts_with("mv2://default/note/")));
}

#[test]
fn every_field_goes_in_and_comes_out() {
    let sandbox = Sandbox::new();
    let record = json!({
        "uri": "fact/x", "title": "T", "text": "the text\nof two lines", "label": "builder", "kind": "fact", "tags": {"a": "b", "c": ""},
        "metadata": {"deep": {"er": [1, null, "x"]}}, "entity": "E", "domain": "D", "agent": "A", "run": "R", "confidence": 0.25,
        "created_at": "2026-11-01T10:00:00Z"
    });
    sandbox.json_with(&["put"], record.to_string().as_bytes());
    let got = sandbox.json(&["get", "fact/x"]);
    for (name, value) in
        record.as_object().expect("an object").iter().filter(|(name, _)| *name != "uri")
    {
        assert_eq!(&got[name], value, "{name}");
    }
    assert_eq!(got["uri"], "mv2://default/fact/x");
    assert!(got["committed_at"].as_str().is_some_and(|at| at.ends_with('Z')));
    let shown = sandbox.ok(&["get", "fact/x"]);
    assert!(
        shown.contains("the text\nof two lines") && shown.contains("2026-11-01 10:00:00"),
        "{shown}"
    );
}

#[test]
fn standard_input_is_an_object_or_lines_or_plain_text() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.json_with(&["put"], b"{\n  \"text\": \"spread\",\n  \"uri\": \"note/s\"\n}\n")["change"],
        "added"
    );
    let bulk = sandbox.json_with(
        &["put", "-"],
        b"{\"text\":\"one\"}\n\n{\"text\":\"two\"}\n{\"text\":\"three\"}",
    );
    assert_eq!(
        (&bulk["added"], &bulk["record_count"], &bulk["commit_count"], &bulk["last_sequence"]),
        (&3.into(), &3.into(), &1.into(), &4.into())
    );
    assert_eq!(
        sandbox.json_with(&["put", "--plain", "--uri", "note/p"], b"{ not JSON\n")["sequence"],
        5
    );
    assert_eq!(sandbox.ok(&["get", "note/p", "--raw"]), "{ not JSON\n");
}

#[test]
fn flags_and_variables_fill_in_what_records_lack() {
    let sandbox = Sandbox::new();
    let lines = b"{\"text\":\"a\",\"kind\":\"own\",\"uri\":\"n/a\"}\n{\"text\":\"b\",\"uri\":\"n/b\",\"tags\":[\"t=own\"]}\n";
    let args = [
        "put",
        "--kind",
        "fact",
        "--tag",
        "t=flag",
        "--tag",
        "u",
        "--meta",
        "{\"m\":1}",
        "--confidence",
        "0.5",
    ];
    sandbox.json_with(&args, lines);
    let (a, b) = (sandbox.json(&["get", "n/a"]), sandbox.json(&["get", "n/b"]));
    assert_eq!((&a["kind"], &b["kind"]), (&"own".into(), &"fact".into()));
    assert_eq!(
        (&a["tags"], &b["tags"]),
        (&json!({"t": "flag", "u": ""}), &json!({"t": "own", "u": ""}))
    );
    assert_eq!((&a["metadata"]["m"], &a["confidence"]), (&1.into(), &json!(0.5)));
    let named = sandbox
        .command()
        .env("KAPSA_AGENT", "ann")
        .env("KAPSA_RUN", "r1")
        .args(["put", "--text", "c", "--uri", "n/c"])
        .status();
    assert!(named.expect("it runs").success());
    let c = sandbox.json(&["get", "n/c"]);
    assert_eq!((&c["agent"], &c["run"]), (&"ann".into(), &"r1".into()));
}

#[test]
fn each_prints_a_line_per_record_and_the_summary() {
    let sandbox = Sandbox::new();
    let run =
        sandbox.run_with(&["put", "--each", "--json"], b"{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
    let lines: Vec<serde_json::Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (&lines[0]["sequence"], &lines[1]["sequence"], &lines[2]["record_count"]),
        (&1.into(), &2.into(), &2.into())
    );
}

#[test]
fn a_bad_line_drops_its_batch_and_says_where_to_go_on() {
    let sandbox = Sandbox::new();
    let lines =
        "{\"text\":\"1\"}\n{\"text\":\"2\"}\n\n{\"text\":\"3\"}\n{\"text\":\"4\"}\n{\"text\":\n";
    let error = sandbox.fails_with(&["put", "--batch", "2"], lines.as_bytes(), 1, "invalid_json");
    assert_eq!(
        (&error["line"], &error["committed"], &error["resume_line"]),
        (&6.into(), &4.into(), &6.into())
    );
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("line 6")), "{error}");
    assert_eq!(sandbox.count(), 4);
}

#[test]
fn batches_are_commits() {
    let sandbox = Sandbox::new();
    let lines: String = (0..10).map(|n| format!("{{\"text\":\"record {n}\"}}\n")).collect();
    let bulk = sandbox.json_with(&["put", "--batch", "3"], lines.as_bytes());
    assert_eq!((&bulk["record_count"], &bulk["commit_count"]), (&10.into(), &4.into()));
    for bad in ["0", "65537", "x", "-1"] {
        sandbox.fails(&["put", &format!("--batch={bad}")], 1, "usage");
    }
}

#[test]
fn a_mistyped_field_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let error = sandbox.fails_with(
        &["put"],
        b"{\"text\":\"x\"}\n{\"text\":\"y\",\"titel\":\"z\"}\n",
        1,
        "unknown_field",
    );
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|message| message.contains("line 2") && message.contains("titel")),
        "{error}"
    );
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("`title`")), "{error}");
    assert_eq!(sandbox.count(), 1, "the lines that can be stored are");
}

#[test]
fn flags_that_fit_one_record_are_refused_for_many() {
    let sandbox = Sandbox::new();
    sandbox.fails_with(
        &["put", "--uri", "n/a"],
        b"{\"text\":\"x\"}\n{\"text\":\"y\"}\n",
        1,
        "invalid_record",
    );
    sandbox.write("a.md", "text");
    sandbox.write("b.md", "text");
    sandbox.fails(&["put", "a.md", "b.md", "--uri", "n/a"], 1, "usage");
    sandbox.fails(&["put", "a.md", "--title", "x"], 1, "usage");
    sandbox.fails(&["put", "a.md", "-"], 1, "usage");
    sandbox.fails(&["put", "a.md", "--text", "x"], 1, "usage");
    assert_eq!(sandbox.count(), 1, "the first of the two records");
}

#[test]
fn each_tells_of_a_commit_while_the_input_goes_on() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;

    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command
        .args(["put", "-", "--each", "--batch", "1", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"{\"text\":\"first\"}\n").expect("it reads");
    let mut told = String::new();
    BufReader::new(child.stdout.take().expect("a pipe"))
        .read_line(&mut told)
        .expect("a line, while the input is open");
    assert!(told.contains("\"sequence\":1"), "{told}");
    assert_eq!(sandbox.count(), 1);
    drop(input);
    assert!(child.wait().is_ok());
}

#[test]
fn a_small_put_and_its_vectors_are_one_commit() {
    let sandbox = Sandbox::new();
    let put = |args: &[&str], input: &[u8]| {
        let mut command = sandbox.command();
        command.env_remove("KAPSA_EMBED").arg("put").args(args);
        Run::from(output(command, input)).success(args);
        let stats = sandbox.json(&["stats"]);
        (stats["commit_count"].as_u64(), stats["vectors"]["missing"].as_u64())
    };
    assert_eq!(put(&["--text", "The cat sleeps on the sofa."], b""), (Some(1), Some(0)));
    let two = b"{\"text\":\"first\"}\n{\"text\":\"second\"}\n";
    assert_eq!(put(&["-"], two), (Some(2), Some(0)));
    assert_eq!(put(&["--text", "found by words", "--embed", "later"], b""), (Some(3), Some(1)));
}

#[test]
fn lines_that_are_no_records_are_named_and_all_others_are_stored() {
    let sandbox = Sandbox::new();
    let lines = [
        r#"{"text":"one"}"#,
        r#"{"text":"cut"#,
        r#"{"text":"half \ud800 of a pair"}"#,
        r#"{"text":"two","confidence":7}"#,
        "no JSON",
        r#"["a list"]"#,
        r#"{"text":"three"}"#,
    ];
    let input = lines.join("\n");
    let error = sandbox.fails_with(&["put", "--json", "-"], input.as_bytes(), 1, "invalid_json");
    let message = error["message"].as_str().expect("a message");
    for line in 2..=6 {
        assert!(message.contains(&format!("line {line}")), "{line}: {message}");
    }
    assert_eq!((&error["committed"], &error["refused_count"]), (&2.into(), &5.into()), "{error}");
    assert_eq!(sandbox.count(), 2);
    let all = ["put", "-", "--atomic"];
    let error = sandbox.fails_with(&all, input.as_bytes(), 1, "invalid_json");
    assert_eq!((&error["committed"], &error["refused_count"]), (&0.into(), &5.into()), "{error}");
    assert_eq!(sandbox.count(), 2, "all or nothing");
    let good: String = (0..3000).map(|n| format!("{{\"text\":\"record {n}\"}}\n")).collect();
    let stored = sandbox.json_with(&all, good.as_bytes());
    assert_eq!((&stored["added"], &stored["commit_count"]), (&3000.into(), &1.into()), "{stored}");
}

#[test]
fn who_wins_where_a_uri_is_taken_is_chosen() {
    let old = br#"{"uri":"note/x","text":"old","created_at":"2020-01-01T00:00:00Z"}
{"uri":"note/y","text":"other"}
"#;
    let text = |sandbox: &Sandbox| sandbox.json(&["get", "note/x"])["text"].clone();
    let put = |how: &str| {
        let sandbox = Sandbox::new();
        sandbox.ok(&["put", "--uri", "note/x", "--text", "new"]);
        let run = sandbox.run_with(&["put", "--json", "-", "--on-conflict", how], old);
        assert_eq!(sandbox.json(&["get", "note/y"])["text"], "other", "{how}: {run:?}");
        (run.code, text(&sandbox), run)
    };
    for (how, wins) in [("newer", "new"), ("skip", "new"), ("replace", "old")] {
        let (code, there, run) = put(how);
        assert_eq!((code, &there), (Some(0), &wins.into()), "{how}: {run:?}");
    }
    let (code, there, run) = put("fail");
    assert_eq!((code, &there), (Some(1), &"new".into()), "{run:?}");
    let error: serde_json::Value = serde_json::from_str(run.err.trim()).expect("JSON");
    assert_eq!(
        (&error["error"]["code"], &error["error"]["line"], &error["error"]["committed"]),
        (&"exists".into(), &1.into(), &1.into()),
        "{error}"
    );

    let sandbox = Sandbox::new();
    let twice = br#"{"uri":"note/x","text":"2021","created_at":"2021-01-01T00:00:00Z"}
{"uri":"note/x","text":"2020","created_at":"2020-01-01T00:00:00Z"}
{"uri":"note/x","text":"2022","created_at":"2022-01-01T00:00:00Z"}
"#;
    let stored = sandbox.json_with(&["put", "-", "--on-conflict", "newer"], twice);
    assert_eq!((text(&sandbox), &stored["unchanged"]), ("2022".into(), &1.into()), "{stored}");
    let atomic = ["put", "-", "--on-conflict", "fail", "--atomic"];
    sandbox.fails_with(&atomic, old, 1, "exists");
    sandbox.fails(&["get", "note/y"], 1, "uri_not_found");
    sandbox.fails(&["put", "--uri", "note/x", "--text", "z", "--on-conflict", "fail"], 1, "exists");
    sandbox.write("a.md", "text");
    sandbox.fails(&["put", "a.md", "--on-conflict", "skip"], 1, "usage");
}

#[test]
fn numbers_are_times_in_any_unit_or_refused() {
    let sandbox = Sandbox::new();
    let times = [
        "1767225600",
        "1767225600000",
        "1767225600000000",
        "1767225600.0",
        "\"1767225600\"",
        "\"1767225600.0\"",
        "\"2026-01-01T00:00:00Z\"",
    ];
    for time in times {
        let line = format!("{{\"uri\":\"t\",\"text\":\"x\",\"created_at\":{time}}}");
        sandbox.json_with(&["put", "-"], line.as_bytes());
        assert_eq!(sandbox.json(&["get", "t"])["created_at"], "2026-01-01T00:00:00Z", "{time}");
    }
    for time in ["0", "5", "86400", "1.5", "\"5\""] {
        let line = format!("{{\"text\":\"y\",\"created_at\":{time}}}");
        sandbox.fails_with(&["put", "--json", "-"], line.as_bytes(), 1, "invalid_json");
    }
}

#[test]
fn what_is_there_already_is_unchanged_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    let put = |args: &[&str]| {
        let put = sandbox.json(&[&["put", "--uri", "n/a"], args].concat());
        (put["change"].as_str().expect("a change").to_string(), put["sequence"].clone())
    };
    let (change, first) = put(&["--text", "tea", "--tag", "a=b"]);
    assert_eq!(change, "added");
    let size = bytes(&sandbox.capsule()).len();
    assert_eq!(put(&["--text", "tea", "--tag", "a=b"]), ("unchanged".into(), first));
    let line = r#"{"uri":"n/a","text":"tea","tags":{"a":"b"}}"#;
    assert_eq!(sandbox.json_with(&["put", "-"], line.as_bytes())["change"], "unchanged");
    let many = sandbox.json_with(&["put", "-"], format!("{line}\n{line}\n").as_bytes());
    assert_eq!((&many["unchanged"], &many["commit_count"]), (&2.into(), &0.into()));
    let mut plain = sandbox.command();
    plain.args(["put", "--plain", "--uri", "n/a", "--tag", "a=b"]);
    let told = String::from_utf8(output(plain, b"tea").stdout).expect("UTF-8");
    assert!(told.contains("unchanged"), "{told}");
    assert_eq!(bytes(&sandbox.capsule()).len(), size, "nothing was written");
    // Whatever else it says makes a revision, and so does saying it again after something else.
    for (args, change) in [
        (&["--text", "tea", "--tag", "a=c"][..], "revised"),
        (&["--text", "tea", "--tag", "a=c", "--title", "T"], "revised"),
        (&["--text", "tea", "--tag", "a=c", "--title", "T"], "unchanged"),
        (&["--text", "tea"], "revised"),
        (&["--text", "tea", "--kind", "fact"], "revised"),
        (&["--text", "tea", "--kind", "fact", "--confidence", "0.5"], "revised"),
        (&["--text", "tea", "--kind", "fact", "--classification", "internal"], "revised"),
        (&["--text", "coffee", "--kind", "fact"], "revised"),
    ] {
        assert_eq!(put(args).0, change, "{args:?}");
    }
    let turns = [("1", "tea"), ("2", "coffee"), ("3", "tea")];
    let lines = turns.map(|(_, text)| format!("{{\"uri\":\"n/b\",\"text\":\"{text}\"}}\n"));
    sandbox.ok(&["put", "--uri", "n/b", "--text", "tea"]);
    sandbox.json_with(&["put", "-"], lines.concat().as_bytes());
    assert_eq!(sandbox.json(&["get", "n/b"])["text"], "tea", "the last line counts");
    sandbox.ok(&["forget", "n/b"]);
    assert_eq!(sandbox.json(&["put", "--uri", "n/b", "--text", "tea"])["change"], "added");
}

#[test]
fn the_owner_vouches_for_what_somebody_else_said() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "n/a", "--text", "tea", "--trust", "tool"]);
    let put = |args: &[&str]| {
        sandbox.json(&[args, &["put", "--uri", "n/a", "--text", "tea"]].concat())["change"].clone()
    };
    assert_eq!(put(&["--trust", "tool"]), "unchanged");
    assert_eq!(put(&[]), "revised");
    assert_eq!(put(&["--trust", "tool"]), "unchanged", "the owner said so");
}

#[test]
fn what_is_new_alone_is_stored_when_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "n/a", "--text", "tea"]);
    let put = |args: &[&str]| {
        let put = sandbox.json(&[&["put", "--if-new"], args].concat());
        (put["change"].clone(), put["uri"].clone())
    };
    let there = ("unchanged".into(), "mv2://default/n/a".into());
    assert_eq!(put(&["--uri", "n/a", "--text", "tea", "--title", "T"]), there);
    assert_eq!(put(&["--uri", "n/b", "--text", "tea"]), there);
    assert_eq!(put(&["--uri", "n/b", "--text", "coffee"]).0, "added");
    let lines = "{\"text\":\"milk\"}\n{\"text\":\"milk\"}\n{\"text\":\"tea\"}\n";
    let many = sandbox.json_with(&["put", "--if-new", "-"], lines.as_bytes());
    assert_eq!((&many["added"], &many["unchanged"]), (&1.into(), &2.into()), "{many}");
}
