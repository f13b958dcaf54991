//! What must every source say first, what must some crates never call, and how far may they look into another?

use super::{Problem, crate_of_source};

/// Calls that a crate must not make, and why.
const FORBIDDEN: [(&str, &[&str], &str); 6] = [
    ("std::env;", &["memory", "llm"], "it is told what the environment says"),
    ("env::", &["memory", "llm"], "it is told what the environment says"),
    ("SystemTime::now", &["memory"], "it is told the time"),
    ("Instant::now", &["memory"], "it is told the time"),
    ("println!", PRINTLESS, "only the command line prints"),
    ("eprintln!", PRINTLESS, "only the command line prints"),
];
const PRINTLESS: &[&str] = &["memory", "capsule", "index", "llm"];
/// A crate, another that it looks into, and the only module that it may see there.
const ONLY: [(&str, &str, &str); 1] = [("llm", "kapsa_memory", "llm")];

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

/// Places in `code` (comments and strings blanked) where the crate of `name` sees more of another than it may.
pub(super) fn looks_too_far(name: &str, code: &str) -> Vec<Problem> {
    let package = crate_of_source(name);
    let mut problems = Vec::new();
    for (_, other, module) in ONLY.iter().filter(|(looking, _, _)| Some(*looking) == package) {
        let allowed = format!("::{module}::");
        for (at, _) in code.match_indices(other).filter(|(at, _)| !code[at + other.len()..].starts_with(&allowed)) {
            let line = 1 + code[..at].matches('\n').count();
            problems.push(Problem::new(name, line, format!("only {other}{allowed} may be used here")));
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
        check("llm", "eprintln!()", 1);
        check("llm", "std::env::var(NAME)", 1);
    }

    #[test]
    fn a_look_too_far_fires() {
        let check = |file: &str, code: &str| looks_too_far(file, code).len();
        assert_eq!(check("crates/llm/src/a.rs", "use kapsa_memory::llm::{block_on};\nkapsa_memory::llm::Usage"), 0);
        assert_eq!(check("crates/llm/src/a.rs", "use kapsa_memory::{Writer, llm};\nuse kapsa_memory as memory;"), 2);
        assert_eq!(check("crates/llm/tests/a.rs", "use kapsa_memory::Writer;"), 0);
        assert_eq!(check("crates/cli/src/a.rs", "use kapsa_memory::Writer;"), 0);
        let found = looks_too_far("crates/llm/src/a.rs", "fn f() {}\nuse kapsa_memory::llm;\n");
        assert_eq!(found, [Problem::new("crates/llm/src/a.rs", 2, "only kapsa_memory::llm:: may be used here")]);
    }

    #[test]
    fn other_calls_are_free() {
        check("cli", "println!()", 0);
        check("capsule", "Instant::now()", 0);
        check("memory", "my_env::var()", 0);
        assert!(forbidden_calls("crates/memory/tests/a.rs", "println!()").is_empty());
    }
}
