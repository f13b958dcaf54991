//! Any text is a question: what is taken as an operator, which times and names are understood, and
//! what is said when nothing is known.

use serde_json::Value;

use crate::support::Sandbox;

fn notes(sandbox: &Sandbox, notes: &[(&str, &str)]) {
    let lines: String = notes
        .iter()
        .map(|(uri, text)| format!("{}\n", serde_json::json!({ "uri": uri, "text": text })))
        .collect();
    sandbox.json_with(&["put", "-"], lines.as_bytes());
}

fn uris(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().expect("a list");
    let uri = |hit: &'_ Value| -> usize { hit["rank"].as_u64().expect("a rank") as usize };
    assert!(hits.iter().zip(1..).all(|(hit, rank)| uri(hit) == rank), "{found}");
    hits.iter()
        .map(|hit| hit["uri"].as_str().expect("a URI").trim_start_matches("mv2://default/"))
        .collect()
}

#[test]
fn flags_and_negative_numbers_are_what_they_are() {
    let sandbox = Sandbox::new();
    notes(
        &sandbox,
        &[
            ("n/sed", "Replace in place with `sed -i.bak` and look at the diff."),
            ("n/java", "Start the importer with java -jar importer.jar in the night."),
            ("n/ice", "The freezer of the lab runs at -18 degrees."),
            ("n/tea", "Tea is at four; nobody may bring a jar."),
        ],
    );
    for (query, uri) in [
        ("java -jar", "n/java"),
        ("how do I start java -jar importer", "n/java"),
        ("-jar of the importer", "n/java"),
        ("freezer at -18 degrees", "n/ice"),
        ("sed -i.bak", "n/sed"),
    ] {
        for mode in ["lex", "auto"] {
            let found = sandbox.json(&["find", query, "--mode", mode]);
            assert_eq!(uris(&found)[0], uri, "{query} by {mode}");
        }
    }
    let found = sandbox.json(&["find", "tea -importer"]);
    assert_eq!(found["query"]["operators"], serde_json::json!(["-importer"]));
    assert_eq!(uris(&found), ["n/tea"]);
    let found = sandbox.json(&["find", "java -jar"]);
    assert_eq!(found["query"]["literals"], serde_json::json!(["-jar"]));
}

#[test]
fn fields_count_where_some_record_has_the_value() {
    let sandbox = Sandbox::new();
    notes(
        &sandbox,
        &[("n/yaml", "The manifest says kind:Deployment and label:web."), ("n/x", "Lunch.")],
    );
    sandbox.ok(&["put", "--text", "manifest reviewed", "--kind", "decision"]);
    let found = sandbox.json(&["find", "kind:Deployment manifest"]);
    assert_eq!((&found["query"]["operators"], uris(&found)[0]), (&serde_json::json!([]), "n/yaml"));
    let found = sandbox.json(&["find", "kind:decision manifest"]);
    assert_eq!(found["query"]["operators"], serde_json::json!(["kind:decision"]));
    assert_eq!(found["count"], 1);
    // What its operators leave out is looked for as plain text, and that is said.
    let found = sandbox.json(&["find", "+lunch +manifest"]);
    assert_eq!((&found["query"]["plain"], &found["count"]), (&true.into(), &3.into()));
    let explained = sandbox.run(&["find", "+lunch +manifest", "--explain"]);
    assert!(explained.out.contains("query: taken as text"), "{explained:?}");
    let pasted = "+ kind:decision\n- \"lunch\" -manifest";
    assert_eq!(sandbox.json(&["find", pasted])["query"]["operators"], serde_json::json!([]));
}

