//! Shows what is found in traces:
//! `cargo run -p kapsa-ingest --example sessions -- [--turns] FILE…`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use kapsa_ingest::{Session, Turn, TurnKind, sessions};

fn main() {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let show_turns = files.first().is_some_and(|arg| arg == "--turns");
    files.retain(|file| file != "--turns");
    let mut failed = 0;
    for file in &files {
        let mut show = |session: Session| {
            print_session(&session, show_turns);
            ControlFlow::Continue(())
        };
        match sessions(Path::new(file), &mut show) {
            Ok(reading) => println!(
                "{file}: {:?}, {} sessions, waiting {:?}, skipped: {}",
                reading.format, reading.sessions, reading.waiting, reading.skipped
            ),
            Err(error) => {
                failed += 1;
                println!("error: {error}");
            }
        }
    }
    println!("{} files, {failed} errors", files.len());
}

fn print_session(session: &Session, show_turns: bool) {
    let mut speakers: BTreeMap<_, u64> = BTreeMap::new();
    for turn in &session.turns {
        *speakers.entry((turn.speaker, turn.kind)).or_default() += 1;
    }
    let Session { id, agent, cwd, branch, parent, .. } = session;
    println!("  {} {id} in {cwd:?} on {branch:?} of {parent:?}: {speakers:?}", agent.name());
    if show_turns {
        session.turns.iter().for_each(print_turn);
    }
}

fn print_turn(turn: &Turn) {
    let call = turn.call.as_ref().map(|call| format!("{} {}", call.name, call.arguments));
    let outcome = turn.result.as_ref().map(|result| format!("{:?} ", result.outcome));
    let text = match turn.kind {
        TurnKind::ToolCall => call.unwrap_or_default(),
        _ => format!("{}{}", outcome.unwrap_or_default(), turn.text),
    };
    println!("{}\t{:?}\t{:?}\t{:?}", turn.place, turn.speaker, turn.kind, text);
}
