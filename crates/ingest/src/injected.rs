//! Tells what a program puts into the user's messages from what the user wrote. Knows no format:
//! the marks of all programs are in one table, because they copy them from each other.

/// A part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) is_injected: bool,
    pub(crate) text: &'a str,
}

/// Elements that a program puts in, wherever they stand.
const ELEMENTS: [&str; 41] = [
    "app-context",
    "attached_files",
    "attachments",
    "background-task",
    "bash-input",
    "bash-stderr",
    "bash-stdout",
    "codex_internal_context",
    "collaboration_mode",
    "command-contents",
    "command-message",
    "command-name",
    "currentChangeRequest",
    "cursor_rules",
    "editorContext",
    "environment_context",
    "environment_details",
    "environment_info",
    "file_contents",
    "ide_diagnostics",
    "ide_opened_file",
    "ide_selection",
    "INSTRUCTIONS",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "new-diagnostics",
    "open_and_recently_viewed_files",
    "reminder",
    "reminderInstructions",
    "session_context",
    "skill",
    "subagent_notification",
    "system-reminder",
    "system_reminder",
    "task-notification",
    "turn_aborted",
    "user-prompt-submit-hook",
    "user_info",
    "user_instructions",
    "workspace_info",
];

/// Elements that hold what the user wrote; their marks are the program's.
const WRAPPERS: [&str; 4] = ["user_query", "userRequest", "user_message", "command-args"];
/// Of these, those outside of which everything is the program's.
const REQUESTS: [&str; 3] = ["user_query", "userRequest", "user_message"];
/// Wrappers within wrappers.
const WRAPPERS_DEEP_MAX: usize = 8;
/// Bytes within which the mark of an element with attributes ends.
const MARK_BYTES_MAX: usize = 1_024;

/// How messages begin that the program wrote as a whole.
const OPENINGS: [&str; 22] = [
    "[Request interrupted",
    "[SYSTEM NOTIFICATION",
    "[SYSTEM]",
    "# AGENTS.md instructions",
    "# CLAUDE.md",
    "<INSTRUCTIONS>",
    "Another language model started to solve this problem",
    "Base directory for this skill:",
    "Caveat: The messages below were generated",
    // A plan that the model wrote, once the user has accepted it.
    "Implement the following plan:",
    "PostToolUse hook",
    "PreToolUse hook",
    "SessionStart hook",
    "Stop hook feedback:",
    "This is the Gemini CLI",
    "This session is being continued from a previous conversation",
    "UserPromptSubmit hook",
    "Warning: apply_patch was requested via",
    "Warning: The maximum number of",
    "Your task is to create a detailed summary of the conversation",
    "[Image: source:",
    "[search-mode]",
];

/// What comes before the user's request, in the wrapper of an editor.
const REQUEST_HEADINGS: [&str; 2] = ["## My request for Codex:", "## My request for "];
/// How such a wrapper begins.
const EDITOR_CONTEXT: &str = "# Context from my IDE setup:";
/// After this line, a program lists the files that a message names.
const REFERENCED: &str = "--- Content from referenced files ---";

/// The parts of a message in their order, without empty ones.
pub(crate) fn split(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let trimmed = text.trim();
    if let Some(wrapped) = trimmed.strip_prefix(EDITOR_CONTEXT) {
        let found = REQUEST_HEADINGS.iter().find_map(|heading| wrapped.find(heading));
        let at = found.map_or(trimmed.len(), |at| at + EDITOR_CONTEXT.len());
        add(&mut pieces, true, &trimmed[..at]);
        let (heading, request) = trimmed[at..].split_once('\n').unwrap_or((&trimmed[at..], ""));
        add(&mut pieces, true, heading);
        elements(request, 0, &mut pieces);
        return pieces;
    }
    if let Some((before, marked, name)) = request(trimmed) {
        let (inside, after) = inside(marked, name);
        add(&mut pieces, true, before);
        elements(inside, 0, &mut pieces);
        add(&mut pieces, true, after);
        return pieces;
    }
    let (said, referenced) = match trimmed.find(REFERENCED) {
        Some(at) => trimmed.split_at(at),
        None => (trimmed, ""),
    };
    elements(said, 0, &mut pieces);
    add(&mut pieces, true, referenced);
    pieces
}

