//! A session in short: what was asked, what was done, how it ended. Made of what stands in it,
//! without a model.

use std::collections::HashSet;

use kapsa_ingest::{Outcome, Session, Speaker, TurnKind};
use kapsa_redact::redact;

use crate::candidate::{SUMMARY_WORDS_MAX, Summary, TITLE_CHARS_MAX};
use crate::extract::cut;
use crate::legible::legible;
use crate::people::{Message, messages};
use crate::prose::paragraphs;
use crate::runs::{Work, work};

/// Longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 240;
/// Requests that are listed.
const REQUESTS_MAX: usize = 6;
/// Longest request, in characters.
const REQUEST_CHARS_MAX: usize = 160;
/// Files and commands that are listed.
const LISTED_MAX: usize = 8;
/// Longest end of a session, in characters.
const END_CHARS_MAX: usize = 420;

/// A session in short, without a model. A session in which nobody said anything has an empty
/// title and text.
#[must_use]
pub fn summarise(session: &Session) -> Summary {
    let messages = messages(session);
    let requests: Vec<String> = messages.iter().filter_map(request).collect();
    let Some(first) = requests.first() else { return Summary::default() };
    let work = work(session);
    let mut text = String::from("Asked:\n");
    for request in requests.iter().take(REQUESTS_MAX) {
        text.push_str(&format!("- {request}\n"));
    }
    if requests.len() > REQUESTS_MAX {
        text.push_str(&format!("- and {} more\n", requests.len() - REQUESTS_MAX));
    }
    text.push_str(&done(&work));
    if let Some(end) = end(session) {
        text.push_str(&format!("\nEnded with:\n{end}\n"));
    }
    Summary {
        title: cut(&legible(&redact(first).text), TITLE_CHARS_MAX),
        description: legible(&redact(&description(session, &requests, &work)).text).into_owned(),
        text: words_max(&legible(&redact(&text).text), SUMMARY_WORDS_MAX),
    }
}

/// What a message asks: its first sentence, or what was pasted if nothing was typed.
fn request(message: &Message<'_>) -> Option<String> {
    let typed = message.prose();
    let typed = if typed.is_empty() { message.turn.text.lines().next()?.trim() } else { &typed };
    Some(cut(typed, REQUEST_CHARS_MAX)).filter(|request| !request.is_empty())
}

fn description(session: &Session, requests: &[String], work: &Work<'_>) -> String {
    let counted = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let text = format!(
        "A session with {}: {}, {}, {}. {}",
        session.agent.name(),
        counted(requests.len(), "request"),
        counted(work.runs.len(), "command"),
        counted(work.edits.len(), "edit"),
        requests[0],
    );
    cut(&text, DESCRIPTION_CHARS_MAX)
}

/// The files that were changed and the commands that were run, each once.
fn done(work: &Work<'_>) -> String {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut files: Vec<&str> = Vec::new();
    for edit in &work.edits {
        let name = edit.path.rsplit(['/', '\\']).next().unwrap_or(edit.path);
        if seen.insert(name) {
            files.push(name);
        }
    }
    seen.clear();
    let mut commands: Vec<&str> = Vec::new();
    let mut failed = 0;
    for run in &work.runs {
        failed += usize::from(matches!(run.outcome, Outcome::Failed { .. }));
        if !run.stem.is_empty() && seen.insert(&run.stem) {
            commands.push(&run.stem);
        }
    }
    let mut text = String::new();
    if !files.is_empty() {
        text.push_str(&format!("\nChanged: {}\n", listed(&files)));
    }
    if !commands.is_empty() {
        text.push_str(&format!("\nRan: {}; {failed} failed\n", listed(&commands)));
    }
    text
}

fn listed(all: &[&str]) -> String {
    let shown = all[..all.len().min(LISTED_MAX)].join(", ");
    match all.len().saturating_sub(LISTED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The last thing that the assistant said, as prose.
fn end(session: &Session) -> Option<String> {
    let says = |turn: &&kapsa_ingest::Turn| {
        turn.speaker == Speaker::Assistant && turn.kind == TurnKind::Text
    };
    let last = session.turns.iter().rev().find(says)?;
    let prose = paragraphs(&last.text);
    let sentences = prose.iter().flat_map(|paragraph| &paragraph.sentences);
    let text = sentences.map(String::as_str).collect::<Vec<_>>().join(" ");
    Some(cut(&text, END_CHARS_MAX)).filter(|text| !text.is_empty())
}

/// At most so many words; lines stay lines.
fn words_max(text: &str, most: usize) -> String {
    let mut left = most;
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let taken = words.len().min(left);
        out.push_str(&words[..taken].join(" "));
        out.push('\n');
        left -= taken;
        if left == 0 {
            break;
        }
    }
    out.trim_end().to_owned()
}
