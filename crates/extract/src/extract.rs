//! From a session to candidates: what people said first, then what tools showed.

use std::collections::HashSet;
use std::ops::Range;

use kapsa_ingest::{Place, Session, Speaker};
use kapsa_redact::redact;

use crate::acts::{Act, Weighed};
use crate::candidate::{BODY_CHARS_MAX, Candidate, Extraction, TITLE_CHARS_MAX};
use crate::concessions::{conceded, joined, pasted_error, renamed};
use crate::context::{answer, option, reply};
use crate::people::{Message, Said, messages};
use crate::runs::work;
use crate::tools::{self, LESSONS_MAX, Shown};
use crate::types::MemoryType;
use crate::words::{content, shared};

/// Confidence of what a person stated, before anything else speaks for it.
const CONFIDENCE_STATED: f64 = 0.6;
/// Confidence of what was picked among options that were laid out.
const CONFIDENCE_PICKED: f64 = 0.75;
/// What it rises by for each point of weight above the least.
const CONFIDENCE_RISE: f64 = 0.1;
/// Confidence that one session can give at most.
const CONFIDENCE_MAX: f64 = 0.9;
/// Messages with wishes that are a piece of work, where a session gives nothing else.
const WISHES_ALONE_MAX: usize = 1;
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
    let work = work(session);
    let mut candidates = Vec::new();
    let mut wishes = HashSet::new();
    let mut taught = tools::lessons(session, &work);
    for (at, message) in messages.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &messages[before]);
        if message.is_machines() {
            continue;
        }
        if withdraws(message) {
            take_back(&mut candidates, before);
        }
        if message.withholds() {
            // Alone it is about what was said before, else about what stands beside it.
            if !message.withholds_itself() {
                drop_of(&mut candidates, before);
            }
            continue;
        }
        // What is not to be kept is no context of anything either.
        let before = before.filter(|before| !before.withholds());
        let mut found = of_message(message, before);
        let concession = conceded(message);
        let is_joined = concession.as_ref().is_some_and(|conceded| joined(&mut found, conceded));
        if challenges(message) {
            join(&mut candidates, before, &found);
        }
        if !is_joined && is_wish(message, at == 0) {
            wishes.extend(found.iter().map(|candidate| candidate.title.clone()));
        }
        candidates.extend(found);
        candidates.extend(concession.iter().filter(|_| !is_joined).map(shown));
        taught.extend(pasted_error(&messages, at));
    }
    settle(&mut candidates);
    let is_live = |candidate: &&Candidate| !candidate.reversed;
    let live = || candidates.iter().filter(is_live);
    // A message may hold several.
    let mut messages: Vec<_> = live().map(|candidate| &candidate.evidence).collect();
    messages.dedup();
    if messages.len() <= WISHES_ALONE_MAX && live().all(|it| wishes.contains(&it.title)) {
        candidates.retain(|candidate| candidate.reversed);
    }
    taught.extend(renamed(session, &work));
    taught.truncate(LESSONS_MAX);
    candidates.extend(taught.iter().map(shown));
    // What a session only ran is no reason to keep anything of it.
    if candidates.iter().any(|candidate| !candidate.reversed) {
        candidates.extend(tools::checks(&work).iter().map(shown));
    }
    Extraction { candidates }
}

fn shown(shown: &Shown) -> Candidate {
    Candidate {
        kind: shown.kind,
        title: redacted(&shown.title, TITLE_CHARS_MAX),
        body: redacted(&shown.body, BODY_CHARS_MAX),
        confidence: shown.confidence,
        said_by: shown.said_by,
        evidence: shown.evidence.clone(),
        at: None,
        tags: Vec::new(),
        reversed: false,
    }
}

/// Whether all that is kept of a message is what somebody wants. What comes first corrects nothing
/// that was said here.
fn is_wish(message: &Message<'_>, is_first: bool) -> bool {
    let mut kept = message.paragraphs.iter().filter(|said| !said.kept().is_empty());
    let (Some(said), None) = (kept.next(), kept.next()) else { return false };
    message.asked.is_none() && said.kept().iter().all(|at| said.weights[*at].is_wish(is_first))
}

/// Whether a message takes back the one before.
fn withdraws(message: &Message<'_>) -> bool {
    message.paragraphs.iter().flat_map(|said| &said.weights).any(|it| it.does(Act::Withdraws))
}

