//! A session while it is read: turns are added within the limits. Knows nothing of formats.

use serde_json::Value;

use crate::injected;
use crate::json;
use crate::limits::{
    KEPT_BYTES_MAX, KEPT_BYTES_OF_USERS, NAME_BYTES_MAX, RESULT_CHARS_MAX, TEXT_CHARS_MAX,
    TURNS_MAX, TURNS_OF_USERS,
};
use crate::output::Output;
use crate::session::{Agent, Call, Outcome, Place, Session, Speaker, ToolResult, Turn, TurnKind};
use crate::skipped::{Reason, Skipped};
use crate::text;

/// Bytes that a session keeps of everybody but the user.
const KEPT_BYTES_OF_OTHERS: usize = KEPT_BYTES_MAX - KEPT_BYTES_OF_USERS;

/// When and where something was said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) at: Option<i64>,
    pub(crate) place: Place,
}

/// A session to which turns are added.
#[derive(Debug)]
pub(crate) struct Draft {
    session: Session,
    kept: usize,
    /// Turns that did not fit.
    over: u64,
}

impl Draft {
    pub(crate) fn new(agent: Agent, id: &str) -> Self {
        let session = Session {
            id: text::start(id, NAME_BYTES_MAX).to_owned(),
            agent,
            cwd: None,
            repo: None,
            branch: None,
            started: None,
            ended: None,
            parent: None,
            turns: Vec::new(),
            skipped: Skipped::default(),
        };
        Self { session, kept: 0, over: 0 }
    }

    pub(crate) fn named(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            self.session.id = text::start(id, NAME_BYTES_MAX).to_owned();
        }
    }

    /// Notes where the agent works; what is known stays.
    pub(crate) fn works_in(&mut self, cwd: Option<&str>, branch: Option<&str>) {
        note(&mut self.session.cwd, cwd);
        note(&mut self.session.branch, branch);
    }

    pub(crate) fn of_repo(&mut self, repo: Option<&str>) {
        note(&mut self.session.repo, repo);
    }

    pub(crate) fn child_of(&mut self, parent: Option<&str>) {
        note(&mut self.session.parent, parent);
    }

    pub(crate) fn has_parent(&self) -> bool {
        self.session.parent.is_some()
    }

    /// Notes a time of the session.
    pub(crate) fn saw(&mut self, at: Option<i64>) {
        if let Some(at) = at {
            self.session.started = Some(self.session.started.map_or(at, |start| start.min(at)));
            self.session.ended = Some(self.session.ended.map_or(at, |end| end.max(at)));
        }
    }

    /// Bytes that its turns take, roughly.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// What came as the user's, with what the program put in split off.
    pub(crate) fn said(&mut self, text: &str, spot: Spot) {
        for piece in injected::split(text) {
            let speaker = if piece.is_injected { Speaker::Injected } else { Speaker::User };
            self.text(speaker, piece.text, spot);
        }
    }

    /// A text of anybody.
    pub(crate) fn text(&mut self, speaker: Speaker, text: &str, spot: Spot) {
        self.words(speaker, TurnKind::Text, text, spot);
    }

    /// What the model thought.
    pub(crate) fn reasoning(&mut self, text: &str, spot: Spot) {
        self.words(Speaker::Assistant, TurnKind::Reasoning, text, spot);
    }

    fn words(&mut self, speaker: Speaker, kind: TurnKind, text: &str, spot: Spot) {
        let text = text.trim();
        if !text.is_empty() {
            let text = text::elided(text, TEXT_CHARS_MAX);
            let Spot { at, place } = spot;
            self.push(Turn { speaker, kind, text, call: None, result: None, at, place });
        }
    }

    /// A call of a tool.
    pub(crate) fn call(&mut self, id: &str, name: &str, arguments: Value, spot: Spot) {
        let call = Call {
            id: text::start(id, NAME_BYTES_MAX).to_owned(),
            name: text::start(name, NAME_BYTES_MAX).to_owned(),
            arguments,
        };
        self.push(Turn {
            speaker: Speaker::Assistant,
            kind: TurnKind::ToolCall,
            text: String::new(),
            call: Some(call),
            result: None,
            at: spot.at,
            place: spot.place,
        });
    }

    /// What a tool returned.
    pub(crate) fn result(&mut self, call: &str, text: &str, outcome: Outcome, spot: Spot) {
        let result = ToolResult { call: text::start(call, NAME_BYTES_MAX).to_owned(), outcome };
        self.push(Turn {
            speaker: Speaker::Tool,
            kind: TurnKind::ToolResult,
            text: text::elided(text.trim(), RESULT_CHARS_MAX),
            call: None,
            result: Some(result),
            at: spot.at,
            place: spot.place,
        });
    }

    /// Adds a turn that is within the limits of a turn. However much the agent and its tools say,
    /// there is room for what the user says after it.
    pub(crate) fn push(&mut self, turn: Turn) {
        let of_call = |call: &Call| call.id.len() + call.name.len() + json::weight(&call.arguments);
        let weight = size_of::<Turn>()
            + turn.text.len()
            + turn.call.as_ref().map_or(0, of_call)
            + turn.result.as_ref().map_or(0, |result| result.call.len());
        let is_users = turn.speaker == Speaker::User;
        let turns_max = if is_users { TURNS_MAX } else { TURNS_MAX - TURNS_OF_USERS };
        let bytes_max = if is_users { KEPT_BYTES_MAX } else { KEPT_BYTES_OF_OTHERS };
        if self.session.turns.len() >= turns_max || self.kept + weight > bytes_max {
            self.over += 1;
            return;
        }
        self.kept += weight;
        self.saw(turn.at);
        self.session.turns.push(turn);
    }

    /// A later record holds more of a turn's text.
    pub(crate) fn grow_text(&mut self, index: usize, text: &str, place: Place) {
        let text = text::elided(text, TEXT_CHARS_MAX);
        if self.kept + text.len() > KEPT_BYTES_OF_OTHERS {
            self.over += 1;
        } else if let Some(turn) = self.session.turns.get_mut(index) {
            self.kept += text.len().saturating_sub(turn.text.len());
            turn.text = text;
            turn.place = turn.place.to(place);
        }
    }

    /// A later record holds more of a call's arguments.
    pub(crate) fn grow_call(&mut self, index: usize, arguments: Value, place: Place) {
        let weight = json::weight(&arguments);
        if self.kept + weight > KEPT_BYTES_OF_OTHERS {
            self.over += 1;
        } else if let Some(turn) = self.session.turns.get_mut(index)
            && let Some(call) = &mut turn.call
        {
            self.kept += weight;
            call.arguments = arguments;
            turn.place = turn.place.to(place);
        }
    }

    pub(crate) fn turns(&self) -> &[Turn] {
        &self.session.turns
    }

    pub(crate) fn turns_mut(&mut self) -> &mut Vec<Turn> {
        &mut self.session.turns
    }

    pub(crate) fn into_turns(self) -> Vec<Turn> {
        self.session.turns
    }

    /// Hands the session out.
    pub(crate) fn finish(self, output: &mut Output<'_>) {
        for _ in 0..self.over {
            output.skip(Reason::OverLimit, "turn");
        }
        output.session(self.session);
    }
}

fn note(field: &mut Option<String>, value: Option<&str>) {
    if let (None, Some(value)) = (&field, value.filter(|value| !value.is_empty())) {
        *field = Some(text::start(value, NAME_BYTES_MAX).to_owned());
    }
}
