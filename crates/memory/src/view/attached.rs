//! Vectors that are attached to the records of small commits, while those are in the tail: a put
//! pays for the numbers of its vector and for little else.
//!
//! An attachment names its model by a hash where a block of the same epoch has the whole label, and
//! holds the label itself where none does. What it cannot name any more is as if it were missing:
//! vectors can be made again.

use kapsa_capsule::{Attachment, Snapshot};
use kapsa_index::VectorsBuilder;

use super::vector_block::{VectorBlock, model_of};
use crate::error::{Error, Result};

const VERSION: u8 = 1;
/// Version, epoch, length of the label (2): 0 for its hash instead.
const HEAD_BYTES: usize = 4;
const HASH_BYTES: usize = 4;

/// Of which model and set the vectors of an attachment are.
struct Set {
    epoch: u32,
    label: Vec<u8>,
    dimension: u32,
}

impl Set {
    fn is_of(&self, epoch: u32, label: &[u8]) -> bool {
        self.epoch == epoch && self.label == label
    }
}

/// The attachment that holds the vectors of records from `first` on; none when they do not fit one.
/// `is_known` says whether a block of the capsule has this epoch and label.
pub(crate) fn encode(
    builder: &VectorsBuilder,
    first: u64,
    epoch: u32,
    label: &[u8],
    is_known: bool,
) -> Option<Vec<u8>> {
    let packed = builder.pack(first)?;
    let mut out = vec![VERSION, u8::try_from(epoch).ok()?];
    let written = if is_known { 0 } else { u16::try_from(label.len()).ok()? };
    out.extend_from_slice(&written.to_le_bytes());
    if is_known {
        out.extend_from_slice(&hash(label));
    } else {
        out.extend_from_slice(label);
    }
    out.extend_from_slice(&packed);
    Some(out)
}

/// Tells the models of one epoch apart, of which there is rarely more than one.
fn hash(label: &[u8]) -> [u8; HASH_BYTES] {
    (xxhash_rust::xxh3::xxh3_64(label) as u32).to_le_bytes()
}

/// The vectors that are attached to the tail, one block for each model; `known` are the other
/// blocks.
pub(super) fn read(snapshot: &Snapshot, known: &[VectorBlock]) -> Result<Vec<VectorBlock>> {
    let mut sets: Vec<Set> = Vec::new();
    for block in known {
        let (epoch, label) = (block.vectors.epoch(), block.vectors.label());
        if !sets.iter().any(|set| set.is_of(epoch, label)) {
            let dimension = block.vectors.dimension() as u32;
            sets.push(Set { epoch, label: label.to_vec(), dimension });
        }
    }
    let mut open: Vec<(usize, Building)> = Vec::new();
    for attachment in snapshot.attachments()? {
        let Some(Parsed { set, packed }) = parse(attachment, &mut sets)? else { continue };
        let at = match open.iter().position(|(known, _)| *known == set) {
            Some(at) => at,
            None => {
                open.push((set, Building::new(&sets[set], attachment.first_sequence)));
                open.len() - 1
            }
        };
        open[at].1.add(attachment, packed)?;
    }
    open.into_iter().map(|(_, building)| building.finish()).collect()
}

struct Building {
    builder: VectorsBuilder,
    first_sequence: u64,
    file_bytes: u64,
}

impl Building {
    fn new(set: &Set, first_sequence: u64) -> Building {
        let builder = VectorsBuilder::new(&set.label, set.dimension, set.epoch);
        Building { builder, first_sequence, file_bytes: 0 }
    }

    fn add(&mut self, attachment: &Attachment, packed: &[u8]) -> Result<()> {
        self.builder.append_packed(attachment.first_sequence, packed)?;
        self.builder.cover(attachment.first_sequence..attachment.next_sequence);
        self.file_bytes += attachment.bytes.len() as u64;
        Ok(())
    }

    fn finish(self) -> Result<VectorBlock> {
        Ok(VectorBlock {
            id: None,
            first_sequence: self.first_sequence,
            file_bytes: self.file_bytes,
            vectors: kapsa_index::Vectors::open(self.builder.finish().into())?,
        })
    }
}

/// An attachment's vectors, and the number of their set.
struct Parsed<'a> {
    set: usize,
    packed: &'a [u8],
}

/// Reads an attachment; a set that it is the first to name is added to `sets`. None when nobody
/// knows its model any more.
fn parse<'a>(attachment: &'a Attachment, sets: &mut Vec<Set>) -> Result<Option<Parsed<'a>>> {
    let damaged = || Error::Index(kapsa_index::Error::Damaged("attached vectors".to_string()));
    let (head, rest) = attachment.bytes.split_at_checked(HEAD_BYTES).ok_or_else(damaged)?;
    if head[0] != VERSION {
        return Err(damaged());
    }
    let epoch = u32::from(head[1]);
    let label_len = u16::from_le_bytes([head[2], head[3]]) as usize;
    if label_len == 0 {
        let (hashed, packed) = rest.split_at_checked(HASH_BYTES).ok_or_else(damaged)?;
        let named = |set: &Set| set.epoch == epoch && hash(&set.label) == hashed;
        return Ok(sets.iter().position(named).map(|set| Parsed { set, packed }));
    }
    let (label, packed) = rest.split_at_checked(label_len).ok_or_else(damaged)?;
    let set = match sets.iter().position(|set| set.is_of(epoch, label)) {
        Some(set) => set,
        None => {
            let dimension = model_of(label).ok_or_else(damaged)?.dimension;
            if !(1..=kapsa_index::DIMENSION_MAX).contains(&dimension) {
                return Err(damaged());
            }
            sets.push(Set { epoch, label: label.to_vec(), dimension });
            sets.len() - 1
        }
    };
    Ok(Some(Parsed { set, packed }))
}
