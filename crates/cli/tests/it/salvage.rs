//! What a damaged capsule still holds, copied into a new one.

use serde_json::Value;

use kapsa_memory::{FileSystem, Volume};

use crate::support::{Sandbox, bytes};

fn texts(listed: &Value) -> Vec<String> {
    let records = listed["records"].as_array().expect("a list");
    records.iter().map(|record| record["text"].as_str().expect("text").to_string()).collect()
}

#[test]
fn everything_that_is_whole_is_copied_and_what_is_lost_is_named() {
    let sandbox = Sandbox::new();
    for number in 1..=9 {
        sandbox.ok(&[
            "put",
            "--uri",
            &format!("note/{number}"),
            "--text",
            &format!("note number {number} about tides"),
        ]);
    }
    sandbox.ok(&["put", "--uri", "note/2", "--text", "note number 2 revised"]);
    sandbox.ok(&["forget", "note/3"]);
    let bytes = std::fs::read(sandbox.capsule()).expect("there");
    let needle = b"note number 5";
    let place =
        bytes.windows(needle.len()).position(|window| window == needle).expect("stored plainly");
    let mut damaged = bytes.clone();
    damaged[place] ^= 0x20;
    let broken = sandbox.write("broken.kapsa", &damaged);
    let broken = broken.to_str().expect("a plain path");

    let run = sandbox.run(&["--capsule", broken, "salvage", "new.kapsa", "--json"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (&report["record_count"], &report["lost_count"]),
        (&10.into(), &1.into()),
        "{report}"
    );
    assert_eq!(report["lost"], serde_json::json!([{"first": 5, "last": 5}]));
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(std::fs::read(broken).expect("there"), damaged, "the source is untouched");

    let whole = sandbox.json(&["--capsule", "new.kapsa", "verify"]);
    assert_eq!((&whole["ok"], &whole["record_count"]), (&true.into(), &11.into()));
    let kept = texts(&sandbox.json(&["--capsule", "new.kapsa", "timeline"]));
    assert_eq!(kept.len(), 7, "{kept:?}");
    assert!(
        kept.contains(&"note number 2 revised".to_string())
            && !kept.iter().any(|text| text.contains('5')),
        "{kept:?}"
    );
    let found = sandbox.json(&["--capsule", "new.kapsa", "find", "tides", "-k", "20"]);
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(6), "{found}");
    assert_eq!(
        sandbox.json(&["--capsule", "new.kapsa", "history", "note/2"])["records"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn a_whole_capsule_is_copied_whole_and_nothing_is_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "a", "--text", "one"]);
    sandbox.ok(&["purge", "a", "--yes"]);
    sandbox.ok(&["compact"]);
    sandbox.ok(&["put", "--uri", "b", "--text", "two"]);
    let report = sandbox.json(&["salvage", "copy.kapsa"]);
    assert_eq!((&report["lost_count"], &report["problems"]), (&0.into(), &serde_json::json!([])));
    assert_eq!(texts(&sandbox.json(&["--capsule", "copy.kapsa", "timeline"])), ["two"]);
    assert_eq!(sandbox.json(&["--capsule", "copy.kapsa", "verify"])["ok"], true);
    let before = std::fs::read(sandbox.path("copy.kapsa")).expect("there");
    sandbox.fails(&["salvage", "copy.kapsa"], 1, "invalid_operation");
    assert_eq!(std::fs::read(sandbox.path("copy.kapsa")).expect("there"), before);
    let stranger = sandbox.write("stranger.kapsa", "no capsule at all");
    sandbox.fails(
        &["--capsule", stranger.to_str().expect("a plain path"), "salvage", "x.kapsa"],
        1,
        "not_a_capsule",
    );
    assert!(!sandbox.path("x.kapsa").exists());
}

