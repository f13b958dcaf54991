//! The disk while it has power: files, names, a note of every operation, and faults on demand.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kapsa_capsule::{LOG_START, Storage, Volume};

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
    /// A sync that failed: the system marked the pages clean, whatever became of them.
    FailedSync {
        /// Number of the file.
        file: usize,
        /// Whether the cache went back to what was on disk.
        dropped: bool,
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
    /// Not the disk's: something the test wants to know the place of.
    Mark(usize),
}

/// How an operation of the disk goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// A write, a cut or a change of names does nothing and fails with this error number.
    Refused(i32),
    /// A write leaves its first half and fails with this error number.
    TornWrite(i32),
    /// A write or read does half of its work and says so.
    Short,
    /// A sync fails with this error number, and the pages stay in the cache, marked clean.
    SyncKeeps(i32),
    /// A sync fails with this error number, and the cache goes back to what was on disk.
    SyncDrops(i32),
    /// A read fails with this error number.
    ReadRefused(i32),
    /// A write, a sync, a cut or a change of names does nothing and panics, as a bug under the
    /// store could.
    Panics,
}

/// How a disk deceives whoever writes to it.
///
/// A store on an honest disk that leaves out a step does to the bytes what a store that takes every
/// step does on a disk that lies about this one. So the tests of the tests need no branch in the
/// store: they run on such a disk, and must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// A sync does nothing.
    SyncDoesNothing,
    /// What is written to the pages before the log right after a sync reaches the medium before
    /// what that sync was for.
    PointerBeforeSync,
    /// A write that was done in part is reported as done.
    ShortWriteHidden,
    /// A failed sync is tried again, and its second answer reported.
    FailedSyncRetried,
    /// A sync right after a cut does nothing.
    CutNotSynced,
    /// A cut that fails, or the sync right after it, is reported as done.
    FailedCutHidden,
    /// A cut does nothing.
    CutDoesNothing,
    /// Reading the medium gives what the cache holds.
    MediumIsCache,
    /// A file's sync right before its renaming takes effect after it.
    RenameBeforeSync,
    /// The sync of a folder does nothing.
    FolderNotSynced,
}

impl Lie {
    /// All of them.
    pub const ALL: [Lie; 10] = [
        Lie::SyncDoesNothing,
        Lie::PointerBeforeSync,
        Lie::ShortWriteHidden,
        Lie::FailedSyncRetried,
        Lie::CutNotSynced,
        Lie::FailedCutHidden,
        Lie::CutDoesNothing,
        Lie::MediumIsCache,
        Lie::RenameBeforeSync,
        Lie::FolderNotSynced,
    ];
}

/// What kind of operation is about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Read,
    Write,
    Sync,
    Other,
}

impl Failure {
    fn applies_to(self, class: Class) -> bool {
        match self {
            Failure::Refused(_) => matches!(class, Class::Write | Class::Other),
            Failure::TornWrite(_) => class == Class::Write,
            Failure::Short => matches!(class, Class::Write | Class::Read),
            Failure::SyncKeeps(_) | Failure::SyncDrops(_) => class == Class::Sync,
            Failure::ReadRefused(_) => class == Class::Read,
            Failure::Panics => class != Class::Read,
        }
    }

    fn error(self) -> io::Error {
        match self {
            Failure::Panics => panic!("the disk panics"),
            Failure::Short => io::ErrorKind::WriteZero.into(),
            Failure::Refused(number)
            | Failure::TornWrite(number)
            | Failure::SyncKeeps(number)
            | Failure::SyncDrops(number)
            | Failure::ReadRefused(number) => io::Error::from_raw_os_error(number),
        }
    }
}

/// Which operations go wrong: of those that `failure` can befall, counted from 0 since the fault
/// was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first.
    pub nth: u64,
    /// Whether every later one does as well.
    pub forever: bool,
    /// How.
    pub failure: Failure,
}

/// A folder of files in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What reading through the cache gives.
    files: Vec<Vec<u8>>,
    /// What is on the medium for certain.
    synced: Vec<Vec<u8>>,
    /// What the next sync will bring there: a failed one marked everything before it clean.
    dirty: Vec<Vec<Operation>>,
    names: BTreeMap<PathBuf, usize>,
    operations: Vec<Operation>,
    fault: Option<Fault>,
    lie: Option<Lie>,
    counted: u64,
    failed_after: Option<usize>,
}

