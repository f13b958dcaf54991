//! What is kept of a session itself, so that a later, better extractor can go back to it: its turns
//! in the normal form, without secrets, bounded. Knows no capsule.
//!
//! Reasoning and tool results are kept: they hold hypotheses that were rejected, and outcomes. It
//! lies in the metadata of a note, which is kept and returned and never searched or embedded, and
//! which the capsule compresses.

use kapsa_agents::StoreLocation;
use kapsa_ingest::{Outcome, Session, Speaker, Turn, TurnKind};
use kapsa_memory::kinds::TRACE_SESSION;
use kapsa_memory::record::METADATA_BYTES_MAX;
use kapsa_memory::{Micros, NewRecord, Uri};
use kapsa_redact::{RULES_VERSION, joined, redact, redact_json, spans, spans_across, without};
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::registry::SessionState;

/// Bytes of a session's original, as JSON: what a record's metadata may have, with room for what
/// is said of the session.
pub const ORIGINAL_BYTES_MAX: usize = METADATA_BYTES_MAX - 16 * 1024;
/// Characters of a tool's result: its head and its tail.
pub const OUTPUT_CHARS_MAX: usize = 4_000;
/// Characters of a call's arguments, as JSON.
pub const CALL_CHARS_MAX: usize = 4_000;
/// Characters of what a program put in: its head and its tail.
pub const INJECTED_CHARS_MAX: usize = 2_000;

/// Characters of each text, tried one after the other until the whole fits: of what people and
/// models said, and of everything else.
const LIMITS: [(usize, usize); 5] =
    [(100_000, OUTPUT_CHARS_MAX), (20_000, 1_000), (4_000, 400), (1_000, 100), (200, 40)];

/// Hexadecimal digits of a content hash.
const HASH_DIGITS: usize = 32;

/// What was left out of an original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Texts that were shortened.
    pub texts: u64,
    /// Turns from the middle of the session that are not there.
    pub turns: u64,
}

/// A session as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Original {
    /// What it holds, whoever's file it came from: 32 hexadecimal digits.
    pub hash: String,
    /// The session and its turns.
    pub content: Map<String, Value>,
    /// What was left out.
    pub cut: Cut,
    /// When the session began.
    started: Option<Micros>,
}

impl Original {
    /// What is kept of a session.
    #[must_use]
    pub fn of(session: &Session) -> Original {
        let mut cut = Cut::default();
        let mut level = first_level(session);
        let mut turns = redacted(session, LIMITS[level], &mut cut.texts);
        while bytes_of(&turns) > ORIGINAL_BYTES_MAX && level + 1 < LIMITS.len() {
            level += 1;
            // What was shortened before is longer than the next limit, and counted again.
            cut.texts = 0;
            turns.iter_mut().for_each(|turn| shorten(turn, LIMITS[level], &mut cut.texts));
        }
        cut.turns = drop_middle(&mut turns);
        let turns: Vec<Value> = turns.into_iter().map(Value::Object).collect();
        let mut content = head(session);
        if cut != Cut::default() {
            content.insert("cut".into(), json!({"texts": cut.texts, "turns": cut.turns}));
        }
        content.insert("turns".into(), Value::Array(turns));
        let text = serde_json::to_string(&content).expect("JSON serialises");
        let hash = blake3::hash(text.as_bytes()).to_hex()[..HASH_DIGITS].to_string();
        Original { hash, content, cut, started: session.started }
    }

    /// The name of the note that holds the original with this hash.
    ///
    /// # Errors
    /// That is none.
    pub(crate) fn uri_of(hash: &str) -> kapsa_memory::Result<Uri> {
        Uri::parse(&format!("kapsa/trace/session/{hash}"))
    }

    /// The note that holds it.
    pub(crate) fn note(self) -> kapsa_memory::Result<NewRecord> {
        // The text of a note is indexed, so it is one word.
        Ok(NewRecord {
            uri: Some(Original::uri_of(&self.hash)?),
            kind: TRACE_SESSION.to_string(),
            metadata: self.content,
            created_at: self.started,
            ..NewRecord::text("session")
        })
    }

    /// Bytes that it takes up before the capsule compresses it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.content.get("turns").map_or(0, |turns| turns.to_string().len())
    }
}

/// What is kept of a session that was read; none where it was dropped since.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn original_of(
    location: &StoreLocation,
    session: &SessionState,
) -> Result<Option<Map<String, Value>>> {
    if session.original.is_empty() {
        return Ok(None);
    }
    let note = location.noted(&Original::uri_of(&session.original)?)?;
    Ok(note.map(|note| note.metadata))
}

/// What is said of the session itself.
fn head(session: &Session) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("agent".into(), session.agent.name().into());
    head.insert("session".into(), session.id.as_str().into());
    let texts = [
        ("cwd", &session.cwd),
        ("repo", &session.repo),
        ("branch", &session.branch),
        ("parent", &session.parent),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            head.insert(name.into(), redact(value).text.into());
        }
    }
    for (name, value) in [("started", session.started), ("ended", session.ended)] {
        head.extend(value.map(|value| (name.to_string(), value.into())));
    }
    head.insert("rules".into(), RULES_VERSION.into());
    head
}

