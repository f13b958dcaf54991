//! Which vectors does a memory have, and how does it get those that it lacks?
//!
//! Vectors are derived from records, so they lie in derived segments of the capsule, outside its history. All of one *epoch* were made by one
//! model in one way; the lowest epoch is the one in force, a higher one is on its way to replace it.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use kapsa_capsule::{DerivedDraft, Snapshot};
use kapsa_index::{Entry, Sequences, VectorsBuilder};
use kapsa_model::{Embedder, Model, Purpose};

use crate::error::{Error, Result};
use crate::records::codec::Operation;
use crate::records::record::Record;
use crate::view::vectors::{Block, VECTORS, count, covered, label, session, speaker};
use crate::view::{Store, View};
use crate::write::writer::{Progress, WriteOptions};

/// Records whose vectors are published in one commit.
const BATCH_RECORDS: usize = 64;
/// Most passages of one record that are embedded; words find the rest.
pub const PASSAGES_MAX: usize = 1024;
/// Of the turn before, so many bytes are put before a turn.
const CONTEXT_BYTES_MAX: usize = 300;
/// How many records back the turn before is looked for.
const CONTEXT_RECORDS: u64 = 8;
/// For fewer records than this the blocks are looked through, unless there is little in them.
const TABLE_RECORDS_MIN: usize = 8;
const TABLE_VECTORS_MIN: usize = 1024;
/// Blocks of about the same size that are merged into one.
const MERGED_BLOCKS: usize = 8;
/// Most vectors that a merge within a commit touches.
const MERGED_VECTORS_MAX: usize = 4096;
/// Most vectors in a block that `optimize` and `compact` make.
const BLOCK_VECTORS_MAX: usize = 1 << 18;

/// What is to be embedded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbedRequest {
    /// Only these records; all that lack vectors otherwise.
    pub sequences: Option<Range<u64>>,
    /// Whether to change to another model; otherwise it must be the one in force.
    pub change: bool,
    /// Stop after about so many records; none is all.
    pub records_max: Option<u64>,
}

/// What was embedded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbedReport {
    /// Records that were looked at.
    pub records: u64,
    /// Vectors that they got.
    pub vectors: u64,
    /// Of those, so many were there already for the same text.
    pub reused: u64,
    /// Records that still lack vectors of this model.
    pub missing: u64,
    /// Whether this model is the one that searches use.
    pub in_force: bool,
}

/// The set of vectors that is worked on.
struct Target {
    label: Vec<u8>,
    dimension: u32,
    epoch: u32,
    /// Derived segments of unfinished work with other models.
    stale: Vec<u64>,
    /// Derived segments that go when this set is complete.
    older: Vec<u64>,
}

impl Target {
    fn of(store: &Store, model: &Model, change: bool) -> Result<Target> {
        let label = label(model);
        let blocks = store.vector_blocks()?;
        let epochs: Vec<u32> = blocks.iter().map(|block| block.vectors.epoch()).collect();
        let ids =
            |wanted: &dyn Fn(&Block) -> bool| blocks.iter().filter(|block| wanted(block)).map(|block| block.meta.id).collect();
        let target = |epoch, stale, older| Ok(Target { label: label.clone(), dimension: model.dimension, epoch, stale, older });
        let (Some(&current), Some(&newest)) = (epochs.iter().min(), epochs.iter().max()) else {
            return target(0, Vec::new(), Vec::new());
        };
        let is_ours = |epoch: u32| blocks.iter().any(|block| block.vectors.epoch() == epoch && block.vectors.label() == label);
        if is_ours(current) {
            return target(current, Vec::new(), Vec::new());
        }
        if !change {
            let told = store.coverage()?.model.map_or_else(|| "another model".to_string(), |model| model.name);
            return Err(Error::OtherModel { in_force: told, asked: model.name.clone() });
        }
        let older = ids(&|block| block.vectors.epoch() == current);
        if newest > current && is_ours(newest) {
            return target(newest, Vec::new(), older);
        }
        target(newest + 1, ids(&|block| block.vectors.epoch() > current), older)
    }

    fn is_ours(&self, block: &Block) -> bool {
        block.vectors.epoch() == self.epoch && block.vectors.label() == self.label
    }

