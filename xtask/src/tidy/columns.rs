//! The width of lines: prose in documents, and code, each within a bound of its own.

use proc_macro2::{TokenStream, TokenTree};

use super::problem::{Problem, Text};
use super::ratchet::{Allowance, Measured, Ratchet};

/// Columns of a line of prose at most.
const PROSE_COLUMNS_MAX: usize = 120;
/// Documents with wider lines, and how many.
const PROSE_ALLOWED: [Allowance; 5] = [
    Allowance::of("crates/embed/assets/README.md", 3),
    Allowance::of("examples/team/tasks/task-1.md", 1),
    Allowance::of("examples/team/tasks/task-2.md", 2),
    Allowance::of("examples/team/tasks/task-3.md", 1),
    Allowance::of("examples/team/tasks/task-4.md", 1),
];
/// Columns of a line of code at most.
const CODE_COLUMNS_MAX: usize = 100;
/// Files with lines of code that are still wider: attributes and macros, which rustfmt does not
/// break.
const CODE_ALLOWED: [Allowance; 19] = [
    Allowance::of("crates/capsule/src/error.rs", 2),
    Allowance::of("crates/cli/src/args/fs.rs", 1),
    Allowance::of("crates/cli/src/args/mod.rs", 15),
    Allowance::of("crates/cli/src/args/run.rs", 4),
    Allowance::of("crates/cli/src/commands/merge.rs", 1),
    Allowance::of("crates/cli/src/error.rs", 1),
    Allowance::of("crates/cli/src/models.rs", 1),
    Allowance::of("crates/cli/src/wire/knowledge.rs", 1),
    Allowance::of("crates/cli/tests/it/meaning.rs", 1),
    Allowance::of("crates/cli/tests/it/svc_client.rs", 1),
    Allowance::of("crates/http/src/language/ollama.rs", 1),
    Allowance::of("crates/http/tests/it/protocols.rs", 1),
    Allowance::of("crates/http/tests/it/samples.rs", 3),
    Allowance::of("crates/index/src/spelling.rs", 1),
    Allowance::of("crates/memory/src/exchange/transfer/jsonl.rs", 1),
    Allowance::of("crates/memory/src/exchange/transfer/mounts.rs", 1),
    Allowance::of("crates/memory/src/records/uri.rs", 1),
    Allowance::of("xtask/src/torture/peers/table.rs", 1),
    Allowance::of("xtask/src/torture/report.rs", 1),
];

/// Lines that are too wide.
pub(super) fn too_wide(texts: &[Text]) -> Vec<Problem> {
    let prose = texts.iter().filter(|text| text.name.ends_with(".md"));
    let prose = prose.map(|text| wide(text, wide_prose(&text.content))).collect();
    let rule = format!("lines of prose wider than {PROSE_COLUMNS_MAX} columns");
    let mut problems =
        Ratchet { rule: &rule, limit: 0, allowed: &PROSE_ALLOWED }.check(prose, file!());
    problems.extend(too_wide_code(texts));
    problems
}

/// Lines of code that are too wide, once `rustfmt.toml` asks for that width.
fn too_wide_code(texts: &[Text]) -> Vec<Problem> {
    let max_width = texts.iter().find(|text| text.name == "rustfmt.toml").and_then(max_width);
    if max_width != Some(CODE_COLUMNS_MAX) {
        println!(
            "the width of code is not checked: max_width in rustfmt.toml is not {CODE_COLUMNS_MAX}"
        );
        return Vec::new();
    }
    let code = texts.iter().filter(|text| text.name.ends_with(".rs"));
    let code = code.map(|text| wide(text, wide_code(&text.content))).collect();
    let rule = format!("lines of code wider than {CODE_COLUMNS_MAX} columns");
    Ratchet { rule: &rule, limit: 0, allowed: &CODE_ALLOWED }.check(code, file!())
}

fn wide(text: &Text, lines: Vec<usize>) -> Measured {
    let detail = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let line = lines.first().copied().unwrap_or(1);
    Measured { what: text.name.clone(), number: lines.len(), file: text.name.clone(), line, detail }
}

