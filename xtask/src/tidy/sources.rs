//! What must every source say first, and what must some crates never call?

use super::{Problem, crate_of_source};

/// Calls that a crate must not make, and why.
const FORBIDDEN: [(&str, &[&str], &str); 6] = [
    ("std::env;", TOLD, "the command line passes in what the environment says"),
    ("env::", TOLD, "the command line passes in what the environment says"),
    ("SystemTime::now", &["memory"], "it is told the time"),
    ("Instant::now", &["memory"], "it is told the time"),
    ("println!", PRINTLESS, "only the command line prints"),
    ("eprintln!", PRINTLESS, "only the command line prints"),
];
const TOLD: &[&str] = &["memory", "model", "http", "embed"];
const PRINTLESS: &[&str] = &["memory", "capsule", "index", "model", "http", "embed"];

/// A source begins with the question that it answers.
pub(super) fn module_comment(name: &str, text: &str) -> Vec<Problem> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if first.starts_with("//!") { Vec::new() } else { vec![Problem::new(name, 1, "a source begins with `//!`")] }
}

/// Calls in `code` (comments and strings blanked) that the crate of `name` must not make.
pub(super) fn forbidden_calls(name: &str, code: &str) -> Vec<Problem> {
    let Some(package) = crate_of_source(name) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for (call, _, reason) in FORBIDDEN.iter().filter(|(_, packages, _)| packages.contains(&package)) {
        for (at, _) in code.lines().enumerate().filter(|(_, line)| calls(line, call)) {
            problems.push(Problem::new(name, at + 1, format!("{package} must not use {call}: {reason}")));
        }
    }
    problems
}

/// Whether a word of `line` begins with `call`; `println!` is not found inside `eprintln!`.
fn calls(line: &str, call: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = line.match_indices(call);
    places.any(|(at, _)| !line[..at].ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(package: &str, code: &str, expected: usize) {
        let found = forbidden_calls(&format!("crates/{package}/src/a.rs"), code);
        assert_eq!(found.len(), expected, "{package}: {code}");
    }

    #[test]
    fn a_missing_module_comment_fires() {
        assert_eq!(module_comment("a.rs", "use std::fs;\n").len(), 1);
        assert_eq!(module_comment("a.rs", "// not it\n").len(), 1);
        assert_eq!(module_comment("a.rs", "//! What?\n").len(), 0);
    }

    #[test]
    fn forbidden_calls_fire() {
        check("memory", "use std::env;", 1);
        check("memory", "use std::{env, fs};\nfn f() { env::var(NAME) }", 1);
        check("memory", "let now = std::time::SystemTime::now();", 1);
        check("memory", "Instant::now()", 1);
        check("memory", "println!()", 1);
        check("capsule", "eprintln!()", 1);
        check("index", "println!()", 1);
        check("http", "eprintln!()", 1);
        check("http", "std::env::var(NAME)", 1);
    }

    #[test]
    fn other_calls_are_free() {
        check("cli", "println!()", 0);
        check("capsule", "Instant::now()", 0);
        check("memory", "my_env::var()", 0);
        assert!(forbidden_calls("crates/memory/tests/a.rs", "println!()").is_empty());
    }
}