    fn covered(&self, store: &Store) -> Result<Sequences> {
        let ours: Vec<&Block> = store.vector_blocks()?.iter().filter(|block| self.is_ours(block)).collect();
        Ok(covered(&ours))
    }
}

/// Embeds what lacks vectors, a few records at a time, each a commit of its own: it can be stopped and gone on with at any moment. The lock is
/// taken only to publish. When a change of model is complete, the old model's vectors go.
///
/// # Errors
/// `OtherModel`; `Embedding` when the model fails; `LockedByWriter`; what the disk says.
pub fn embed(
    path: &Path,
    options: &WriteOptions,
    embedder: &dyn Embedder,
    request: &EmbedRequest,
    progress: Progress<'_>,
) -> Result<EmbedReport> {
    let mut report = EmbedReport::default();
    let mut texts = Texts::default();
    let mut total = None;
    loop {
        let view = View::new(Snapshot::open(path)?);
        let target = Target::of(view.store(), embedder.model(), request.change)?;
        let all = Sequences::from(1..view.store().snapshot().commit().next_sequence);
        let missing = all.difference(&target.covered(view.store())?);
        let wanted = request.sequences.clone().map_or_else(|| missing.clone(), |range| missing.intersection(&range.into()));
        let total = *total.get_or_insert_with(|| count(&wanted).min(request.records_max.unwrap_or(u64::MAX)));
        progress(report.records, Some(total));
        let left = request.records_max.map_or(u64::MAX, |most| most.saturating_sub(report.records));
        let sequences: Vec<u64> = wanted.ranges().iter().cloned().flatten().take(BATCH_RECORDS.min(left as usize)).collect();
        if sequences.is_empty() {
            let whole = request.change && missing.ranges().is_empty() && !target.older.is_empty();
            if whole && !finish_change(path, options, &target)? {
                continue;
            }
            report.missing = count(&missing);
            report.in_force = whole || target.older.is_empty();
            return Ok(report);
        }
        let made = make(&view, &target, &sequences, embedder, &mut texts)?;
        report.records += sequences.len() as u64;
        report.vectors += made.builder.len() as u64;
        report.reused += made.reused;
        publish(path, options, &view, &target, made.builder, embedder.model())?;
    }
}

/// Takes the old model's vectors out of force, unless records came in the meantime.
fn finish_change(path: &Path, options: &WriteOptions, target: &Target) -> Result<bool> {
    let mut writer = kapsa_capsule::Writer::open(path, &options.capsule())?;
    let snapshot = writer.snapshot()?;
    let next = snapshot.commit().next_sequence;
    let view = View::new(snapshot);
    if count(&target.covered(view.store())?) < next - 1 {
        return Ok(false);
    }
    let older: Vec<u64> =
        view.store().vector_blocks()?.iter().filter(|block| !target.is_ours(block)).map(|block| block.meta.id).collect();
    let mut transaction = writer.begin()?;
    transaction.drop_derived(&older)?;
    transaction.commit((options.clock)())?;
    Ok(true)
}

struct Made {
    builder: VectorsBuilder,
    reused: u64,
}

/// A vector of the same text that is there already: in a block, or on its way.
enum Known {
    Block(usize, usize),
    Text(usize),
}

