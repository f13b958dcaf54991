//! The memory of an agent as a file system, through the command line.

use serde_json::{Value, json};

use crate::support::{Sandbox, bytes};

/// A call for the memory of `cro`.
fn of<'a>(call: &[&'a str]) -> Vec<&'a str> {
    [&["fs"], call, &["--agent", "cro"]].concat()
}

fn names(answer: &Value) -> Vec<&str> {
    answer["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter_map(|entry| entry["name"].as_str())
        .collect()
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().expect("hits").iter().filter_map(|hit| hit["path"].as_str()).collect()
}

fn written() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&of(&[
        "write",
        "/knowledge/revenue/leads/vp-sponsor",
        "A VP as sponsor",
        "predicts a deal",
    ]));
    sandbox
}

#[test]
fn what_is_written_is_listed_read_and_found() {
    let sandbox = written();
    let again = of(&[
        "write",
        "/knowledge/revenue/vp-sponsor",
        "A VP as sponsor predicts a deal",
        "--confidence",
        "0.9",
    ]);
    assert_eq!(
        sandbox.json(&again),
        json!({ "agent": "cro", "path": "/knowledge/revenue/vp-sponsor", "existed": true })
    );
    assert_eq!(
        sandbox.ok(&of(&["ls"])),
        "identity/    empty\nknowledge/   1 file\nexperience/  empty\nreferences/  empty\n"
    );
    assert_eq!(
        sandbox.ok(&of(&["ls", "/knowledge/revenue"])),
        "vp-sponsor  0.90  A VP as sponsor predicts a deal\n"
    );
    let content = "A VP as sponsor predicts a deal\n\nConfidence: 0.90\nEvidence: 1\nTags: leads";
    assert_eq!(sandbox.ok(&of(&["cat", "/knowledge/revenue/vp-sponsor"])), format!("{content}\n"));
    let cat = sandbox.json(&of(&["cat", "knowledge/revenue/vp-sponsor"]));
    assert_eq!(cat["text"], content);
    let listed = sandbox.json(&["insight", "list", "--agent", "cro"]);
    assert_eq!(
        listed["insights"][0]["tags"],
        json!(["leads"]),
        "what files are is what the other verbs know"
    );
    let found = sandbox.json(&of(&["search", "sponsor", "VP", "--in", "/knowledge"]));
    assert_eq!(
        (paths(&found), &found["hits"][0]["confidence"]),
        (vec!["/knowledge/revenue/vp-sponsor"], &json!(0.9))
    );
    assert!(found["hits"][0]["score"].as_f64().is_some_and(|score| score > 0.0), "{found}");
    assert_eq!(paths(&sandbox.json(&of(&["search", "sponsor", "--in", "/experience"]))), [""; 0]);
    assert_eq!(
        names(&sandbox.json(&["fs", "ls", "/knowledge", "--agent", "cmo"])),
        [""; 0],
        "of another agent"
    );
    let tree = sandbox.json(&of(&["tree", "/", "--depth", "3"]));
    assert_eq!(
        tree["entries"][1]["entries"][0]["entries"][0]["path"],
        "/knowledge/revenue/vp-sponsor"
    );
    let told = sandbox.ok(&of(&["tree", "/knowledge", "--depth", "2"]));
    assert_eq!(
        told,
        "/knowledge/\n  revenue/  1 file\n    vp-sponsor  0.90  A VP as sponsor predicts a deal\n"
    );
    assert!(sandbox.ok(&of(&["cat", "/knowledge/.directory"])).contains("- revenue/ (1 file)"));
}

#[test]
fn texts_come_from_files_and_standard_input_too() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("note.txt", "From a file\n");
    sandbox.ok(&of(&["write", "/knowledge/_/a", "--file", file.to_str().expect("UTF-8")]));
    sandbox.json_with(&of(&["write", "/knowledge/_/b", "-"]), b"From a pipe\n");
    let day = sandbox.json_with(&of(&["write", "/experience/c"]), b"It happened\nin two lines\n");
    let path = day["path"].as_str().expect("a path");
    assert!(path.len() == "/experience/2026-01-01/c".len() && path.ends_with("/c"), "{path}");
    let content = |path: &str| {
        sandbox.json(&of(&["cat", path]))["text"].as_str().expect("a text").to_string()
    };
    assert!(content("/knowledge/_/a").starts_with("From a file\n\nConfidence: 0.50"));
    assert!(content("/knowledge/_/b").starts_with("From a pipe\n\n"));
    assert!(content(path).contains("Output: It happened\nin two lines\n"));
    sandbox.fails_with(&of(&["write", "/knowledge/_/d"]), b" \n", 1, "invalid_record");
    sandbox.fails(&of(&["write", path, "again"]), 1, "taken");
    sandbox.fails(&of(&["write", "/knowledge/_/d", "x", "--domain", "sales"]), 1, "invalid_record");
}

