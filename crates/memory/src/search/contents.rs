//! Reads the content of a file that a record has beside its text, blob by blob. Whoever has the
//! record may read its content.

use std::io::{self, Read};

use crate::error::{Error, Result};
use crate::records::content::Content;
use crate::view::raw::RawView;
use crate::view::{View, blobs};

/// The bytes of a content, each blob checked against its name, and all of them against the hash at
/// the end. Reads one blob at a time.
#[derive(Debug)]
pub struct ContentReader<'a> {
    view: &'a View,
    content: &'a Content,
    next: usize,
    blob: Vec<u8>,
    /// How much of the blob was read.
    at: usize,
    hasher: blake3::Hasher,
    size: u64,
}

/// Opens the content of a record of this view's capsule.
#[must_use]
pub fn open<'a>(view: RawView<'a>, content: &'a Content) -> ContentReader<'a> {
    ContentReader {
        view: view.view(),
        content,
        next: 0,
        blob: Vec::new(),
        at: 0,
        hasher: blake3::Hasher::new(),
        size: 0,
    }
}

impl ContentReader<'_> {
    /// The next blob; empty at the end.
    ///
    /// # Errors
    /// `ContentDamaged` when a blob is missing, or they are not what was stored; what the disk or a
    /// damaged file reports.
    pub fn next_blob(&mut self) -> Result<Vec<u8>> {
        let Some(id) = self.content.blobs.get(self.next) else {
            let is_whole = self.size == self.content.size
                && *self.hasher.finalize().as_bytes() == self.content.hash;
            return if is_whole {
                Ok(Vec::new())
            } else {
                Err(self.damaged("its hash is another"))
            };
        };
        let bytes = blobs::read(self.view.store(), id)?;
        let bytes = bytes.ok_or_else(|| self.damaged("a part of it is missing"))?;
        self.next += 1;
        self.size += bytes.len() as u64;
        if self.size > self.content.size {
            return Err(self.damaged("it is larger than it says"));
        }
        self.hasher.update(&bytes);
        Ok(bytes)
    }

    fn damaged(&self, reason: &'static str) -> Error {
        Error::ContentDamaged { hash: self.content.hash(), reason }
    }
}

impl Read for ContentReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.blob.len() {
            self.blob = self.next_blob().map_err(io::Error::other)?;
            self.at = 0;
        }
        let count = (&self.blob[self.at..]).read(out)?;
        self.at += count;
        Ok(count)
    }
}
