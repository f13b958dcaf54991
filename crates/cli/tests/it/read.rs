//! `get`, `history`, `forget`, `find`, `timeline`, `stats` and the verbs of care.

use crate::support::Sandbox;

fn three_revisions() -> Sandbox {
    let sandbox = Sandbox::new();
    for text in ["first", "second", "third"] {
        sandbox.ok(&["put", "--uri", "note/a", "--text", text]);
    }
    sandbox
}

#[test]
fn old_revisions_stay_readable() {
    let sandbox = three_revisions();
    assert_eq!(sandbox.json(&["get", "note/a"])["text"], "third");
    assert_eq!(sandbox.json(&["get", "mv2://default/note/a", "--seq", "1"])["text"], "first");
    let history = sandbox.json(&["history", "note/a"]);
    let sequences: Vec<_> = history["records"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| r["sequence"].as_u64())
        .collect();
    assert_eq!(sequences, [Some(1), Some(2), Some(3)]);
    assert_eq!(sandbox.ok(&["history", "note/a"]).lines().count(), 3);
}

#[test]
fn a_sequence_of_another_record_is_refused() {
    let sandbox = three_revisions();
    sandbox.ok(&["put", "--uri", "note/b", "--text", "other"]);
    sandbox.fails(&["get", "note/a", "--seq", "4"], 1, "no_such_revision");
    sandbox.fails(&["get", "note/a", "--seq", "99"], 1, "no_such_record");
    sandbox.fails(&["get", "note/a", "--seq", "0"], 1, "no_such_record");
    sandbox.fails(&["get", "note/missing"], 1, "uri_not_found");
    sandbox.fails(&["history", "note/missing"], 1, "uri_not_found");
}

#[test]
fn forgetting_hides_and_keeps_the_history() {
    let sandbox = three_revisions();
    let put = sandbox.json(&["forget", "note/a"]);
    assert_eq!((&put["change"], &put["sequence"]), (&"forgotten".into(), &4.into()));
    let error = sandbox.fails(&["get", "note/a"], 1, "uri_not_found");
    assert!(
        error["hint"].as_str().is_some_and(|hint| hint.contains("kapsa history note/a")),
        "{error}"
    );
    assert_eq!(sandbox.json(&["find", "third"])["count"], 0);
    assert_eq!(sandbox.count(), 0);
    let history = sandbox.json(&["history", "note/a"]);
    assert_eq!((&history["count"], &history["records"][3]["tombstone"]), (&4.into(), &true.into()));
    assert!(sandbox.ok(&["history", "note/a"]).contains("(forgotten)"));
    sandbox.fails(&["forget", "note/never"], 1, "uri_not_found");
    assert_eq!(sandbox.json(&["put", "--uri", "note/a", "--text", "again"])["sequence"], 5);
    assert_eq!(sandbox.json(&["get", "note/a"])["text"], "again");
}

fn stocked() -> Sandbox {
    let sandbox = Sandbox::new();
    let lines = concat!(
        "{\"text\":\"the writer holds the lock\",\"uri\":\"n/1\",\"kind\":\"fact\",\"label\":\"builder\",\"agent\":\"ann\",\"created_at\":\"2026-01-01T00:00:00Z\"}\n",
        "{\"text\":\"the reader takes no lock\",\"uri\":\"n/2\",\"kind\":\"fact\",\"label\":\"reviewer\",\"run\":\"r1\",\"tags\":{\"ci\":\"green\"},\"created_at\":\"2026-02-01T00:00:00Z\"}\n",
        "{\"text\":\"pockets hold things\",\"uri\":\"n/3\",\"kind\":\"note\",\"entity\":\"pocket\",\"domain\":\"sewing\",\"created_at\":\"2026-03-01T00:00:00Z\"}\n",
    );
    sandbox.json_with(&["put"], lines.as_bytes());
    sandbox
}

fn uris(value: &serde_json::Value, list: &str) -> Vec<String> {
    let records = value[list].as_array().expect("a list");
    let mut uris: Vec<_> = records
        .iter()
        .map(|r| r["uri"].as_str().expect("a URI").replace("mv2://default/", ""))
        .collect();
    uris.sort();
    uris
}

