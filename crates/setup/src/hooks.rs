//! The hooks that are set up: which events there are, and which command each runs. Knows no file.

use std::path::Path;

use serde_json::Value;

use crate::server::SERVER_NAME;

/// An event of a session that a program tells its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name in configuration files.
    pub name: &'static str,
    /// The verb below `hook` that handles it.
    pub verb: &'static str,
    /// How long the program waits for it, in seconds.
    pub timeout_seconds: u32,
}

/// The events that are handled.
pub const EVENTS: [Event; 6] = [
    Event { name: "SessionStart", verb: "session-start", timeout_seconds: 10 },
    Event { name: "UserPromptSubmit", verb: "user-prompt-submit", timeout_seconds: 10 },
    Event { name: "PreCompact", verb: "pre-compact", timeout_seconds: 10 },
    Event { name: "Stop", verb: "stop", timeout_seconds: 10 },
    Event { name: "SubagentStop", verb: "subagent-stop", timeout_seconds: 10 },
    Event { name: "SessionEnd", verb: "session-end", timeout_seconds: 10 },
];

/// A hook: an event and the command that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The event.
    pub event: Event,
    /// The command, for a shell.
    pub command: String,
}

/// The hooks of a client: each event runs `program hook VERB --client CLIENT`.
#[must_use]
pub fn hooks_of(program: &str, client: &str) -> Vec<Hook> {
    EVENTS
        .iter()
        .map(|event| Hook { event: *event, command: hook_command(program, event, client) })
        .collect()
}

/// The command of a hook, with the program's path quoted for a shell.
#[must_use]
pub fn hook_command(program: &str, event: &Event, client: &str) -> String {
    format!("{} hook {} --client {client}", quoted(program), event.verb)
}

/// In double quotes: a shell then takes it as one word, whatever spaces it has.
fn quoted(program: &str) -> String {
    let mut quoted = String::from("\"");
    for c in program.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

/// Whether a command is a hook that setup writes, and of which event.
pub(crate) fn own_event(command: &str, program: &str) -> Option<&'static Event> {
    let words = shlex::split(command)?;
    let [called, hook, verb, ..] = words.as_slice() else { return None };
    let file = Path::new(called).file_name().and_then(|name| name.to_str());
    let is_named = file == Some(SERVER_NAME) || called == program;
    if !is_named || hook != "hook" {
        return None;
    }
    EVENTS.iter().find(|event| event.verb == verb)
}

/// Whether a command is exactly what setup writes for a hook of this client.
#[must_use]
pub fn is_own_hook(command: &str, event: &Event, client: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    words.first().is_some_and(|program| hook_command(program, event, client) == command)
}

/// The commands of a group of hooks that are ours.
pub(crate) fn own_commands(group: &Value, program: &str) -> Vec<String> {
    let hooks = group.get("hooks").and_then(Value::as_array);
    hooks
        .into_iter()
        .flatten()
        .filter_map(|hook| hook.get("command")?.as_str())
        .filter(|command| own_event(command, program).is_some())
        .map(ToString::to_string)
        .collect()
}