#[test]
fn a_capsule_whose_first_page_is_gone_is_salvaged_by_its_hints() {
    let sandbox = Sandbox::new();
    for number in 1..=3 {
        sandbox.ok(&["put", "--text", &format!("number {number}")]);
    }
    let mut bytes = std::fs::read(sandbox.capsule()).expect("there");
    bytes[..4096].fill(0);
    let broken = sandbox.write("broken.kapsa", &bytes);
    let broken = broken.to_str().expect("a plain path");
    sandbox.fails(&["--capsule", broken, "timeline"], 1, "not_a_capsule");
    let report = sandbox.json(&["--capsule", broken, "salvage", "new.kapsa"]);
    assert_eq!(
        (&report["record_count"], &report["lost_count"]),
        (&3.into(), &0.into()),
        "{report}"
    );
    assert_eq!(texts(&sandbox.json(&["--capsule", "new.kapsa", "timeline"])).len(), 3);
}

#[test]
fn doctor_tells_of_what_a_killed_compaction_left_and_the_next_one_removes_it() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--text", "kept"]);
    let place = FileSystem.temporary(&sandbox.capsule());
    let leftover = sandbox.write(place.to_str().expect("a plain path"), b"\x89KAPSA\r\n");
    let foreign = sandbox.write(".kapsa/workspace.kapsa.tmp", "a user's own");
    let report = sandbox.json(&["doctor"]);
    let codes: Vec<&str> = report["diagnostics"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|d| d["code"].as_str())
        .collect();
    assert!(codes.contains(&"leftover"), "{report}");
    sandbox.ok(&["compact"]);
    assert!(!leftover.exists());
    assert_eq!(bytes(&foreign), b"a user's own");
    assert_eq!(sandbox.count(), 1);
}

#[test]
fn a_capsule_whose_end_is_gone_is_salvaged_as_incomplete_and_nothing_is_displaced() {
    let sandbox = Sandbox::new();
    for number in 1..=5 {
        sandbox.ok(&["put", "--text", &format!("number {number}")]);
    }
    let bytes = std::fs::read(sandbox.capsule()).expect("there");
    let broken = sandbox.write("broken.kapsa", &bytes[..bytes.len() - 500]);
    let broken = broken.to_str().expect("a plain path");
    let run = sandbox.run(&["--capsule", broken, "salvage", "new.kapsa", "--json"]);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.code, &report["incomplete"]), (Some(2), &true.into()), "{report}");
    assert!(!sandbox.path("new.kapsa.salvage").exists());
}

#[test]
fn without_hints_damage_in_the_middle_is_not_cut_away_by_the_next_put() {
    let sandbox = Sandbox::new();
    for number in 1..=5 {
        sandbox.ok(&["put", "--text", &format!("number {number}")]);
    }
    let mut bytes = std::fs::read(sandbox.capsule()).expect("there");
    bytes[4096..12_288].fill(0);
    bytes[12_400] ^= 1;
    std::fs::write(sandbox.capsule(), &bytes).expect("written");
    sandbox.fails(&["timeline"], 2, "corrupt");
    sandbox.fails(&["put", "--text", "more"], 2, "corrupt");
    assert_eq!(std::fs::read(sandbox.capsule()).expect("there"), bytes);
    assert_eq!(sandbox.run(&["verify"]).code, Some(2));
    let run = sandbox.run(&["salvage", "new.kapsa", "--json"]);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (&report["record_count"], &report["lost_count"]),
        (&4.into(), &1.into()),
        "{report}"
    );
}

#[test]
fn compaction_follows_a_link_and_refuses_a_second_name() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["put", "--uri", "x/s", "--text", "SECRETWORD"]);
    std::os::unix::fs::symlink(sandbox.capsule(), sandbox.path("link.kapsa")).expect("a link");
    sandbox.ok(&["--capsule", "link.kapsa", "purge", "x/s", "--yes"]);
    sandbox.ok(&["--capsule", "link.kapsa", "compact"]);
    assert!(sandbox.path("link.kapsa").is_symlink());
    let bytes = std::fs::read(sandbox.capsule()).expect("there");
    assert!(!bytes.windows(10).any(|window| window == b"SECRETWORD"));
    std::fs::hard_link(sandbox.capsule(), sandbox.path("second.kapsa")).expect("a second name");
    sandbox.fails(&["compact"], 1, "invalid_operation");
    sandbox.ok(&["put", "--text", "still written"]);
}
