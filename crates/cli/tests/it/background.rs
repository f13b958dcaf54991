//! What puts do by themselves: segments are merged in the background, and nothing is lost.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::Sandbox;

/// How often a process in the background is waited for, and how long each time.
const LOOKS: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);
/// Records of one put: more than wait for their segment.
const RECORDS: usize = 300;

fn put_many(sandbox: &Sandbox, first: usize, upkeep: &str) {
    let lines: String =
        (first..first + RECORDS).map(|n| format!("{{\"text\":\"thought {n}\"}}\n")).collect();
    std::fs::write(sandbox.path("notes.jsonl"), lines).expect("written");
    let notes = std::fs::File::open(sandbox.path("notes.jsonl")).expect("just written");
    let mut command = sandbox.command();
    command.env("KAPSA_UPKEEP", upkeep).args(["put", "--json", "-"]).stdin(notes);
    assert!(command.output().expect("it starts").status.success());
}

fn stats(sandbox: &Sandbox) -> Value {
    sandbox.json(&["stats"])
}

#[test]
fn puts_merge_segments_in_the_background() {
    let sandbox = Sandbox::new();
    for turn in 0..5 {
        put_many(&sandbox, turn * RECORDS, "off");
    }
    assert_eq!(stats(&sandbox)["segment_count"], 5, "{}", stats(&sandbox));
    put_many(&sandbox, 5 * RECORDS, "");
    let is_kept_up = (0..LOOKS).any(|_| {
        thread::sleep(PAUSE);
        stats(&sandbox)["segment_count"].as_u64().is_some_and(|count| count <= 3)
    });
    assert!(is_kept_up, "{}", stats(&sandbox));
    assert_eq!(stats(&sandbox)["record_count"], 6 * RECORDS);
    sandbox.ok(&["verify"]);
    let due = sandbox.json(&["optimize", "--due", "--replaced-min", "0"]);
    assert!(due["segments_after"].as_u64().is_some_and(|count| count <= 3), "{due}");
    assert_eq!(stats(&sandbox)["record_count"], 6 * RECORDS);
    sandbox.ok(&["verify"]);
}