/// The first limits within which the texts of a session may fit, by their lengths as they are: a
/// long session is never held a second time as a whole.
fn first_level(session: &Session) -> usize {
    let fits = |&(said_max, other_max): &(usize, usize)| {
        let bytes: usize = session
            .turns
            .iter()
            .map(|turn| turn.text.len().min(text_max(turn, said_max, other_max)))
            .sum();
        bytes <= ORIGINAL_BYTES_MAX
    };
    LIMITS.iter().position(fits).unwrap_or(LIMITS.len() - 1)
}

/// Most characters of a turn's text.
fn text_max(turn: &Turn, said_max: usize, other_max: usize) -> usize {
    match (turn.kind, turn.speaker) {
        (TurnKind::ToolResult, _) => other_max,
        (_, Speaker::Injected) => INJECTED_CHARS_MAX.min(other_max),
        _ => said_max,
    }
}

/// The turns without secrets, those included that go on from one message to the next, with texts of
/// at most so many characters; counts those that were shortened.
fn redacted(session: &Session, limits: (usize, usize), cut: &mut u64) -> Vec<Map<String, Value>> {
    let texts: Vec<&str> = session.turns.iter().map(|turn| turn.text.as_str()).collect();
    let across = spans_across(&texts);
    let turns = session.turns.iter().zip(texts).zip(across).map(|((turn, text), mut found)| {
        let text = if found.is_empty() {
            redact(text).text
        } else {
            found.extend(spans(text));
            without(text, &joined(found)).into()
        };
        let mut line = head_of_turn(turn);
        if !text.is_empty() {
            let text = ends(&text, text_max(turn, limits.0, limits.1), cut);
            line.insert("text".into(), text.into());
        }
        if let Some(call) = &turn.call {
            let arguments = call.arguments.to_string();
            let kept = ends(&redact_json(&arguments).text, CALL_CHARS_MAX.min(limits.1), cut);
            // Arguments that were shortened are JSON no more.
            let value = serde_json::from_str(&kept).unwrap_or(Value::String(kept));
            line.insert("call".into(), json!({"tool": call.name, "arguments": value}));
        }
        line
    });
    turns.collect()
}

/// Shortens a turn further.
fn shorten(turn: &mut Map<String, Value>, (said_max, other_max): (usize, usize), cut: &mut u64) {
    let is_said = !turn.contains_key("outcome")
        && turn.get("speaker").is_none_or(|speaker| speaker != "tool" && speaker != "injected");
    if let Some(Value::String(text)) = turn.get_mut("text") {
        *text = ends(text, if is_said { said_max } else { other_max }, cut);
    }
    if let Some(arguments) = turn.get_mut("call").and_then(|call| call.get_mut("arguments")) {
        let text = match arguments {
            Value::String(text) => std::mem::take(text),
            ref other => other.to_string(),
        };
        let kept = ends(&text, other_max, cut);
        *arguments = if kept == text { restored(text) } else { Value::String(kept) };
    }
}

/// The JSON that a text is, or the text.
fn restored(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Everything of a turn but its words.
fn head_of_turn(turn: &Turn) -> Map<String, Value> {
    let mut line = Map::new();
    let speaker = crate::known::speaker_name(turn.speaker);
    line.insert("speaker".into(), speaker.into());
    if turn.kind == TurnKind::Reasoning {
        line.insert("kind".into(), "reasoning".into());
    }
    line.insert("at".into(), turn.place.to_string().into());
    line.extend(turn.at.map(|at| ("time".to_string(), at.into())));
    if let Some(result) = &turn.result {
        let outcome = match result.outcome {
            Outcome::Ok => json!("ok"),
            Outcome::Failed { exit: None } => json!("failed"),
            Outcome::Failed { exit: Some(exit) } => json!(exit),
            Outcome::Refused => json!("refused"),
            Outcome::Unknown => return line,
        };
        line.insert("outcome".into(), outcome);
    }
    line
}

/// The head and the tail of a text that is longer than so many characters.
fn ends(text: &str, chars_max: usize, cut: &mut u64) -> String {
    // Bytes are never fewer than characters.
    if text.len() <= chars_max {
        return text.to_string();
    }
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_string();
    }
    *cut += 1;
    let head: String = text.chars().take(chars_max / 2).collect();
    let tail: String = text.chars().skip(count - chars_max / 2).collect();
    format!("{head}\n[… {} characters left out …]\n{tail}", count - 2 * (chars_max / 2))
}

fn bytes_of(turns: &[Map<String, Value>]) -> usize {
    turns.iter().map(bytes_of_turn).sum()
}

fn bytes_of_turn(turn: &Map<String, Value>) -> usize {
    serde_json::to_string(turn).map_or(0, |text| text.len() + 1)
}

/// Leaves out turns from the middle until the rest fits; returns how many.
fn drop_middle(turns: &mut Vec<Map<String, Value>>) -> u64 {
    let mut left = ORIGINAL_BYTES_MAX;
    let sizes: Vec<usize> = turns.iter().map(bytes_of_turn).collect();
    let (mut head, mut tail) = (0, turns.len());
    while head < tail {
        // From both ends in turns: how it began, and what came of it.
        let at = if head <= turns.len() - tail { head } else { tail - 1 };
        let Some(rest) = left.checked_sub(sizes[at]) else { break };
        left = rest;
        if at == head { head += 1 } else { tail -= 1 }
    }
    turns.drain(head..tail).count() as u64
}
