//! What is embedded of a record: its title, who speaks, and one passage after the other. Nothing of
//! another record: who may know a vector may know all that it was made of.

use std::ops::Range;

use kapsa_model::Embedder;

use crate::error::Result;
use crate::records::record::NewRecord;
use crate::records::turn::{speaker, speaker_among};
use crate::view::View;

/// Most passages of one record that are embedded; words find the rest.
pub const PASSAGES_MAX: usize = 1024;

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
    title: &'a str,
    text: &'a str,
    speaker: &'a str,
}

/// The passages of a stored record; none of what is not a memory with a text.
pub(super) fn of_stored(
    view: &View,
    sequence: u64,
    embedder: &dyn Embedder,
) -> Result<Vec<Passage>> {
    // What is kept of a session may be large, and is never embedded.
    if view.store().is_system(sequence)? {
        return Ok(Vec::new());
    }
    let body = view.store().body(sequence)?;
    let record = &body.record;
    if !body.is_embedded() {
        return Ok(Vec::new());
    }
    let said = Said { title: &record.title, text: &record.text, speaker: speaker(record) };
    Ok(passages(&said, embedder))
}

/// The passages of a record that is about to be stored.
pub(super) fn of_new(record: &NewRecord, embedder: &dyn Embedder) -> Vec<Passage> {
    if record.text.is_empty() {
        return Vec::new();
    }
    let speaker = speaker_among(&record.entity, &record.agent, &record.tags);
    passages(&Said { title: &record.title, text: &record.text, speaker }, embedder)
}

fn passages(said: &Said<'_>, embedder: &dyn Embedder) -> Vec<Passage> {
    let ranges = embedder.passages(said.text).into_iter().take(PASSAGES_MAX);
    let passage = |range: Range<usize>| {
        let passage = &said.text[range.clone()];
        let title = if said.title.is_empty() { "" } else { "\n" };
        let names = if said.speaker.is_empty() { "" } else { ": " };
        let text = [said.title, title, said.speaker, names, passage].concat();
        let hash = hash_of(&text);
        Passage { range: range.start as u32..range.end as u32, text, hash }
    };
    ranges.map(passage).collect()
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
