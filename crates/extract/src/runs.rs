//! The commands that an agent ran, and what came of them.

use kapsa_ingest::{Outcome, Place, Session, Turn, TurnKind};
use serde_json::Value;

/// A command, from its call to its result.
pub(crate) struct Run<'a> {
    pub(crate) command: String,
    /// See [`stem`].
    pub(crate) stem: String,
    pub(crate) outcome: Outcome,
    pub(crate) output: &'a str,
    pub(crate) place: Place,
    /// Where in the session its result stands.
    pub(crate) at: usize,
}

/// A file that was changed.
pub(crate) struct Edit<'a> {
    pub(crate) path: &'a str,
    /// What was replaced by what, where the call says.
    pub(crate) change: Option<(&'a str, &'a str)>,
    pub(crate) at: usize,
}

/// What an agent did in a session.
#[derive(Default)]
pub(crate) struct Work<'a> {
    pub(crate) runs: Vec<Run<'a>>,
    pub(crate) edits: Vec<Edit<'a>>,
}

/// Names of the argument that holds a command.
const COMMAND: [&str; 3] = ["command", "cmd", "script"];
/// Names of the argument that holds the path of a file.
const PATH: [&str; 5] = ["file_path", "filePath", "path", "absolute_path", "target_file"];
/// Names of the arguments that hold what is replaced, and what it becomes.
const CHANGE: [(&str, &str); 3] =
    [("old_string", "new_string"), ("oldString", "newString"), ("oldText", "newText")];

/// What an agent did in a session, in its order.
pub(crate) fn work(session: &Session) -> Work<'_> {
    let mut work = Work::default();
    let mut open: Vec<(&str, String, Place)> = Vec::new();
    for (at, turn) in session.turns.iter().enumerate() {
        match turn.kind {
            TurnKind::ToolCall => {
                let Some(call) = &turn.call else { continue };
                if let Some(command) = command(&call.arguments) {
                    open.push((&call.id, command, turn.place));
                } else if let Some(path) = text_at(&call.arguments, &PATH) {
                    let change = CHANGE.iter().find_map(|(old, new)| {
                        Some((
                            call.arguments.get(*old)?.as_str()?,
                            call.arguments.get(*new)?.as_str()?,
                        ))
                    });
                    let writes = change.is_some() || call.arguments.get("content").is_some();
                    if writes {
                        work.edits.push(Edit { path, change, at });
                    }
                }
            }
            TurnKind::ToolResult => close(&mut open, turn, at, &mut work),
            _ => {}
        }
    }
    work
}

fn close<'a>(
    open: &mut Vec<(&'a str, String, Place)>,
    turn: &'a Turn,
    at: usize,
    work: &mut Work<'a>,
) {
    let Some(result) = &turn.result else { return };
    // Formats without ids answer in order.
    let found = match result.call.is_empty() {
        true => (!open.is_empty()).then_some(0),
        false => open.iter().position(|(id, ..)| *id == result.call),
    };
    let Some(found) = found else { return };
    let (_, command, place) = open.remove(found);
    let place = place.to(turn.place);
    let stem = stem(&command);
    let outcome = result.outcome;
    work.runs.push(Run { command, stem, outcome, output: &turn.text, place, at });
}

fn command(arguments: &Value) -> Option<String> {
    let value = COMMAND.iter().find_map(|name| arguments.get(*name))?;
    match value {
        Value::String(command) => Some(command.trim().to_owned()),
        // `["bash", "-lc", "make test"]`
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, "-c" | "-lc", command] => Some((*command).to_owned()),
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
    .filter(|command| !command.is_empty())
}

fn text_at<'a>(arguments: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| arguments.get(*name)?.as_str())
}

/// Programs that run others: what they run says what the command does.
const RUNNERS: [&str; 16] = [
    "npm", "pnpm", "yarn", "bun", "npx", "bunx", "mise", "just", "make", "uv", "uvx", "poetry",
    "cargo", "go", "python", "python3",
];
/// Words after a runner that say nothing.
const EMPTY: [&str; 4] = ["run", "exec", "x", "-m"];

/// The part of a command that stays the same when it is tried again: its program and what that
/// runs, without the folder, the variables and the options before it.
fn stem(command: &str) -> String {
    let words = command.split_whitespace().filter(|word| !is_variable(word));
    let mut words = words.peekable();
    let mut out: Vec<&str> = Vec::new();
    if words.peek() == Some(&"cd") {
        let mut rest = words.skip_while(|word| *word != "&&");
        rest.next();
        return stem(&rest.collect::<Vec<_>>().join(" "));
    }
    for word in words {
        if matches!(word, "&&" | "||" | ";" | "|") || word.starts_with('-') && word != "-m" {
            break;
        }
        if out.is_empty() || !EMPTY.contains(&word) {
            out.push(word);
        }
        if out.len() >= 2 || !RUNNERS.contains(&out[0]) {
            break;
        }
    }
    out.join(" ")
}

fn is_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
    })
}