impl State {
    /// Counts an operation that the fault may befall and says whether it does.
    fn fails(&mut self, class: Class) -> Option<Failure> {
        let fault = self.fault.filter(|f| f.failure.applies_to(class))?;
        let number = self.counted;
        self.counted += 1;
        let befalls = number == fault.nth || fault.forever && number > fault.nth;
        if befalls {
            self.failed_after.get_or_insert(self.operations.len());
        }
        befalls.then_some(fault.failure)
    }

    /// For operations that fail as a whole or not at all.
    fn refused(&mut self) -> io::Result<()> {
        self.fails(Class::Other).map_or(Ok(()), |failure| Err(failure.error()))
    }

    fn add_file(&mut self, content: Vec<u8>) {
        self.files.push(content.clone());
        self.synced.push(content);
        self.dirty.push(Vec::new());
    }

    /// Whether the disk lies in this way.
    fn lies(&self, lie: Lie) -> bool {
        self.lie == Some(lie)
    }

    /// Whether the last thing done was to this file, and was of this kind.
    fn last_is(&self, operation: &Operation) -> bool {
        self.operations.last() == Some(operation)
    }

    /// Whether the file was cut and nothing was done since.
    fn just_cut(&self, file: usize) -> bool {
        matches!(self.operations.last(), Some(Operation::SetLen { file: cut, .. }) if *cut == file)
    }

    /// Does `operation` and puts the sync of `file` that came right before it, if one did, after
    /// it.
    fn perform_before_sync(&mut self, file: usize, operation: Operation) {
        let sync = Operation::Sync { file };
        let overtakes = self.last_is(&sync);
        if overtakes {
            self.operations.pop();
        }
        self.perform(operation);
        if overtakes {
            self.perform(sync);
        }
    }

