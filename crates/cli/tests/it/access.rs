//! Who may know what, through the command line.

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A capsule with two principals and records of each level.
fn team() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["clearance", "set", "cro", "revenue=confidential", "hr=internal"]);
    sandbox.ok(&["clearance", "set", "cmo", "marketing=internal"]);
    for (uri, domain, level) in [
        ("fact/open", "revenue", "public"),
        ("fact/internal", "revenue", "internal"),
        ("fact/deal", "revenue", "confidential"),
        ("fact/board", "revenue", "restricted"),
        ("fact/ad", "marketing", "internal"),
    ] {
        let text = format!("the acme secret of {uri}");
        sandbox.ok(&[
            "put",
            "--uri",
            uri,
            "--domain",
            domain,
            "--classification",
            level,
            "--named",
            "cro",
            "--text",
            &text,
        ]);
    }
    sandbox
}

fn uris(found: &Value, list: &str) -> Vec<String> {
    let mut uris: Vec<String> = found[list]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|hit| hit["uri"].as_str())
        .map(str::to_string)
        .collect();
    uris.iter_mut().for_each(|uri| *uri = uri.replace("mv2://default/", ""));
    uris.sort();
    uris
}

#[test]
fn each_sees_what_it_may() {
    let sandbox = team();
    for (principal, want) in [
        ("cro", &["fact/deal", "fact/internal", "fact/open"][..]),
        ("cmo", &["fact/ad", "fact/open"]),
        ("stranger", &["fact/open"]),
    ] {
        assert_eq!(
            uris(&sandbox.json(&["find", "acme secret", "--as", principal]), "hits"),
            want,
            "{principal}"
        );
        assert_eq!(
            uris(&sandbox.json(&["timeline", "--as", principal]), "records"),
            want,
            "{principal}"
        );
        for uri in ["fact/open", "fact/internal", "fact/deal", "fact/board", "fact/ad"] {
            let run = sandbox.run(&["get", uri, "--as", principal]);
            assert_eq!(run.code == Some(0), want.contains(&uri), "{principal} {uri}");
        }
    }
    let mut command = sandbox.command();
    let out = command
        .args(["find", "acme", "--json"])
        .env("KAPSA_PRINCIPAL", "stranger")
        .output()
        .expect("it runs");
    assert_eq!(uris(&serde_json::from_slice(&out.stdout).expect("JSON"), "hits"), ["fact/open"]);
    assert_eq!(
        uris(&sandbox.json(&["find", "acme secret"]), "hits").len(),
        5,
        "the owner sees all"
    );
    let shown = sandbox.json(&["get", "fact/board"]);
    assert_eq!(
        (&shown["classification"], &shown["named"]),
        (&json!("restricted"), &json!(["cro"]))
    );
}

#[test]
fn what_is_hidden_and_what_never_was_are_told_in_the_same_words() {
    let sandbox = team();
    for verb in ["get", "history", "forget"] {
        let told = |uri: &str| {
            let (code, error) = sandbox.error(&[verb, uri, "--as", "cmo"]);
            (code, error.to_string().replace(uri, "X"))
        };
        assert_eq!(told("fact/deal"), told("fact/none"), "{verb}");
    }
}

#[test]
fn all_other_verbs_are_the_owners() {
    let sandbox = team();
    for call in [
        &["log"][..],
        &["stats"],
        &["blame", "fact/open"],
        &["branch"],
        &["checkpoints"],
        &["events"],
        &["diff", "main"],
        &["verify"],
        &["export"],
        &["clone", "copy.kapsa"],
        &["clearance", "list"],
        &["clearance", "set", "cmo", "revenue=restricted"],
        &["compact"],
        &["purge", "fact/open", "--yes"],
        &["merge", "--from", "x"],
        &["run", "list"],
        &["svc", "info", ".kapsa/workspace.kapsa"],
        &["embed"],
        &["salvage", "copy.kapsa"],
        &["graph", "query"],
        &["resolve-uri", "fact/deal"],
    ] {
        let run = sandbox.run(&call.iter().copied().chain(["--as", "cmo"]).collect::<Vec<_>>());
        assert!(
            run.code == Some(1) && run.out.is_empty() && run.err.contains("may not"),
            "{call:?} {run:?}"
        );
    }
    assert!(!sandbox.path("copy.kapsa").exists());
    assert_eq!(
        sandbox.json(&["clearance", "show", "cmo"])["domains"],
        json!({ "marketing": "internal" })
    );
}

#[test]
fn writing_above_a_clearance_is_refused_and_each_denial_is_on_record() {
    let sandbox = team();
    let put = |args: &[&str]| {
        sandbox.run(
            &["put", "--as", "cmo", "--text", "x"].iter().chain(args).copied().collect::<Vec<_>>(),
        )
    };
    assert_eq!(put(&["--domain", "marketing", "--classification", "internal"]).code, Some(0));
    assert_eq!(put(&["--domain", "marketing", "--classification", "confidential"]).code, Some(1));
    assert_eq!(put(&["--domain", "revenue"]).code, Some(1));
    assert_eq!(put(&["--domain", "marketing", "--uri", "fact/deal"]).code, Some(1));
    sandbox.run(&["get", "fact/deal", "--as", "cmo"]);
    sandbox.run(&["get", "fact/none", "--as", "cmo"]);
    sandbox.run(&["log", "--as", "cmo"]);
    sandbox.run(&["resolve-uri", "fact/deal", "--as", "cmo"]);
    let audit = sandbox.json(&["timeline", "--kind", "audit"]);
    let told: Vec<&str> = audit["records"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|record| record["text"].as_str())
        .collect();
    assert_eq!(
        told,
        [
            "cmo was denied: put",
            "cmo was denied: put",
            "cmo was denied: put fact/deal",
            "cmo was denied: get fact/deal",
            "cmo was denied: log",
            "cmo was denied: resolve-uri fact/deal",
        ],
        "what never was is no denial"
    );
    assert!(
        uris(&sandbox.json(&["timeline", "--kind", "audit", "--as", "cmo"]), "records").is_empty()
    );
    assert!(
        sandbox.json(&["get", "fact/deal"])["text"]
            .as_str()
            .is_some_and(|text| text.contains("acme")),
        "nothing was replaced"
    );
}

#[test]
fn levels_survive_a_round_trip_as_json() {
    let sandbox = team();
    let line = |uri: &&str| {
        let mut record = sandbox.json(&["get", uri]);
        // What a capsule gives itself is not taken back.
        ["sequence", "committed_at", "branch"]
            .iter()
            .for_each(|field| drop(record.as_object_mut().expect("an object").remove(*field)));
        record.to_string() + "\n"
    };
    let lines: String = ["fact/open", "fact/board"].iter().map(line).collect();
    let other = Sandbox::new();
    other.json_with(&["put", "-"], lines.as_bytes());
    assert_eq!(other.json(&["get", "fact/board"])["classification"], "restricted");
    assert_eq!(other.json(&["get", "fact/board"])["named"], json!(["cro"]));
    let (code, error) =
        other.error_with(&["put", "-"], br#"{"text":"x","classification":"secret"}"#);
    assert!(
        code == 1
            && error["message"].as_str().is_some_and(|message| message.contains("classification")),
        "{error}"
    );
    assert_eq!(other.error_with(&["put", "-"], br#"{"text":"x","named":["a"]}"#).0, 1);
}