#[test]
fn names_beginnings_and_typing_errors_are_found() {
    let sandbox = Sandbox::new();
    notes(
        &sandbox,
        &[
            ("decision/harbour", "The crane is painted in spring."),
            ("n/a", "The configuration of the lighthouse lies in the archive."),
            ("n/b", "Another note about a harbour."),
        ],
    );
    let top = |query: &str| {
        let found = sandbox.json(&["find", query, "--mode", "lex"]);
        uris(&found).first().map_or_else(String::new, |uri| (*uri).to_string())
    };
    for (query, uri) in [
        ("decision/harbour", "decision/harbour"),
        ("mv2://default/decision/harbour", "decision/harbour"),
        ("what does decision/harbour say?", "decision/harbour"),
        ("config*", "n/a"),
        ("confguration", "n/a"),
        ("light house", "n/a"),
    ] {
        assert_eq!(top(query), uri, "{query}");
    }
    let found = sandbox.json(&["find", "confguration", "--mode", "lex"]);
    assert_eq!(found["query"]["expanded"][0]["word"], "confguration");
    assert_eq!(sandbox.json(&["find", "*", "--tag", "none"])["count"], 0);
    assert_eq!(sandbox.json(&["find", "*"])["count"], 3);
}

#[test]
fn a_time_alone_lists_what_is_of_that_time() {
    let sandbox = Sandbox::new();
    let line = |uri: &str, day: &str| {
        format!(
            "{{\"uri\":\"{uri}\",\"text\":\"The pump {uri}\",\"created_at\":\"{day}T23:30:00Z\"}}\n"
        )
    };
    let lines = [line("t/1", "2024-03-04"), line("t/2", "2024-03-05"), line("t/3", "2024-04-01")];
    sandbox.json_with(&["put", "-"], lines.concat().as_bytes());
    let found = |query: &str, zone: &str| -> Vec<String> {
        let mut command = sandbox.command();
        let run =
            command.env("TZ", zone).args(["find", query, "--json"]).output().expect("it runs");
        let found: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        uris(&found).iter().map(|uri| (*uri).to_string()).collect()
    };
    assert_eq!(found("what happened on 2024-03-05?", "UTC"), ["t/2"]);
    assert_eq!(found("2024-03-05", "Asia/Tokyo"), ["t/1"], "in Tokyo it was the next day");
    assert_eq!(found("notes from March 2024", "UTC"), ["t/2", "t/1"]);
    let count = |args: &[&str]| sandbox.json(&[&["timeline"], args].concat())["count"].clone();
    assert_eq!(count(&["--since", "2024-03-05", "--until", "2024-03-05"]), 1);
    assert_eq!(count(&["--until", "1709600000"]), 1, "a number of ten digits is seconds");
    assert_eq!(count(&["--recorded-until", "2024-12-31"]), 0);
    assert_eq!(count(&["--recorded-since", "2024-12-31"]), 3);
    let then = sandbox.json(&["stats"])["committed_at"].as_str().expect("a time")[..10].to_string();
    assert_eq!(sandbox.json(&["find", "pump", "--as-of", &then])["count"], 3, "the end of the day");
}

