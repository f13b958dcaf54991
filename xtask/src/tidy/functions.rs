//! Which functions are too long to be read at once? Braces are counted in stripped code.

use super::{Problem, crate_of_source};

/// Lines of a function at most, signature and closing brace included.
const LINES_MAX: usize = 70;

/// Functions in `code` (comments and strings blanked) that are too long.
pub(super) fn too_long(name: &str, code: &str) -> Vec<Problem> {
    if crate_of_source(name).is_none() {
        return Vec::new();
    }
    let long = functions(code).into_iter().filter(|function| function.lines > LINES_MAX);
    long.map(|f| Problem::new(name, f.line, format!("{} has {} lines, more than {LINES_MAX}", f.name, f.lines))).collect()
}

struct Function<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
}

fn functions(code: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name = code[at + 3..].split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let word_before = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if word_before || name.is_empty() {
            continue;
        }
        if let Some(end) = end_of_body(&code[at..]) {
            let line = 1 + code[..at].matches('\n').count();
            found.push(Function { name, line, lines: 1 + code[at..at + end].matches('\n').count() });
        }
    }
    found
}

/// Where the body of the function at the start of `code` ends; none when it has no body.
fn end_of_body(code: &str) -> Option<usize> {
    let (mut depth, mut brackets) = (0usize, 0usize);
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'[' => brackets += 1,
            b']' => brackets = brackets.saturating_sub(1),
            b';' if depth == 0 && brackets == 0 => return None,
            b'{' => depth += 1,
            b'}' if depth <= 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_lines(lines: usize) -> String {
        format!("fn short() {{}}\n\npub fn long(a: [u8; 4]) -> u8 {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn long_functions_fire() {
        let found = too_long("crates/index/src/a.rs", &of_lines(LINES_MAX + 1));
        assert_eq!(found, [Problem::new("crates/index/src/a.rs", 3, "long has 71 lines, more than 70")]);
    }

    #[test]
    fn others_are_free() {
        assert_eq!(too_long("crates/index/src/a.rs", &of_lines(LINES_MAX)), []);
        assert_eq!(too_long("crates/index/tests/a.rs", &of_lines(LINES_MAX + 1)), []);
        let declared = format!("trait T {{\n    fn only(&self);\n{}}}\n", "\n".repeat(LINES_MAX));
        assert_eq!(too_long("crates/index/src/a.rs", &declared), []);
    }
}
