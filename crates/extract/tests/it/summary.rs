//! A session in short.

use kapsa_extract::{SUMMARY_WORDS_MAX, Summary, summarise};

use super::Script;

#[test]
fn a_summary_says_what_was_asked_done_and_left() {
    let script = Script::new()
        .user("Speed up the import. It takes an hour.")
        .edits("src/import.rs", "a", "b")
        .passes("cargo test")
        .fails("cargo bench", "error: no bench")
        .assistant("The import takes a minute now.");
    let summary = summarise(&script.0);
    assert_eq!(summary.title, "Speed up the import. It takes an hour.");
    for part in ["import.rs", "cargo test", "1 failed", "takes a minute now"] {
        assert!(summary.text.contains(part), "{}", summary.text);
    }
}

#[test]
fn a_summary_has_an_end() {
    let mut script = Script::new();
    for number in 0..400 {
        script = script.user(&format!("task {number} {}", "of many words ".repeat(30)));
    }
    let text = summarise(&script.assistant(&"word ".repeat(2000)).0).text;
    assert!(text.split_whitespace().count() <= SUMMARY_WORDS_MAX);
}

#[test]
fn a_session_in_which_nobody_spoke_has_no_summary() {
    assert_eq!(summarise(&Script::new().0), Summary::default());
}
