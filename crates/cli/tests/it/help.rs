//! Help, version, completions and manual pages, all from one description: each verb of the tree is
//! visited.

use clap::Command;

use crate::support::Sandbox;

/// Headings of `kapsa --help`, in order.
const HEADINGS: [&str; 7] =
    ["Remember and find", "Versions", "Share", "Agents", "Runs", "Care", "More"];
/// Columns of a line of help at most.
const COLUMNS_MAX: usize = 100;
/// First words of a summary that is not an order.
const NOT_IMPERATIVE: [&str; 12] =
    ["A", "An", "The", "How", "What", "Which", "Who", "Whose", "Is", "Are", "It", "This"];

/// A verb or subverb, by the words that call it.
struct Verb {
    words: Vec<String>,
    summary: String,
}

impl Verb {
    fn name(&self) -> String {
        self.words.join(" ")
    }
}

/// All verbs and subverbs that help lists.
fn verbs() -> Vec<Verb> {
    let mut found = Vec::new();
    collect(&kapsa_cli::command(), &[], &mut found);
    assert!(found.len() > 100, "the tree has {} verbs", found.len());
    found
}

fn collect(command: &Command, above: &[String], found: &mut Vec<Verb>) {
    let shown =
        command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set());
    for verb in shown {
        let words = [above, &[verb.get_name().to_owned()]].concat();
        let summary = verb.get_about().map(ToString::to_string).unwrap_or_default();
        collect(verb, &words, found);
        found.push(Verb { words, summary });
    }
}

#[test]
fn every_verb_has_help_with_examples() {
    let sandbox = Sandbox::empty();
    for verb in verbs() {
        let (name, mut call) = (verb.name(), verb.words);
        call.push("--help".to_owned());
        let help = sandbox.ok(&call);
        assert!(help.contains("Usage: kapsa"), "{name}: {help}");
        assert!(
            help.contains("Examples:\n  ") || help.contains("Example:\n  "),
            "{name} has no example: {help}"
        );
        let wide = help.lines().find(|line| line.chars().count() > COLUMNS_MAX);
        assert_eq!(wide, None, "{name}");
    }
}

#[test]
fn every_summary_is_a_short_order() {
    for verb in verbs() {
        let (name, summary) = (verb.name(), verb.summary);
        let first = summary.split_whitespace().next().unwrap_or_default();
        assert!(first.starts_with(char::is_uppercase), "{name}: {summary}");
        assert!(!NOT_IMPERATIVE.contains(&first), "{name}: {summary}");
        // "Lists" is a description, "List" is an order; "Process" and "Pass" are orders.
        assert!(!first.ends_with('s') || first.ends_with("ss"), "{name}: {summary}");
        assert!(!summary.ends_with('.'), "{name}: {summary}");
        assert!(
            !summary.contains('\n') && summary.chars().count() <= COLUMNS_MAX,
            "{name}: {summary}"
        );
    }
}

#[test]
fn no_verb_is_a_call_for_help() {
    let sandbox = Sandbox::empty();
    let help = sandbox.ok(&[] as &[&str]);
    assert_eq!(help, sandbox.ok(&["--help"]));
    let mut rest = help.as_str();
    for heading in HEADINGS {
        let at =
            rest.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("no {heading}: {rest}"));
        rest = &rest[at..];
    }
    for verb in verbs().iter().filter(|verb| verb.words.len() == 1) {
        let name = verb.name();
        let listed = help.lines().any(|line| line.split_whitespace().next() == Some(&name));
        assert!(listed, "{name}: {help}");
    }
    assert_eq!(sandbox.ok(&["--version"]), format!("kapsa {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_are_made_for_every_shell() {
    let sandbox = Sandbox::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.ok(&["completions", shell]);
        assert!(script.contains("KAPSA_COMPLETE") && script.contains(shell), "{shell}: {script}");
    }
    sandbox.fails(&["completions", "dos"], 1, "usage");
}

#[test]
fn the_completions_are_valid_bash() {
    let sandbox = Sandbox::empty();
    let script = sandbox.write("kapsa.bash", sandbox.ok(&["completions", "bash"]));
    let checked =
        std::process::Command::new("bash").arg("-n").arg(script).status().expect("bash starts");
    assert!(checked.success());
}

#[test]
fn manual_pages_are_made_for_every_verb() {
    let sandbox = Sandbox::empty();
    let page = sandbox.ok(&["man"]);
    assert!(page.contains(".TH kapsa 1") && page.contains("timeline"), "{page}");
    sandbox.ok(&["man", "--out", "man/man1"]);
    for verb in verbs() {
        let name = verb.words.join("-");
        let page = crate::support::bytes(&sandbox.path(&format!("man/man1/kapsa-{name}.1")));
        assert!(String::from_utf8_lossy(&page).contains("Example"), "{name}");
    }
    assert!(!sandbox.path("man/man1/kapsa-help.1").exists());
}
