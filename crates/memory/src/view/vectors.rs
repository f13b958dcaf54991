//! The vectors of a memory. They lie in derived segments of the capsule, outside its history.
//!
//! All of one *epoch* were made by one model in one way; the lowest epoch is the one in force, a
//! higher one is on its way to replace it.

use std::sync::Arc;

use kapsa_capsule::{Snapshot, Tag};
use kapsa_index::{SegmentBytes, Sequences};
use kapsa_model::{DIMENSION_MAX, Model};

use super::segment_tables::CheckedSection;
use super::vector_block::{VectorBlock, label, model_of};
use super::{Store, View, attached};
use crate::error::Result;

/// Section of a derived segment that holds vectors.
pub(crate) const VECTORS: Tag = *b"vectors ";
const _: () =
    assert!(DIMENSION_MAX <= kapsa_index::DIMENSION_MAX, "what a model may give, a block can hold");

/// How much of a memory has vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The model in force; none when there are no vectors.
    pub model: Option<Model>,
    /// Records of the capsule whose vectors are there, those that need none included.
    pub covered: u64,
    /// Records that lack them.
    pub missing: u64,
    /// Number of vectors.
    pub vectors: u64,
    /// Bytes that they take in the file.
    pub bytes: u64,
    /// A model that is on its way to replace the one in force, and the records that have its
    /// vectors.
    pub next: Option<(Model, u64)>,
}

/// The vectors in a snapshot, opened.
pub(super) fn read_blocks(snapshot: &Snapshot) -> Result<Vec<VectorBlock>> {
    let mut blocks = Vec::new();
    for (index, meta) in snapshot.derived().iter().enumerate() {
        let Some(section) = snapshot.derived_section(index, VECTORS)? else { continue };
        let bytes = section.unchecked();
        let vectors = kapsa_index::Vectors::open(SegmentBytes::checked_by(
            Arc::new(CheckedSection(section)),
            bytes,
        ))?;
        blocks.push(VectorBlock {
            id: Some(meta.id),
            first_sequence: meta.first_sequence,
            file_bytes: meta.payload_len,
            vectors,
        });
    }
    let attached = attached::read(snapshot, &blocks)?;
    blocks.extend(attached);
    Ok(blocks)
}

/// The blocks that this model made.
pub(crate) fn of_model<'a>(
    store: &'a Store,
    model: &Model,
) -> Result<Vec<&'a kapsa_index::Vectors>> {
    let label = label(model);
    let fits = |block: &&VectorBlock| {
        block.vectors.label() == label && block.vectors.dimension() == model.dimension as usize
    };
    Ok(store.vector_blocks()?.iter().filter(fits).map(|block| &block.vectors).collect())
}

/// The model whose vectors are in force; none where there are none.
pub(crate) fn model(store: &Store) -> Result<Option<Model>> {
    let blocks = store.vector_blocks()?;
    let oldest = blocks.iter().min_by_key(|block| block.vectors.epoch());
    Ok(oldest.and_then(|block| model_of(block.vectors.label())))
}

/// First sequence of the stretch without vectors that ends before `sequence`; that itself when
/// there is none.
pub(crate) fn uncovered_since(view: &View, sequence: u64) -> Result<u64> {
    let blocks = view.store().vector_blocks()?;
    let epoch = blocks.iter().map(|block| block.vectors.epoch()).min();
    let old: Vec<&VectorBlock> =
        blocks.iter().filter(|block| Some(block.vectors.epoch()) == epoch).collect();
    let before = covered_by(&old)
        .ranges()
        .iter()
        .filter(|range| range.start < sequence)
        .map(|range| range.end)
        .max();
    Ok(before.unwrap_or(1).min(sequence))
}

pub(crate) fn covered_by(blocks: &[&VectorBlock]) -> Sequences {
    Sequences::new(
        blocks.iter().flat_map(|block| block.vectors.covered().ranges().iter().cloned()).collect(),
    )
}

pub(crate) fn count(sequences: &Sequences) -> u64 {
    sequences.ranges().iter().map(|range| range.end - range.start).sum()
}