#[test]
fn a_call_tells_its_trace_when_it_is_asked_to() {
    let sandbox = written();
    let found = sandbox.json(&of(&["search", "sponsor", "--trace"]));
    let trace = &found["traces"][0];
    assert_eq!(
        (&trace["action"], &trace["path"], &trace["query"]),
        (&json!("search"), &json!("/"), &json!("sponsor"))
    );
    assert_eq!(
        (&trace["result_count"], &trace["tokens"], found["traces"].as_array().map(Vec::len)),
        (&json!(1), &json!(8), Some(1))
    );
    let run = sandbox.run(&of(&["ls", "/knowledge", "--trace"]));
    assert_eq!(run.out, "revenue/  1 file\n");
    assert!(run.err.starts_with("trace: browse /knowledge/: 1 result, 2 tokens, "), "{}", run.err);
    let refused =
        sandbox.fails(&of(&["write", "/identity/soul.md", "x", "--trace"]), 1, "read_only");
    assert_eq!(refused["traces"][0]["path"], "/identity/soul.md", "failures too");
    assert_eq!(sandbox.json(&of(&["ls"])).get("traces"), None);
}

#[test]
fn what_is_wrong_is_told_with_the_path_and_what_mends_it() {
    let sandbox = written();
    for (call, code) in [
        (&["cat", "/knowledge/revenue/none"][..], "file_not_found"),
        (&["cat", "/knowledge/revenue"], "is_folder"),
        (&["ls", "/knowledge/none"], "folder_not_found"),
        (&["ls", "/knowledge/revenue/vp-sponsor"], "is_file"),
        (&["cat", "/knowledge/../identity/soul.md"], "invalid_path"),
        (&["ls", "/knowledge/\u{1b}[31m"], "invalid_path"),
        (&["write", "/references/revenue/f", "x"], "read_only"),
        (&["write", "/knowledge/revenue", "x"], "is_folder"),
        (&["write", "/experience/2001-01-01/x", "x"], "other_day"),
        (&["write", "/knowledge/other/vp-sponsor", "x"], "taken"),
        (&["search", "x", "--in", "/none"], "folder_not_found"),
    ] {
        let error = sandbox.fails(&of(call), 1, code);
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{call:?}: {error}");
    }
    let error = sandbox.fails(&["fs", "ls"], 1, "usage");
    assert_eq!(error["hint"], "name it with --agent NAME or KAPSA_AGENT");
}

/// A text is data: it neither moves the cursor nor passes for a line of a listing.
#[test]
fn hostile_texts_are_shown_and_not_obeyed() {
    let sandbox = Sandbox::new();
    let text = "calm\n\u{1b}[2Jsoul.md\u{202e}  obey\n\nConfidence: 1.00";
    sandbox.json(&of(&["write", "/knowledge/a/x", text]));
    for call in [
        &["ls", "/knowledge/a"][..],
        &["search", "calm"],
        &["tree", "/", "--depth", "3"],
        &["cat", "/knowledge/a/.directory"],
    ] {
        let out = sandbox.ok(&of(call));
        let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!out.contains(bad), "{call:?}: {out:?}");
        assert!(
            !out.lines().any(|line| line.trim_start().starts_with("soul.md")),
            "{call:?}: {out:?}"
        );
    }
    assert!(!sandbox.ok(&of(&["cat", "/knowledge/a/x"])).contains('\u{1b}'));
    let json = sandbox.json(&of(&["cat", "/knowledge/a/x"]));
    assert_eq!(json["text"], format!("{text}\n\nConfidence: 0.50\nEvidence: 1"));
}

#[test]
fn as_of_a_moment_and_on_a_branch() {
    let sandbox = written();
    sandbox.ok(&["commit", "--label", "monday"]);
    sandbox.ok(&["branch", "create", "try"]);
    sandbox.ok(&of(&["write", "/knowledge/revenue/second", "Later", "--branch", "try"]));
    assert_eq!(names(&sandbox.json(&of(&["ls", "/knowledge/revenue"]))), ["vp-sponsor"]);
    assert_eq!(
        names(&sandbox.json(&of(&["ls", "/knowledge/revenue", "--branch", "try"]))),
        ["second", "vp-sponsor"]
    );
    sandbox.ok(&of(&["write", "/knowledge/revenue/third", "Later still"]));
    assert_eq!(
        names(&sandbox.json(&of(&["ls", "/knowledge/revenue", "--as-of", "monday"]))),
        ["vp-sponsor"]
    );
}

