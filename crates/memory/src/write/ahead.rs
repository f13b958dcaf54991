//! Vectors of records that are about to be put: made before the lock is taken, published in the
//! commit of the records.
//!
//! Nothing here can fail a put: what does not fit the capsule any more once the lock is held is
//! dropped, and the records go alone.

use std::ops::Range;

use kapsa_index::VectorsBuilder;
use kapsa_model::{Embedder, Model};

use super::gather::{DerivedSegments, Gathered, Target, derived, detached, join_peers};
use super::texts;
use crate::error::Result;
use crate::records::record::{Micros, NewRecord, Record};
use crate::search::reader::Reader;
use crate::view::attached;
use crate::view::vectors::uncovered_since;
use crate::view::{Store, View};

/// Most records of a put whose vectors are made at once.
pub const SMALL_PUT_RECORDS_MAX: usize = 64;
/// Most bytes of text of a put whose vectors are made at once: half a second's work.
pub const SMALL_PUT_BYTES_MAX: usize = 32 << 10;
/// Records before a put that lack vectors are given some as well when they are older than this, in
/// microseconds: whoever wrote younger ones may still be at it.
const LEFT_AFTER_US: Micros = 30_000_000;

/// Whether records with these texts are so few and short that a put makes their vectors at once.
pub fn is_small_put<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let (mut records, mut bytes) = (0, 0);
    for text in texts {
        records += 1;
        bytes += text.len();
    }
    records <= SMALL_PUT_RECORDS_MAX && bytes <= SMALL_PUT_BYTES_MAX
}

/// Vectors for records that have no place in the log yet.
#[derive(Debug)]
pub struct NewVectors {
    builder: VectorsBuilder,
    model: Model,
    epoch: u32,
    generation: u64,
    /// Earlier records that lacked vectors and get them along with the rest.
    left: Range<u64>,
    /// Sequence that the first new record would have had when this was made.
    first: u64,
    records: u64,
}

impl NewVectors {
    /// Makes the vectors of `records`, which are to be put in this order, and of the few before
    /// them that were left without.
    ///
    /// # Errors
    /// `OtherModel` when another model is in force; `Embedding` when the model fails; what a
    /// damaged file reports.
    pub(super) fn make(
        view: &View,
        records: &[NewRecord],
        embedder: &dyn Embedder,
        now: Micros,
    ) -> Result<NewVectors> {
        let store = view.store();
        let first = store.snapshot().commit().next_sequence;
        let target = Target::of(store, embedder.model(), false)?;
        let left = left_behind(view, first, now)?;
        let mut gathered = Gathered::new(store, &target, records.len())?;
        for sequence in left.clone() {
            gathered.add(sequence, texts::of_stored(view, sequence, embedder)?)?;
        }
        for (sequence, record) in (first..).zip(records) {
            gathered.add(sequence, texts::of_new(record, embedder))?;
        }
        gathered.embed(embedder)?;
        Ok(NewVectors {
            builder: gathered.build()?,
            model: embedder.model().clone(),
            epoch: target.epoch,
            generation: store.snapshot().file().generation,
            left,
            first,
            records: records.len() as u64,
        })
    }

    /// The vectors for the records, now that they have their places: so many, and what the capsule
    /// adds to their commit. None when another model came into force, another file took the place
    /// of this one, or the number of records is another.
    ///
    /// # Errors
    /// What a damaged file reports.
    pub(super) fn place(
        mut self,
        store: &Store,
        places: Range<u64>,
        records: u64,
    ) -> Result<Option<PlacedVectors>> {
        let first = places.start;
        let target = Target::of(store, &self.model, true)?;
        let same =
            target.epoch == self.epoch && store.snapshot().file().generation == self.generation;
        if !same || records != self.records || first < self.first {
            return Ok(None);
        }
        if !self.left.is_empty() {
            let taken = target.covered(store)?.intersection(&self.left.clone().into());
            if !taken.ranges().is_empty() {
                // Somebody embedded those in the meantime.
                return Ok(None);
            }
            self.builder.cover(self.left.clone());
        }
        self.builder.renumber(self.first, first);
        self.builder.cover(places);
        let attachment = (self.left.is_empty() && target.stale.is_empty())
            .then(|| attachment(store, &target, &self.builder, first))
            .transpose()?
            .flatten();
        Ok(Some(PlacedVectors { target, builder: self.builder, attachment }))
    }
}

/// What is attached to the records of a commit whose first is `first`; none where it does not fit.
fn attachment(
    store: &Store,
    target: &Target,
    builder: &VectorsBuilder,
    first: u64,
) -> Result<Option<Vec<u8>>> {
    let is_known = store.vector_blocks()?.iter().any(|block| target.is_ours(block));
    Ok(attached::encode(builder, first, target.epoch, &target.label, is_known))
}

/// Vectors of records that have their places.
pub(super) struct PlacedVectors {
    target: Target,
    builder: VectorsBuilder,
    /// The same as an attachment, where they can be one.
    attachment: Option<Vec<u8>>,
}

impl PlacedVectors {
    /// Attaches them to the records of `transaction`, where that is small enough. Returns whether
    /// it was.
    ///
    /// # Errors
    /// As [`kapsa_capsule::Transaction::attach`].
    pub(super) fn attach(
        &mut self,
        transaction: &mut kapsa_capsule::Transaction<'_>,
    ) -> Result<bool> {
        let fits = |bytes: &mut Vec<u8>| transaction.is_small_with(bytes.len());
        let Some(bytes) = self.attachment.take_if(fits) else { return Ok(false) };
        if !bytes.is_empty() {
            transaction.attach(bytes)?;
        }
        Ok(true)
    }

    /// As a derived segment, together with small ones.
    ///
    /// # Errors
    /// What a damaged file reports.
    pub(super) fn segment(mut self, store: &Store) -> Result<DerivedSegments> {
        let mut replaces = self.target.stale.clone();
        join_peers(store, &self.target, &mut self.builder, &mut replaces)?;
        Ok(DerivedSegments { draft: derived(self.builder), replaces, epoch: self.target.epoch })
    }

    /// As derived segments, together with the vectors that are attached to the tail.
    ///
    /// # Errors
    /// What a damaged file reports.
    pub(super) fn with_tail(self, store: &Store) -> Result<Vec<DerivedSegments>> {
        detached(store, store, Some((&self.target, self.builder)))
    }
}

/// The records right before `first` that were left without vectors, when they are few and as old as
/// this: branches, tasks and the like are written without. Empty, and ending at `first`, otherwise.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn left_without_vectors(reader: &Reader, first: u64, now: Micros) -> Result<Range<u64>> {
    left_behind(reader.view(), first, now)
}

fn left_behind(view: &View, first: u64, now: Micros) -> Result<Range<u64>> {
    let none = first..first;
    let left = uncovered_since(view, first)?..first;
    if left.is_empty() || left.end - left.start > SMALL_PUT_RECORDS_MAX as u64 {
        return Ok(none);
    }
    if now - view.store().record(first - 1)?.committed_at <= LEFT_AFTER_US {
        return Ok(none);
    }
    let records: Vec<Record> =
        left.clone().map(|sequence| view.store().record(sequence)).collect::<Result<_>>()?;
    Ok(if is_small_put(records.iter().map(|record| record.text.as_str())) { left } else { none })
}
