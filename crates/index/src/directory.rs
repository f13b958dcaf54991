//! How does tantivy find the files of segments that are already in memory?

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{DirectoryLock, FileHandle, FileSlice, Lock, OwnedBytes, WatchCallback, WatchHandle, WritePtr};
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::store::Compressor;
use tantivy::{Directory, Index, IndexSettings, Segment, SegmentReader};

use crate::blob::{Blob, FILES};
use crate::schema::{SCHEMA, tokenizers};
use crate::segment::{EMPTY_STORE, NO_POSITIONS};
use crate::shared_bytes::owned_bytes;
use crate::{Error, Result};

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

    pub(crate) fn open(&self, ord: usize) -> Result<SegmentReader> {
        SegmentReader::open(&self.segment(ord)).map_err(damaged)
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
    fn bytes(&self, path: &Path) -> Option<OwnedBytes> {
        let (ord, component) = parse_path(path)?;
        let blob = self.blobs.get(ord)?;
        match component {
            SegmentComponent::Store => Some(OwnedBytes::new(EMPTY_STORE)),
            SegmentComponent::Positions => Some(OwnedBytes::new(NO_POSITIONS)),
            _ => {
                let index = FILES.iter().position(|file| *file == component)?;
                Some(owned_bytes(blob.file(index)))
            }
        }
    }
}

fn read_only() -> io::Error {
    io::Error::from(io::ErrorKind::ReadOnlyFilesystem)
}

impl Directory for BlobDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.open_read(path).map(|slice| Arc::new(slice) as Arc<dyn FileHandle>)
    }

    fn open_read(&self, path: &Path) -> Result<FileSlice, OpenReadError> {
        let bytes = self.bytes(path).ok_or_else(|| missing(path))?;
        Ok(FileSlice::new(Arc::new(bytes)))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.into() })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.bytes(path).is_some())
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

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, tantivy::directory::error::LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

fn missing(path: &Path) -> OpenReadError {
    OpenReadError::FileDoesNotExist(PathBuf::from(path))
}
