//! Blobs by their names, whatever branch they are for.

use kapsa_capsule::Stored;
use kapsa_index::Sequences;

use super::store::Store;
use crate::error::Result;
use crate::records::codec;
use crate::records::content::{BlobId, Content};
use crate::records::kinds::BLOB;
use crate::records::request::LIMIT_NONE;
use crate::records::uri::Uri;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;

/// The bytes of a blob; none where the capsule lacks it.
///
/// # Errors
/// What the disk or a damaged file reports.
pub(crate) fn read(store: &Store, id: &BlobId) -> Result<Option<Vec<u8>>> {
    for sequence in store.revisions_under(&Uri::blob(id), &Lineage::all())? {
        let stored = store.snapshot().record(sequence)?;
        if let Stored::Body(body) = stored.stored()
            && let Some(bytes) = codec::blob_in(body, id)
        {
            return Ok(Some(bytes.to_vec()));
        }
    }
    Ok(None)
}

/// Whether the capsule has a blob; does not read it. What else has such a name is none.
///
/// # Errors
/// What the disk or a damaged file reports.
pub(crate) fn has(store: &Store, id: &BlobId) -> Result<bool> {
    for sequence in store.revisions_under(&Uri::blob(id), &Lineage::all())? {
        if store.is_own(sequence)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The sequences of all blobs; reads none of them.
///
/// # Errors
/// What the disk or a damaged file reports.
pub(crate) fn sequences(store: &Store) -> Result<Sequences> {
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("kind:{BLOB}")]],
        seqs: Some(store.sequences(&Lineage::all(), Class::System)?),
        ..kapsa_index::Filter::default()
    };
    let found = store.searcher()?.oldest(&filter, LIMIT_NONE, None, &mut |_| true)?;
    Ok(Sequences::new(found.into_iter().map(|sequence| sequence..sequence + 1).collect()))
}

/// Whether the capsule has all of a content.
///
/// # Errors
/// What the disk or a damaged file reports.
pub(crate) fn has_all(store: &Store, content: &Content) -> Result<bool> {
    for blob in &content.blobs {
        if !has(store, blob)? {
            return Ok(false);
        }
    }
    Ok(true)
}
