//! Vectors on their way into a derived segment: looked up where their text is known, made where it
//! is not.

use std::collections::HashMap;

use kapsa_capsule::DerivedDraft;
use kapsa_index::{Entry, Sequences, VectorsBuilder};
use kapsa_model::{EmbedError, Embedder, Model, Purpose};

use super::texts::Passage;
use crate::error::{Error, Result};
use crate::view::Store;
use crate::view::vector_block::{VectorBlock, label};
use crate::view::vectors::{self, VECTORS, covered_by};

/// For fewer records than this the blocks are looked through, unless there is little in them.
const TABLE_RECORDS_MIN: usize = 8;
const TABLE_VECTORS_MIN: usize = 1024;
/// Blocks of about the same size that are merged into one: few of them while they are small, since
/// each costs its entry in every manifest, and many of the large ones, which cost their own bytes
/// once more.
const MERGED_SMALL_BLOCKS: usize = 8;
const MERGED_LARGE_BLOCKS: usize = 128;
/// From how many vectors on a block is a large one.
const LARGE_VECTORS: usize = 64;
/// Most vectors that a merge within a commit touches.
const MERGED_VECTORS_MAX: usize = 1 << 14;

/// The set of vectors that is worked on.
pub(super) struct Target {
    pub(super) label: Vec<u8>,
    pub(super) dimension: u32,
    pub(super) epoch: u32,
    /// Derived segments of unfinished work with other models.
    pub(super) stale: Vec<u64>,
    /// Whether another model's vectors are in force, and go when this set is complete.
    pub(super) replaces_model: bool,
}

impl Target {
    pub(super) fn of(store: &Store, model: &Model, change: bool) -> Result<Target> {
        let label = label(model);
        let blocks = store.vector_blocks()?;
        let epochs: Vec<u32> = blocks.iter().map(|block| block.vectors.epoch()).collect();
        let ids = |wanted: &dyn Fn(&VectorBlock) -> bool| {
            blocks.iter().filter(|block| wanted(block)).filter_map(|block| block.id).collect()
        };
        let target = |epoch, stale, replaces_model| {
            let (label, dimension) = (label.clone(), model.dimension);
            Ok(Target { label, dimension, epoch, stale, replaces_model })
        };
        let (Some(&current), Some(&newest)) = (epochs.iter().min(), epochs.iter().max()) else {
            return target(0, Vec::new(), false);
        };
        let is_ours = |epoch: u32| {
            blocks
                .iter()
                .any(|block| block.vectors.epoch() == epoch && block.vectors.label() == label)
        };
        if is_ours(current) {
            return target(current, Vec::new(), false);
        }
        if !change {
            let in_force = match vectors::model(store)? {
                Some(other) if other == *model => "an earlier version of kapsa".to_string(),
                Some(other) => other.name,
                None => "another model".to_string(),
            };
            return Err(Error::OtherModel { in_force, asked: model.name.clone() });
        }
        if newest > current && is_ours(newest) {
            return target(newest, Vec::new(), true);
        }
        target(newest + 1, ids(&|block| block.vectors.epoch() > current), true)
    }

    /// Whether the vectors in force are those of this model, made of other parts of a record than
    /// today.
    pub(super) fn is_outdated(store: &Store, model: &Model) -> Result<bool> {
        let is_in_force = vectors::model(store)?.as_ref() == Some(model);
        let blocks = store.vector_blocks()?;
        let epoch = blocks.iter().map(|block| block.vectors.epoch()).min();
        let mut in_force = blocks.iter().filter(|block| Some(block.vectors.epoch()) == epoch);
        let label = label(model);
        Ok(is_in_force && in_force.all(|block| block.vectors.label() != label))
    }

    pub(super) fn is_ours(&self, block: &VectorBlock) -> bool {
        block.vectors.epoch() == self.epoch && block.vectors.label() == self.label
    }

    pub(super) fn covered(&self, store: &Store) -> Result<Sequences> {
        let ours: Vec<&VectorBlock> =
            store.vector_blocks()?.iter().filter(|block| self.is_ours(block)).collect();
        Ok(covered_by(&ours))
    }
}