#[test]
fn nothing_known_is_said() {
    let sandbox = Sandbox::new();
    notes(
        &sandbox,
        &[("p/1", "The ferry to the island leaves at nine."), ("p/2", "Bo likes plums.")],
    );
    let found = sandbox.json(&["find", "how do I repair a telescope"]);
    assert!(found["found"] == "none" || found["found"] == "weak", "{found}");
    assert!(
        found["hits"].as_array().is_some_and(|hits| hits.iter().all(|hit| hit["weak"] == true))
    );
    let found = sandbox.json(&["find", "when does the ferry to the island leave"]);
    assert_eq!((&found["found"], &found["hits"][0]["weak"]), (&"good".into(), &false.into()));
    sandbox.ok(&["put", "--text", "tagged", "--tag", "project=beta", "--kind", "decision"]);
    let found = sandbox.json(&["find", "tagged", "--tag", "project=betta", "--kind", "decison"]);
    let said: Vec<&str> = found["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .map(|warning| warning["message"].as_str().expect("a text"))
        .collect();
    assert_eq!(
        said,
        [
            "no record has kind=decison; there is decision",
            "no record has project=betta; there is beta"
        ]
    );
}

#[test]
fn what_is_not_true_any_more_is_left_out() {
    let sandbox = Sandbox::new();
    let add = |text: &str, dates: &[&str]| {
        let fact = ["fact", "add", text, "--entity", "kim", "--attribute", "team"];
        sandbox.ok(&[&fact, dates].concat());
    };
    add("Kim is on the Sails team", &["--valid-from", "2023-01-01", "--valid-to", "2023-06-01"]);
    add("Kim is on the Ropes team", &["--valid-from", "2023-06-01"]);
    let found = sandbox.json(&["find", "which team is Kim on"]);
    assert_eq!((&found["count"], &found["hits"][0]["standing"]), (&1.into(), &"current".into()));
    let found = sandbox.json(&["find", "which team is Kim on", "--include-superseded"]);
    let standing = |at: usize| found["hits"][at]["standing"].as_str().expect("a name");
    let mut all = [standing(0), standing(1)];
    all.sort_unstable();
    assert_eq!(all, ["current", "expired"]);
}

#[test]
fn the_same_text_is_said_to_be_the_same_and_takes_one_place() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(&["put", "--uri", "n/a", "--text", "The key hangs behind the door."]);
    assert_eq!(first["same_text"], Value::Null);
    let again = sandbox.json(&["put", "--uri", "n/b", "--text", "The key hangs behind the door."]);
    assert_eq!(again["same_text"], first["uri"]);
    let kept = sandbox.json(&["put", "--if-new", "--text", "The key hangs behind the door."]);
    assert_eq!((&kept["change"], &kept["uri"]), (&"unchanged".into(), &again["uri"]));
    let found = sandbox.json(&["find", "where is the key"]);
    assert_eq!(
        (&found["count"], found["hits"][0]["same_text"].as_array().map(Vec::len)),
        (&1.into(), Some(1))
    );
}

#[test]
fn good_lines_are_stored_and_bad_ones_named() {
    let sandbox = Sandbox::new();
    let lines = "{\"text\":\"one\"}\n{\"text\":\"tw\n{\"text\":\"three\"}\n{\"txt\":\"four\"}\n";
    let error = sandbox.fails_with(&["put", "-"], lines.as_bytes(), 1, "invalid_json");
    assert_eq!(
        (&error["line"], &error["committed"], &error["refused_count"]),
        (&2.into(), &2.into(), &2.into())
    );
    assert!(error["message"].as_str().is_some_and(|said| said.contains("line 4")), "{error}");
    assert_eq!(sandbox.count(), 2);
}

#[test]
fn an_older_export_does_not_win() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "task/1", "--text", "open", "--created-at", "2024-01-01"]);
    sandbox.ok(&["export", "--format", "jsonl", "--out", "e.jsonl"]);
    sandbox.ok(&["put", "--uri", "task/1", "--text", "closed", "--created-at", "2024-01-02"]);
    let lines = std::fs::read(sandbox.path("e.jsonl")).expect("exported");
    let told = sandbox.json_with(&["put", "-"], &lines);
    assert_eq!(told["warnings"][0]["code"], "older_skipped");
    assert_eq!(sandbox.json(&["get", "task/1"])["text"], "closed");
}

#[test]
fn a_document_whose_file_is_gone_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/a.md", "# Alpha\nwhales\n");
    let gone = sandbox.write("docs/b.md", "# Beta\nseals\n");
    sandbox.ok(&["put", "docs"]);
    std::fs::remove_file(gone).expect("removed");
    let told = sandbox.json(&["put", "docs"]);
    assert_eq!(told["warnings"][0]["code"], "document_gone");
    assert_eq!(sandbox.json(&["find", "seals", "--mode", "lex"])["count"], 1);
    assert_eq!(sandbox.json(&["put", "docs", "--prune"])["forgotten"], 1);
    assert_eq!(sandbox.json(&["find", "seals", "--mode", "lex"])["count"], 0);
}