/// Whether a message asks why what was just decided is not otherwise.
fn challenges(message: &Message<'_>) -> bool {
    let first = message.prose().to_lowercase();
    first.starts_with("why ") && message.paragraphs.iter().any(|said| !said.kept().is_empty())
}

/// What is asked about the message before is one with it: neither is understood alone.
fn join(candidates: &mut [Candidate], before: Option<&Message<'_>>, found: &[Candidate]) {
    let (Some(before), Some(found)) = (before, found.first()) else { return };
    for candidate in candidates.iter_mut().filter(|it| it.evidence == [before.turn.place]) {
        let body = format!("{}\nThen: {}", candidate.body, found.title);
        candidate.body = cut(&body, BODY_CHARS_MAX);
        candidate.evidence.extend(found.evidence.iter().copied());
    }
}

fn drop_of(candidates: &mut Vec<Candidate>, message: Option<&Message<'_>>) {
    let Some(message) = message else { return };
    candidates.retain(|candidate| !candidate.evidence.contains(&message.turn.place));
}

fn take_back(candidates: &mut [Candidate], before: Option<&Message<'_>>) {
    let Some(before) = before else { return };
    for candidate in candidates.iter_mut().filter(|it| it.evidence.contains(&before.turn.place)) {
        candidate.reversed = true;
    }
}

/// Most candidates of one session that are compared with each other.
const COMPARED_MAX: usize = 256;
/// Most candidates that one session gives: those that are surest.
pub const CANDIDATES_MAX: usize = 12;

/// What is said again in other words counts once, as it was said last; and no session gives more
/// than a few.
///
/// What was taken back stays, marked, for whoever took it over when the session was shorter.
pub(crate) fn settle(candidates: &mut Vec<Candidate>) {
    let (mut live, mut reversed): (Vec<_>, Vec<_>) =
        std::mem::take(candidates).into_iter().partition(|candidate| !candidate.reversed);
    keep_surest(&mut live, COMPARED_MAX);
    restate(&mut live);
    keep_surest(&mut live, CANDIDATES_MAX);
    keep_surest(&mut reversed, CANDIDATES_MAX);
    live.append(&mut reversed);
    *candidates = live;
}

/// Leaves of what is said several times what was said last, with the evidence of all.
fn restate(candidates: &mut Vec<Candidate>) {
    let titles: Vec<Vec<String>> = candidates.iter().map(|it| content(&it.title)).collect();
    let rules: Vec<Vec<String>> = candidates.iter().map(|it| content(rule_of(it))).collect();
    let messages: Vec<Option<Place>> =
        candidates.iter().map(|it| it.evidence.first().copied()).collect();
    let mut restated = vec![false; candidates.len()];
    for later in 1..candidates.len() {
        let (earlier, rest) = candidates.split_at_mut(later);
        for (at, other) in earlier.iter().enumerate() {
            let least = titles[at].len().min(titles[later].len());
            let alike = shared(&titles[at], &titles[later]);
            let all = titles[at].len();
            let is_again = match messages[at] == messages[later] {
                // Nobody says the same twice in one breath.
                true => least > 0 && alike >= least,
                false => {
                    least > 0 && alike * 3 >= least * 2
                        || all > 1 && shared(&titles[at], &rules[later]) * 3 >= all * 2
                }
            };
            if !restated[at] && is_again {
                restated[at] = true;
                rest[0].evidence.splice(0..0, other.evidence.iter().copied());
                rest[0].evidence.dedup();
            }
        }
    }
    let mut at = 0;
    candidates.retain(|_| {
        at += 1;
        !restated[at - 1]
    });
}

/// What a candidate states, without what stands around it.
pub(crate) fn rule_of(candidate: &Candidate) -> &str {
    candidate.body.lines().next().unwrap_or_default()
}

/// Leaves the surest candidates, in their order; of equally sure ones those said last.
fn keep_surest(candidates: &mut Vec<Candidate>, most: usize) {
    if candidates.len() <= most {
        return;
    }
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    let sure = |at: &usize| candidates[*at].confidence;
    order.sort_by(|a, b| sure(b).total_cmp(&sure(a)).then(b.cmp(a)));
    let kept: HashSet<usize> = order.into_iter().take(most).collect();
    let mut at = 0;
    candidates.retain(|_| {
        at += 1;
        kept.contains(&(at - 1))
    });
}