/// Where the vector of a text is.
enum Known {
    /// In a block, by its number and the vector's.
    Block(usize, usize),
    /// Among those that are made.
    Made(usize),
}

/// Passages with their vectors, not yet bound to the place of their records.
pub(super) struct Gathered<'a> {
    target: &'a Target,
    blocks: Vec<&'a VectorBlock>,
    known: Option<HashMap<u64, (usize, usize)>>,
    on_the_way: HashMap<u64, usize>,
    texts: Vec<String>,
    entries: Vec<(Entry, Known)>,
    vectors: Vec<Vec<f32>>,
}

impl<'a> Gathered<'a> {
    /// Begins with what `store` knows of the target's model; `records` is about how many are to
    /// come.
    pub(super) fn new(
        store: &'a Store,
        target: &'a Target,
        records: usize,
    ) -> Result<Gathered<'a>> {
        let blocks: Vec<&VectorBlock> =
            store.vector_blocks()?.iter().filter(|block| target.is_ours(block)).collect();
        Ok(Gathered {
            known: known(&blocks, records)?,
            target,
            blocks,
            on_the_way: HashMap::new(),
            texts: Vec::new(),
            entries: Vec::new(),
            vectors: Vec::new(),
        })
    }

    /// Adds the passages of one record.
    pub(super) fn add(&mut self, seq: u64, passages: Vec<Passage>) -> Result<()> {
        for Passage { range, text, hash } in passages {
            let found = match self.look_up(hash)? {
                Some(found) => found,
                None => {
                    self.on_the_way.insert(hash, self.texts.len());
                    self.texts.push(text);
                    Known::Made(self.texts.len() - 1)
                }
            };
            self.entries.push((Entry { seq, passage: range, hash }, found));
        }
        Ok(())
    }

    fn look_up(&self, hash: u64) -> Result<Option<Known>> {
        if let Some(&at) = self.on_the_way.get(&hash) {
            return Ok(Some(Known::Made(at)));
        }
        if let Some(known) = &self.known {
            return Ok(known.get(&hash).map(|&(block, index)| Known::Block(block, index)));
        }
        for (number, block) in self.blocks.iter().enumerate() {
            if let Some(index) = block.vectors.find(hash)? {
                return Ok(Some(Known::Block(number, index)));
            }
        }
        Ok(None)
    }

    /// Makes the vectors that nothing had.
    ///
    /// # Errors
    /// `Embedding` when the model fails, or gives what does not fit.
    pub(super) fn embed(&mut self, embedder: &dyn Embedder) -> Result<()> {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        self.vectors = if texts.is_empty() {
            Vec::new()
        } else {
            embedder.embed(&texts, Purpose::Passage).map_err(Error::Embedding)?
        };
        let dimension = self.target.dimension as usize;
        if self.vectors.len() == texts.len()
            && self.vectors.iter().all(|vector| vector.len() == dimension)
        {
            return Ok(());
        }
        let name = &embedder.model().name;
        let message =
            format!("{name} gave vectors that are not as many or not as long as they should be");
        Err(Error::Embedding(EmbedError { message, hint: None }))
    }

    /// How many vectors were known already.
    pub(super) fn reused(&self) -> u64 {
        (self.entries.len() - self.texts.len()) as u64
    }

    /// The block of these vectors.
    pub(super) fn build(&self) -> Result<VectorsBuilder> {
        let mut builder =
            VectorsBuilder::new(&self.target.label, self.target.dimension, self.target.epoch);
        for (entry, known) in &self.entries {
            match known {
                Known::Made(at) => builder.add(entry.clone(), &self.vectors[*at]),
                Known::Block(block, index) => {
                    builder.add_from(entry.clone(), &self.blocks[*block].vectors, *index)?;
                }
            }
        }
        Ok(builder)
    }
}

