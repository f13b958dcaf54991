//! Shows tantivy the files of segments that are already in memory.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, FileSlice, Lock, OwnedBytes, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::store::Compressor;
use tantivy::{Directory, HasLen, Index, IndexSettings, Segment};

use crate::blob::Blob;
use crate::error::{Error, Result};
use crate::schema::{SCHEMA, tokenizers};
use crate::segment_bytes::SegmentBytes;
use crate::shared_bytes::owned_bytes;

/// A document store without a document, which stands in for that of every segment.
pub(crate) static EMPTY_STORE: &[u8] = include_bytes!("stand_ins/empty.store");

/// Positions of fields that have none, which tantivy wants to see.
pub(crate) static NO_POSITIONS: &[u8] = include_bytes!("stand_ins/none.pos");

/// A read-only directory of segments, named by their place in the list.
#[derive(Debug, Clone)]
struct BlobDirectory {
    blobs: Arc<Vec<Blob>>,
}

/// Segments as one tantivy index.
pub(crate) struct BlobIndex {
    blobs: Arc<Vec<Blob>>,
    index: Index,
}

impl BlobIndex {
    pub(crate) fn new(blobs: Vec<Blob>) -> Result<BlobIndex> {
        let blobs = Arc::new(blobs);
        let directory = BlobDirectory { blobs: Arc::clone(&blobs) };
        let mut index = Index::create(directory, SCHEMA.clone(), settings()).map_err(damaged)?;
        index.set_tokenizers(tokenizers());
        Ok(BlobIndex { blobs, index })
    }

    pub(crate) fn blobs(&self) -> &[Blob] {
        &self.blobs
    }

    pub(crate) fn segment(&self, ord: usize) -> Segment {
        let meta = self.index.new_segment_meta(segment_id(ord), self.blobs[ord].documents);
        self.index.segment(meta)
    }
}

/// No compression and no helper thread: the document store is empty.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

pub(crate) fn damaged(error: impl ToString) -> Error {
    Error::Damaged(error.to_string())
}

fn segment_id(ord: usize) -> SegmentId {
    SegmentId::from_uuid_string(&format!("{ord:032x}")).expect("32 hexadecimal digits")
}

/// Place of the segment and of the file that tantivy calls `path`.
fn parse_path(path: &Path) -> Option<(usize, SegmentComponent)> {
    let ord = u128::from_str_radix(path.file_stem()?.to_str()?, 16).ok()?;
    let component = SegmentComponent::try_from(path.extension()?.to_str()?).ok()?;
    Some((usize::try_from(ord).ok()?, component))
}

impl BlobDirectory {
    fn file(&self, path: &Path) -> Option<Arc<dyn FileHandle>> {
        let (ord, component) = parse_path(path)?;
        let blob = self.blobs.get(ord)?;
        match component {
            SegmentComponent::Store => Some(Arc::new(EMPTY_STORE)),
            SegmentComponent::Positions => Some(Arc::new(NO_POSITIONS)),
            SegmentComponent::Terms => Some(dictionary_file(blob.component(&component)?)),
            _ => Some(Arc::new(BlobFile { bytes: blob.component(&component)?, dictionary: false })),
        }
    }
}

/// The term dictionaries of a segment, for tantivy.
pub(crate) fn dictionary_file(bytes: SegmentBytes) -> Arc<dyn FileHandle> {
    Arc::new(BlobFile { bytes, dictionary: true })
}

/// A file of a blob, each part checked before tantivy gets it.
#[derive(Debug)]
struct BlobFile {
    bytes: SegmentBytes,
    /// A long part is a whole dictionary, and [`Terms`](crate::terms::Terms) checks what is read
    /// of it.
    dictionary: bool,
}

/// The footers of dictionaries are shorter, the dictionaries that are shorter may as well be
/// checked.
const FOOTER_BYTES_MAX: usize = 1024;

impl FileHandle for BlobFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if !self.dictionary || range.len() <= FOOTER_BYTES_MAX {
            self.bytes.check(range.clone()).map_err(io::Error::other)?;
        }
        Ok(owned_bytes(self.bytes.bytes().slice(range)))
    }
}

impl HasLen for BlobFile {
    fn len(&self) -> usize {
        self.bytes.len()
    }
}

fn read_only() -> io::Error {
    io::Error::from(io::ErrorKind::ReadOnlyFilesystem)
}

impl Directory for BlobDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.file(path).ok_or_else(|| missing(path))
    }

    fn open_read(&self, path: &Path) -> Result<FileSlice, OpenReadError> {
        self.get_file_handle(path).map(FileSlice::new)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.into() })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.file(path).is_some())
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), PathBuf::from(path)))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        Err(missing(path))
    }

    /// tantivy writes the list of segments when the index is made; nobody reads it.
    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(
        &self,
        _lock: &Lock,
    ) -> Result<DirectoryLock, tantivy::directory::error::LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

fn missing(path: &Path) -> OpenReadError {
    OpenReadError::FileDoesNotExist(PathBuf::from(path))
}