#[test]
fn find_marks_the_words_and_obeys_every_filter() {
    let sandbox = stocked();
    let found = sandbox.json(&["find", "writer", "lock"]);
    let hit = &found["hits"][0];
    assert_eq!((&hit["uri"], &hit["rank"]), (&"mv2://default/n/1".into(), &1.into()));
    assert!(hit.get("text").is_none());
    let snippet = hit["snippet"].as_str().expect("a snippet");
    let marks = hit["marks"].as_array().expect("marks").iter();
    let words: Vec<_> = marks
        .map(|m| {
            &snippet
                [m[0].as_u64().expect("a place") as usize..m[1].as_u64().expect("a place") as usize]
        })
        .collect();
    assert_eq!(words, ["writer", "lock"]);
    assert!(
        sandbox.ok(&["find", "lock"]).contains("lock")
            && !sandbox.ok(&["find", "lock"]).contains("**")
    );
    assert_eq!(sandbox.json(&["find", "lock", "--full", "-k", "1"])["count"], 1);
    assert!(sandbox.json(&["find", "pockets", "--full"])["hits"][0]["text"].is_string());
    for (filter, want) in [
        (["--label", "reviewer"], vec!["n/2"]),
        (["--tag", "ci=green"], vec!["n/2"]),
        (["--run", "r1"], vec!["n/2"]),
        (["--agent", "ann"], vec!["n/1"]),
        (["--kind", "fact"], vec!["n/1", "n/2"]),
        (["--kind", "note"], vec![]),
        (["--since", "2026-01-15"], vec!["n/2"]),
        (["--until", "2026-02-01T00:00:00Z"], vec!["n/1"]),
        (["--since", "1s"], vec![]),
    ] {
        let args: Vec<_> = ["find", "lock"].into_iter().chain(filter).collect();
        assert_eq!(uris(&sandbox.json(&args), "hits"), want, "{filter:?}");
    }
    assert_eq!(sandbox.json(&["find", "lock", "--source", "README.md"])["count"], 0);
    assert_eq!(
        uris(
            &sandbox.json(&["find", "pockets", "--entity", "pocket", "--domain", "sewing"]),
            "hits"
        ),
        ["n/3"]
    );
}

#[test]
fn find_falls_back_only_when_asked_and_says_so() {
    let sandbox = stocked();
    let run = sandbox.run(&["find", "xylophone"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""));
    assert!(run.err.contains("nothing found"));
    let found = sandbox.json(&["find", "xylophone", "--fallback", "-k", "2"]);
    assert_eq!((&found["fallback"], &found["count"]), (&true.into(), &2.into()));
    assert!(sandbox.run(&["find", "xylophone", "--fallback"]).err.contains("nothing matched"));
    assert_eq!(sandbox.json(&["find", "pockets", "--fallback"])["fallback"], false);
}

#[test]
fn any_text_is_a_query() {
    let sandbox = stocked();
    let long = "lock ".repeat(10_000);
    for query in [
        "the of and",
        "\"unbalanced lock",
        "(lock] {",
        "+ - \"\"",
        "kind:",
        "lock\u{202e}",
        "🙂",
        "",
        long.as_str(),
    ] {
        let run = sandbox.run(&["find", "--json", "--", query]);
        assert_eq!(
            run.code,
            Some(0),
            "{}: {}",
            query.chars().take(20).collect::<String>(),
            run.err
        );
    }
    sandbox.fails(&["find", &"lock ".repeat(20_000)], 1, "query_too_long");
    for bad in ["0", "10001", "-3", "x"] {
        sandbox.fails(&["find", "lock", &format!("-k={bad}")], 1, "usage");
    }
}