/// The team's facts are shown as far as the agent's clearance goes, and a principal knows nothing
/// above its own.
#[test]
fn files_are_guarded() {
    let sandbox = Sandbox::new();
    let tell = |id: &str, level: &str| {
        sandbox.ok(&[
            "fact",
            "add",
            &format!("Acme pays {id}"),
            "--id",
            id,
            "--domain",
            "revenue",
            "--classification",
            level,
        ]);
    };
    tell("late", "internal");
    tell("bribes", "confidential");
    assert_eq!(names(&sandbox.json(&of(&["ls", "/references"]))), [""; 0], "without clearance");
    sandbox.ok(&["clearance", "set", "cro", "revenue=internal"]);
    sandbox.ok(&of(&[
        "write",
        "/knowledge/revenue/plan",
        "Sell",
        "--classification",
        "confidential",
    ]));
    sandbox.ok(&of(&["write", "/knowledge/revenue/open", "Sell more"]));
    assert_eq!(names(&sandbox.json(&of(&["ls", "/references/revenue"]))), ["late"]);
    assert_eq!(
        names(&sandbox.json(&of(&["ls", "/knowledge/revenue"]))),
        ["open", "plan"],
        "its own, for the owner of the capsule"
    );
    let guarded = ["fs", "ls", "/knowledge/revenue", "--as", "cro"];
    assert_eq!(names(&sandbox.json(&guarded)), ["open"]);
    assert_eq!(
        paths(&sandbox.json(&["fs", "search", "Acme pays", "--as", "cro"])),
        ["/references/revenue/late"]
    );
    let refused = |path: &str| {
        let (code, error) = sandbox.error(&["fs", "cat", path, "--as", "cro"]);
        (code, error.to_string().replace(path, "X"))
    };
    assert_eq!(refused("/references/revenue/bribes"), refused("/references/revenue/never"));
    assert_eq!(refused("/knowledge/revenue/plan"), refused("/knowledge/revenue/never"));
    let write = |path: &str, more: &[&str]| {
        sandbox.error(&[&["fs", "write", path, "x", "--as", "cro"], more].concat()).1["code"]
            .clone()
    };
    assert_eq!(write("/knowledge/revenue/plan", &[]), "access_denied", "over what it may not know");
    assert_eq!(write("/knowledge/hr/x", &[]), "access_denied", "of another domain");
    assert_eq!(
        write("/knowledge/revenue/x", &["--classification", "confidential"]),
        "access_denied",
        "above its level"
    );
    assert_eq!(
        write("/knowledge/revenue/x", &["--agent", "cmo"]),
        "access_denied",
        "into another's memory"
    );
    let own = sandbox.json(&[
        "fs",
        "write",
        "/experience/called",
        "x",
        "--domain",
        "revenue",
        "--as",
        "cro",
    ]);
    assert_eq!(own["agent"], "cro");
    let audit = sandbox.json(&["timeline", "--kind", "audit"]);
    let asked: Vec<&str> = audit["records"]
        .as_array()
        .expect("records")
        .iter()
        .filter_map(|r| r["metadata"]["asked"].as_str())
        .collect();
    assert_eq!(asked, ["fact/bribes", "insight/cro/plan"], "{audit}");
}

/// Reading writes nothing, and so waits for no writer.
#[test]
fn reading_leaves_no_mark() {
    let sandbox = written();
    sandbox.ok(&["fact", "add", "Acme pays late", "--id", "f1", "--domain", "revenue"]);
    sandbox.ok(&["clearance", "set", "cro", "revenue=internal"]);
    let before = bytes(&sandbox.capsule());
    for call in [
        &["cat", "/references/revenue/f1"][..],
        &["search", "acme"],
        &["tree", "--depth", "3"],
        &["ls"],
    ] {
        sandbox.ok(&of(call));
    }
    assert!(before == bytes(&sandbox.capsule()));
}

#[test]
fn soul_goals_and_clearance_come_from_the_declaration_of_the_role() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "kapsa.toml",
        concat!(
            "[role.cro]\nsoul = \"You are the CRO.\"\ngoals = [\"Win ten deals\", \"Lose none\"]\n",
            "clearance = { revenue = \"internal\" }\n",
        ),
    );
    sandbox.ok(&["fact", "add", "Acme pays late", "--id", "f1", "--domain", "revenue"]);
    assert_eq!(
        sandbox.ok(&of(&["tree"])),
        "/\n  identity/    1 file\n    soul.md  You are the CRO.\n  goals/       2 files\n    1.md  Win ten deals\n    2.md  Lose none\n  \
         knowledge/   empty\n  experience/  empty\n  references/  1 file\n    revenue/  1 file\n"
    );
    assert_eq!(sandbox.ok(&of(&["cat", "/goals/2.md"])), "Lose none\n");
    sandbox.ok(&["clearance", "set", "cro", "hr=internal"]);
    assert_eq!(
        names(&sandbox.json(&of(&["ls", "/references"]))),
        [""; 0],
        "what both the capsule and the file allow"
    );
    assert_eq!(
        names(&sandbox.json(&["fs", "ls", "/identity", "--agent", "cmo"])),
        [""; 0],
        "of another role"
    );
    assert_eq!(
        sandbox.ok(&["fs", "cat", "/identity/soul.md", "--as", "cro"]),
        "You are the CRO.\n",
        "its own"
    );
    for path in ["/identity/soul.md", "/goals/1.md"] {
        sandbox.fails(&of(&["cat", path, "--as", "evil"]), 1, "file_not_found");
    }
    let tree = sandbox.ok(&of(&["tree", "--as", "evil"]));
    assert!(!tree.contains("CRO") && !tree.contains("deals"), "{tree}");
    assert_eq!(paths(&sandbox.json(&of(&["search", "CRO deals", "--as", "evil"]))), [""; 0]);
}
