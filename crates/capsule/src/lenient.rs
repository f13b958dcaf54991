//! A file read around its bad sectors: for those who save what there is.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::storage::Storage;

/// Bytes that are given up together when the disk does not give them back.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// A file whose unreadable pages are read as zeros, which no checksum takes for what was written.
#[derive(Debug)]
pub(crate) struct Lenient {
    file: Arc<dyn Storage>,
    /// Offsets of the pages that could not be read.
    unreadable: Mutex<BTreeSet<u64>>,
}

impl Lenient {
    pub(crate) fn over(file: Arc<dyn Storage>) -> Arc<Lenient> {
        Arc::new(Lenient { file, unreadable: Mutex::default() })
    }

    /// The pages that could not be read so far, ascending.
    pub(crate) fn unreadable(&self) -> Vec<u64> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

fn is_bad_sector(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EIO)
}

impl Storage for Lenient {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.file.read_at(buffer, offset) {
            Err(error) if is_bad_sector(&error) => {}
            read => return read,
        }
        // The rest of the first page alone: the next call goes on from there.
        let page = offset / PAGE_BYTES * PAGE_BYTES;
        let len = buffer.len().min((page + PAGE_BYTES - offset) as usize);
        match self.file.read_at(&mut buffer[..len], offset) {
            Err(error) if is_bad_sector(&error) => {}
            read => return read,
        }
        let left = self.file.len()?.saturating_sub(offset);
        let len = len.min(usize::try_from(left).unwrap_or(usize::MAX));
        buffer[..len].fill(0);
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).insert(page);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn read_medium(&self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        self.file.read_medium(offset, len)
    }

    fn map(&self, _len: u64) -> io::Result<Option<Bytes>> {
        // What is mapped cannot be read around.
        Ok(None)
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn identity(&self) -> Option<(u64, u64)> {
        self.file.identity()
    }
}

#[cfg(test)]
mod tests;
