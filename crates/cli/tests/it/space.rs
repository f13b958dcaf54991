//! What single puts leave on the disk. Bytes do not depend on the machine: the bar is a test.

use crate::support::Sandbox;

/// Sentences that share words, as those of one author do, and no two alike.
fn sentence(n: usize) -> String {
    let subjects = ["The gateway", "Our billing job", "The search index", "A nightly backup"];
    let verbs = ["was moved to", "times out in", "reports errors from", "no longer writes to"];
    let places = ["the Zurich region", "the staging cluster", "a new tenant", "the old volume"];
    let pick = |list: [&'static str; 4], by: usize| list[(n / by) % 4];
    let mut text = String::new();
    for part in 0.. {
        if text.len() >= 230 {
            break;
        }
        text += &format!(
            "{} {} {} since build {}. ",
            pick(subjects, 1 + part),
            pick(verbs, 3 + part),
            pick(places, 7 + part),
            n * 7919 % 9973 + part
        );
    }
    text
}

/// The size of the file to the bytes of text after so many puts of one record each.
fn ratio(puts: usize, embed: &str) -> f64 {
    let sandbox = Sandbox::new();
    let texts: Vec<String> = (0..puts).map(sentence).collect();
    let script: String =
        texts.iter().map(|text| format!("put --embed {embed} --text '{text}'\n")).collect();
    let run = sandbox.run_with(&["shell"], script.as_bytes());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let stats = sandbox.json(&["stats", "--count"]);
    let written: usize = texts.iter().map(String::len).sum();
    assert_eq!(stats["commit_count"], puts as u64, "each put is a commit of its own");
    assert_eq!(stats["text_bytes"], written as u64);
    let people = sandbox.ok(&["stats", "--count"]);
    assert!(people.contains("times as large"), "{people}");
    stats["size_bytes"].as_f64().expect("a number") / written as f64
}

#[test]
fn single_puts_take_at_most_three_times_their_text() {
    let ratio = ratio(1_500, "later");
    assert!(ratio < 3.0, "{ratio:.2}");
}

#[test]
fn single_puts_with_vectors_take_at_most_six_times_their_text() {
    let ratio = ratio(500, "now");
    assert!(ratio < 6.0, "{ratio:.2}");
}