    /// Does what was asked for, and notes it.
    fn perform(&mut self, operation: Operation) {
        match &operation {
            Operation::Write { file, .. } | Operation::SetLen { file, .. } => {
                change(&mut self.files[*file], &operation);
                self.dirty[*file].push(operation.clone());
            }
            Operation::Sync { file } => {
                let dirty = std::mem::take(&mut self.dirty[*file]);
                dirty.iter().for_each(|operation| change(&mut self.synced[*file], operation));
            }
            Operation::FailedSync { file, dropped } => {
                self.dirty[*file].clear();
                if *dropped {
                    self.files[*file] = self.synced[*file].clone();
                }
            }
            Operation::Create { file, path } => {
                assert_eq!(*file, self.files.len(), "files are numbered as they are made");
                self.add_file(Vec::new());
                self.names.insert(path.clone(), *file);
            }
            Operation::Rename { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Operation::Remove { path } => drop(self.names.remove(path)),
            Operation::SyncFolder | Operation::Mark(_) => {}
        }
        self.operations.push(operation);
    }
}

/// A write or a change of length.
fn change(content: &mut Vec<u8>, operation: &Operation) {
    match operation {
        Operation::Write { offset, bytes, .. } => {
            let end = *offset as usize + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset as usize..end].copy_from_slice(bytes);
        }
        Operation::SetLen { len, .. } => content.resize(*len as usize, 0),
        _ => {}
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
                state.add_file(content.clone());
                state.names.insert(path.clone(), number);
            }
        }
        disk
    }

    /// The disk as another process finds it when the writer is killed after `operations` on a disk
    /// that held `files`: everything written is in the cache, synced or not.
    #[must_use]
    pub fn after(files: &BTreeMap<PathBuf, Vec<u8>>, operations: &[Operation]) -> Disk {
        let disk = Disk::with_files(files);
        {
            let mut state = disk.lock();
            operations.iter().for_each(|operation| state.perform(operation.clone()));
        }
        disk
    }

    /// Lets the disk fail.
    pub fn set_fault(&self, fault: Option<Fault>) {
        let mut state = self.lock();
        state.fault = fault;
        state.counted = 0;
        state.failed_after = None;
    }

    /// Makes the disk lie, or tell the truth again.
    pub fn set_lie(&self, lie: Option<Lie>) {
        self.lock().lie = lie;
    }

    /// Operations before the fault came to pass, if it did since it was set.
    #[must_use]
    pub fn failed_after(&self) -> Option<usize> {
        self.lock().failed_after
    }

    /// Everything done so far.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.lock().operations.clone()
    }

    /// Notes a place in the list of operations.
    pub fn mark(&self, mark: usize) {
        self.lock().perform(Operation::Mark(mark));
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
        state.refused()?;
        let file = state.files.len();
        state.perform(Operation::Create { file, path: path.to_path_buf() });
        drop(state);
        Ok(self.storage(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.refused()?;
        let Some(&file) = state.names.get(from) else { return Err(io::ErrorKind::NotFound.into()) };
        let rename = Operation::Rename { from: from.to_path_buf(), to: to.to_path_buf() };
        if state.lies(Lie::RenameBeforeSync) {
            state.perform_before_sync(file, rename)
        } else {
            state.perform(rename)
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if state.names.contains_key(path) {
            state.refused()?;
            state.perform(Operation::Remove { path: path.to_path_buf() });
        }
        Ok(())
    }

    fn sync_folder(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.refused()?;
        if !state.lies(Lie::FolderNotSynced) {
            state.perform(Operation::SyncFolder);
        }
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
        let mut state = self.disk.lock();
        let failure = state.fails(Class::Read);
        if let Some(failure @ Failure::ReadRefused(_)) = failure {
            return Err(failure.error());
        }
        let rest = state.files[self.file].get(offset as usize..).unwrap_or_default();
        let all = rest.len().min(buffer.len());
        let len = if failure.is_some() { all.div_ceil(2) } else { all };
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        let failure = state.fails(Class::Write);
        let len = match failure {
            None => bytes.len(),
            Some(Failure::Short | Failure::TornWrite(_)) => bytes.len() / 2,
            Some(_) => 0,
        };
        if len > 0 {
            let write = Operation::Write { file: self.file, offset, bytes: bytes[..len].to_vec() };
            let overtakes = offset < LOG_START && state.lies(Lie::PointerBeforeSync);
            if overtakes {
                state.perform_before_sync(self.file, write)
            } else {
                state.perform(write)
            }
        }
        match failure {
            Some(Failure::Short) if state.lies(Lie::ShortWriteHidden) => Ok(bytes.len()),
            None | Some(Failure::Short) => Ok(len),
            Some(failure) => Err(failure.error()),
        }
    }

    fn read_medium(&self, offset: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let state = self.disk.lock();
        let known = if state.lies(Lie::MediumIsCache) { &state.files } else { &state.synced };
        let rest = known[self.file].get(offset as usize..).unwrap_or_default();
        Ok(Some(rest[..rest.len().min(len)].to_vec()))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        match state.refused() {
            Err(_) if state.lies(Lie::FailedCutHidden) => return Ok(()),
            refused => refused?,
        }
        if !state.lies(Lie::CutDoesNothing) {
            state.perform(Operation::SetLen { file: self.file, len });
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let (file, after_cut) = (self.file, state.just_cut(self.file));
        let failure = state.fails(Class::Sync);
        if let Some(failure) = failure {
            let error = failure.error();
            state.perform(Operation::FailedSync {
                file,
                dropped: matches!(failure, Failure::SyncDrops(_)),
            });
            match state.lie {
                Some(Lie::FailedSyncRetried) => {}
                Some(Lie::FailedCutHidden) if after_cut => return Ok(()),
                _ => return Err(error),
            }
        }
        match state.lie {
            Some(Lie::SyncDoesNothing) => {}
            Some(Lie::CutNotSynced) if after_cut => {}
            _ => state.perform(Operation::Sync { file }),
        }
        Ok(())
    }

    fn map(&self, len: u64) -> io::Result<Option<Bytes>> {
        let state = self.disk.lock();
        let content = &state.files[self.file];
        Ok(Some(Bytes::copy_from_slice(&content[..(len as usize).min(content.len())])))
    }

    /// One process has the disk to itself.
    fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }

    fn identity(&self) -> Option<(u64, u64)> {
        Some((0, self.file as u64))
    }
}