fn make(view: &View, target: &Target, sequences: &[u64], embedder: &dyn Embedder, texts: &mut Texts) -> Result<Made> {
    let mut entries: Vec<(Entry, Known)> = Vec::new();
    let mut new: Vec<String> = Vec::new();
    let mut on_the_way: HashMap<u64, usize> = HashMap::new();
    let blocks: Vec<&Block> = view.store().vector_blocks()?.iter().filter(|block| target.is_ours(block)).collect();
    let known = known(&blocks, sequences.len())?;
    for &seq in sequences {
        for (passage, text) in texts.of(view, seq, embedder)? {
            let hash = hash_of(&text);
            let found = match (on_the_way.get(&hash), &known) {
                (Some(&at), _) => Known::Text(at),
                (None, Some(known)) if known.contains_key(&hash) => Known::Block(known[&hash].0, known[&hash].1),
                (None, known) => match if known.is_none() { look_up(&blocks, hash)? } else { None } {
                    Some((block, index)) => Known::Block(block, index),
                    None => {
                        on_the_way.insert(hash, new.len());
                        new.push(text);
                        Known::Text(new.len() - 1)
                    }
                },
            };
            entries.push((Entry { seq, passage, hash }, found));
        }
    }
    let embedded: Vec<&str> = new.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&embedded, Purpose::Passage).map_err(Error::Embedding)?;
    let fits = vectors.len() == new.len() && vectors.iter().all(|vector| vector.len() == target.dimension as usize);
    if !fits {
        let message = format!("{} gave vectors that are not as many or not as long as they should be", embedder.model().name);
        return Err(Error::Embedding(kapsa_model::EmbedError { message, hint: None }));
    }
    let mut builder = VectorsBuilder::new(&target.label, target.dimension, target.epoch);
    let reused = (entries.len() - new.len()) as u64;
    for (entry, known) in entries {
        match known {
            Known::Text(at) => builder.add(entry, &vectors[at]),
            Known::Block(block, index) => builder.add_from(entry, &blocks[block].vectors, index)?,
        }
    }
    sequences.iter().for_each(|&seq| builder.cover(seq..seq + 1));
    Ok(Made { builder, reused })
}

/// Where each text's vector is, worth making for many records only.
fn known(blocks: &[&Block], records: usize) -> Result<Option<HashMap<u64, (usize, usize)>>> {
    let total: usize = blocks.iter().map(|block| block.vectors.len()).sum();
    if records < TABLE_RECORDS_MIN && total > TABLE_VECTORS_MIN {
        return Ok(None);
    }
    let mut known = HashMap::with_capacity(total);
    for (number, block) in blocks.iter().enumerate() {
        for (index, entry) in block.vectors.entries()?.enumerate() {
            known.entry(entry.hash).or_insert((number, index));
        }
    }
    Ok(Some(known))
}

fn look_up(blocks: &[&Block], hash: u64) -> Result<Option<(usize, usize)>> {
    for (number, block) in blocks.iter().enumerate() {
        if let Some(index) = block.vectors.find(hash)? {
            return Ok(Some((number, index)));
        }
    }
    Ok(None)
}

/// Adds a new derived segment, together with small ones of about its size. What another process covered, or a compaction erased in the meantime is dropped:
/// the next round sees it.
fn publish(
    path: &Path,
    options: &WriteOptions,
    then: &View,
    target: &Target,
    mut builder: VectorsBuilder,
    model: &Model,
) -> Result<()> {
    let mut writer = kapsa_capsule::Writer::open(path, &options.capsule())?;
    let snapshot = writer.snapshot()?;
    let view = View::new(snapshot.clone());
    let now = Target::of(view.store(), model, true)?;
    let taken = now.covered(view.store())?.intersection(&builder.covered());
    let same = now.epoch == target.epoch && snapshot.file().generation == then.store().snapshot().file().generation;
    if !same || !taken.ranges().is_empty() {
        return Ok(());
    }
    let mut replaced = now.stale;
    let mut rest: Vec<&Block> = view.store().vector_blocks()?.iter().filter(|block| target.is_ours(block)).collect();
    loop {
        let tier = tier(builder.len());
        let (peers, others): (Vec<&Block>, Vec<&Block>) =
            rest.into_iter().partition(|block| self::tier(block.vectors.len()) == tier);
        let vectors: usize = peers.iter().map(|block| block.vectors.len()).sum();
        if peers.len() + 1 < MERGED_BLOCKS || vectors + builder.len() > MERGED_VECTORS_MAX {
            break;
        }
        for block in peers {
            builder.append(&block.vectors, &mut |_| true)?;
            replaced.push(block.meta.id);
        }
        rest = others;
    }
    let mut transaction = writer.begin()?;
    transaction.add_derived(derived(builder), &replaced)?;
    transaction.commit((options.clock)())?;
    Ok(())
}

/// Blocks of one tier differ in size by less than eight times.
fn tier(vectors: usize) -> u32 {
    vectors.max(1).ilog2() / 3
}