/// Where the element begins that holds the request, and what comes before it.
fn request(text: &str) -> Option<(&str, &str, &'static str)> {
    REQUESTS.iter().find_map(|name| {
        let at = text.find(&format!("<{name}>"))?;
        Some((&text[..at], &text[at..], *name))
    })
}

/// Splits off every element of the tables.
fn elements<'a>(text: &'a str, depth: usize, pieces: &mut Vec<Piece<'a>>) {
    if depth > WRAPPERS_DEEP_MAX {
        return plain(text, pieces);
    }
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest[from..].find('<').map(|at| at + from) {
        let Some((name, is_wrapper)) = element(&rest[at..]) else {
            from = at + 1;
            continue;
        };
        let (before, marked) = rest.split_at(at);
        plain(before, pieces);
        let (inside, after) = inside(marked, name);
        if is_wrapper {
            elements(inside, depth + 1, pieces);
            rest = after;
        } else {
            let length = marked.len() - after.len();
            add(pieces, true, &marked[..length]);
            rest = after;
        }
        from = 0;
    }
    plain(rest, pieces);
}

/// The name of an element of the tables that begins here.
fn element(text: &str) -> Option<(&'static str, bool)> {
    let opens = |name: &&&'static str| {
        text[1..].strip_prefix(**name).is_some_and(|rest| {
            rest.starts_with('>') || (rest.starts_with(' ') && has_mark_end(rest))
        })
    };
    if let Some(name) = WRAPPERS.iter().find(opens) {
        return Some((name, true));
    }
    ELEMENTS.iter().find(opens).map(|name| (*name, false))
}

/// Whether a mark with attributes ends soon, and in its line.
fn has_mark_end(rest: &str) -> bool {
    let mut bytes = rest.bytes().take(MARK_BYTES_MAX);
    bytes.find(|byte| b">\n".contains(byte)) == Some(b'>')
}

/// What an element holds, and what comes after it; without an end, it holds the rest.
fn inside<'a>(text: &'a str, name: &str) -> (&'a str, &'a str) {
    let open = text.find('>').map_or(text.len(), |at| at + 1);
    let close = format!("</{name}>");
    match text[open..].find(&close) {
        Some(at) => (&text[open..open + at], &text[open + at + close.len()..]),
        None => (&text[open..], ""),
    }
}

/// A text without elements: the user's, unless it begins like a program's.
fn plain<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) {
    let start = text.trim_start();
    let is_injected = OPENINGS.iter().any(|opening| start.starts_with(opening));
    add(pieces, is_injected, text);
}

fn add<'a>(pieces: &mut Vec<Piece<'a>>, is_injected: bool, text: &'a str) {
    let text = text.trim();
    if !text.is_empty() {
        pieces.push(Piece { is_injected, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let piece = |piece: Piece<'_>| {
            format!("{}{}", if piece.is_injected { "-" } else { "+" }, piece.text)
        };
        split(text).into_iter().map(piece).collect()
    }

    #[test]
    fn what_a_program_put_in_is_split_off() {
        for (text, expected) in [
            ("fix it", vec!["+fix it"]),
            (
                "<ide_opened_file>a</ide_opened_file>fix it<system-reminder>no</system-reminder>",
                vec![
                    "-<ide_opened_file>a</ide_opened_file>",
                    "+fix it",
                    "-<system-reminder>no</system-reminder>",
                ],
            ),
            (
                "<command-name>/plan</command-name>\n<command-args>the port</command-args>",
                vec!["-<command-name>/plan</command-name>", "+the port"],
            ),
            ("<info>x</info><user_query>\nwhy?\n</user_query>", vec!["-<info>x</info>", "+why?"]),
            ("[Request interrupted by user]", vec!["-[Request interrupted by user]"]),
            (
                "# Context from my IDE setup:\n\n## Tabs\n- a\n\n## My request for Codex:\nfix it",
                vec![
                    "-# Context from my IDE setup:\n\n## Tabs\n- a",
                    "-## My request for Codex:",
                    "+fix it",
                ],
            ),
            (
                "read @a\n--- Content from referenced files ---\nx",
                vec!["+read @a", "---- Content from referenced files ---\nx"],
            ),
            ("use <b>bold</b> and a < b", vec!["+use <b>bold</b> and a < b"]),
            ("<system-reminder>no end", vec!["-<system-reminder>no end"]),
            (
                "<skill name=\"x\">\nhow\n</skill>\n\ndo it",
                vec!["-<skill name=\"x\">\nhow\n</skill>", "+do it"],
            ),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