#[test]
fn timeline_goes_both_ways_and_obeys_filters() {
    let sandbox = stocked();
    let first =
        |args: &[&str]| sandbox.json(args)["records"][0]["uri"].as_str().map(str::to_string);
    assert_eq!(
        first(&["timeline", "--limit", "1", "--oldest"]).as_deref(),
        Some("mv2://default/n/1")
    );
    assert_eq!(first(&["timeline", "--limit", "1"]).as_deref(), Some("mv2://default/n/3"));
    assert_eq!(
        first(&["timeline", "--limit", "1", "--reverse"]).as_deref(),
        Some("mv2://default/n/3")
    );
    assert_eq!(
        uris(&sandbox.json(&["timeline", "--kind", "fact", "--kind", "note"]), "records").len(),
        3
    );
    assert_eq!(
        uris(
            &sandbox.json(&["timeline", "--since", "2026-02-01", "--until", "2026-02-28"]),
            "records"
        ),
        ["n/2"]
    );
    for bad in ["yesterday", "2026-02-30", "7x", "2026-02-01T00:00:00"] {
        sandbox.fails(&["timeline", "--since", bad], 1, "usage");
    }
}

#[test]
fn stats_count_and_info_is_the_same() {
    let sandbox = three_revisions();
    let stats = sandbox.json(&["stats", "--count"]);
    assert_eq!((&stats["record_count"], &stats["uri_count"]), (&3.into(), &1.into()));
    assert_eq!(
        stats["size_bytes"].as_u64(),
        Some(std::fs::metadata(sandbox.capsule()).expect("a capsule").len())
    );
    assert_eq!(sandbox.json(&["info"])["record_count"], 3);
    let small = sandbox.json(&["stats"]);
    assert_eq!((&small["uri_count"], &small["checkpoint_count"]), (&1.into(), &0.into()));
    assert_eq!(small["index_status"], "behind");
    assert_eq!(small["dedup_ratio"], 1.0);
    sandbox.ok(&["put", "--uri", "note/again", "--text", "the same words, twice"]);
    sandbox.ok(&["put", "--uri", "note/twice", "--text", "the same words, twice"]);
    assert!(sandbox.json(&["stats"])["dedup_ratio"].as_f64() > Some(1.0));
    assert!(sandbox.ok(&["stats"]).contains("records"));
}

#[test]
fn a_whole_capsule_verifies_and_a_damaged_one_is_located() {
    let sandbox = stocked();
    let report = sandbox.json(&["verify"]);
    assert_eq!((&report["ok"], &report["record_count"]), (&true.into(), &3.into()));
    assert!(sandbox.ok(&["verify"]).starts_with("intact: "));
    assert_eq!(sandbox.json(&["doctor"])["status"], "ok");
    let mut bytes = crate::support::bytes(&sandbox.capsule());
    let needle = b"writer holds";
    let at =
        bytes.windows(needle.len()).position(|window| window == needle).unwrap_or(bytes.len() - 40);
    bytes[at] ^= 1;
    sandbox.write(".kapsa/workspace.kapsa", &bytes);
    let run = sandbox.run(&["verify", "--json"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(report["ok"], false);
    assert!(report["problems"][0]["offset"].is_u64(), "{report}");
}

#[test]
fn doctor_names_what_is_wrong_and_what_mends_it() {
    let sandbox = Sandbox::empty();
    sandbox.write("foreign.kapsa", "hello");
    for (path, code) in [("missing.kapsa", "missing"), ("foreign.kapsa", "foreign")] {
        let run = sandbox.run(&["doctor", "--json", "--capsule", path]);
        assert_eq!(run.code, Some(2), "{run:?}");
        let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!((&report["status"], &report["capsule_path"]), (&"error".into(), &path.into()));
        let found = &report["diagnostics"][0];
        assert_eq!((&found["code"], &found["level"]), (&code.into(), &"error".into()));
        assert!(found["hint"].is_string(), "{found}");
    }
    let nowhere = sandbox.run(&["doctor"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.out.contains("kapsa init"), "{}", nowhere.out);
    assert!(!sandbox.path(".kapsa").exists());
}

#[test]
fn purge_must_be_confirmed_and_erases_at_the_next_compaction() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "note/secret", "--text", "xyzzy-canary"]);
    sandbox.ok(&["put", "--uri", "note/other", "--text", "stays"]);
    sandbox.fails(&["purge", "note/secret"], 1, "confirmation_required");
    assert_eq!(sandbox.json(&["get", "note/secret"])["text"], "xyzzy-canary");
    let purged = sandbox.json(&["purge", "note/secret", "--yes"]);
    assert_eq!(
        (&purged["uri"], &purged["revision_count"]),
        (&"mv2://default/note/secret".into(), &1.into())
    );
    sandbox.fails(&["get", "note/secret"], 1, "uri_not_found");
    assert!(sandbox.json(&["compact"])["purged"].as_u64() >= Some(1));
    let bytes = crate::support::bytes(&sandbox.capsule());
    assert!(!bytes.windows(12).any(|window| window == b"xyzzy-canary"));
    assert_eq!(sandbox.json(&["verify"])["ok"], true);
    assert_eq!(sandbox.json(&["get", "note/other"])["text"], "stays");
}

