//! Embedding what lacks vectors, and the change from one model to another: a few records a commit,
//! so that it can be stopped and gone on with at any moment.
//!
//! All vectors of one *epoch* were made by one model in one way; the lowest epoch is the one in
//! force, a higher one is on its way to replace it.

use std::ops::Range;
use std::path::Path;

use kapsa_capsule::{DerivedDraft, Snapshot};
use kapsa_index::{Sequences, VectorsBuilder};
use kapsa_model::{Embedder, Model};

use super::gather::{Gathered, Target, add_derived, derived, detached, join_peers};
use super::index_batch::index_batch;
use super::options::{Progress, WriteOptions};
use super::texts;
use crate::error::Result;
use crate::view::vector_block::VectorBlock;
use crate::view::vectors::count;
use crate::view::{Store, View};

/// Records whose vectors are published in one commit.
const BATCH_RECORDS: usize = 64;
/// Most vectors in a block that `optimize` and `compact` make.
const BLOCK_VECTORS_MAX: usize = 1 << 18;

/// What is to be embedded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbedRequest {
    /// Only these records; all that lack vectors otherwise.
    pub sequences: Option<Range<u64>>,
    /// Whether to change to another model; otherwise it must be the one in force.
    pub change: bool,
    /// Stop after about so many records, the newest ones; none is all.
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

/// Embeds what lacks vectors, the newest records first, a few at a time and those a commit of their
/// own: it can be stopped and gone on with at any moment. The lock is taken only to publish. When a
/// change of model is complete, the old model's vectors go.
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
    let mut change = request.change;
    let mut total = None;
    loop {
        let view = View::new(Snapshot::open(path)?);
        change |= Target::is_outdated(view.store(), embedder.model())?;
        let target = Target::of(view.store(), embedder.model(), change)?;
        let all = Sequences::from(1..view.store().snapshot().commit().next_sequence);
        let missing = all.difference(&target.covered(view.store())?);
        let wanted = request
            .sequences
            .clone()
            .map_or_else(|| missing.clone(), |range| missing.intersection(&range.into()));
        let total = *total
            .get_or_insert_with(|| count(&wanted).min(request.records_max.unwrap_or(u64::MAX)));
        progress(report.records, Some(total));
        let left = request.records_max.map_or(u64::MAX, |most| most.saturating_sub(report.records));
        // What was put last is asked for first.
        let newest_first = wanted.ranges().iter().rev().cloned().flat_map(Iterator::rev);
        let mut sequences: Vec<u64> = newest_first.take(BATCH_RECORDS.min(left as usize)).collect();
        sequences.reverse();
        if sequences.is_empty() {
            let whole = change && missing.ranges().is_empty() && target.replaces_model;
            if whole && !finish_change(path, options, &target)? {
                continue;
            }
            report.missing = count(&missing);
            report.in_force = whole || !target.replaces_model;
            return Ok(report);
        }
        let mut gathered = Gathered::new(view.store(), &target, sequences.len())?;
        for &sequence in &sequences {
            gathered.add(sequence, texts::of_stored(&view, sequence, embedder)?)?;
        }
        gathered.embed(embedder)?;
        let mut builder = gathered.build()?;
        sequences.iter().for_each(|&sequence| builder.cover(sequence..sequence + 1));
        report.records += sequences.len() as u64;
        report.vectors += builder.len() as u64;
        report.reused += gathered.reused();
        publish(path, options, &view, &target, builder, embedder.model())?;
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
    let older: Vec<u64> = view
        .store()
        .vector_blocks()?
        .iter()
        .filter(|block| !target.is_ours(block))
        .filter_map(|block| block.id)
        .collect();
    // Those of the older model that are attached to the tail go with it.
    let attached = view.store().vector_blocks()?.iter().any(|block| block.id.is_none());
    let (segments, kept) = if attached {
        (index_batch(&view, &[], || Ok(()))?, detached(view.store(), view.store(), None)?)
    } else {
        (Vec::new(), Vec::new())
    };
    let mut transaction = writer.begin()?;
    for segment in segments {
        transaction.add_segment(segment)?;
    }
    let ours = kept.into_iter().filter(|segment| segment.epoch == target.epoch).collect();
    add_derived(&mut transaction, ours)?;
    transaction.drop_derived(&older)?;
    transaction.commit((options.clock)())?;
    Ok(true)
}

/// Adds a new derived segment, together with small ones of about its size. What another process
/// covered or a compaction erased in the meantime is dropped: the next round sees it.
fn publish(
    path: &Path,
    options: &WriteOptions,
    then: &View,
    target: &Target,
    mut builder: VectorsBuilder,
    model: &Model,
) -> Result<()> {
    let mut writer = kapsa_capsule::Writer::open(path, &options.capsule())?;
    let view = View::new(writer.snapshot()?);
    let store = view.store();
    let now = Target::of(store, model, true)?;
    let taken = now.covered(store)?.intersection(&builder.covered());
    let generation = |view: &View| view.store().snapshot().file().generation;
    if now.epoch != target.epoch
        || generation(&view) != generation(then)
        || !taken.ranges().is_empty()
    {
        return Ok(());
    }
    let mut replaces = now.stale.clone();
    join_peers(store, target, &mut builder, &mut replaces)?;
    let mut transaction = writer.begin()?;
    transaction.add_derived(derived(builder), &replaces)?;
    transaction.commit((options.clock)())?;
    Ok(())
}

/// Few large derived segments in place of those that `takes` accepts, without the vectors of
/// records that are `erased`.
pub(crate) fn merged(
    store: &Store,
    takes: &dyn Fn(&VectorBlock) -> bool,
    erased: &dyn Fn(u64) -> bool,
) -> Result<Vec<(DerivedDraft, Vec<u64>)>> {
    let blocks = store.vector_blocks()?.iter().filter(|block| takes(block));
    let mut merged: Vec<(DerivedDraft, Vec<u64>)> = Vec::new();
    let mut open: Option<(VectorsBuilder, Vec<u64>, &VectorBlock)> = None;
    let mut sorted: Vec<&VectorBlock> = blocks.collect();
    sorted.sort_by_key(|block| (block.vectors.epoch(), block.first_sequence));
    for block in sorted {
        let joins = open.as_ref().is_some_and(|(builder, _, first)| {
            let same = first.vectors.epoch() == block.vectors.epoch()
                && first.vectors.label() == block.vectors.label();
            same && builder.len() + block.vectors.len() <= BLOCK_VECTORS_MAX
        });
        if !joins {
            merged.extend(open.take().map(|(builder, ids, _)| (derived(builder), ids)));
        }
        let (builder, ids, _) = open.get_or_insert_with(|| {
            let dimension = block.vectors.dimension() as u32;
            (
                VectorsBuilder::new(block.vectors.label(), dimension, block.vectors.epoch()),
                Vec::new(),
                block,
            )
        });
        builder.append(&block.vectors, &mut |seq| !erased(seq))?;
        ids.extend(block.id);
    }
    merged.extend(open.map(|(builder, ids, _)| (derived(builder), ids)));
    Ok(merged)
}
