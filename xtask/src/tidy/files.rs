//! What no file may hold, and which files must exist.

use super::problem::{Problem, Text};

/// Files that a visitor or a licence asks for.
const REQUIRED: [&str; 7] = [
    "CHANGELOG.md",
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "docs/architecture.md",
    "docs/format.md",
    "docs/glossary.md",
];

/// Text that is only ever left behind by mistake. Split, so that this file may be checked too.
const LEFT_BEHIND: [&str; 3] = [concat!("to", "do!("), concat!("db", "g!("), concat!("FIX", "ME")];
/// Folders of one machine.
const MACHINE_FOLDERS: [&str; 2] = [concat!("/ro", "ot/"), concat!("/wo", "rk/")];
/// The folder of home folders.
const HOMES: &str = concat!("/ho", "me/");

/// Missing files, and what is wrong with the text of each.
pub(super) fn problems(texts: &[Text]) -> Vec<Problem> {
    let mut problems = required(texts);
    for Text { name, content } in texts {
        problems.extend(forbidden_text(name, content));
        problems.extend(white_space(name, content));
        problems.extend(module_comment(name, content));
    }
    problems
}

fn required(texts: &[Text]) -> Vec<Problem> {
    let missing =
        REQUIRED.iter().filter(|required| !texts.iter().any(|text| text.name == **required));
    missing.map(|name| Problem::new(name, 1, "this file must exist")).collect()
}

/// A source begins with what it answers and what it knows nothing of.
fn module_comment(name: &str, text: &str) -> Option<Problem> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let fires = name.ends_with(".rs") && !first.starts_with("//!");
    fires.then(|| Problem::new(name, 1, "a source begins with `//!`"))
}

/// Leftovers and paths of one machine.
fn forbidden_text(name: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for left in LEFT_BEHIND.iter().filter(|left| line.contains(**left)) {
            problems.push(Problem::new(name, at + 1, format!("{left} was left behind")));
        }
        if MACHINE_FOLDERS.iter().any(|folder| absolute(line, folder).is_some())
            || home_folder(line)
        {
            problems.push(Problem::new(name, at + 1, "a path of one machine"));
        }
    }
    problems
}

/// Tabs and trailing white space in sources and documents.
fn white_space(name: &str, text: &str) -> Vec<Problem> {
    if !name.ends_with(".rs") && !name.ends_with(".md") {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        if line.contains('\t') {
            problems.push(Problem::new(name, at + 1, "a tab"));
        }
        if line.trim_end() != line {
            problems.push(Problem::new(name, at + 1, "trailing white space"));
        }
    }
    problems
}

/// What follows `folder` in `line` where a path begins with it; a folder of that name inside
/// another path is fine.
fn absolute<'a>(line: &'a str, folder: &str) -> Option<&'a str> {
    let inside = |c: char| c.is_alphanumeric() || "/._-}>~*".contains(c);
    let mut places = line.match_indices(folder);
    let (at, _) = places.find(|(at, _)| !line[..*at].ends_with(inside))?;
    Some(&line[at + folder.len()..])
}

/// Whether `line` names somebody's home folder.
fn home_folder(line: &str) -> bool {
    let Some(rest) = absolute(line, HOMES) else {
        return false;
    };
    let name =
        rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
    name > 0 && rest[name..].starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(line: &str) -> usize {
        forbidden_text("a.md", line).len()
    }

    #[test]
    fn leftovers_fire() {
        for left in LEFT_BEHIND {
            assert_eq!(count(&format!("    {left}now)")), 1, "{left}");
        }
    }

    #[test]
    fn paths_of_one_machine_fire() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(count(&format!("see `{folder}notes`")), 1, "{folder}");
            assert_eq!(
                count(&format!("note:/{folder}x and docs{folder}x")),
                0,
                "{folder} inside another path"
            );
        }
        assert_eq!(count(&format!("{HOMES}ada/x")), 1);
        assert_eq!(count(&format!("{HOMES}<name>/x")), 0);
    }

    #[test]
    fn white_space_fires() {
        let found = white_space("a.md", "a\tb\nc \nd\n");
        let lines: Vec<usize> = found.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 2]);
        assert_eq!(white_space("Makefile", "\tcc \n"), []);
    }

    #[test]
    fn a_missing_module_comment_fires() {
        assert!(module_comment("a.rs", "use std::fs;\n").is_some());
        assert!(module_comment("a.rs", "// not it\n").is_some());
        assert!(module_comment("a.rs", "//! It is.\n").is_none());
        assert!(module_comment("a.md", "text\n").is_none());
    }

    #[test]
    fn missing_files_fire() {
        let all: Vec<Text> = REQUIRED.iter().map(|name| Text::new(name, "")).collect();
        assert_eq!(required(&all), []);
        assert_eq!(required(&all[1..]), [Problem::new("CHANGELOG.md", 1, "this file must exist")]);
    }
}
