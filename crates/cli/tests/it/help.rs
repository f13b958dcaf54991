//! Help, version, completions and manual pages: all from one description.

use crate::support::Sandbox;

const VERBS: [&str; 30] = [
    "init",
    "create",
    "put",
    "get",
    "find",
    "timeline",
    "forget",
    "history",
    "export",
    "import",
    "mounts",
    "gc",
    "embed",
    "reembed",
    "model",
    "stats",
    "verify",
    "doctor",
    "compact",
    "optimize",
    "purge",
    "tour",
    "clearance",
    "context",
    "role",
    "run",
    "svc",
    "shell",
    "completions",
    "man",
];

#[test]
fn every_verb_has_help_with_examples() {
    let sandbox = Sandbox::empty();
    for verb in VERBS {
        let help = sandbox.ok(&[verb, "--help"]);
        assert!(help.contains("Usage: kapsa") && help.contains("Examples:\n  "), "{verb}: {help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{verb}: {help}");
        assert!(sandbox.ok(&["help", verb]).contains("Examples:"), "{verb}");
    }
    for verb in ["create", "put", "find", "timeline", "info"] {
        assert!(sandbox.ok(&["svc", verb, "--help"]).contains("Examples:"), "svc {verb}");
    }
    for verb in ["start", "task", "record", "context", "status", "finish", "list", "archive", "config"] {
        let help = sandbox.ok(&["run", verb, "--help"]);
        assert!(help.contains("Examples:"), "run {verb}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "run {verb}: {help}");
    }
}

#[test]
fn no_verb_is_a_call_for_help() {
    let sandbox = Sandbox::empty();
    let help = sandbox.ok(&[] as &[&str]);
    for verb in VERBS {
        assert!(help.contains(&format!("\n  {verb} ")), "{verb}: {help}");
    }
    assert_eq!(sandbox.ok(&["--version"]), format!("kapsa {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_are_made_for_every_shell() {
    let sandbox = Sandbox::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.ok(&["completions", shell]);
        for word in ["timeline", "lock-timeout", "confidence", "fallback"] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    sandbox.fails(&["completions", "dos"], 1, "usage");
}

#[test]
fn the_completions_are_valid_bash() {
    let sandbox = Sandbox::empty();
    let script = sandbox.write("kapsa.bash", sandbox.ok(&["completions", "bash"]));
    let checked = std::process::Command::new("bash").arg("-n").arg(script).status().expect("bash starts");
    assert!(checked.success());
}

#[test]
fn manual_pages_are_made_for_every_verb() {
    let sandbox = Sandbox::empty();
    let page = sandbox.ok(&["man"]);
    assert!(page.contains(".TH kapsa 1") && page.contains("timeline"), "{page}");
    sandbox.ok(&["man", "--out", "man/man1"]);
    for verb in VERBS {
        let page = crate::support::bytes(&sandbox.path(&format!("man/man1/kapsa-{verb}.1")));
        assert!(String::from_utf8_lossy(&page).contains("Examples:"), "{verb}");
    }
    assert!(sandbox.path("man/man1/kapsa-svc-find.1").exists());
    assert!(!sandbox.path("man/man1/kapsa-help.1").exists());
}
