//! Reads bytes, writes them and makes them durable. The only way to the disk, so that tests can
//! stand in for it.

use std::fmt::Debug;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::{direct, map, temporary};

/// One open file.
pub trait Storage: Send + Sync + Debug {
    /// Length in bytes.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file holds no byte.
    ///
    /// # Errors
    /// What the system says.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads up to `buffer.len()` bytes at `offset`; 0 at the end. May read fewer.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes up to `bytes.len()` bytes at `offset`, growing the file. May write fewer.
    ///
    /// # Errors
    /// What the system says.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Cuts or extends the file to `len` bytes; not durable before the next sync.
    ///
    /// # Errors
    /// What the system says.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes everything written so far durable, the length included.
    ///
    /// # Errors
    /// What the system says; then nothing is known of the writes since the last success.
    fn sync(&self) -> io::Result<()>;

    /// Up to `len` bytes at `offset` as they are on the medium, past every cache of the system;
    /// none where that cannot be known. Bytes that were written and not synced may be missing.
    ///
    /// # Errors
    /// What the system says.
    fn read_medium(&self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>>;

    /// The first `len` bytes as memory that needs no copying, or none where that is not possible.
    /// The caller promises that no writer of ours will ever cut the file below `len`.
    ///
    /// # Errors
    /// What the system says.
    fn map(&self, len: u64) -> io::Result<Option<Bytes>>;

    /// Takes the file itself for writing, until it is closed or given back; whether nobody else
    /// had it. A second line behind the lock file: somebody may have taken that one away.
    ///
    /// # Errors
    /// What the system says.
    fn try_lock(&self) -> io::Result<bool>;

    /// Gives it back.
    ///
    /// # Errors
    /// What the system says.
    fn unlock(&self) -> io::Result<()>;

    /// Says that these bytes are about to be read, so that the system can fetch them at once. Only
    /// a hint.
    fn will_read(&self, offset: u64, len: u64) {
        let _no_hint_is_needed = (offset, len);
    }

    /// Identity of the file behind the descriptor, such as device and inode; none where there is
    /// no such thing.
    fn identity(&self) -> Option<(u64, u64)>;
}

/// Reads exactly `buffer.len()` bytes.
pub(crate) fn read_exact_at(
    storage: &dyn Storage,
    mut buffer: &mut [u8],
    mut offset: u64,
) -> io::Result<()> {
    while !buffer.is_empty() {
        match storage.read_at(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                assert!(n <= buffer.len(), "a storage reads no more than it is asked for");
                buffer = &mut buffer[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Reads up to `len` bytes, fewer only at the end of the file.
pub(crate) fn read_up_to(storage: &dyn Storage, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; len];
    let mut filled = 0;
    while filled < len {
        match storage.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        assert!(filled <= len, "a storage reads no more than it is asked for");
    }
    buffer.truncate(filled);
    Ok(buffer)
}

/// Writes all of `bytes`.
pub(crate) fn write_all_at(
    storage: &dyn Storage,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match storage.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                assert!(n <= bytes.len(), "a storage writes no more than it is given");
                bytes = &bytes[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The folder operations that creation and compaction need.
pub trait Volume: Send + Sync + Debug {
    /// Opens an existing file.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::InvalidInput`] for something that is not a regular
    /// file.
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn Storage>>;

    /// Creates a file that must not exist.
    ///
    /// # Errors
    /// What the system says.
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn Storage>>;

    /// Renames a file over another; not durable before the folder's sync.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file if it is there.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in the folder of `path` durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Identity of what the path names now, as [`Storage::identity`].
    fn identity(&self, path: &Path) -> Option<(u64, u64)>;

    /// The path that symbolic links lead to: what is put in a link's place would leave the file
    /// that it led to behind.
    ///
    /// # Errors
    /// What the system says.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    /// A new path beside `path` for what is to take its place. Only for a volume that nobody
    /// shares is it always the same.
    fn temporary(&self, path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_os_string();
        name.push(".tmp");
        PathBuf::from(name)
    }

    /// Removes what was left in the making for `path` by those who did not come to an end, and
    /// nothing else.
    ///
    /// # Errors
    /// What the system says.
    fn sweep(&self, path: &Path) -> io::Result<()> {
        self.remove(&self.temporary(path))
    }

    /// Gives the file at `to` the access rights of the one at `from`.
    ///
    /// # Errors
    /// What the system says.
    fn copy_access(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _one_user_is_the_rule = (from, to);
        Ok(())
    }

    /// How many names the file at `path` has.
    ///
    /// # Errors
    /// What the system says.
    fn names(&self, path: &Path) -> io::Result<u64> {
        let _one_is_the_rule = path;
        Ok(1)
    }
}

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSystem;

impl Volume for FileSystem {
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn Storage>> {
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let opened = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if path.is_symlink() => {
                io::Error::new(io::ErrorKind::InvalidInput, "it is a link that leads nowhere")
            }
            _ => error,
        })?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Arc::new(FileStorage { file }))
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn Storage>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(Arc::new(FileStorage { file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        File::open(folder_of(path))?.sync_all()
    }

    fn identity(&self, path: &Path) -> Option<(u64, u64)> {
        std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let linked = std::fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
        if !linked {
            return Ok(path.to_path_buf());
        }
        // A link that leads nowhere is found to do so when it is opened.
        std::fs::canonicalize(path).or_else(|_| Ok(path.to_path_buf()))
    }

    fn temporary(&self, path: &Path) -> PathBuf {
        temporary::path_for(path)
    }

    fn sweep(&self, path: &Path) -> io::Result<()> {
        temporary::sweep(path)
    }

    fn copy_access(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::set_permissions(to, std::fs::metadata(from)?.permissions())
    }

    fn names(&self, path: &Path) -> io::Result<u64> {
        Ok(std::fs::metadata(path)?.nlink())
    }
}

impl FileSystem {
    /// What was left in the making for `path` by processes that were killed: beside it, under
    /// names of this program's own.
    ///
    /// # Errors
    /// What the system says.
    pub fn leftovers(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        temporary::leftovers(path)
    }

    /// Puts a small file in the place of whatever has the name, durably, whole or not at all.
    ///
    /// # Errors
    /// What the system says; then the place is as it was.
    pub fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let temporary = self.temporary(path);
        let made = self.create_new(&temporary)?;
        let placed = write_all_at(&*made, content, 0)
            .and_then(|()| made.sync())
            .and_then(|()| self.rename(&temporary, path));
        if placed.is_err() {
            let _the_first_error_counts = self.remove(&temporary);
        }
        placed?;
        self.sync_folder(path)
    }
}

/// The folder that holds `path`.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

#[derive(Debug)]
struct FileStorage {
    file: File,
}

impl Storage for FileStorage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn read_medium(&self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        direct::read(&self.file, offset, len)
    }

    fn map(&self, len: u64) -> io::Result<Option<Bytes>> {
        map::map_file(&self.file, len).map(Some)
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn will_read(&self, offset: u64, len: u64) {
        map::will_read(&self.file, offset, len);
    }

    fn identity(&self) -> Option<(u64, u64)> {
        self.file.metadata().ok().map(|m| (m.dev(), m.ino()))
    }
}

#[cfg(test)]
mod tests;
