//! What can be typed, as the program's own help has it. Knows nothing of what is typed then.

use std::path::Path;
use std::process::{Command, Stdio};

/// The verb that describes the others.
const HELP: &str = "help";

/// A verb that does something, and what it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verb {
    /// Its words.
    pub(crate) path: Vec<String>,
    pub(crate) flags: Vec<Flag>,
    /// Arguments without a name.
    pub(crate) arguments: usize,
}

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) name: String,
    /// What its value is called; none for a switch.
    pub(crate) value: Option<String>,
}

/// All verbs of the program.
pub(crate) fn verbs(program: &Path) -> Result<Vec<Verb>, String> {
    let mut verbs = Vec::new();
    let mut left = vec![Vec::new()];
    while let Some(path) = left.pop() {
        let text = help(program, &path)?;
        let below = commands(&text);
        if below.is_empty() || is_verb_itself(&path, &text) {
            verbs.push(verb(path.clone(), &text));
        }
        for name in below.into_iter().filter(|name| name != HELP) {
            left.push(path.iter().cloned().chain([name]).collect());
        }
    }
    verbs.sort_by(|a, b| a.path.cmp(&b.path));
    match verbs.len() {
        0..40 => Err(format!("the help of kapsa names {} verbs only", verbs.len())),
        _ => Ok(verbs),
    }
}

fn help(program: &Path, path: &[String]) -> Result<String, String> {
    let output = Command::new(program).args(path).arg("--help").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("kapsa {} --help fails", path.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a group of verbs does something when none of them is named.
fn is_verb_itself(path: &[String], help: &str) -> bool {
    !path.is_empty() && usage(help).ends_with("COMMAND]")
}

/// The part of the line that begins with `Usage:`.
fn usage(help: &str) -> &str {
    help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default()
}

/// The names of the commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    if !usage(help).ends_with("COMMAND>") && !usage(help).ends_with("COMMAND]") {
        return Vec::new();
    }
    let named = |line: &str| {
        let (name, about) = line.strip_prefix("  ")?.split_once("  ")?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        (is_name && !name.starts_with('-') && !about.trim().is_empty()).then(|| name.to_string())
    };
    // Tables that explain something come after the options.
    let listed = help.lines().take_while(|line| !line.to_lowercase().ends_with("options:"));
    listed.filter_map(named).collect()
}

fn verb(path: Vec<String>, help: &str) -> Verb {
    let words = usage(help).split_whitespace().skip(1 + path.len());
    let arguments = words
        .filter(|word| !["[OPTIONS]", "[COMMAND]"].contains(word) && word.starts_with(['<', '[']));
    Verb { arguments: arguments.count(), flags: help.lines().filter_map(flag).collect(), path }
}

/// The option that a line describes: `  -k, --limit <N>  …`.
fn flag(line: &str) -> Option<Flag> {
    let trimmed = line.trim_start();
    if line.len() - trimmed.len() > 8 || !trimmed.starts_with('-') {
        return None;
    }
    let mut words = trimmed.split_whitespace();
    let name = words.find(|word| word.starts_with("--"))?;
    let value = words
        .next()
        .filter(|word| word.starts_with('<'))
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_string());
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    plain.then(|| Flag { name: name.to_string(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_read() {
        let top = "Usage: kapsa [OPTIONS] [COMMAND]\n\nRemember:\n  put   Store text\n  fact  Facts\n\nOptions:\n  -h, --help  Print\n\n  new  A table";
        assert_eq!(commands(top), ["put", "fact"]);
        let leaf = "Usage: kapsa fact add [OPTIONS] --agent <A> <TEXT>...\n\nOptions:\n  -k, --limit <N>  At most\n      --all\n          \
            All\n\n          - now: at once\n";
        assert_eq!(commands(leaf), Vec::<String>::new());
        let verb = verb(vec!["fact".to_string(), "add".to_string()], leaf);
        let flag = |name: &str, value: Option<&str>| Flag {
            name: name.to_string(),
            value: value.map(str::to_string),
        };
        assert_eq!(verb.flags, [flag("--limit", Some("N")), flag("--all", None)]);
        assert_eq!(verb.arguments, 2);
    }
}
