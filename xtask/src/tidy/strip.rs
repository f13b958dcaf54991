//! What is left of a source without its comments and the contents of its strings? Lines keep their numbers.

/// `text` with comments and the insides of string and character literals blanked; every line break stays.
pub(super) fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let blank = blank_bytes(rest, out.chars().next_back());
        if blank > 0 {
            out.extend(rest[..blank].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[blank..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Bytes at the start of `rest` that are a comment or a literal; 0 when it starts with code.
fn blank_bytes(rest: &str, before: Option<char>) -> usize {
    let word_before = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match rest.as_bytes() {
        [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => quoted(rest, '"'),
        [b'r', b'"' | b'#', ..] if !word_before || before == Some('b') => raw_string(rest),
        [b'\'', ..] => character(rest),
        _ => 0,
    }
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let step = &rest.as_bytes()[at..];
        if step.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if step.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += 1;
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// A literal between two `quote`s, in which a backslash takes the next character along.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// `r"..."` or `r#"..."#`; 0 for a raw identifier such as `r#type`.
fn raw_string(rest: &str) -> usize {
    let hashes = rest[1..].bytes().take_while(|&b| b == b'#').count();
    let start = 1 + hashes + 1;
    if rest.as_bytes().get(start - 1) != Some(&b'"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
}

/// A character literal; 0 for a lifetime, which has no quote after its first character.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    let first = chars.next().map(|(_, c)| c);
    match (first, chars.next()) {
        (Some('\\'), _) => quoted(rest, '\''),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let stripped = code(text);
        assert_eq!(stripped.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
        assert_eq!(stripped.matches('\n').count(), text.matches('\n').count(), "{text}");
    }

    #[test]
    fn comments_and_literals_go() {
        check("a // b {\nc", "a c");
        check("a /* b /* c */ d\n */ e", "a e");
        check(r#"f("{ \" }", x)"#, "f( , x)");
        check(r##"f(r#"a " { "#, x)"##, "f( , x)");
        check(r"f('{', '\'', b'}')", "f( , , b )");
    }

    #[test]
    fn code_stays() {
        check("fn f<'a>(r: &'a str) {}", "fn f<'a>(r: &'a str) {}");
        check("let r#type = 1;", "let r#type = 1;");
        check("a / b", "a / b");
    }
}
