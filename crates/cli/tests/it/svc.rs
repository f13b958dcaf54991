//! The subprocess interface, item by item of its contract.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::meaning::ollama;
use crate::support::{Run, Sandbox, bytes};

const DOCUMENT: &str = r#"{"title":"T1 — Builder","label":"builder","text":"built the lock","metadata":{"task_id":"t1","role":"builder","confidence":"0.90","run_id":"r1"}}"#;

fn answer(run: &Run) -> Value {
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(run.out.lines().count(), 1, "one JSON line");
    serde_json::from_str(&run.out).expect("JSON")
}

fn failure(run: &Run) -> String {
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.err.ends_with('\n'));
    let error: Value = serde_json::from_str(&run.err).expect("JSON on standard error");
    error["error"].as_str().expect("a message").to_string()
}

fn store(name: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    answer(&sandbox.run(&["svc", "create", name]));
    sandbox
}

fn put(sandbox: &Sandbox, store: &str, text: &str) -> Value {
    let document = json!({ "title": text, "label": "builder", "text": text }).to_string();
    answer(&sandbox.run_with(&["svc", "put", store], document.as_bytes()))
}

#[test]
fn item_1_create_makes_the_file_and_is_idempotent() {
    let sandbox = Sandbox::empty();
    let made = answer(&sandbox.run(&["svc", "create", "deep/tasks/t1.mv2"]));
    assert_eq!(
        made,
        json!({ "ok": true, "path": "deep/tasks/t1.mv2", "created": "deep/tasks/t1.mv2" })
    );
    put(&sandbox, "deep/tasks/t1.mv2", "kept");
    assert_eq!(answer(&sandbox.run(&["svc", "create", "deep/tasks/t1.mv2"]))["ok"], true);
    assert_eq!(answer(&sandbox.run(&["svc", "info", "deep/tasks/t1.mv2"]))["frames"], 1);
}

