//! A folder that is written as a whole, and how an export that is one is known again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::SystemTime;

use super::{Written, json_dir, markdown};
use crate::error::Result;
use crate::exchange::sync::failed;

/// Most files that are synced one by one.
const SYNCED_ALONE_MAX: usize = 32;
/// The files by which an export is known again, and how they begin.
const MARKS: [(&str, &str); 2] =
    [(markdown::INDEX, markdown::MARK), (json_dir::MANIFEST, json_dir::MARK)];

/// Whether a folder holds an export.
pub(super) fn is_export(folder: &Path) -> bool {
    marked(folder).is_some()
}

/// When a folder was exported, according to the file system.
pub(super) fn modified(folder: &Path) -> io::Result<SystemTime> {
    let name = marked(folder).ok_or(io::ErrorKind::NotFound)?;
    folder.join(name).symlink_metadata()?.modified()
}

/// The file by which a folder is known as an export.
fn marked(folder: &Path) -> Option<&'static str> {
    let is_real = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_marked = |(name, mark): &&(&str, &str)| begins(&folder.join(name), mark);
    MARKS.iter().filter(|_| is_real).find(is_marked).map(|(name, _)| *name)
}

/// Whether a file is the list of what an export has, and no memory itself.
#[must_use]
pub fn is_export_index(path: &Path) -> bool {
    MARKS
        .iter()
        .any(|(name, mark)| path.file_name().is_some_and(|is| is == *name) && begins(path, mark))
}

/// Whether a regular file begins so.
fn begins(path: &Path, mark: &str) -> bool {
    let mut start = vec![0; mark.len()];
    path.symlink_metadata().is_ok_and(|found| found.is_file())
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == mark.as_bytes()
}

/// The files that were written.
pub(super) struct Files<'a> {
    folder: &'a Path,
    /// The hash of each, by name.
    pub(super) hashes: BTreeMap<String, blake3::Hash>,
    bytes: u64,
    /// The folder, opened before anything is written: whatever of it the disk does not take until
    /// it is synced is an error of that sync.
    opened: File,
}

impl<'a> Files<'a> {
    /// Makes the folder.
    pub(super) fn begin(folder: &'a Path) -> Result<Files<'a>> {
        fs::create_dir(folder).map_err(|source| failed("make", folder, source))?;
        let opened = File::open(folder).map_err(|source| failed("open", folder, source))?;
        Ok(Files { folder, hashes: BTreeMap::new(), bytes: 0, opened })
    }

    /// Makes all of it durable. A disk takes as long for the sync of one file as for that of many,
    /// so many are synced with the whole file system, where that can be.
    fn sync(&self) -> Result<()> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| failed("sync", &path, source)
        };
        #[cfg(target_os = "linux")]
        if self.hashes.len() > SYNCED_ALONE_MAX {
            let synced = rustix::fs::syncfs(&self.opened).map_err(io::Error::from);
            return synced.map_err(failed(self.folder));
        }
        for name in self.hashes.keys() {
            let path = self.folder.join(name);
            File::open(&path).and_then(|file| file.sync_all()).map_err(failed(&path))?;
        }
        self.opened.sync_all().map_err(failed(self.folder))
    }

    pub(super) fn put(&mut self, name: String, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(&name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        file.and_then(|mut file| file.write_all(bytes))
            .map_err(|source| failed("write", &path, source))?;
        self.bytes += bytes.len() as u64;
        self.hashes.insert(name, blake3::hash(bytes));
        Ok(())
    }

    /// Makes all of it durable. The hash is that of a list of the files.
    pub(super) fn finish(self) -> Result<Written> {
        let mut list = blake3::Hasher::new();
        for (name, hash) in &self.hashes {
            list.update(format!("{}  {name}\n", hash.to_hex()).as_bytes());
        }
        self.sync()?;
        Ok(Written { bytes: self.bytes, content_hash: list.finalize().to_hex().to_string() })
    }

    /// A file that is written bit by bit.
    pub(super) fn stream(&mut self, name: String) -> Result<FileStream<'_, 'a>> {
        let path = self.folder.join(&name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|source| failed("write", &path, source))?;
        Ok(FileStream { files: self, name, file, hasher: blake3::Hasher::new() })
    }
}

/// A file on its way into the folder.
pub(super) struct FileStream<'f, 'a> {
    files: &'f mut Files<'a>,
    name: String,
    file: File,
    hasher: blake3::Hasher,
}

impl FileStream<'_, '_> {
    /// Adds bytes to it.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let failed = |source| failed("write", &self.files.folder.join(&self.name), source);
        self.file.write_all(bytes).map_err(failed)?;
        self.hasher.update(bytes);
        self.files.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Drop for FileStream<'_, '_> {
    fn drop(&mut self) {
        let name = std::mem::take(&mut self.name);
        self.files.hashes.insert(name, self.hasher.finalize());
    }
}
