//! What is embedded of a record: its title, the turn before it, who speaks, and one passage after
//! the other.

use std::collections::HashMap;
use std::ops::Range;

use kapsa_model::Embedder;

use crate::error::Result;
use crate::records::codec::Operation;
use crate::records::record::{NewRecord, Record};
use crate::view::View;
use crate::view::vectors::{session, session_in, speaker, speaker_among};

/// Most passages of one record that are embedded; words find the rest.
pub const PASSAGES_MAX: usize = 1024;
/// Bytes of the turn before that stand in front of a turn.
const CONTEXT_BYTES_MAX: usize = 300;
/// How many records back the turn before is looked for.
const CONTEXT_RECORDS: u64 = 8;

/// A passage of a record, and the text that stands for it.
pub(super) struct Passage {
    /// Where it lies, in bytes of the record's text.
    pub(super) range: Range<u32>,
    /// What is embedded.
    pub(super) text: String,
    /// Texts that differ in nothing but case, punctuation and spacing have the same.
    pub(super) hash: u64,
}

/// What a record says, whether it is stored or about to be.
struct Said<'a> {
    sequence: u64,
    title: &'a str,
    text: &'a str,
    speaker: &'a str,
    session: Option<&'a str>,
}

impl<'a> Said<'a> {
    fn of(record: &'a Record) -> Said<'a> {
        Said {
            sequence: record.sequence,
            title: &record.title,
            text: &record.text,
            speaker: speaker(record),
            session: session(record),
        }
    }

    fn of_new(record: &'a NewRecord, sequence: u64) -> Said<'a> {
        Said {
            sequence,
            title: &record.title,
            text: &record.text,
            speaker: speaker_among(&record.entity, &record.agent),
            session: session_in(&record.tags),
        }
    }

    fn line(&self, text: &str) -> String {
        match self.speaker {
            "" => text.to_string(),
            speaker => format!("{speaker}: {text}"),
        }
    }

    /// The turn as it stands in front of the next one, cut short.
    fn short(&self) -> String {
        let most = self.text.len().min(CONTEXT_BYTES_MAX);
        let end = (0..=most).rev().find(|&end| self.text.is_char_boundary(end)).unwrap_or(0);
        self.line(&self.text[..end])
    }
}

/// A turn of a conversation, cut short.
#[derive(Clone)]
struct Turn {
    sequence: u64,
    text: String,
}

/// What is embedded of records, and the last turns of the conversations met.
#[derive(Default)]
pub(super) struct Texts {
    turns: HashMap<String, Turn>,
}

impl Texts {
    /// The passages of a stored record; none of what is not a memory with a text.
    pub(super) fn of(
        &mut self,
        view: &View,
        sequence: u64,
        embedder: &dyn Embedder,
    ) -> Result<Vec<Passage>> {
        let body = view.store().body(sequence)?;
        let record = &body.record;
        if !body.is_embedded() {
            return Ok(Vec::new());
        }
        self.passages(view, &Said::of(record), embedder)
    }

    /// The passages of a record that is about to be stored as `sequence`.
    pub(super) fn of_new(
        &mut self,
        view: &View,
        record: &NewRecord,
        sequence: u64,
        embedder: &dyn Embedder,
    ) -> Result<Vec<Passage>> {
        if record.text.is_empty() {
            return Ok(Vec::new());
        }
        self.passages(view, &Said::of_new(record, sequence), embedder)
    }

    fn passages(
        &mut self,
        view: &View,
        said: &Said<'_>,
        embedder: &dyn Embedder,
    ) -> Result<Vec<Passage>> {
        let before = self.turn_before(view, said)?;
        let mut passages = Vec::new();
        for (number, range) in
            embedder.passages(said.text).into_iter().take(PASSAGES_MAX).enumerate()
        {
            let mut text = String::new();
            if !said.title.is_empty() {
                text = format!("{}\n", said.title);
            }
            if let (0, Some(before)) = (number, &before) {
                text = format!("{text}{before}\n");
            }
            text += &said.line(&said.text[range.clone()]);
            let hash = hash_of(&text);
            passages.push(Passage { range: range.start as u32..range.end as u32, text, hash });
        }
        Ok(passages)
    }

    /// The turn before a turn, cut short.
    fn turn_before(&mut self, view: &View, said: &Said<'_>) -> Result<Option<String>> {
        let Some(session) = said.session else { return Ok(None) };
        let mut before =
            self.turns.get(session).filter(|turn| turn.sequence < said.sequence).cloned();
        if before.is_none() {
            let stored = view.store().snapshot().commit().next_sequence.min(said.sequence);
            for sequence in (said.sequence.saturating_sub(CONTEXT_RECORDS).max(1)..stored).rev() {
                let other = view.store().body(sequence)?;
                if other.operation == Operation::Put
                    && self::session(&other.record) == Some(session)
                {
                    before = Some(Turn { sequence, text: Said::of(&other.record).short() });
                    break;
                }
            }
        }
        self.turns
            .insert(session.to_string(), Turn { sequence: said.sequence, text: said.short() });
        Ok(before.map(|turn| turn.text))
    }
}

/// Without case, punctuation and spacing: texts that differ in nothing else share a vector.
fn hash_of(text: &str) -> u64 {
    let mut plain = String::with_capacity(text.len());
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        plain.extend(word.chars().flat_map(char::to_lowercase));
        plain.push(' ');
    }
    xxhash_rust::xxh3::xxh3_64(if plain.is_empty() { text.as_bytes() } else { plain.as_bytes() })
}
