//! Vectors that come along with records, from another capsule or another branch: of the model in
//! force here, or of any where there are none.

use std::collections::HashMap;
use std::ops::Range;

use kapsa_capsule::DerivedDraft;
use kapsa_index::{Entry, Vectors, VectorsBuilder};

use super::gather::{Target, derived, join_peers};
use super::writer::Writer;
use crate::error::Result;
use crate::view::Store;

/// Vectors of the records `wanted` as blocks to be sent, one for each model.
pub(crate) fn blocks_of(store: &Store, wanted: &[u64]) -> Result<Vec<Vec<u8>>> {
    let places: HashMap<u64, Vec<u64>> = wanted.iter().map(|&seq| (seq, vec![seq])).collect();
    let blocks = store.vector_blocks()?;
    let Some(epoch) = blocks.iter().map(|block| block.vectors.epoch()).min() else {
        return Ok(Vec::new());
    };
    let mut sent: Vec<VectorsBuilder> = Vec::new();
    for block in blocks.iter().filter(|block| block.vectors.epoch() == epoch) {
        let vectors = &block.vectors;
        if !wanted.iter().any(|&seq| vectors.covered().contains(seq)) {
            continue;
        }
        let mut builder = VectorsBuilder::new(vectors.label(), vectors.dimension() as u32, 0);
        take(&mut builder, vectors, &places, &|_, _| Ok(true))?;
        sent.push(builder);
    }
    Ok(sent.into_iter().map(VectorsBuilder::finish).collect())
}

/// The vectors in force of the records in `places`, under the sequences that they have elsewhere.
pub(crate) fn copied(
    store: &Store,
    places: &HashMap<u64, Vec<u64>>,
) -> Result<Option<DerivedDraft>> {
    let blocks = store.vector_blocks()?;
    let Some(like) = blocks.iter().map(|block| &block.vectors).min_by_key(|one| one.epoch()) else {
        return Ok(None);
    };
    let mut builder = VectorsBuilder::new(like.label(), like.dimension() as u32, 0);
    let in_force = |vectors: &&Vectors| {
        vectors.epoch() == like.epoch()
            && vectors.label() == like.label()
            && vectors.dimension() == like.dimension()
    };
    for vectors in blocks.iter().map(|block| &block.vectors).filter(in_force) {
        take(&mut builder, vectors, places, &|_, _| Ok(true))?;
    }
    Ok((!builder.covered().ranges().is_empty()).then(|| derived(builder)))
}

/// Adds the vectors of the records that are wanted and fit, under their new sequences.
fn take(
    builder: &mut VectorsBuilder,
    from: &Vectors,
    places: &HashMap<u64, Vec<u64>>,
    fits: &dyn Fn(u64, &Range<u32>) -> Result<bool>,
) -> Result<()> {
    for (index, entry) in from.entries()?.enumerate() {
        for &seq in places.get(&entry.seq).into_iter().flatten() {
            let (passage, hash) = (entry.passage.clone(), entry.hash);
            if !fits(seq, &passage)? {
                continue;
            }
            builder.add_from(Entry { seq, passage, hash }, from, index)?;
        }
    }
    for (there, here) in places.iter().filter(|(there, _)| from.covered().contains(**there)) {
        debug_assert!(*there > 0, "sequences begin with 1");
        here.iter().for_each(|&seq| builder.cover(seq..seq + 1));
    }
    Ok(())
}

/// Gives records that were just written the vectors that they have elsewhere: `places` has the
/// sequences here by those there.
pub(crate) fn carry(
    writer: &mut Writer,
    from: &[Vectors],
    places: &HashMap<u64, Vec<u64>>,
) -> Result<()> {
    let now = (writer.options.clock)();
    let store = writer.view()?.store();
    let in_force = store.vector_blocks()?.iter().map(|block| &block.vectors);
    let Some(like) = in_force.min_by_key(|vectors| vectors.epoch()).or(from.first()) else {
        return Ok(());
    };
    let target = Target {
        label: like.label().to_vec(),
        dimension: like.dimension() as u32,
        epoch: like.epoch(),
        stale: Vec::new(),
        replaces_model: false,
    };
    let mut builder = VectorsBuilder::new(&target.label, target.dimension, target.epoch);
    let fits = |vectors: &&Vectors| {
        vectors.label() == target.label && vectors.dimension() == target.dimension as usize
    };
    for vectors in from.iter().filter(fits) {
        take(&mut builder, vectors, places, &|seq, passage| fits_its_text(store, seq, passage))?;
    }
    if builder.covered().ranges().is_empty() {
        return Ok(());
    }
    let mut replaces = Vec::new();
    join_peers(store, &target, &mut builder, &mut replaces)?;
    let mut transaction = writer.capsule_mut().begin()?;
    transaction.add_derived(derived(builder), &replaces)?;
    transaction.commit(now)?;
    Ok(())
}

/// Whether a passage lies in the text of its record: what came from elsewhere may say anything.
fn fits_its_text(store: &Store, seq: u64, passage: &Range<u32>) -> Result<bool> {
    let record = store.record(seq)?;
    let range = passage.start as usize..passage.end as usize;
    Ok(!record.system && record.text.get(range).is_some())
}
