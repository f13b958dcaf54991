//! What the assistant conceded or found out by an error: statements of its that somebody or
//! something has tested. Its other words are nothing to rely on.

use std::sync::LazyLock;

use kapsa_ingest::{Session, Speaker, TurnKind};
use kapsa_redact::redact;
use regex_automata::meta::Regex;

use crate::acts::Act;
use crate::candidate::{BODY_CHARS_MAX, Candidate};
use crate::context::without_thoughts;
use crate::extract::{cut, rule_of};
use crate::patterns::built;
use crate::people::Message;
use crate::prose::{paragraphs, sentences};
use crate::runs::Work;
use crate::tools::{Shown, error_line, is_cause};
use crate::types::MemoryType;
use crate::words::{content, shared};

/// Confidence of what was conceded to a person.
const CONFIDENCE_CONCEDED: f64 = 0.6;
/// Confidence of what an error taught.
const CONFIDENCE_TAUGHT: f64 = 0.55;
/// Longest sentence that is a statement, in characters.
const STATEMENT_CHARS_MAX: usize = 300;
/// Sentences of a reply in which a concession stands.
const CONCEDING_SENTENCES: usize = 4;
/// Turns before an edit in which its reason stands.
const REASON_TURNS: usize = 3;
/// Longest replacement that is the renaming of something, in bytes.
const RENAMING_BYTES_MAX: usize = 200;

/// How somebody concedes.
static CONCEDES: LazyLock<Regex> = LazyLock::new(|| {
    built(&[
        r"(?i)\b(you're|you are) (absolutely |completely |quite )?right\b",
        r"(?i)\bi (apologi[sz]e|made (that|this|it) up|was wrong|was mistaken|misread|stand corrected)\b",
        r"(?i)^(good (catch|point)|i see|my mistake|interesting|indeed)\b",
    ])
});

/// How somebody states what is so, rather than what will be done.
static STATES: LazyLock<Regex> = LazyLock::new(|| {
    built(&[
        r"(?i)\b(only|does not|doesn't|do not|don't|cannot|can't|isn't|is not|aren't|no longer|never|uses|supports?|requires?|needs|has|have|expects?|accepts?|returns?|is called|are called|instead of|not an?)\b",
    ])
});

/// How somebody speaks of what comes next.
static PLANS: LazyLock<Regex> = LazyLock::new(|| {
    built(&[
        r"(?i)^(let me|let's|i'll|i will|i should|i need|i can|we should|we need|now |next|here|would you|do you)\b",
    ])
});

/// What was conceded after a message that contradicts.
pub(crate) fn conceded(message: &Message<'_>) -> Option<Shown> {
    if !contradicts(message) {
        return None;
    }
    let reply = message.replies.iter().take(3).find_map(|turn| {
        let text = without_thoughts(&turn.text);
        let said: Vec<String> = paragraphs(&text)
            .into_iter()
            .flat_map(|it| it.sentences)
            .take(CONCEDING_SENTENCES)
            .collect();
        let from = said.iter().position(|sentence| CONCEDES.is_match(sentence))?;
        let statement =
            said[from..].iter().map(|sentence| stated_in(sentence)).find(|sentence| {
                STATES.is_match(sentence)
                    && !PLANS.is_match(sentence)
                    && content(sentence).len() >= 3
                    && sentence.chars().count() <= STATEMENT_CHARS_MAX
            })?;
        Some((statement.to_owned(), turn.place))
    });
    let (statement, place) = reply?;
    Some(Shown {
        kind: MemoryType::Correction,
        body: format!("{statement}\nConceded to: {}", message.prose()),
        title: statement,
        confidence: CONFIDENCE_CONCEDED,
        evidence: vec![message.turn.place, place],
        said_by: Speaker::User,
    })
}

/// Makes a concession one with what the person's message states: both say the same, and the
/// person's words come first. Returns whether there is such a statement among `found`, which are
/// the candidates of the message.
pub(crate) fn joined(found: &mut [Candidate], conceded: &Shown) -> bool {
    let about = content(&conceded.title);
    let likeness = |candidate: &Candidate| shared(&about, &content(rule_of(candidate)));
    let is_answered =
        |candidate: &Candidate| likeness(candidate) > 0 || candidate.kind == MemoryType::Correction;
    let answered = found.iter_mut().filter(|candidate| is_answered(candidate));
    let Some(candidate) = answered.max_by_key(|candidate| likeness(candidate)) else {
        return false;
    };
    let statement = redact(&conceded.title).text;
    if !candidate.body.contains(&*statement) {
        candidate.body = cut(&format!("{}\nConceded: {statement}", candidate.body), BODY_CHARS_MAX);
    }
    candidate.kind = MemoryType::Correction;
    candidate.confidence = candidate.confidence.max(conceded.confidence);
    candidate.evidence.extend(&conceded.evidence);
    candidate.evidence.dedup();
    true
}

