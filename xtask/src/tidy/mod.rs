//! Does the repository keep the rules that a machine can check? Text only: nothing is compiled.
//!
//! Each rule is a function from text to problems, so that its test shows it firing. A file is checked when git tracks it or
//! would: a new file must be tidy before it is added, not after.

mod edges;
mod files;
mod functions;
mod sources;
mod strip;

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Something against a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    file: String,
    /// Counted from 1.
    line: usize,
    message: String,
}

impl Problem {
    fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Checks all files of the repository; the error lists every problem as `file:line: message`.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let names = file_names(repository)?;
    let mut problems = files::required(&names);
    for name in &names {
        // Tracked files may be deleted and not committed yet, and samples are not text: neither can break a rule about text.
        if let Ok(text) = fs::read_to_string(repository.join(name)) {
            problems.extend(check(name, &text));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    Err(format!("{}\ntidy: {} problems", lines.join("\n"), lines.len()))
}

/// All rules on one file.
fn check(name: &str, text: &str) -> Vec<Problem> {
    let mut problems = files::forbidden_text(name, text);
    problems.extend(files::white_space(name, text));
    problems.extend(edges::forbidden(name, text));
    if name.ends_with(".rs") {
        let code = strip::code(text);
        problems.extend(sources::module_comment(name, text));
        problems.extend(sources::forbidden_calls(name, &code));
        problems.extend(functions::too_long(name, &code));
    }
    problems
}

fn file_names(repository: &Path) -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.current_dir(repository).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().map_err(|error| format!("failed to start git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The crate whose source `name` is (`crates/index/src/lib.rs` is of `index`).
fn crate_of_source(name: &str) -> Option<&str> {
    let (package, path) = name.strip_prefix("crates/")?.split_once('/')?;
    path.starts_with("src/").then_some(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_read_as_places() {
        assert_eq!(Problem::new("a.rs", 3, "no").to_string(), "a.rs:3: no");
    }

    #[test]
    fn sources_name_their_crate() {
        assert_eq!(crate_of_source("crates/index/src/a/b.rs"), Some("index"));
        assert_eq!(crate_of_source("crates/index/tests/a.rs"), None);
        assert_eq!(crate_of_source("xtask/src/main.rs"), None);
    }

    #[test]
    fn all_rules_meet_a_bad_file() {
        let bad = "use std::env;\nfn f() { println!(\"x\") } \n";
        let messages: Vec<String> = check("crates/memory/src/a.rs", bad).iter().map(Problem::to_string).collect();
        assert_eq!(messages.len(), 4, "{messages:?}");
    }
}
