//! Stores the content of files as blobs, each once. Knows no file: bytes come in.
//!
//! Blobs are committed as they come, before the record that has them: a large file neither fills
//! the memory nor holds the lock for long. What no record has is erased by the next compaction; a
//! record is refused whose content is not there any more.

use std::collections::BTreeSet;
use std::io::Read;

use fastcdc::v2020::StreamCDC;

use super::pending::{Name, Pending, What};
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::records::codec::Envelope;
use crate::records::content::{
    BLOB_BYTES, BLOB_BYTES_MAX, BLOB_BYTES_MIN, BlobId, CONTENT_BYTES_MAX, CONTENT_NAME_BYTES_MAX,
    Content,
};
use crate::records::uri::Uri;
use crate::search::contents;
use crate::view::blobs;
use crate::view::raw::RawView;

/// About so many bytes of blobs are committed at once.
const COMMIT_BYTES: usize = 32 << 20;

/// What is said of a content beside its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentNames {
    /// Name of the file, without folders; at most 255 bytes.
    pub name: String,
    /// Media type; at most 255 bytes.
    pub media_type: String,
}

/// Reads the content of a file and gives it to `commit` in parts of about 32 MiB; what the capsule
/// has already is left out there. `read` hears how many bytes were read so far.
///
/// # Errors
/// `InvalidRecord` for names or content beyond the limits; `Source` when reading fails; what
/// `commit` returns.
pub fn split(
    names: ContentNames,
    source: &mut dyn Read,
    read: &mut dyn FnMut(u64),
    commit: &mut dyn FnMut(Blobs) -> Result<()>,
) -> Result<Content> {
    for name in [&names.name, &names.media_type] {
        if name.len() > CONTENT_NAME_BYTES_MAX {
            let reason = "it is longer than 255 bytes";
            return Err(Error::InvalidRecord { field: "name of the content", reason });
        }
    }
    let mut content = Content {
        size: 0,
        hash: [0; 32],
        media_type: names.media_type,
        name: names.name,
        blobs: Vec::new(),
    };
    let mut hasher = blake3::Hasher::new();
    let mut waiting = Blobs::default();
    // One byte more than is allowed shows that there is more.
    let bounded = source.take(CONTENT_BYTES_MAX + 1);
    for chunk in StreamCDC::new(bounded, BLOB_BYTES_MIN, BLOB_BYTES, BLOB_BYTES_MAX) {
        let bytes = chunk.map_err(|error| Error::Source {
            path: content.name.clone().into(),
            source: error.into(),
        })?;
        let bytes = bytes.data;
        content.size += bytes.len() as u64;
        if content.size > CONTENT_BYTES_MAX {
            let reason = "it is larger than 4 GiB";
            return Err(Error::InvalidRecord { field: "content", reason });
        }
        hasher.update(&bytes);
        content.blobs.push(waiting.add(bytes));
        if waiting.bytes >= COMMIT_BYTES {
            commit(std::mem::take(&mut waiting))?;
        }
        read(content.size);
    }
    if !waiting.blobs.is_empty() {
        commit(waiting)?;
    }
    content.hash = *hasher.finalize().as_bytes();
    Ok(content)
}

/// Blobs on their way into a capsule.
#[derive(Clone, Default)]
pub struct Blobs {
    blobs: Vec<(BlobId, Vec<u8>)>,
    known: BTreeSet<BlobId>,
    bytes: usize,
}

impl std::fmt::Debug for Blobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blobs").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Blobs {
    /// Adds one.
    pub(crate) fn add(&mut self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        if self.known.insert(id) {
            self.bytes += bytes.len();
            self.blobs.push((id, bytes));
        }
        id
    }

    /// Stores those that the capsule lacks, in one commit. Returns their bytes.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn store(self, writer: &mut Writer) -> Result<u64> {
        let (mut missing, mut bytes) = (Vec::new(), 0);
        for (id, blob) in self.blobs {
            if !blobs::has(writer.view()?.store(), &id)? {
                bytes += blob.len() as u64;
                missing.push(pending(blob));
            }
        }
        if !missing.is_empty() {
            writer.write(missing)?;
        }
        Ok(bytes)
    }
}

/// Stores the content of another capsule's record in this one, before the record: a commit for
/// every few blobs.
///
/// # Errors
/// `ContentDamaged` when a part of it was lost there; what the disk or a damaged file reports.
pub fn copy(from: RawView<'_>, content: &Content, writer: &mut Writer) -> Result<()> {
    let mut reader = contents::open(from, content);
    loop {
        let mut waiting = Blobs::default();
        while waiting.bytes < COMMIT_BYTES {
            let blob = reader.next_blob()?;
            if blob.is_empty() {
                return waiting.store(writer).map(drop);
            }
            waiting.add(blob);
        }
        waiting.store(writer)?;
    }
}

/// A blob of these bytes, on `main` whoever needs it: nothing is seen of it there.
fn pending(bytes: Vec<u8>) -> Pending {
    let name = Name::Given(Uri::blob(&BlobId::of(&bytes)));
    let envelope = Envelope { system: true, ..Envelope::default() };
    Pending { name, what: What::Blob(bytes), envelope }
}
