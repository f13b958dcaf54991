//! From a session to candidates: what people said first, then what tools showed.

use kapsa_ingest::{Session, Speaker};
use kapsa_redact::redact;

use crate::acts::{Act, Weighed, folded};
use crate::candidate::{BODY_CHARS_MAX, Candidate, Extraction, TITLE_CHARS_MAX};
use crate::people::{Message, Said, messages};

/// Confidence of what a person stated, before anything else speaks for it.
const CONFIDENCE_STATED: f64 = 0.6;
/// What it rises by for each point of weight above the least.
const CONFIDENCE_RISE: f64 = 0.1;
/// Confidence that one session can give at most.
const CONFIDENCE_MAX: f64 = 0.9;
/// Longest context around what was stated, in characters.
const CONTEXT_CHARS_MAX: usize = 320;

/// What of a session a later one needs, without a model.
#[must_use]
pub fn extract(session: &Session) -> Extraction {
    if session.parent.is_some() {
        // Nobody but an agent speaks to a sub-agent.
        return Extraction::default();
    }
    let messages = messages(session);
    let mut candidates = Vec::new();
    for message in &messages {
        for said in &message.paragraphs {
            candidates.extend(stated(message, said));
        }
    }
    Extraction { candidates }
}

/// What a paragraph states.
fn stated(message: &Message<'_>, said: &Said) -> Option<Candidate> {
    let kept = said.kept();
    let best = *kept.iter().max_by(|a, b| said.weights[**a].weight.total_cmp(&said.weights[**b].weight))?;
    let weighed: &Weighed = &said.weights[best];
    let rule: Vec<&str> = kept.iter().map(|at| said.paragraph.sentences[*at].as_str()).collect();
    let mut body = rule.join(" ");
    let rest: Vec<&str> = (0..said.weights.len())
        .filter(|at| !kept.contains(at) && !said.weights[*at].does(Act::Chats))
        .map(|at| said.paragraph.sentences[at].as_str())
        .collect();
    if !rest.is_empty() {
        body.push_str("\nContext: ");
        body.push_str(&cut(&rest.join(" "), CONTEXT_CHARS_MAX));
    }
    Some(Candidate {
        kind: weighed.kind(),
        title: redacted(&said.paragraph.sentences[best], TITLE_CHARS_MAX),
        body: redacted(&body, BODY_CHARS_MAX),
        confidence: confidence(weighed.weight),
        said_by: Speaker::User,
        evidence: vec![message.place(said)],
        at: message.turn.at,
        tags: Vec::new(),
        reversed: false,
    })
}

fn confidence(weight: f64) -> f64 {
    let rise = (weight - crate::acts::WEIGHT_MIN) * CONFIDENCE_RISE;
    (CONFIDENCE_STATED + rise).min(CONFIDENCE_MAX)
}

/// Redacted first: what is cut off must not hide the end of a secret.
fn redacted(text: &str, chars_max: usize) -> String {
    cut(&redact(text).text, chars_max)
}

/// At most so many characters, cut between words.
fn cut(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text.to_owned() };
    let head = &text[..end];
    let head = head.rfind(char::is_whitespace).map_or(head, |at| &head[..at]);
    format!("{}…", head.trim_end_matches(|c: char| c.is_whitespace() || c == ','))
}

#[allow(dead_code)]
fn _folded(text: &str) -> String {
    folded(text)
}
