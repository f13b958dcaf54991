//! What people said: their messages in order, weighed sentence by sentence, with what they answer.

use std::collections::HashSet;

use kapsa_ingest::{Place, Session, Speaker, Turn, TurnKind};
use serde_json::Value;

use crate::acts::{Act, WEIGHT_MIN, Weighed, announces, folded, weigh, wonders};
use crate::prose::{self, Paragraph};
use crate::words::content;

/// Words after a colon from which on they are what is not to be kept.
const WITHHELD_WORDS_MIN: usize = 2;
/// Shortest message that a program may have written, in bytes.
const MACHINE_BYTES_MIN: usize = 600;

/// What a sentence gains in a list of rules.
const LISTED_WEIGHT: f64 = 1.0;

/// What a sentence loses in a list of questions.
const WONDERED_WEIGHT: f64 = 2.0;

/// A message of a person.
pub(crate) struct Message<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) paragraphs: Vec<Said>,
    /// What the assistant said between the message before and this one.
    pub(crate) before: Vec<&'a Turn>,
    /// What the assistant said between this message and the next one.
    pub(crate) replies: Vec<&'a Turn>,
    /// The question that a tool asked, if this answers one.
    pub(crate) asked: Option<&'a Value>,
}

/// A paragraph, weighed.
pub(crate) struct Said {
    pub(crate) paragraph: Paragraph,
    /// One for each sentence.
    pub(crate) weights: Vec<Weighed>,
}

impl Said {
    fn new(paragraph: Paragraph) -> Self {
        let mut weights: Vec<Weighed> =
            paragraph.sentences.iter().map(|sentence| weigh(sentence)).collect();
        // "Forget about A." is one with what comes instead, which stands after it.
        for at in 1..weights.len() {
            if weights[at - 1].does(Act::Leaves) {
                let left = paragraph.sentences[at - 1].trim_end_matches(['.', '!']);
                let both = weigh(&format!("{left}, {}", paragraph.sentences[at]));
                if both.weight > weights[at].weight {
                    weights[at] = both;
                }
            }
        }
        // "Remember that" and "forget that rule" are about what stands before them.
        for at in 0..weights.len() {
            let says_nothing = content(&paragraph.sentences[at]).is_empty();
            let remembers = weights[at].does(Act::Remembers) && says_nothing;
            if remembers || weights[at].does(Act::Lifts) {
                let points = std::mem::replace(&mut weights[at].weight, 0.0);
                if let Some(before) = at.checked_sub(1) {
                    weights[before].weight += points;
                }
            }
        }
        // What is listed under "works like so:" is as much a rule as what follows "must".
        if let Some(lead) = paragraph.sentences.iter().position(|sentence| announces(sentence)) {
            for listed in &mut weights[lead + 1..] {
                listed.weight += LISTED_WEIGHT;
            }
        }
        if let Some(lead) = paragraph.sentences.iter().position(|sentence| wonders(sentence)) {
            for listed in &mut weights[lead + 1..] {
                listed.weight -= WONDERED_WEIGHT;
            }
        }
        Self { paragraph, weights }
    }

    /// Which sentences are kept, in their order.
    pub(crate) fn kept(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|at| self.is_kept(*at)).collect()
    }

    /// Whether a sentence is kept.
    pub(crate) fn is_kept(&self, at: usize) -> bool {
        self.weights[at].weight >= WEIGHT_MIN
    }
}

/// The messages of people in a session; one that is repeated word by word is there once, where it
/// was said last.
pub(crate) fn messages(session: &Session) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    let mut before = Vec::new();
    let mut asked = None;
    for turn in &session.turns {
        match (turn.speaker, turn.kind) {
            (Speaker::User, TurnKind::Text) => {
                let paragraphs = prose::paragraphs(&turn.text).into_iter().map(Said::new).collect();
                let before = std::mem::take(&mut before);
                messages.push(Message { turn, paragraphs, before, replies: Vec::new(), asked });
                asked = None;
            }
            (Speaker::Assistant, TurnKind::Text) => {
                if let Some(last) = messages.last_mut() {
                    last.replies.push(turn);
                }
                before.push(turn);
            }
            (_, TurnKind::ToolCall) => {
                let call = turn.call.as_ref();
                asked = call.map(|call| &call.arguments).filter(|it| it.get("questions").is_some());
            }
            _ => {}
        }
    }
    // Somebody who tries again says the same again.
    let mut said = HashSet::new();
    let mut last: Vec<Message<'_>> = Vec::new();
    while let Some(message) = messages.pop() {
        if said.insert(folded(&message.turn.text)) {
            last.push(message);
        }
    }
    last.reverse();
    last
}

impl Message<'_> {
    /// Whether it was written by a program for a program: a long text that says what form the
    /// answer has to have.
    pub(crate) fn is_machines(&self) -> bool {
        const FORMS: [&str; 6] = [
            "return only",
            "respond only with",
            "output only",
            "valid json",
            "no markdown fences",
            "json schema",
        ];
        let text = &self.turn.text;
        text.len() >= MACHINE_BYTES_MIN && {
            let lower = text.to_lowercase();
            FORMS.iter().any(|form| lower.contains(form))
        }
    }

    /// Whether it asks that it, or what is before it, be left out of the memory.
    pub(crate) fn withholds(&self) -> bool {
        self.paragraphs.iter().flat_map(|said| &said.weights).any(|it| it.does(Act::Withholds))
    }

    /// Whether what it asks to leave out is in itself: "do not save this: …", or among others.
    pub(crate) fn withholds_itself(&self) -> bool {
        let said = self
            .paragraphs
            .iter()
            .flat_map(|said| said.weights.iter().zip(&said.paragraph.sentences));
        let mut sentences = 0;
        let has_own = said
            .inspect(|_| sentences += 1)
            .filter(|(weighed, _)| weighed.does(Act::Withholds))
            .any(|(_, sentence)| {
                let own = sentence.split_once(':').map_or("", |(_, own)| own);
                own.split_whitespace().count() >= WITHHELD_WORDS_MIN
            });
        has_own || sentences > 1
    }

    /// What of it was typed.
    pub(crate) fn prose(&self) -> String {
        let sentences = self.paragraphs.iter().flat_map(|said| &said.paragraph.sentences);
        sentences.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// A sentence of a person, and why it is kept or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// Where its message stands.
    pub place: Place,
    /// The sentence, as it was typed.
    pub sentence: String,
    /// What it does.
    pub acts: Vec<Act>,
    /// What its cues weigh together.
    pub weight: f64,
    /// Whether that is enough.
    pub is_kept: bool,
}

/// Every sentence that people typed in a session, and why it is kept or not.
#[must_use]
pub fn explain(session: &Session) -> Vec<Explained> {
    let messages = messages(session);
    let said = messages
        .iter()
        .flat_map(|message| message.paragraphs.iter().map(move |said| (message.turn.place, said)));
    said.flat_map(|(place, said)| {
        said.paragraph.sentences.iter().zip(&said.weights).map(move |(sentence, weighed)| {
            Explained {
                place,
                sentence: sentence.clone(),
                acts: weighed.acts.clone(),
                weight: weighed.weight,
                is_kept: weighed.weight >= WEIGHT_MIN,
            }
        })
    })
    .collect()
}