fn max_width(rustfmt: &Text) -> Option<usize> {
    let value = rustfmt.content.parse::<toml::Table>().ok()?.get("max_width")?.as_integer()?;
    usize::try_from(value).ok()
}

fn columns(line: &str) -> usize {
    line.chars().count()
}

/// Lines of a document that are too wide; tables, blocks of code, and lines whose one long word
/// cannot be broken are free.
fn wide_prose(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut fence = false;
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            fence = !fence;
        }
        let free = fence || start.starts_with('|') || is_one_word(start);
        if !free && columns(line) > PROSE_COLUMNS_MAX {
            found.push(at + 1);
        }
    }
    found
}

/// Whether a line holds little beside one long word, such as a link.
fn is_one_word(line: &str) -> bool {
    let longest = line.split_whitespace().map(columns).max().unwrap_or_default();
    columns(line).saturating_sub(longest) < PROSE_COLUMNS_MAX / 4
}

/// Lines of a source that are too wide, except for those that a string makes so, which rustfmt
/// cannot break.
fn wide_code(text: &str) -> Vec<usize> {
    let mut strings = Vec::new();
    if let Ok(tokens) = text.parse() {
        wide_strings(tokens, &mut strings);
    }
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let wide = lines.filter(|(_, line)| columns(line) > CODE_COLUMNS_MAX);
    // To the parser a documentation comment is a string; the rows of its tables cannot be broken.
    let free = |number: &usize, line: &str| {
        let line = line.trim_start();
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(documentation) => documentation.trim_start().starts_with('|'),
            None => strings.contains(number),
        }
    };
    wide.filter(|(number, line)| !free(number, line)).map(|(number, _)| number).collect()
}

/// The lines on which a literal reaches past the bound, or that lie inside of one.
fn wide_strings(tokens: TokenStream, lines: &mut Vec<usize>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => wide_strings(group.stream(), lines),
            TokenTree::Literal(literal) => {
                let (start, end) = (literal.span().start(), literal.span().end());
                if end.line > start.line || end.column > CODE_COLUMNS_MAX {
                    lines.extend(start.line..=end.line);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[usize]) {
        assert_eq!(wide_prose(text), expected, "{text}");
    }

    #[test]
    fn wide_prose_fires() {
        let wide = "word ".repeat(30);
        check(&format!("short\n{wide}\n"), &[2]);
        check(&format!("- {wide}\n"), &[1]);
        check(&"é ".repeat(60), &[]);
    }

    #[test]
    fn tables_code_and_links_are_free() {
        let wide = "word ".repeat(30);
        check(&format!("| {wide} |\n```\n{wide}\n```\n"), &[]);
        check(&format!("[a link](https://{})\n", "x".repeat(130)), &[]);
        check(&format!("```\n```\n{wide}"), &[3]);
    }

    #[test]
    fn wide_code_fires() {
        let rustfmt = Text::new("rustfmt.toml", "max_width = 100\n");
        let wide = format!("fn f() {{}}\n// {}\n", "x".repeat(CODE_COLUMNS_MAX));
        let found = too_wide(&[rustfmt, Text::new("a.rs", &wide)]);
        // The allowances of files that are not there are reported as well.
        let found: Vec<String> = found
            .iter()
            .map(Problem::to_string)
            .filter(|found| found.starts_with("a.rs"))
            .collect();
        assert_eq!(found, ["a.rs:2: a.rs: 1 lines of code wider than 100 columns, more than 0: 2"]);
    }

    #[test]
    fn documentation_is_code() {
        let long = "x".repeat(CODE_COLUMNS_MAX);
        let text = format!("//! {long}\n//!\n//! | {long} |\n\n/// {long}\nfn f() {{}}\n");
        assert_eq!(wide_code(&text), [1, 5]);
    }

    #[test]
    fn strings_are_free() {
        let long = "x".repeat(CODE_COLUMNS_MAX);
        assert_eq!(
            wide_code(&format!("const A: &str = \"{long}\";\nf(\"\n{long}\n\");\n")),
            [0; 0]
        );
        assert_eq!(wide_code(&format!("f(\"a\"); // {long}\n")), [1]);
    }
}
