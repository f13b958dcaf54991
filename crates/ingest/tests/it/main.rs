//! Small traces of every format, written for these tests.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod hostile;
mod limits;
mod markdown;
mod opencode;
mod pi;
mod plain;
mod spans;
mod walk;

use std::ops::ControlFlow;

use kapsa_ingest::{
    Outcome, Reading, Seen, Session, Speaker, Turn, TurnKind, sessions, sessions_in,
};

/// The sessions in a text, and what else was found.
fn read(text: &str) -> (Vec<Session>, Reading) {
    read_bytes(text.as_bytes())
}

fn read_bytes(bytes: &[u8]) -> (Vec<Session>, Reading) {
    let mut found = Vec::new();
    let reading = sessions_in("stem", bytes, &mut Seen::new(), &mut |session| {
        found.push(session);
        ControlFlow::Continue(())
    });
    (found, reading.expect("bytes can be read"))
}

fn read_file(path: &std::path::Path) -> (Vec<Session>, Reading) {
    let mut found = Vec::new();
    let reading = sessions(path, &mut |session| {
        found.push(session);
        ControlFlow::Continue(())
    });
    (found, reading.expect("the file can be read"))
}

/// The only session in a text.
fn one(text: &str) -> Session {
    let (mut sessions, reading) = read(text);
    assert_eq!(sessions.len(), 1, "{reading:?}");
    sessions.remove(0)
}

/// The turns of the only session in a text, each on a line: place, speaker, words.
fn turns(text: &str) -> Vec<String> {
    one(text).turns.iter().map(shown).collect()
}

fn shown(turn: &Turn) -> String {
    let speaker = match turn.speaker {
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::Tool => "tool",
        Speaker::Injected => "injected",
    };
    let what = match (turn.kind, &turn.call, &turn.result) {
        (TurnKind::Reasoning, ..) => " thinks".to_owned(),
        (_, Some(call), _) => format!(" calls {} {} {}", call.id, call.name, call.arguments),
        (_, _, Some(result)) => format!(" {} {}", result.call, outcome(result.outcome)),
        _ => String::new(),
    };
    format!("{} {speaker}{what}: {}", turn.place, turn.text)
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Ok => "ok".to_owned(),
        Outcome::Failed { exit: Some(code) } => format!("failed {code}"),
        Outcome::Failed { exit: None } => "failed".to_owned(),
        Outcome::Refused => "refused".to_owned(),
        Outcome::Unknown => "unknown".to_owned(),
    }
}