fn of_message(message: &Message<'_>, before: Option<&Message<'_>>) -> Vec<Candidate> {
    let picked = message.asked.and_then(|asked| answer(asked, message.turn.text.trim()));
    if let Some((title, body)) = picked {
        return vec![candidate(message, MemoryType::Decision, CONFIDENCE_PICKED, &title, &body)];
    }
    let statements = message
        .paragraphs
        .iter()
        .flat_map(|said| said.statements().into_iter().map(move |of| (said, of)));
    statements.filter_map(|(said, of)| stated(message, before, said, of)).collect()
}

/// Words of content below which a statement says too little by itself.
const WORDS_ALONE_MIN: usize = 6;

/// What these sentences of a paragraph state.
fn stated(
    message: &Message<'_>,
    before: Option<&Message<'_>>,
    said: &Said,
    of: Range<usize>,
) -> Option<Candidate> {
    let is_one = of.len() == said.weights.len();
    let kept: Vec<usize> = of.clone().filter(|at| said.is_kept(*at)).collect();
    let weight = |at: &usize| said.weights[*at].weight;
    let best = *kept.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)))?;
    let weighed: &Weighed = &said.weights[best];
    let rule: Vec<&str> = kept.iter().map(|at| said.paragraph.sentences[*at].as_str()).collect();
    let rule = rule.join(" ");
    let mut body = rule.clone();
    let mut add = |name: &str, text: &str| {
        if !text.is_empty() {
            body.push_str(&format!("\n{name}: {}", cut(text, CONTEXT_CHARS_MAX)));
        }
    };
    let rest: Vec<&str> = of
        .clone()
        .filter(|at| !kept.contains(at) && !said.weights[*at].does(Act::Chats))
        .map(|at| said.paragraph.sentences[at].as_str())
        .collect();
    let words = content(&rule);
    let is_short = words.len() < WORDS_ALONE_MIN;
    let option = option(message, &rule);
    let reply =
        (is_short || weighed.does(Act::Corrects)).then(|| reply(message, &rule, is_one)).flatten();
    if words.is_empty() && option.is_none() && reply.is_none() {
        return None;
    }
    add("Context", &rest.join(" "));
    // What was pasted stands above the first one.
    let has_pasted = is_short && of.start == 0;
    add("About", if has_pasted { said.paragraph.pasted.trim() } else { "" });
    add("Chosen", option.as_deref().unwrap_or_default());
    if option.is_some() {
        let question = before.map(|before| before.prose()).unwrap_or_default();
        add("Question", &question);
    }
    let points_back = is_short && option.is_none() && reply.is_none() && refers(&rule);
    if points_back {
        add("Before", &before.map(|before| before.prose()).unwrap_or_default());
    }
    add("Taken up", reply.as_deref().unwrap_or_default());
    let title = &said.paragraph.sentences[best];
    let kind = called(title).unwrap_or_else(|| weighed.kind());
    Some(candidate(message, kind, confidence(weighed.weight), title, &body))
}

/// What a sentence calls itself: "Decision: …", "durable constraint: …".
fn called(title: &str) -> Option<MemoryType> {
    let (head, _) = title.split_once(':')?;
    match head.rsplit(' ').next()?.to_lowercase().as_str() {
        "rule" => Some(MemoryType::Constraint),
        "convention" => Some(MemoryType::Preference),
        "gotcha" | "lesson" => Some(MemoryType::Pitfall),
        name => MemoryType::named(name),
    }
}

/// Whether a sentence stands for something that was named before it.
fn refers(rule: &str) -> bool {
    let lower = rule.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| ["it", "this", "that", "them", "they", "those", "these"].contains(&word))
}

fn candidate(
    message: &Message<'_>,
    kind: MemoryType,
    confidence: f64,
    title: &str,
    body: &str,
) -> Candidate {
    Candidate {
        kind,
        title: redacted(title, TITLE_CHARS_MAX),
        body: redacted(body, BODY_CHARS_MAX),
        confidence,
        said_by: Speaker::User,
        evidence: vec![message.turn.place],
        at: message.turn.at,
        tags: Vec::new(),
        reversed: false,
    }
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
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text.to_owned() };
    let head = &text[..end];
    let head = head.rfind(char::is_whitespace).map_or(head, |at| &head[..at]);
    format!("{}…", head.trim_end_matches(|c: char| c.is_whitespace() || c == ','))
}
