//! What tools show.

use kapsa_extract::MemoryType;
use kapsa_ingest::{Place, Speaker};

use super::Script;

#[test]
fn a_failure_that_a_command_cured_is_a_pitfall() {
    let script = Script::new()
        .user("update the packages")
        .fails("bunx tsc", "src/a.ts(1,2): error TS1434: Unexpected keyword")
        .assistant("The error is due to a stale cache: TS1434 comes from an old validator.")
        .passes("rm -rf .cache")
        .passes("bunx tsc");
    let kept = script.kept();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].kind, kept[0].said_by), (MemoryType::Pitfall, Speaker::Tool));
    for part in ["TS1434", "`rm -rf .cache`", "Why: The error is due to a stale cache"] {
        assert!(kept[0].body.contains(part), "{kept:?}");
    }
    assert_eq!(kept[0].evidence[0], Place::line(2).to(Place::line(3)));
}

#[test]
fn an_edit_of_a_configuration_is_a_cure_and_is_shown() {
    let script = Script::new()
        .fails("relman check", "error: field folder not found in type Tap")
        .edits(".relman.yaml", "folder: F", "directory: F")
        .passes("relman check");
    let kept = script.kept();
    assert!(kept[0].body.contains("`folder: F` became `directory: F`"), "{kept:?}");
}

#[test]
fn a_failure_that_was_mended_in_the_code_is_work() {
    let script = Script::new()
        .fails("cargo test", "error: test parser::nested failed")
        .edits("src/parser.rs", "a", "b")
        .passes("cargo test");
    assert_eq!(script.titles(), [] as [&str; 0]);
}

#[test]
fn a_failure_that_nobody_cured_is_nothing() {
    let script = Script::new().fails("make dist", "error: no rule to make target").passes("ls");
    assert_eq!(script.titles(), [] as [&str; 0]);
}

#[test]
fn what_is_blocked_is_a_pitfall_once() {
    let script = Script::new()
        .fails("cat .vault/keys", "Blocked: command references protected directory .vault")
        .fails("cat .vault/keys", "Blocked: command references protected directory .vault");
    assert_eq!(
        script.titles(),
        ["Blocked here: Blocked: command references protected directory .vault"]
    );
}

#[test]
fn checks_are_kept_beside_something_else_only() {
    let work = |script: Script| {
        script
            .edits("src/lib.rs", "a", "b")
            .passes("cd app && just test && just lint")
            .edits("src/lib.rs", "b", "c")
            .passes("just test && just lint 2>&1 | tail -5")
    };
    assert_eq!(work(Script::new().user("fix it")).titles(), [] as [&str; 0]);
    let kept = work(Script::new().user("Never change the public API.")).kept();
    assert_eq!(kept[1].kind, MemoryType::Procedure);
    assert_eq!(kept[1].title, "Check the work with `just test`, `just lint`");
}