fn derived(builder: VectorsBuilder) -> DerivedDraft {
    let covered = builder.covered();
    let first = covered.ranges().first().map_or(1, |range| range.start);
    DerivedDraft {
        first_sequence: first,
        next_sequence: covered.end().max(first + 1),
        sections: vec![(VECTORS, builder.finish())],
    }
}

/// Few large derived segments in place of many, without the vectors of records that are `erased`.
pub(crate) fn merged(store: &Store, erased: &dyn Fn(u64) -> bool) -> Result<Vec<(DerivedDraft, Vec<u64>)>> {
    let blocks = store.vector_blocks()?;
    let mut merged: Vec<(DerivedDraft, Vec<u64>)> = Vec::new();
    let mut open: Option<(VectorsBuilder, Vec<u64>, &Block)> = None;
    let mut sorted: Vec<&Block> = blocks.iter().collect();
    sorted.sort_by_key(|block| (block.vectors.epoch(), block.meta.first_sequence));
    for block in sorted {
        let joins = open.as_ref().is_some_and(|(builder, _, first)| {
            let same = first.vectors.epoch() == block.vectors.epoch() && first.vectors.label() == block.vectors.label();
            same && builder.len() + block.vectors.len() <= BLOCK_VECTORS_MAX
        });
        if !joins {
            merged.extend(open.take().map(|(builder, ids, _)| (derived(builder), ids)));
        }
        let (builder, ids, _) = open.get_or_insert_with(|| {
            let dimension = block.vectors.dimension() as u32;
            (VectorsBuilder::new(block.vectors.label(), dimension, block.vectors.epoch()), Vec::new(), block)
        });
        builder.append(&block.vectors, &mut |seq| !erased(seq))?;
        ids.push(block.meta.id);
    }
    merged.extend(open.map(|(builder, ids, _)| (derived(builder), ids)));
    Ok(merged)
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

/// What is embedded of records, and the last turns of the conversations met.
#[derive(Default)]
struct Texts {
    turns: HashMap<String, (u64, String)>,
}

fn line(record: &Record, text: &str) -> String {
    match speaker(record) {
        "" => text.to_string(),
        speaker => format!("{speaker}: {text}"),
    }
}

impl Texts {
    /// The passages of a record, in bytes of its text, and what is embedded for each: the title, of the first passage of a turn the turn before,
    /// the speaker, and the passage itself.
    fn of(&mut self, view: &View, seq: u64, embedder: &dyn Embedder) -> Result<Vec<(Range<u32>, String)>> {
        let body = view.store().body(seq)?;
        let record = &body.record;
        if !body.is_embedded() {
            return Ok(Vec::new());
        }
        let before = self.turn_before(view, record)?;
        let mut texts = Vec::new();
        for (number, passage) in embedder.passages(&record.text).into_iter().take(PASSAGES_MAX).enumerate() {
            let mut text = String::new();
            if !record.title.is_empty() {
                text = format!("{}\n", record.title);
            }
            if let (0, Some(before)) = (number, &before) {
                text = format!("{text}{before}\n");
            }
            text += &line(record, &record.text[passage.clone()]);
            texts.push((passage.start as u32..passage.end as u32, text));
        }
        Ok(texts)
    }

    /// The turn before a turn, cut short.
    fn turn_before(&mut self, view: &View, record: &Record) -> Result<Option<String>> {
        let Some(session) = session(record) else { return Ok(None) };
        let mut before = self.turns.get(session).filter(|(seq, _)| *seq < record.sequence).cloned();
        if before.is_none() {
            for seq in (record.sequence.saturating_sub(CONTEXT_RECORDS).max(1)..record.sequence).rev() {
                let other = view.store().body(seq)?;
                if other.operation == Operation::Put && self::session(&other.record) == Some(session) {
                    before = Some((seq, short(&other.record)));
                    break;
                }
            }
        }
        self.turns.insert(session.to_string(), (record.sequence, short(record)));
        Ok(before.map(|(_, text)| text))
    }
}

fn short(record: &Record) -> String {
    let most = record.text.len().min(CONTEXT_BYTES_MAX);
    let end = (0..=most).rev().find(|&end| record.text.is_char_boundary(end)).unwrap_or(0);
    line(record, &record.text[..end])
}