/// A sentence without the concession that leads it.
fn stated_in(sentence: &str) -> &str {
    let concedes = CONCEDES.find(sentence);
    let rest = concedes.map_or(sentence, |found| &sentence[found.end()..]);
    rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`')
}

/// Whether a message says that something is not as the assistant said.
fn contradicts(message: &Message<'_>) -> bool {
    let lower = message.prose().to_lowercase();
    let doubts = ["make it up", "made it up", "are you sure", "really?", "there is no", "none of"];
    message.paragraphs.iter().flat_map(|said| &said.weights).any(|it| it.does(Act::Corrects))
        || doubts.iter().any(|doubt| lower.contains(doubt))
}

/// Names that turned out to be called otherwise: an error, a sentence that says `this` instead of
/// `that`, and the edit that made it so.
pub(crate) fn renamed(session: &Session, work: &Work<'_>) -> Vec<Shown> {
    let mut found = Vec::new();
    for edit in &work.edits {
        let Some((old, new)) = edit.change else { continue };
        if old.len() + new.len() > RENAMING_BYTES_MAX {
            continue;
        }
        let before = &session.turns[edit.at.saturating_sub(REASON_TURNS)..edit.at];
        let said = before
            .iter()
            .rev()
            .filter(|turn| turn.speaker == Speaker::Assistant && turn.kind == TurnKind::Text);
        for turn in said {
            let reason = sentences(&turn.text).into_iter().find(|it| renames(it, old, new));
            if let Some(title) = reason {
                found.push(Shown {
                    kind: MemoryType::Pitfall,
                    body: title.clone(),
                    title,
                    confidence: CONFIDENCE_TAUGHT,
                    evidence: vec![turn.place, session.turns[edit.at].place],
                    said_by: Speaker::Tool,
                });
                break;
            }
        }
    }
    found
}

/// Whether a sentence names an error and says that `new` is right instead of `old`.
fn renames(sentence: &str, old: &str, new: &str) -> bool {
    let lower = sentence.to_lowercase();
    let errs = ["error", "fail", "invalid", "not allowed", "unknown", "wrong", "warning"];
    let contrasts = ["instead of", "rather than", ", not", " not "];
    let quoted: Vec<&str> = sentence.split('`').skip(1).step_by(2).collect();
    let only_in =
        |name: &&str, one: &str, other: &str| one.contains(*name) && !other.contains(*name);
    errs.iter().any(|word| lower.contains(word))
        && contrasts.iter().any(|word| lower.contains(word))
        && quoted.iter().any(|name| only_in(name, old, new))
        && quoted.iter().any(|name| only_in(name, new, old))
}

/// How somebody says that something is mended.
static MENDED: LazyLock<Regex> = LazyLock::new(|| {
    built(&[
        r"(?i)\b(resolved|resolves|fixed|fixes|solved|solves|works? (now|properly|correctly)|working (now|properly|correctly)|now works?|is gone|no longer)\b",
    ])
});

/// An error that a person pasted, what it comes from, and what mended it.
pub(crate) fn pasted_error(messages: &[Message<'_>], at: usize) -> Option<Shown> {
    let message = &messages[at];
    let error = error_line(&message.turn.text).filter(|error| has_name(error))?;
    let about = content(&error);
    let later = messages[at..].iter().take(2).flat_map(|message| &message.replies);
    let (mut cause, mut cure) = (None, None);
    let mut evidence = vec![message.turn.place];
    for turn in later {
        let text = without_thoughts(&turn.text);
        for sentence in paragraphs(&text).into_iter().flat_map(|it| it.sentences) {
            let words = content(&sentence);
            let is_about =
                shared(&about, &words) > 0 && sentence.chars().count() <= STATEMENT_CHARS_MAX;
            if !is_about || PLANS.is_match(&sentence) {
                continue;
            }
            if cure.is_none() && cause.is_some() && MENDED.is_match(&sentence) {
                cure = Some(sentence);
                evidence.push(turn.place);
            } else if cause.is_none() && is_cause(&sentence) {
                cause = Some(sentence);
                evidence.push(turn.place);
            }
        }
    }
    let (cause, cure) = (cause?, cure?);
    evidence.dedup();
    Some(Shown {
        kind: MemoryType::Pitfall,
        title: error.clone(),
        body: format!("{error}\nWhy: {cause}\nWhat helped: {cure}"),
        confidence: CONFIDENCE_TAUGHT,
        evidence,
        said_by: Speaker::Tool,
    })
}

/// Whether a line names an error rather than a word of everyday use.
fn has_name(error: &str) -> bool {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        built(&[
            r"\w(Error|Exception)\b",
            r"\b[A-Z]{1,6}[-_]?\d{2,5}\b",
            r"(?i)^(error|fatal|panic)\b",
            r"(?i)\bmissing\b",
        ])
    });
    NAMED.is_match(error)
}