#[test]
fn optimising_changes_no_answer() {
    let sandbox = stocked();
    let before = sandbox.json(&["timeline"]);
    let report = sandbox.json(&["optimize"]);
    assert!(report["segments_after"].is_u64(), "{report}");
    assert_eq!(sandbox.json(&["timeline"]), before);
    assert_eq!(uris(&sandbox.json(&["find", "lock"]), "hits"), ["n/1", "n/2"]);
}

/// `stats` on a missing path once made the store it was asked about.
#[test]
fn reading_makes_no_file_and_changes_none() {
    let sandbox = stocked();
    let lone = sandbox.path("lone/copy.kapsa");
    std::fs::create_dir(sandbox.path("lone")).expect("made");
    std::fs::copy(sandbox.capsule(), &lone).expect("copied");
    let before = std::fs::read(&lone).expect("there");
    let missing = sandbox.path("lone/missing.kapsa");
    let verbs: [&[&str]; 8] = [
        &["find", "lock"],
        &["get", "n/1"],
        &["timeline"],
        &["history", "n/1"],
        &["stats", "--count"],
        &["info"],
        &["verify"],
        &["doctor"],
    ];
    for verb in verbs {
        let on = |path: &std::path::Path| {
            let path = path.to_str().expect("UTF-8").to_string();
            let args: Vec<String> = verb
                .iter()
                .map(|s| (*s).to_string())
                .chain(["--capsule".to_string(), path])
                .collect();
            sandbox.run(&args);
        };
        on(&lone);
        on(&missing);
        let names: Vec<_> = std::fs::read_dir(sandbox.path("lone"))
            .expect("there")
            .flatten()
            .map(|e| e.file_name())
            .collect();
        assert_eq!(names, ["copy.kapsa"], "{verb:?}");
    }
    assert_eq!(std::fs::read(&lone).expect("there"), before);
}

#[test]
fn doctor_names_the_last_good_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "x"]);
    sandbox.ok(&["checkpoint", "--label", "v1"]);
    let last = sandbox.json(&["checkpoint", "--label", "v2"]);
    let id = last["checkpoint_id"].as_str().expect("an id");
    let told = sandbox.ok(&["doctor"]);
    assert!(told.contains(&format!("the last good checkpoint is {id} (v2), #3 on main")), "{told}");
}

#[test]
fn answers_that_programs_keep_name_their_version() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "a", "--text", "x"]);
    let answers = [
        &["doctor"][..],
        &["stats"],
        &["checkpoint", "--label", "v1"],
        &["checkpoints"],
        &["events"],
        &["resolve-uri", "a"],
        &["init"],
    ];
    for call in answers {
        let answer = sandbox.json(call);
        assert_eq!(answer["schema_version"], 1, "{call:?}");
        assert_eq!(answer["tool_version"], env!("CARGO_PKG_VERSION"), "{call:?}");
    }
    let failed = sandbox.run(&["get", "nothing", "--json"]);
    let error: serde_json::Value = serde_json::from_str(failed.err.trim()).expect("JSON");
    assert_eq!(error["schema_version"], 1);
}

#[test]
fn exit_code_3_is_there_for_those_who_ask() {
    let sandbox = Sandbox::new();
    let call = ["events", "--type", "Nope"];
    sandbox.fails(&call, 1, "unknown_event_type");
    sandbox.fails(&["--strict-exit", "events", "--type", "Nope"], 3, "unknown_event_type");
    sandbox.fails(&["--strict-exit", "get", "nothing"], 1, "uri_not_found");
    let mut command = sandbox.command();
    let run = command.args(call).env("KAPSA_STRICT_EXIT", "1").output().expect("it runs");
    assert_eq!(run.status.code(), Some(3));
}
