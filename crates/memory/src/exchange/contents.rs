//! The content of files on its way between capsules: a record comes after the blobs that it has,
//! and only those travel that the other side lacks.

use crate::error::{Error, Result, misuse};
use crate::exchange::parcel::Parcel;
use crate::exchange::peer::Peer;
use crate::records::codec;
use crate::records::content::BlobId;
use crate::tables::lineage::Lineage;
use crate::view::{View, blobs};
use crate::write::contents::Blobs;
use crate::write::writer::Writer;

/// About so many bytes of blobs travel at once.
const BATCH_BYTES: usize = 32 << 20;
/// Most blobs that are asked about at once.
const ASKED_MAX: usize = 4096;

/// The blobs that these records have, each once.
fn blobs_of<'a>(parcels: impl IntoIterator<Item = &'a Parcel>) -> Result<Vec<BlobId>> {
    let mut ids = Vec::new();
    for parcel in parcels {
        let body = codec::decode(parcel.sequence, &parcel.body)?;
        ids.extend(body.record.content.into_iter().flat_map(|content| content.blobs));
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// The first of these blobs, as many as travel at once.
pub(crate) fn first_blobs(view: &View, ids: &[BlobId]) -> Result<Vec<Vec<u8>>> {
    let (mut blobs, mut bytes) = (Vec::new(), 0);
    for id in ids {
        let Some(blob) = blobs::read(view.store(), id)? else {
            return if blobs.is_empty() { Err(lacking(id)) } else { Ok(blobs) };
        };
        bytes += blob.len();
        blobs.push(blob);
        if bytes >= BATCH_BYTES {
            break;
        }
    }
    Ok(blobs)
}

fn lacking(id: &BlobId) -> Error {
    misuse(&format!("the blob {id} is missing"))
}

/// Whether a record has a file that may come: not if it is here already and was erased, or is to
/// be.
fn may_bring(view: &View, parcel: &Parcel) -> Result<bool> {
    let store = view.store();
    let body = codec::decode(parcel.sequence, &parcel.body)?;
    if body.record.content.is_none() {
        return Ok(false);
    }
    let uri = &body.record.uri;
    for sequence in store.revisions_under(uri, &Lineage::all())? {
        let here = store.body(sequence)?;
        let is_it = store.identity(sequence)? == parcel.identity;
        if here.erased.contains(&parcel.identity) || is_it && store.is_purged(uri, sequence)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says which record lacks a blob, and what helps. `place` is where it is lacking.
fn incomplete<'a>(
    parcels: impl IntoIterator<Item = &'a Parcel>,
    id: &BlobId,
    place: &str,
) -> Error {
    for parcel in parcels {
        let Ok(body) = codec::decode(parcel.sequence, &parcel.body) else { continue };
        if body.record.content.is_some_and(|content| content.blobs.contains(id)) {
            let uri = body.record.uri;
            return misuse(&format!(
                "a part of the file of {uri} was lost in {place} (blob {id}): put the same file \
                 there again, or purge {uri} there"
            ));
        }
    }
    lacking(id)
}

/// Brings the blobs that these records have and this capsule lacks, but for what was erased here.
/// Returns their bytes.
pub(crate) fn fetch(writer: &mut Writer, parcels: &[Parcel], peer: &mut dyn Peer) -> Result<u64> {
    let (mut alive, mut wanted) = (Vec::new(), Vec::new());
    for parcel in parcels {
        if may_bring(writer.view()?, parcel)? {
            alive.push(parcel);
        }
    }
    for id in blobs_of(alive.iter().copied())? {
        if !blobs::has(writer.view()?.store(), &id)? {
            wanted.push(id);
        }
    }
    let (mut bytes, mut rest) = (0, wanted.as_slice());
    while let Some(first) = rest.first() {
        let mut came = Blobs::default();
        let asked = &rest[..rest.len().min(ASKED_MAX)];
        let blobs = match peer.blobs(asked) {
            Err(_) if peer.lacks_blobs(&rest[..1])? == [true] => {
                return Err(incomplete(alive.iter().copied(), first, "the other capsule"));
            }
            answer => answer?,
        };
        let count = blobs.len();
        // No more than were asked for are looked at.
        let ids: Vec<BlobId> =
            blobs.into_iter().take(asked.len()).map(|blob| came.add(blob)).collect();
        if count == 0 || asked.get(..count) != Some(&ids) {
            return Err(misuse(&format!(
                "the other capsule sent something else than the blob {first}"
            )));
        }
        bytes += came.store(writer)?;
        rest = &rest[count..];
    }
    Ok(bytes)
}

/// Gives the other side the blobs that these records have and it lacks. Returns their bytes.
pub(crate) fn push(view: &View, parcels: &[Parcel], peer: &mut dyn Peer) -> Result<u64> {
    let mut bytes = 0;
    for ids in blobs_of(parcels)?.chunks(ASKED_MAX) {
        let lacks = peer.lacks_blobs(ids)?;
        let wanted = ids.iter().zip(lacks).filter(|(_, lacks)| *lacks).map(|(id, _)| *id);
        let wanted: Vec<BlobId> = wanted.collect();
        let mut rest = wanted.as_slice();
        while !rest.is_empty() {
            if !blobs::has(view.store(), &rest[0])? {
                return Err(incomplete(parcels, &rest[0], "this capsule"));
            }
            let blobs = first_blobs(view, rest)?;
            rest = &rest[blobs.len()..];
            bytes += blobs.iter().map(|blob| blob.len() as u64).sum::<u64>();
            peer.put_blobs(blobs)?;
        }
    }
    Ok(bytes)
}