/// Where each text's vector is, worth making for many records only.
fn known(blocks: &[&VectorBlock], records: usize) -> Result<Option<HashMap<u64, (usize, usize)>>> {
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

/// Derived segments that a commit publishes with its records, and the ids of those that it takes
/// the place of.
#[derive(Debug)]
pub(crate) struct DerivedSegments {
    pub(crate) draft: DerivedDraft,
    pub(crate) replaces: Vec<u64>,
    /// Set of vectors that they are of.
    pub(crate) epoch: u32,
}

/// Adds to new vectors the small blocks of about their size, and to `replaces` the ids of those.
pub(super) fn join_peers(
    store: &Store,
    target: &Target,
    builder: &mut VectorsBuilder,
    replaces: &mut Vec<u64>,
) -> Result<()> {
    let joins = |block: &&VectorBlock| block.id.is_some() && target.is_ours(block);
    let mut rest: Vec<&VectorBlock> = store.vector_blocks()?.iter().filter(joins).collect();
    loop {
        let tier = tier(builder.len());
        let merged =
            if builder.len() < LARGE_VECTORS { MERGED_SMALL_BLOCKS } else { MERGED_LARGE_BLOCKS };
        let (peers, others): (Vec<&VectorBlock>, Vec<&VectorBlock>) =
            rest.into_iter().partition(|block| self::tier(block.vectors.len()) == tier);
        let vectors: usize = peers.iter().map(|block| block.vectors.len()).sum();
        if peers.len() + 1 < merged || vectors + builder.len() > MERGED_VECTORS_MAX {
            return Ok(());
        }
        for block in peers {
            builder.append(&block.vectors, &mut |_| true)?;
            replaces.extend(block.id);
        }
        rest = others;
    }
}

/// The vectors that are attached to the tail as derived segments, for a commit that covers it with
/// an index segment: an attachment does not outlive the tail. `tail` is as it was indexed, `now` as
/// it is when the segment is published; `new` are more vectors.
pub(super) fn detached(
    tail: &Store,
    now: &Store,
    mut new: Option<(&Target, VectorsBuilder)>,
) -> Result<Vec<DerivedSegments>> {
    let mut segments = Vec::new();
    for block in tail.vector_blocks()?.iter().filter(|block| block.id.is_none()) {
        let vectors = &block.vectors;
        let ours = new.take_if(|(target, _)| target.is_ours(block));
        let target = Target {
            label: vectors.label().to_vec(),
            dimension: vectors.dimension() as u32,
            epoch: vectors.epoch(),
            stale: Vec::new(),
            replaces_model: false,
        };
        let mut builder = VectorsBuilder::new(&target.label, target.dimension, target.epoch);
        builder.append(vectors, &mut |_| true)?;
        let mut replaces = Vec::new();
        if let Some((target, more)) = ours {
            let more = kapsa_index::Vectors::open(more.finish().into())?;
            builder.append(&more, &mut |_| true)?;
            replaces.clone_from(&target.stale);
        }
        join_peers(now, &target, &mut builder, &mut replaces)?;
        segments.push(DerivedSegments { draft: derived(builder), replaces, epoch: target.epoch });
    }
    if let Some((target, mut builder)) = new {
        let mut replaces = target.stale.clone();
        join_peers(now, target, &mut builder, &mut replaces)?;
        segments.push(DerivedSegments { draft: derived(builder), replaces, epoch: target.epoch });
    }
    Ok(segments)
}

pub(super) fn add_derived(
    transaction: &mut kapsa_capsule::Transaction<'_>,
    derived: Vec<DerivedSegments>,
) -> Result<()> {
    for DerivedSegments { draft, replaces, .. } in derived {
        transaction.add_derived(draft, &replaces)?;
    }
    Ok(())
}

/// Blocks of one tier differ in size by less than eight times.
fn tier(vectors: usize) -> u32 {
    vectors.max(1).ilog2() / 3
}

/// The derived segment that holds these vectors.
pub(super) fn derived(builder: VectorsBuilder) -> DerivedDraft {
    let covered = builder.covered();
    let first = covered.ranges().first().map_or(1, |range| range.start);
    DerivedDraft {
        first_sequence: first,
        next_sequence: covered.end().max(first + 1),
        sections: vec![(VECTORS, builder.finish())],
    }
}
