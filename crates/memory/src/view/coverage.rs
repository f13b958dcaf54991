//! How much of a memory has vectors.

use std::sync::Arc;

use kapsa_index::Sequences;

use super::store::Store;
use super::vector_block::{VectorBlock, model_of};
use super::vectors::{Coverage, count, covered_by};
use super::{blobs, counts};
use crate::error::Result;
use crate::records::codec::Body;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

/// Most records of the segments that are looked at for whether they need vectors.
const LOOKED_AT_MAX: u64 = 256;

/// How much of all has vectors; counted once for each store.
pub(crate) fn coverage(store: &Store) -> Result<&Coverage> {
    if let Some(coverage) = store.coverage.get() {
        return Ok(coverage);
    }
    let coverage = count_all(store)?;
    Ok(store.coverage.get_or_init(|| coverage))
}

/// How much has vectors. Records that have nothing to embed count as covered, as far as they can be
/// looked at.
fn count_all(store: &Store) -> Result<Coverage> {
    let blocks = store.vector_blocks()?;
    let next = store.snapshot().commit().next_sequence;
    let records = counts::records(store)?.records;
    let Some(epoch) = blocks.iter().map(|block| block.vectors.epoch()).min() else {
        return Ok(Coverage { missing: records, ..Coverage::default() });
    };
    let (old, new): (Vec<&VectorBlock>, Vec<&VectorBlock>) =
        blocks.iter().partition(|block| block.vectors.epoch() == epoch);
    let with_vectors = covered_by(&old);
    // What is no record, such as a blob, needs none.
    let covered = count(&with_vectors) + needing_none(store, &with_vectors)?;
    let missing = (next - 1).saturating_sub(covered);
    let blobs = blobs::sequences(store)?;
    let next_model = new.last().and_then(|block| model_of(block.vectors.label()));
    Ok(Coverage {
        model: model_of(old[0].vectors.label()),
        covered: records.saturating_sub(missing),
        missing,
        vectors: old.iter().map(|block| block.vectors.len() as u64).sum(),
        bytes: old.iter().map(|block| block.file_bytes).sum(),
        next: next_model.map(|model| (model, count(&covered_by(&new).difference(&blobs)))),
    })
}

/// How many records lack vectors and need none, such as branches, blobs and tombstones: those of
/// the tail, and of the segments what the capsule wrote about itself; the others where so few lack
/// vectors that all can be looked at.
fn needing_none(store: &Store, covered: &Sequences) -> Result<u64> {
    let tail = store.tail()?;
    let needs_some = |body: &Option<Arc<Body>>| body.as_deref().is_some_and(Body::is_embedded);
    let records = (tail.first_sequence..).zip(&tail.bodies);
    let of_tail = records.filter(|(at, body)| !covered.contains(*at) && !needs_some(body));
    let mut needs_none = of_tail.count() as u64;
    let lacking = Sequences::from(1..tail.first_sequence.max(1)).difference(covered);
    let system = store.sequences(&Lineage::all(), Class::System)?;
    let indexed = lacking.difference(&system);
    needs_none += count(&lacking) - count(&indexed);
    if count(&indexed) <= LOOKED_AT_MAX {
        for sequence in indexed.ranges().iter().cloned().flatten() {
            needs_none += u64::from(!store.body(sequence)?.is_embedded());
        }
    }
    Ok(needs_none)
}
