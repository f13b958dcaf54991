//! What is kept of sessions, and what is not.

#![allow(clippy::unwrap_used, reason = "tests")]

mod concessions;
mod corrections;
mod people;
mod summary;
mod tools;
mod with_model;

use kapsa_extract::{Candidate, extract};
use kapsa_ingest::{
    Agent, Call, Outcome, Place, Session, Skipped, Speaker, ToolResult, Turn, TurnKind,
};
use serde_json::{Value, json};

/// A session that is written turn by turn.
struct Script(Session);

impl Script {
    fn new() -> Self {
        Self(Session {
            id: "s1".to_owned(),
            agent: Agent::Claude,
            cwd: None,
            repo: None,
            branch: None,
            started: None,
            ended: None,
            parent: None,
            turns: Vec::new(),
            skipped: Skipped::default(),
        })
    }

    fn turn(mut self, speaker: Speaker, kind: TurnKind, text: &str) -> Self {
        let place = Place::line(self.0.turns.len() as u64 + 1);
        let text = text.to_owned();
        self.0.turns.push(Turn { speaker, kind, text, call: None, result: None, at: None, place });
        self
    }

    fn user(self, text: &str) -> Self {
        self.turn(Speaker::User, TurnKind::Text, text)
    }

    fn assistant(self, text: &str) -> Self {
        self.turn(Speaker::Assistant, TurnKind::Text, text)
    }

    fn injected(self, text: &str) -> Self {
        self.turn(Speaker::Injected, TurnKind::Text, text)
    }

    fn call(self, name: &str, arguments: Value) -> Self {
        let mut script = self.turn(Speaker::Assistant, TurnKind::ToolCall, "");
        let id = script.0.turns.len().to_string();
        let last = script.0.turns.last_mut().unwrap();
        last.call = Some(Call { id, name: name.to_owned(), arguments });
        script
    }

    fn result(self, outcome: Outcome, text: &str) -> Self {
        let call = self.0.turns.len().to_string();
        let mut script = self.turn(Speaker::Tool, TurnKind::ToolResult, text);
        script.0.turns.last_mut().unwrap().result = Some(ToolResult { call, outcome });
        script
    }

    fn runs(self, command: &str, outcome: Outcome, output: &str) -> Self {
        self.call("Bash", json!({ "command": command })).result(outcome, output)
    }

    fn fails(self, command: &str, output: &str) -> Self {
        self.runs(command, Outcome::Failed { exit: Some(1) }, output)
    }

    fn passes(self, command: &str) -> Self {
        self.runs(command, Outcome::Ok, "")
    }

    fn edits(self, path: &str, old: &str, new: &str) -> Self {
        let arguments = json!({ "file_path": path, "old_string": old, "new_string": new });
        self.call("Edit", arguments).result(Outcome::Ok, "")
    }

    fn kept(&self) -> Vec<Candidate> {
        let all = extract(&self.0).candidates;
        all.into_iter().filter(|candidate| !candidate.reversed).collect()
    }

    fn titles(&self) -> Vec<String> {
        self.kept().into_iter().map(|candidate| candidate.title).collect()
    }
}

/// The titles of what is kept of one message.
fn kept_of(message: &str) -> Vec<String> {
    Script::new().user(message).titles()
}