#[test]
fn item_1_two_that_create_at_once_both_succeed() {
    let sandbox = Sandbox::empty();
    let start = || sandbox.command().args(["svc", "create", "t.mv2"]).spawn().expect("it starts");
    for mut child in [start(), start(), start(), start()] {
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn item_2_put_reads_standard_input_and_gives_a_frame_id() {
    let sandbox = store("t.mv2");
    let first = answer(&sandbox.run_with(&["svc", "put", "t.mv2"], DOCUMENT.as_bytes()));
    assert!(first["frame_id"].is_u64(), "item 5: always an integer");
    let second =
        answer(&sandbox.run_with(&["svc", "put", "t.mv2", "--stdin"], DOCUMENT.as_bytes()));
    assert_ne!(first, second, "the same document twice is two entries");
    let tagged = sandbox.json(&[
        "--capsule",
        "t.mv2",
        "timeline",
        "--tag",
        "task_id=t1",
        "--tag",
        "role=builder",
        "--tag",
        "run_id=r1",
    ]);
    assert_eq!(tagged["records"][0]["metadata"]["confidence"], "0.90");
}

#[test]
fn item_3_only_text_is_required_unless_strict() {
    let sandbox = store("t.mv2");
    answer(&sandbox.run_with(&["svc", "put", "t.mv2"], br#"{"text":"x"}"#));
    answer(&sandbox.run_with(
        &["svc", "put", "t.mv2"],
        br#"{"text":"y","metadata":null,"more":[1],"title":null}"#,
    ));
    assert!(
        failure(&sandbox.run_with(&["svc", "put", "t.mv2", "--strict"], br#"{"text":"x"}"#))
            .contains("title")
    );
    assert!(
        failure(&sandbox.run_with(&["svc", "put", "t.mv2"], br#"{"title":"x","label":"l"}"#))
            .contains("text")
    );
    answer(&sandbox.run_with(&["svc", "put", "t.mv2"], br#"{"title":"bare","text":""}"#));
    let entries = answer(&sandbox.run(&["svc", "timeline", "t.mv2"]))["entries"].clone();
    assert_eq!((&entries[2]["title"], &entries[2]["text"]), (&"bare".into(), &"".into()));
    assert_eq!(answer(&sandbox.run(&["svc", "info", "t.mv2"]))["frames"], 3);
}

#[test]
fn item_4_what_is_no_json_is_refused_and_nothing_is_written() {
    let sandbox = store("t.mv2");
    let before = bytes(&sandbox.path("t.mv2"));
    for bad in [
        "not json",
        "",
        "[1]",
        "{\"text\":\"x\"",
        "{\"text\":\"x\"} {}",
        "{\"text\":5}",
        "{\"text\":\"x\",\"metadata\":[]}",
    ] {
        assert!(
            !failure(&sandbox.run_with(&["svc", "put", "t.mv2"], bad.as_bytes())).is_empty(),
            "{bad}"
        );
    }
    assert!(failure(&sandbox.run_with(&["svc", "put", "t.mv2"], b"not json")).contains("JSON"));
    assert_eq!(bytes(&sandbox.path("t.mv2")), before);
}

#[test]
fn item_6_find_gives_at_most_k_in_every_mode() {
    let sandbox = store("t.mv2");
    for text in ["the lock is held", "the lock is free", "the lock is stale"] {
        put(&sandbox, "t.mv2", text);
    }
    for mode in ["lex", "sem", "auto"] {
        let found = answer(
            &sandbox.run(&["svc", "find", "t.mv2", "--query", "lock", "--k", "2", "--mode", mode]),
        );
        let results = found["results"].as_array().expect("a list");
        assert_eq!(results.len(), 2);
        for result in results {
            assert!(
                result["title"].is_string()
                    && result["text"].is_string()
                    && result["score"].is_number(),
                "{result}"
            );
            assert!(result.get("fallback").is_none(), "{result}");
        }
    }
    assert_eq!(
        answer(&sandbox.run(&["svc", "find", "t.mv2", "--query", "lock", "--k", "0"]))["results"],
        json!([])
    );
}

/// A store whose entries have vectors.
fn embedded(sandbox: &Sandbox, store: &str, texts: &[&str]) {
    worded(sandbox, store, texts);
    sandbox.ok(&["--capsule", store, "embed"]);
}

/// A store whose entries have none.
fn worded(sandbox: &Sandbox, store: &str, texts: &[&str]) {
    answer(&sandbox.run(&["svc", "create", store]));
    for text in texts {
        put(sandbox, store, text);
    }
}

fn find(sandbox: &Sandbox, mode: &str, query: &str, stores: &[&str]) -> Value {
    let call = [&["svc", "find", "--mode", mode, "--query", query][..], stores].concat();
    answer(&sandbox.run(&call))
}

fn texts(found: &Value) -> Vec<&str> {
    found["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|result| result["text"].as_str().expect("a text"))
        .collect()
}

fn are_newest(found: &Value) -> bool {
    found["results"].as_array().expect("a list").iter().all(|result| result["fallback"] == true)
}

const CAT: &str = "The cat sleeps on the sofa";
const LUNCH: &str = "Lunch is at noon";
const TICKET: &str = "Ticket QX77 is closed";

#[test]
fn item_6_words_meaning_and_both_count_where_there_are_vectors() {
    let sandbox = Sandbox::empty();
    embedded(&sandbox, "t.mv2", &[CAT, LUNCH, TICKET]);
    assert_eq!(
        find(&sandbox, "lex", "kitten couch", &["t.mv2"])["results"],
        json!([]),
        "no word of it is there"
    );
    for mode in ["sem", "auto"] {
        let found = find(&sandbox, mode, "kitten couch", &["t.mv2"]);
        assert_eq!((texts(&found)[0], are_newest(&found)), (CAT, false), "{mode}: {found}");
        assert!(found["results"][0]["score"].as_f64() > Some(0.0), "{found}");
    }
    let first = |mode| {
        texts(&find(&sandbox, mode, "kitten napping on a couch QX77", &["t.mv2"]))[0].to_string()
    };
    assert_eq!([first("lex"), first("sem"), first("auto")], [TICKET, CAT, TICKET]);
    let default = answer(&sandbox.run(&["svc", "find", "t.mv2", "--query", "kitten couch"]));
    assert_eq!(default, find(&sandbox, "auto", "kitten couch", &["t.mv2"]));
}

#[test]
fn item_6_words_answer_in_every_mode_where_there_are_no_vectors() {
    let sandbox = Sandbox::empty();
    worded(&sandbox, "t.mv2", &[CAT, LUNCH]);
    let by_words = find(&sandbox, "lex", "cat", &["t.mv2"]);
    assert_eq!(texts(&by_words), [CAT]);
    assert_eq!(find(&sandbox, "auto", "cat", &["t.mv2"]), by_words);
    let mut told = find(&sandbox, "sem", "cat", &["t.mv2"]);
    assert_eq!(told["by_words"][0]["store"], "t.mv2", "whoever asked for meaning is told");
    told.as_object_mut().expect("an object").remove("by_words");
    assert_eq!(told, by_words);
}

#[test]
fn item_6_the_newest_entries_stand_in_where_nothing_is_asked_for() {
    let sandbox = Sandbox::empty();
    embedded(&sandbox, "t.mv2", &[CAT, LUNCH]);
    worded(&sandbox, "u.mv2", &[TICKET]);
    for mode in ["lex", "sem", "auto"] {
        for query in ["", " ? ", "\"\" -"] {
            let found = find(&sandbox, mode, query, &["t.mv2"]);
            assert_eq!(
                (texts(&found), are_newest(&found)),
                (vec![LUNCH, CAT], true),
                "{mode} {query}"
            );
            let found = find(&sandbox, mode, query, &["t.mv2", "u.mv2"]);
            assert_eq!(
                (texts(&found), are_newest(&found)),
                (vec![TICKET, LUNCH, CAT], true),
                "{mode} {query}"
            );
        }
    }
}

/// A client asks with text of people, which may hold anything.
#[test]
fn item_6_nothing_in_a_query_is_an_operator() {
    let sandbox = Sandbox::empty();
    let note = "GetBar is called twice in the loop: label:x marks it";
    embedded(&sandbox, "t.mv2", &[note, LUNCH]);
    for query in [
        "\"GetBar twice\"",
        "\"twice GetBar\"",
        "+loop +xylophone",
        "label:x",
        "label:builder marks",
        "-loop",
        "--loop",
        "GetBar -loop",
        "(GetBar)",
        "\"GetBar",
        "kind:fact GetBar",
    ] {
        for mode in ["lex", "auto"] {
            let found = find(&sandbox, mode, query, &["t.mv2"]);
            assert_eq!(
                (texts(&found).first(), are_newest(&found)),
                (Some(&note), false),
                "{query}"
            );
            assert!(found["results"][0]["score"].as_f64() > Some(0.0), "{query}: {found}");
        }
    }
}

#[test]
fn item_6_a_model_that_fails_leaves_the_words() {
    let sandbox = Sandbox::empty();
    let server = ollama();
    let url = server.url();
    for store in ["t.mv2", "u.mv2"] {
        worded(&sandbox, store, &[CAT]);
        let mut reembed = sandbox.command();
        reembed.env("KAPSA_EMBED_URL", &url).args([
            "--capsule",
            store,
            "reembed",
            "--model",
            "ollama:x",
        ]);
        assert!(reembed.output().expect("it starts").status.success());
    }
    // Nobody listens at the port of a listener that is gone.
    let gone = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    for mode in ["sem", "auto"] {
        let mut call = sandbox.command();
        call.env("KAPSA_EMBED_URL", format!("http://{gone}"));
        call.args(["svc", "find", "t.mv2", "u.mv2", "--query", "cat", "--mode", mode]);
        let found = answer(&call.output().expect("it starts").into());
        assert_eq!((texts(&found), are_newest(&found)), (vec![CAT, CAT], false), "{mode}");
        let stores = found["by_words"].as_array().expect("a list");
        assert_eq!(stores.len(), 2);
        assert!(
            stores.iter().all(|told| told["error"].as_str().is_some_and(|error| !error.is_empty())),
            "{found}"
        );
    }
}

#[test]
fn item_6_a_model_is_opened_and_asked_once_for_all_stores() {
    let sandbox = Sandbox::empty();
    let server = ollama();
    let url = server.url();
    let call = |args: &[&str]| {
        let output =
            sandbox.command().env("KAPSA_EMBED_URL", &url).args(args).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for store in ["t1.mv2", "t2.mv2", "t3.mv2"] {
        worded(&sandbox, store, &[CAT]);
        call(&["--capsule", store, "reembed", "--model", "ollama:x"]);
    }
    let requests = |stores: &str| {
        let before = server.requests().len();
        call(&["svc", "find", stores, "--query", "kitten", "--mode", "sem"]);
        server
            .requests()
            .split_off(before)
            .into_iter()
            .map(|request| request.path)
            .collect::<Vec<_>>()
    };
    let one = requests("t1.mv2");
    assert!(one.iter().any(|line| line.contains("/api/embed")), "{one:?}");
    assert_eq!(requests("t*.mv2"), one);
}

/// Scores as one store gives them would put every store's best in the same place, however poor it
/// is.
#[test]
fn item_11_hits_of_several_stores_are_put_in_one_order() {
    let sandbox = Sandbox::empty();
    embedded(&sandbox, "poor.mv2", &[LUNCH, "Dinner was late"]);
    embedded(&sandbox, "good.mv2", &["A dog lies in the garden", CAT]);
    let stores = ["poor.mv2", "good.mv2"];
    for mode in ["sem", "auto"] {
        let found = find(&sandbox, mode, "kitten napping by the couch", &stores);
        assert_eq!(texts(&found)[0], CAT, "{mode}: {found}");
    }
    worded(&sandbox, "words.mv2", &["The couch of the kitten", "A kitten of ours"]);
    let stores = ["poor.mv2", "good.mv2", "words.mv2"];
    for mode in ["lex", "sem", "auto"] {
        let found = find(&sandbox, mode, "kitten couch", &stores);
        let results = found["results"].as_array().expect("a list");
        let scores: Vec<_> =
            results.iter().map(|result| result["score"].as_f64().expect("a number")).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{mode}: {scores:?}");
        for store in stores {
            let alone = find(&sandbox, mode, "kitten couch", &[store]);
            let mine: Vec<_> = results
                .iter()
                .filter(|result| result["store"] == store)
                .map(|result| &result["text"])
                .collect();
            let (mine, alone) = (json!(mine), json!(texts(&alone)));
            let stays = mine
                .as_array()
                .expect("a list")
                .iter()
                .zip(alone.as_array().expect("a list"))
                .all(|(a, b)| a == b);
            assert!(stays, "{mode}: a store's own order stays: {mine} of {alone}");
        }
    }
    let found = find(&sandbox, "auto", "kitten couch", &stores);
    let best = ["The couch of the kitten", CAT, "A kitten of ours"];
    assert_eq!(
        texts(&found)[..3],
        best,
        "all words, the same meaning, one word that is common there: {found}"
    );
}

#[test]
fn item_11_an_identifier_that_was_asked_for_comes_first_in_whichever_store_it_is() {
    let sandbox = Sandbox::empty();
    // Where there is little else, its rarity says little: BM25 is far lower than in the other
    // store.
    embedded(
        &sandbox,
        "small.mv2",
        &["Fixed: the compiler reported CS0854 for a call in the lambda of a mock"],
    );
    embedded(
        &sandbox,
        "large.mv2",
        &[CAT, LUNCH, TICKET, "A dog", "A house", "compiler error, compiler error, compiler error"],
    );
    let found = find(&sandbox, "auto", "compiler error CS0854", &["large.mv2", "small.mv2"]);
    assert_eq!(found["results"][0]["store"], "small.mv2", "{found}");
}

#[test]
fn item_11_a_store_that_is_named_twice_answers_once() {
    let sandbox = Sandbox::empty();
    worded(&sandbox, "t1.mv2", &[CAT]);
    worded(&sandbox, "t2.mv2", &[LUNCH]);
    assert_eq!(texts(&find(&sandbox, "lex", "cat", &["t1.mv2", "t*.mv2", "t1.mv2"])), [CAT]);
}

#[test]
fn item_6_long_queries_find_and_hopeless_ones_do_not() {
    let sandbox = store("t.mv2");
    assert_eq!(
        answer(&sandbox.run(&["svc", "find", "t.mv2", "--query", "lock"]))["results"],
        json!([])
    );
    put(&sandbox, "t.mv2", "the writer holds the lock");
    let long = "Please implement the part (see [docs] {x}) in which a writer that holds the file's lock gives it back when it is done";
    let found = answer(&sandbox.run(&["svc", "find", "t.mv2", "--query", long]));
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1));
    let endless = format!("lock {}", "é ".repeat(40_000));
    assert_eq!(
        answer(&sandbox.run(&["svc", "find", "t.mv2", "--query", &endless]))["results"]
            .as_array()
            .map(Vec::len),
        Some(1),
        "what is too long is cut"
    );
    let hopeless = answer(&sandbox.run(&["svc", "find", "t.mv2", "--query", "xylophone"]));
    assert_eq!(hopeless["results"], json!([]), "what is unrelated fills no context");
}

#[test]
fn item_7_timeline_is_oldest_first() {
    let sandbox = store("t.mv2");
    for text in ["one", "two", "three"] {
        put(&sandbox, "t.mv2", text);
    }
    let entries = answer(&sandbox.run(&["svc", "timeline", "t.mv2"]))["entries"].clone();
    let texts: Vec<_> = entries
        .as_array()
        .expect("a list")
        .iter()
        .map(|e| e["text"].as_str().expect("a text"))
        .collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert_eq!((&entries[0]["title"], &entries[0]["label"]), (&"one".into(), &"builder".into()));
    assert_eq!(
        answer(&sandbox.run(&["svc", "timeline", "t.mv2", "--limit", "2"]))["entries"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn item_8_info_counts_frames() {
    let sandbox = store("t.mv2");
    for text in ["one", "two", "three"] {
        put(&sandbox, "t.mv2", text);
    }
    let info = answer(&sandbox.run(&["svc", "info", "t.mv2"]));
    assert_eq!((&info["path"], &info["frames"]), (&"t.mv2".into(), &3.into()));
    assert!(info["size_bytes"].as_u64() > Some(0));
}

#[test]
fn item_9_failures_are_one_json_object_on_standard_error() {
    let sandbox = Sandbox::empty();
    sandbox.write("foreign.mv2", "MV2\0 something else");
    for store in ["missing.mv2", "foreign.mv2", "."] {
        failure(&sandbox.run(&["svc", "info", store]));
        failure(&sandbox.run(&["svc", "timeline", store]));
        failure(&sandbox.run(&["svc", "find", store, "--query", "x"]));
        failure(&sandbox.run_with(&["svc", "put", store], DOCUMENT.as_bytes()));
    }
    failure(&sandbox.run(&["svc", "create", "foreign.mv2"]));
    assert_eq!(bytes(&sandbox.path("foreign.mv2")), b"MV2\0 something else");
    assert!(!sandbox.path("missing.mv2").exists());
}

#[test]
fn item_10_wrong_calls_exit_2_with_usage_text() {
    let sandbox = store("t.mv2");
    let calls: [&[&str]; 7] = [
        &["svc"],
        &["svc", "find", "t.mv2"],
        &["svc", "find", "t.mv2", "--query", "x", "--mode", "wild"],
        &["svc", "find", "t.mv2", "--query", "x", "--k", "-1"],
        &["svc", "nonsense"],
        &["svc", "create"],
        &["-m"],
    ];
    for call in calls {
        let run = sandbox.run(call);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{call:?}");
        assert!(run.err.contains("Usage"), "{call:?}: {}", run.err);
        assert!(serde_json::from_str::<Value>(&run.err).is_err(), "not JSON");
    }
}

#[test]
fn item_11_find_takes_stores_and_globs_and_one_bad_store_blanks_nothing() {
    let sandbox = store("tasks/t1.mv2");
    answer(&sandbox.run(&["svc", "create", "tasks/t2.mv2"]));
    put(&sandbox, "tasks/t1.mv2", "the lock is held");
    put(&sandbox, "tasks/t2.mv2", "lock lock lock");
    sandbox.write("tasks/t3.mv2", "broken");
    let found =
        answer(&sandbox.run(&["svc", "find", "tasks/*.mv2", "--query", "lock", "--k", "5"]));
    let mut stores: Vec<_> = found["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| r["store"].as_str().expect("a store"))
        .collect();
    stores.sort_unstable();
    assert_eq!(stores, ["tasks/t1.mv2", "tasks/t2.mv2"]);
    assert_eq!(found["skipped"][0]["store"], "tasks/t3.mv2");
    let one = answer(&sandbox.run(&[
        "svc",
        "find",
        "tasks/t1.mv2",
        "tasks/t2.mv2",
        "--query",
        "lock",
        "--k",
        "1",
    ]));
    assert_eq!(one["results"].as_array().map(Vec::len), Some(1));
    put(&sandbox, "tasks/t2.mv2", "only here: xylophone");
    let some = answer(&sandbox.run(&[
        "svc",
        "find",
        "tasks/t1.mv2",
        "tasks/t2.mv2",
        "--query",
        "xylophone",
    ]));
    assert!(
        some["results"].as_array().expect("a list").iter().all(|r| r.get("fallback").is_none()),
        "a match drives the fallback out"
    );
    failure(&sandbox.run(&["svc", "find", "tasks/*.none", "--query", "lock"]));
    failure(&sandbox.run(&["svc", "find", "tasks/t3.mv2", "gone.mv2", "--query", "lock"]));
}

#[test]
fn item_12_a_client_made_for_the_python_module_runs_unchanged() {
    let sandbox = Sandbox::empty();
    for module in ["src", "memvid_svc"] {
        let store = format!("{module}.mv2");
        assert_eq!(answer(&sandbox.run(&["-m", module, "create", &store]))["created"], store);
        let put = answer(&sandbox.run_with(&["-m", module, "put", &store], DOCUMENT.as_bytes()));
        assert!(put["frame_id"].is_u64());
        let found =
            answer(&sandbox.run(&[
                "-m", module, "find", &store, "--query", "lock", "--k", "5", "--mode", "lex",
            ]));
        assert_eq!(found["results"][0]["title"], "T1 — Builder");
        assert_eq!(
            answer(&sandbox.run(&["-m", module, "timeline", &store, "--limit", "5"]))["entries"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
        assert_eq!(answer(&sandbox.run(&["-m", module, "info", &store]))["frames"], 1);
    }
}

#[test]
fn stored_controls_leave_as_json_escapes() {
    let sandbox = store("t.mv2");
    let document =
        json!({ "title": "a\u{1b}[31m\u{202e}b\u{9b}", "text": "lock \u{1b}]52;c;x\u{7}" })
            .to_string();
    answer(&sandbox.run_with(&["svc", "put", "t.mv2"], document.as_bytes()));
    for call in [&["svc", "timeline", "t.mv2"][..], &["svc", "find", "t.mv2", "--query", "lock"]] {
        let run = sandbox.run(call);
        assert!(!run.out.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{7}']), "{run:?}");
        assert!(answer(&run).to_string().contains('\u{202e}'), "the value itself is unchanged");
    }
}

#[test]
fn records_of_runs_take_no_place_of_a_document() {
    let sandbox = store("t.mv2");
    put(&sandbox, "t.mv2", "a plan for the zebra and the quagga");
    for at in 0..20 {
        let run = format!("{{\"kind\":\"run\",\"text\":\"zebra quagga {at}\"}}");
        let put = sandbox.run_with(&["--capsule", "t.mv2", "put", "--json", "-"], run.as_bytes());
        assert_eq!(put.code, Some(0), "{}", put.err);
    }
    let call = ["svc", "find", "t.mv2", "--query", "zebra quagga", "--k", "1", "--mode", "lex"];
    let results = answer(&sandbox.run(&call))["results"].clone();
    assert_eq!(results.as_array().map(Vec::len), Some(1), "{results}");
}
