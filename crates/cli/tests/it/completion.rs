//! Completion in the shells that people use: verbs, options, and the names that a capsule holds.

use std::process::Command;

use crate::support::Sandbox;

/// A capsule with a branch, a checkpoint, a run and a record, and what a shell offers for lines in
/// its folder.
fn with_names() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&[
        "put",
        "--text",
        "x",
        "--uri",
        "note/locks",
        "--run",
        "r-77",
        "--label",
        "builder",
    ]);
    sandbox.ok(&["checkpoint", "--label", "stable-1"]);
    sandbox.ok(&["branch", "create", "feature"]);
    sandbox
}

/// Each line, and what its last word becomes.
const LINES: [(&str, &str); 9] = [
    ("kapsa timeli", "timeline"),
    ("kapsa put --confid", "--confidence"),
    ("kapsa merge fea", "feature"),
    ("kapsa find x --branch fea", "feature"),
    ("kapsa find x --as-of sta", "stable-1"),
    ("kapsa find x --run r-", "r-77"),
    ("kapsa find x --label bui", "builder"),
    ("kapsa get note/l", "note/locks"),
    ("kapsa completions z", "zsh"),
];

fn is_installed(shell: &str) -> bool {
    let found =
        Command::new(shell).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {shell} is not on this machine");
    }
    found
}

/// Runs a script in a shell, with the binary on its PATH.
fn in_shell(sandbox: &Sandbox, shell: &str, args: &[&str]) -> String {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_kapsa"));
    let folder = binary.parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a PATH"));
    let mut command = Command::new(shell);
    command
        .args(args)
        .current_dir(sandbox.path(""))
        .env("PATH", path)
        .env("HOME", sandbox.path(""))
        .env_remove("KAPSA_CAPSULE");
    let output = command.output().expect("the shell starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shell}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn bash_completes_names_of_the_capsule() {
    let sandbox = with_names();
    for (line, want) in LINES {
        let script = format!(
            "source <(kapsa completions bash)\nCOMP_WORDS=({line})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\nCOMP_TYPE=9\n\
             _clap_complete_kapsa kapsa \"${{COMP_WORDS[COMP_CWORD]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let offered = in_shell(&sandbox, "bash", &["--norc", "-c", &script]);
        assert_eq!(offered.trim(), want, "{line}");
    }
}

#[test]
fn fish_completes_names_of_the_capsule() {
    if !is_installed("fish") {
        return;
    }
    let sandbox = with_names();
    for (line, want) in LINES {
        let script = format!("kapsa completions fish | source; complete --do-complete '{line}'");
        let offered = in_shell(&sandbox, "fish", &["--no-config", "-c", &script]);
        let names: Vec<_> = offered.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(names, [want], "{line}");
    }
}

/// What zsh shows needs its line editor; its script is checked, and asked as the script asks.
#[test]
fn zsh_takes_the_completions() {
    if !is_installed("zsh") {
        return;
    }
    let sandbox = with_names();
    let script = sandbox.write("kapsa.zsh", sandbox.ok(&["completions", "zsh"]));
    in_shell(&sandbox, "zsh", &["-f", "-n", script.to_str().expect("UTF-8")]);
    for (line, want) in LINES {
        let words: Vec<_> = line.split(' ').collect();
        let asked = format!(
            "_CLAP_COMPLETE_INDEX={} _CLAP_IFS=$'\\n' KAPSA_COMPLETE=zsh kapsa -- {line}",
            words.len() - 1
        );
        let offered = in_shell(&sandbox, "zsh", &["-f", "-c", &asked]);
        let names: Vec<_> =
            offered.lines().map(|line| line.split(':').next().unwrap_or_default().trim()).collect();
        assert_eq!(names, [want], "{line}");
    }
}

#[test]
fn completion_asks_the_capsule_that_the_line_names_and_offers_nothing_that_needs_quotes() {
    let sandbox = with_names();
    sandbox.ok(&["create", "other.kapsa"]);
    sandbox.ok(&["put", "--capsule", "other.kapsa", "--text", "x", "--uri", "note/other"]);
    sandbox.ok(&[
        "put",
        "--capsule",
        "other.kapsa",
        "--text",
        "x",
        "--uri",
        "note/$(reboot)",
        "--label",
        "a b",
    ]);
    let ask = |line: &[&str]| {
        let mut command = sandbox.command();
        command
            .args(["--", "kapsa"])
            .args(line)
            .env("KAPSA_COMPLETE", "bash")
            .env("_CLAP_IFS", "\n");
        let output =
            command.env("_CLAP_COMPLETE_INDEX", line.len().to_string()).output().expect("it runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(ask(&["get", "--capsule", "other.kapsa", "note/"]), "note/other");
    assert_eq!(ask(&["get", "--capsule=other.kapsa", "note/"]), "note/other");
    assert_eq!(ask(&["get", "note/"]), "note/locks");
    assert_eq!(ask(&["find", "x", "--capsule", "other.kapsa", "--label", "a"]), "");
    assert_eq!(
        ask(&["get", "--capsule", "none.kapsa", "note/"]),
        "",
        "a capsule that is not there has no names"
    );
}
