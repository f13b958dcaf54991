//! Which sentences of a paragraph are one statement: each that stands by itself, with what goes on
//! with it. Knows nothing of what a sentence weighs, but that it is kept.

use std::ops::Range;

use crate::acts::{Act, Weighed, folded};
use crate::people::Said;
use crate::words::content;

impl Said {
    /// Whether a sentence states something, and does not only ask for a reason.
    fn is_whole(&self, at: usize) -> bool {
        !self.weights[at].does(Act::Asks) && !content(&self.paragraph.sentences[at]).is_empty()
    }

    /// Whether a sentence is understood without the one before it.
    fn stands_alone(&self, at: usize) -> bool {
        let sentence = &self.paragraph.sentences[at];
        let names = [Act::Chooses, Act::Instructs, Act::Contrasts, Act::States];
        let least = match names.iter().any(|act| self.weights[at].does(*act)) {
            true => 1,
            false => WORDS_ALONE_MIN,
        };
        content(sentence).len() >= least && !goes_on(sentence)
    }

    /// The sentences of each statement, with at least one that is kept: those that stand by
    /// themselves, with what goes on with them. No sentence is in two.
    pub(crate) fn statements(&self) -> Vec<Range<usize>> {
        let sentences = &self.paragraph.sentences;
        let mut statements: Vec<Range<usize>> = Vec::new();
        // What stands beside an order is about that piece of work.
        let is_work = self.orders_work();
        let is_listed = |at: usize| sentences[..at].iter().any(|one| one.ends_with([':', ';']));
        for at in self.kept() {
            let Some(last) = statements.last_mut() else {
                statements.push(0..at + 1);
                continue;
            };
            let is_complete = last.clone().any(|at| self.is_kept(at) && self.is_whole(at));
            let is_apart = is_complete && !is_work && !is_listed(at) && self.stands_alone(at);
            let begin = match self.weights[at - 1].does(Act::Leaves) && !self.is_kept(at - 1) {
                true => at - 1,
                false => at,
            };
            match is_apart {
                true => {
                    last.end = begin;
                    statements.push(begin..at + 1);
                }
                false => last.end = at + 1,
            }
        }
        if let Some(last) = statements.last_mut() {
            last.end = sentences.len();
        }
        statements
    }

    /// Whether a sentence that is not kept orders a piece of work, or wishes for one.
    fn orders_work(&self) -> bool {
        let orders = |weighed: &Weighed| weighed.does(Act::Orders) || weighed.does(Act::Wants);
        (0..self.weights.len()).any(|at| !self.is_kept(at) && orders(&self.weights[at]))
    }
}

/// Words of content of a ban or a wish that stands by itself; of a choice one is enough.
const WORDS_ALONE_MIN: usize = 2;

/// How a sentence begins that goes on with the one before it.
const GOING_ON: &[&str] = &[
    "aber", "again", "also", "and", "auch", "because", "both", "but", "dann", "denn", "doch",
    "either", "else", "hence", "here", "instead", "meaning", "nein", "neither", "no", "nope",
    "not", "oder", "or", "rather", "same", "since", "so", "sonst", "that", "then", "there",
    "though", "thus", "und", "which",
];

/// The same in several words, or as the beginning of one.
const GOING_ON_PHRASES: [&str; 18] = [
    "actually",
    "after all",
    "as i ",
    "deshalb",
    "e.g.",
    "especially",
    "for that ",
    "for this ",
    "however",
    "in any case",
    "in either ",
    "in other words",
    "in that ",
    "in this ca",
    "in this way",
    "like i ",
    "otherwise",
    "when i said",
];

/// Words that stand for something which was named before them.
const POINTING: &[&str] = &[
    "das", "dies", "es", "he", "it", "its", "she", "sie", "that", "them", "these", "they", "this",
    "those",
];

/// Words of a sentence in which one of [`POINTING`] stands for what was named before it; further on
/// it may stand for something in the sentence itself.
const POINTING_WORDS: usize = 4;

/// What is at hand wherever it is named: `this repository`.
const AT_HAND: &[&str] = &[
    "app",
    "codebase",
    "company",
    "machine",
    "module",
    "package",
    "project",
    "projekt",
    "repo",
    "service",
    "team",
    "week",
    "repository",
    "workspace",
];

/// Words after which `that` begins a clause.
const BEFORE_CLAUSE: [&str; 8] =
    ["remember", "note", "sure", "decided", "agreed", "ensure", "know", "important"];

/// Whether a sentence goes on with the one before it, or points to what was named there.
fn goes_on(sentence: &str) -> bool {
    let lower = folded(sentence);
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-')))
        .map(|word| word.split('\'').next().unwrap_or_default())
        .filter(|word| !word.is_empty())
        .collect();
    let is_at_hand = |at: usize| words.get(at + 1).is_some_and(|next| AT_HAND.contains(next));
    let is_clause = |at: usize| at > 0 && BEFORE_CLAUSE.contains(&words[at - 1]);
    let points = |at: usize| POINTING.contains(&words[at]) && !is_at_hand(at) && !is_clause(at);
    let leads_on = words.first().is_some_and(|first| GOING_ON.contains(first) && !is_ban(&lower));
    leads_on
        || GOING_ON_PHRASES.iter().any(|phrase| lower.starts_with(phrase))
        || (0..words.len().min(POINTING_WORDS)).any(points)
}

/// Whether a sentence that begins with "no" bans something: "no emojis in the docs".
fn is_ban(sentence: &str) -> bool {
    sentence.strip_prefix("no ").is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
}
