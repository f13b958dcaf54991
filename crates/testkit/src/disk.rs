//! The disk while it has power: files, names, a note of every operation, and faults on demand.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kapsa_capsule::{Storage, Volume};

/// Something that was done to the disk. Files go by number, since names move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bytes written at an offset.
    Write {
        /// Number of the file.
        file: usize,
        /// Where.
        offset: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// A file cut or grown.
    SetLen {
        /// Number of the file.
        file: usize,
        /// New length.
        len: u64,
    },
    /// A file made durable.
    Sync {
        /// Number of the file.
        file: usize,
    },
    /// A name given to a new, empty file.
    Create {
        /// Number of the file.
        file: usize,
        /// Its name.
        path: PathBuf,
    },
    /// A name moved.
    Rename {
        /// Old name.
        from: PathBuf,
        /// New name.
        to: PathBuf,
    },
    /// A name taken away.
    Remove {
        /// The name.
        path: PathBuf,
    },
    /// The names made durable.
    SyncFolder,
    /// Not the disk's: the caller was told that so many records are safe.
    Acknowledge {
        /// How many.
        records: u64,
    },
}

/// What the disk does wrong, from its `nth` writing operation on (writes, cuts, syncs, names; counted from 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which operation fails first.
    pub nth: u64,
    /// Whether every later one fails as well.
    pub forever: bool,
    /// What the system says.
    pub kind: io::ErrorKind,
    /// Whether a failing write leaves half of its bytes, and a failing sync drops what was not on disk.
    pub lossy: bool,
}

/// A folder of files in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<Vec<u8>>,
    synced: Vec<Vec<u8>>,
    names: BTreeMap<PathBuf, usize>,
    operations: Vec<Operation>,
    fault: Option<Fault>,
    counted: u64,
}

impl State {
    /// Counts a writing operation and says whether it fails.
    fn fails(&mut self) -> Option<Fault> {
        let number = self.counted;
        self.counted += 1;
        self.fault.filter(|f| number == f.nth || f.forever && number > f.nth)
    }

    fn write(&mut self, file: usize, offset: u64, bytes: &[u8]) {
        let content = &mut self.files[file];
        let end = offset as usize + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[offset as usize..end].copy_from_slice(bytes);
        self.operations.push(Operation::Write { file, offset, bytes: bytes.to_vec() });
    }
}

impl Disk {
    /// A disk that holds these files, all durable.
    #[must_use]
    pub fn with_files(files: &BTreeMap<PathBuf, Vec<u8>>) -> Disk {
        let disk = Disk::default();
        {
            let mut state = disk.lock();
            for (number, (path, content)) in files.iter().enumerate() {
                state.files.push(content.clone());
                state.synced.push(content.clone());
                state.names.insert(path.clone(), number);
            }
        }
        disk
    }

    /// Lets the disk fail.
    pub fn set_fault(&self, fault: Option<Fault>) {
        let mut state = self.lock();
        state.fault = fault;
        state.counted = 0;
    }

    /// Writing operations since the fault was set.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.lock().counted
    }

    /// Everything done so far.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.lock().operations.clone()
    }

    /// Notes that a caller was told its records are safe.
    pub fn acknowledge(&self, records: u64) {
        self.lock().operations.push(Operation::Acknowledge { records });
    }

    /// The files by name, as they are in the page cache.
    #[must_use]
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.lock();
        state.names.iter().map(|(path, &file)| (path.clone(), state.files[file].clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn storage(&self, file: usize) -> Arc<dyn Storage> {
        Arc::new(DiskFile { disk: self.clone(), file })
    }
}

fn failed(fault: Fault) -> io::Error {
    io::Error::new(fault.kind, "the simulated disk fails")
}

impl Volume for Disk {
    fn open(&self, path: &Path, _write: bool) -> io::Result<Arc<dyn Storage>> {
        let file = self.lock().names.get(path).copied();
        file.map(|file| self.storage(file)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn Storage>> {
        let mut state = self.lock();
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if let Some(fault) = state.fails() {
            return Err(failed(fault));
        }
        let file = state.files.len();
        state.files.push(Vec::new());
        state.synced.push(Vec::new());
        state.names.insert(path.to_path_buf(), file);
        state.operations.push(Operation::Create { file, path: path.to_path_buf() });
        drop(state);
        Ok(self.storage(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(fault) = state.fails() {
            return Err(failed(fault));
        }
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_path_buf(), file);
        state.operations.push(Operation::Rename { from: from.to_path_buf(), to: to.to_path_buf() });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if state.names.remove(path).is_some() {
            state.operations.push(Operation::Remove { path: path.to_path_buf() });
        }
        Ok(())
    }

    fn sync_folder(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(fault) = state.fails() {
            return Err(failed(fault));
        }
        state.operations.push(Operation::SyncFolder);
        Ok(())
    }

    fn identity(&self, path: &Path) -> Option<(u64, u64)> {
        self.lock().names.get(path).map(|&file| (0, file as u64))
    }
}

#[derive(Debug)]
struct DiskFile {
    disk: Disk,
    file: usize,
}

impl Storage for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().files[self.file].len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        let rest = state.files[self.file].get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        let Some(fault) = state.fails() else {
            state.write(self.file, offset, bytes);
            return Ok(bytes.len());
        };
        if fault.lossy {
            let half = bytes.len() / 2;
            state.write(self.file, offset, &bytes[..half]);
        }
        Err(failed(fault))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        if let Some(fault) = state.fails() {
            return Err(failed(fault));
        }
        let file = self.file;
        state.files[file].resize(len as usize, 0);
        state.operations.push(Operation::SetLen { file, len });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let file = self.file;
        if let Some(fault) = state.fails() {
            if fault.lossy {
                // As ext4, XFS and btrfs do: the pages are dropped and marked clean.
                let synced = state.synced[file].clone();
                state.files[file] = synced;
            }
            return Err(failed(fault));
        }
        state.synced[file] = state.files[file].clone();
        state.operations.push(Operation::Sync { file });
        Ok(())
    }

    fn map(&self, len: u64) -> io::Result<Option<Bytes>> {
        let state = self.disk.lock();
        let content = &state.files[self.file];
        Ok(Some(Bytes::copy_from_slice(&content[..(len as usize).min(content.len())])))
    }

    fn identity(&self) -> Option<(u64, u64)> {
        Some((0, self.file as u64))
    }
}
