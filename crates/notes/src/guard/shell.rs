//! Commands of a shell that write nothing, whatever their arguments. Knows a list of programs and
//! reads no further than it can be sure: whatever is not known is refused.

use serde_json::Value;

/// Programs without any option or argument that writes a file or starts another program.
const PROGRAMS: [&str; 34] = [
    "basename",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expand",
    "false",
    "fgrep",
    "fold",
    "grep",
    "head",
    "id",
    "join",
    "ls",
    "md5sum",
    "nl",
    "od",
    "paste",
    "pwd",
    "readlink",
    "realpath",
    "sha256sum",
    "stat",
    "tac",
    "tail",
    "tr",
    "true",
    "wc",
];
/// Longest command that is read, in bytes.
const COMMAND_BYTES_MAX: usize = 16 * 1024;
/// Longest word that is named in a reason, in characters.
const SHOWN_CHARS_MAX: usize = 40;

/// Decides about the input of the tool; what is wrong with it, if anything.
pub(super) fn decide(input: &Value) -> Result<(), String> {
    let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
    if command.trim().is_empty() {
        return Err("no_command".to_owned());
    }
    if command.len() > COMMAND_BYTES_MAX {
        return Err("too_long".to_owned());
    }
    for part in parts(command)? {
        let words = shlex::split(part).ok_or("unreadable")?;
        let program = words.first().ok_or("empty_command")?;
        if !PROGRAMS.contains(&program.as_str()) {
            return Err(format!("program:{}", shown(program)));
        }
    }
    Ok(())
}

/// The commands between `|`, `;`, `&&` and `||`, of a text that a shell takes as it stands: nothing
/// in it is expanded, substituted, redirected or run in the background.
fn parts(command: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let mut begun = 0;
    let mut quote = None;
    let mut chars = command.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (_, '\n' | '\r') => return refused("several_lines"),
            (_, c) if c.is_control() && c != '\t' => return refused("control_character"),
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '$' | '`') => return refused("substitution"),
            (_, '\\') => match chars.next() {
                Some((_, next)) if !next.is_control() => {}
                _ => return refused("unreadable"),
            },
            (Some(_), '!') => return refused("history"),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '<' | '>' | '^') => return refused("redirection"),
            (None, '(' | ')' | '{' | '}' | '!') => return refused("compound"),
            (None, '*' | '?' | '[' | ']') => return refused("pattern"),
            (None, '#') => return refused("comment"),
            (None, c) if !c.is_ascii() => return refused("unquoted_character"),
            (None, '|' | '&' | ';') => {
                let is_double = c != ';' && chars.next_if(|(_, next)| *next == c).is_some();
                if c == '&' && !is_double {
                    return refused("background");
                }
                parts.push(&command[begun..at]);
                begun = at + if is_double { 2 } else { 1 };
            }
            (None, _) => {}
        }
    }
    if quote.is_some() {
        return refused("unreadable");
    }
    let last = &command[begun..];
    let may_end = command[..begun].ends_with(';') && !parts.is_empty();
    if !(last.trim().is_empty() && may_end) {
        parts.push(last);
    }
    Ok(parts)
}

fn refused<T>(reason: &str) -> Result<T, String> {
    Err(reason.to_owned())
}

fn shown(word: &str) -> String {
    super::printable(word).chars().take(SHOWN_CHARS_MAX).collect()
}
