//! A memory in a folder: `decisions/`, `learnings/`, `summaries/` and `archived/`, a file for each
//! note. Reads all of it, writes one note at a time, deletes nothing. Knows nothing of where else a
//! memory is kept.

use std::fs::{self, DirEntry, File};
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use super::atomic;
use super::error::{Error, NoteError, Result};
use super::name;
use super::note::{NOTE_BYTES_MAX, Note, Primitive};
use super::stamp::Stamp;

/// The folder of notes that no longer hold.
pub const ARCHIVED: &str = "archived";
/// The ending of notes.
const EXTENSION: &str = "md";
/// Most files of one folder that are read.
pub const FOLDER_FILES_MAX: usize = 100_000;
/// Most notes of one name and day, and most conflicts of one note.
const SAME_NAME_MAX: usize = 1000;
/// What a conflict's file has between the name of its note and the ending.
const CONFLICT: &str = ".conflict";

/// A memory in a folder.
#[derive(Clone, Debug)]
pub struct MemoryFolder {
    root: PathBuf,
}

/// A note and the file that it is in.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredNote {
    /// The file.
    pub path: PathBuf,
    /// What it is, by its folder.
    pub primitive: Primitive,
    /// Whether it lies in `archived/`.
    pub is_archived: bool,
    /// The hash of the file's bytes ([`name::hash`]).
    pub hash: String,
    /// The note.
    pub note: Note,
}

/// A file or folder of a memory that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it, for people.
    pub reason: String,
}

/// Everything in a memory.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The notes, by path.
    pub notes: Vec<StoredNote>,
    /// Whatever could not be read: nothing is left out without being named here.
    pub unreadable: Vec<Unreadable>,
    /// Files `*.conflict.md`: a version that was not written over what a person had changed.
    pub conflicts: Vec<PathBuf>,
}

impl MemoryFolder {
    /// The memory in a folder, which need not be there yet.
    #[must_use]
    pub fn at(root: &Path) -> MemoryFolder {
        MemoryFolder { root: root.to_path_buf() }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the folders that are missing.
    ///
    /// # Errors
    /// [`Error::Io`], also where something else has the name of a folder.
    pub fn create(&self) -> Result<()> {
        fs::create_dir_all(&self.root).map_err(Error::io("make", &self.root))?;
        for primitive in Primitive::ALL {
            self.folder(primitive, false)?;
        }
        Ok(())
    }

    /// Reads all notes. Links are named and not followed; files without the ending `.md` and those
    /// that begin with `.` are no notes. A memory that is not there is empty.
    ///
    /// # Errors
    /// [`Error::Io`] if the memory itself cannot be read.
    pub fn read(&self) -> Result<Contents> {
        let mut contents = Contents::default();
        match fs::metadata(&self.root) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(Error::io("read", &self.root)(ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(contents),
            Err(error) => return Err(Error::io("read", &self.root)(error)),
        }
        let archived = self.root.join(ARCHIVED);
        let has_archived = is_real_folder(&archived, &mut contents.unreadable);
        for primitive in Primitive::ALL {
            contents.read_folder(&self.root.join(primitive.folder()), primitive, false);
            if has_archived {
                contents.read_folder(&archived.join(primitive.folder()), primitive, true);
            }
        }
        contents.notes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(contents)
    }

    /// Reads one note.
    ///
    /// # Errors
    /// [`Error::NotOfMemory`] for any other path, [`Error::Note`], [`Error::Io`].
    pub fn read_note(&self, path: &Path) -> Result<StoredNote> {
        let (primitive, is_archived) = self.place(path)?;
        let bytes = read_file(path)?;
        let note = Note::from_bytes(&bytes).map_err(Error::note(path))?;
        let hash = name::hash(&bytes);
        Ok(StoredNote { path: path.to_path_buf(), primitive, is_archived, hash, note })
    }

    /// Writes a new note. The day and the id name the file; where that name is taken, a number is
    /// put behind both.
    ///
    /// # Errors
    /// [`Error::Note`] if a key cannot be set, [`Error::NoFreeName`], [`Error::Io`].
    pub fn add(&self, primitive: Primitive, note: Note, created: &Stamp) -> Result<StoredNote> {
        let slug = name::slug(&note.front.text("id").unwrap_or_default());
        self.add_named(primitive, note, |number| {
            let slug = if number == 1 { slug.clone() } else { name::numbered(&slug, number) };
            (name::memory_file_name(created, &slug), slug)
        })
    }

    /// Writes a new summary. Date, time, id and the run's short id name the file.
    ///
    /// # Errors
    /// As [`MemoryFolder::add`].
    pub fn add_summary(&self, note: Note, created: &Stamp, short_id: &str) -> Result<StoredNote> {
        let slug = name::slug(&note.front.text("id").unwrap_or_default());
        self.add_named(Primitive::Summary, note, |number| {
            let slug = if number == 1 { slug.clone() } else { name::numbered(&slug, number) };
            (name::summary_file_name(created, &slug, short_id), slug)
        })
    }

    fn add_named(
        &self,
        primitive: Primitive,
        mut note: Note,
        named: impl Fn(usize) -> (String, String),
    ) -> Result<StoredNote> {
        let folder = self.folder(primitive, false)?;
        for number in 1..=SAME_NAME_MAX {
            let (file_name, id) = named(number);
            let path = folder.join(file_name);
            note.front.set("id", id).map_err(Error::note(&path))?;
            let text = rendered(&note, &path)?;
            if atomic::create(&path, text.as_bytes())? {
                let hash = name::hash(text.as_bytes());
                return Ok(StoredNote { path, primitive, is_archived: false, hash, note });
            }
        }
        Err(Error::NoFreeName { path: folder.join(named(1).0) })
    }

    /// Writes a note in place of the file that it is in, whose hash must still be `read`: what
    /// somebody changed meanwhile is not overwritten. A path where nothing lies takes no hash.
    ///
    /// # Errors
    /// [`Error::Changed`], [`Error::NotOfMemory`], [`Error::Note`], [`Error::Io`].
    pub fn write(&self, path: &Path, note: &Note, read: Option<&str>) -> Result<StoredNote> {
        let (primitive, is_archived) = self.place(path)?;
        let text = rendered(note, path)?;
        let changed = || Error::Changed { path: path.to_path_buf() };
        match read {
            Some(read) => {
                if self.hash_now(path)?.as_deref() != Some(read) {
                    return Err(changed());
                }
                atomic::replace(path, text.as_bytes())?;
            }
            None => {
                self.folder(primitive, is_archived)?;
                if !atomic::create(path, text.as_bytes())? {
                    return Err(changed());
                }
            }
        }
        let (path, hash) = (path.to_path_buf(), name::hash(text.as_bytes()));
        Ok(StoredNote { path, primitive, is_archived, hash, note: note.clone() })
    }

    /// The hash of the file as it is; none where nothing lies.
    ///
    /// # Errors
    /// [`Error::NotOfMemory`], [`Error::Note`] if it is too large, [`Error::Io`].
    pub fn hash_now(&self, path: &Path) -> Result<Option<String>> {
        self.place(path)?;
        match read_file(path) {
            Ok(bytes) => Ok(Some(name::hash(&bytes))),
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Moves a decision or a learning to `archived/`, and returns where it is now. Where the name
    /// is taken there, a number is put behind it.
    ///
    /// # Errors
    /// [`Error::NotOfMemory`] for summaries and what is archived already, [`Error::NoFreeName`],
    /// [`Error::Io`].
    pub fn archive(&self, path: &Path) -> Result<PathBuf> {
        let (primitive, is_archived) = self.place(path)?;
        if is_archived || primitive == Primitive::Summary {
            return Err(self.not_of_memory(path));
        }
        read_file(path)?;
        let folder = self.folder(primitive, true)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        for number in 1..=SAME_NAME_MAX {
            let end = if number == 1 { String::new() } else { format!("-{number}") };
            let target = folder.join(format!("{stem}{end}.{EXTENSION}"));
            if atomic::move_new(path, &target)? {
                return Ok(target);
            }
        }
        Err(Error::NoFreeName { path: folder.join(format!("{stem}.{EXTENSION}")) })
    }

    /// Writes a version beside a note that a person has changed as well: `<name>.conflict.md`,
    /// where that is taken `<name>.conflict-2.md` and so on. A file that holds this version already
    /// is left as it is. Returns where the version is.
    ///
    /// # Errors
    /// [`Error::NotOfMemory`], [`Error::Note`], [`Error::NoFreeName`], [`Error::Io`].
    pub fn write_conflict(&self, path: &Path, version: &Note) -> Result<PathBuf> {
        self.place(path)?;
        let text = rendered(version, path)?;
        for number in 1..=SAME_NAME_MAX {
            let beside = conflict_path(path, number);
            if atomic::create(&beside, text.as_bytes())? || holds(&beside, &text)? {
                return Ok(beside);
            }
        }
        Err(Error::NoFreeName { path: conflict_path(path, 1) })
    }

    /// The files of conflicts of a note that are there.
    ///
    /// # Errors
    /// [`Error::NotOfMemory`], [`Error::Io`].
    pub fn conflicts_of(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.place(path)?;
        let folder = path.parent().unwrap_or(&self.root);
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
            let entry = entry.map_err(Error::io("read", folder))?;
            if entry.file_name().to_str().and_then(conflict_stem) == Some(stem) {
                found.push(entry.path());
            }
        }
        found.sort();
        Ok(found)
    }

    /// What a path of this memory holds. Names alone decide, but for links, which lead elsewhere.
    fn place(&self, path: &Path) -> Result<(Primitive, bool)> {
        let refused = || self.not_of_memory(path);
        let within = path.strip_prefix(&self.root).map_err(|_elsewhere| refused())?;
        let parts: Vec<&str> = within
            .components()
            .map(|part| match part {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect::<Option<_>>()
            .ok_or_else(refused)?;
        let (is_archived, folder, file) = match parts[..] {
            [folder, file] => (false, folder, file),
            [ARCHIVED, folder, file] => (true, folder, file),
            _ => return Err(refused()),
        };
        let primitive = Primitive::of_folder(folder).ok_or_else(refused)?;
        let mut folders = vec![self.root.join(folder)];
        if is_archived {
            let archived = self.root.join(ARCHIVED);
            folders = vec![archived.join(folder), archived];
        }
        let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
        if !is_note(file) || folders.iter().any(is_link) {
            return Err(refused());
        }
        Ok((primitive, is_archived))
    }

    fn not_of_memory(&self, path: &Path) -> Error {
        Error::NotOfMemory { path: path.to_path_buf(), root: self.root.clone() }
    }

    /// A folder of the memory, made where it is missing; never a link.
    fn folder(&self, primitive: Primitive, is_archived: bool) -> Result<PathBuf> {
        fs::create_dir_all(&self.root).map_err(Error::io("make", &self.root))?;
        let mut folder = self.root.clone();
        let archived = is_archived.then_some(ARCHIVED);
        for part in archived.into_iter().chain([primitive.folder()]) {
            folder.push(part);
            match fs::create_dir(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let found = folder.symlink_metadata().map_err(Error::io("read", &folder))?;
                    if !found.is_dir() {
                        return Err(Error::io("use", &folder)(ErrorKind::NotADirectory.into()));
                    }
                }
                Err(error) => return Err(Error::io("make", &folder)(error)),
            }
        }
        Ok(folder)
    }
}

impl Contents {
    fn read_folder(&mut self, folder: &Path, primitive: Primitive, is_archived: bool) {
        if !is_real_folder(folder, &mut self.unreadable) {
            return;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.refuse(folder, error.to_string()),
        };
        for (at, entry) in entries.enumerate() {
            if at == FOLDER_FILES_MAX {
                return self.refuse(folder, format!("more than {FOLDER_FILES_MAX} files"));
            }
            match entry {
                Ok(entry) => self.read_entry(&entry, primitive, is_archived),
                Err(error) => self.refuse(folder, error.to_string()),
            }
        }
    }

    fn read_entry(&mut self, entry: &DirEntry, primitive: Primitive, is_archived: bool) {
        let path = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return self.refuse(&path, "its name is not UTF-8".to_owned());
        };
        if conflict_stem(name).is_some() {
            return self.conflicts.push(path);
        }
        if !is_note(name) {
            return;
        }
        match entry.file_type() {
            Ok(found) if found.is_file() => {}
            Ok(found) if found.is_symlink() => return self.refuse(&path, "a link".to_owned()),
            Ok(_) => return self.refuse(&path, "not a regular file".to_owned()),
            Err(error) => return self.refuse(&path, error.to_string()),
        }
        let read = read_file(&path).and_then(|bytes| {
            let note = Note::from_bytes(&bytes).map_err(Error::note(&path))?;
            Ok((name::hash(&bytes), note))
        });
        match read {
            Ok((hash, note)) => {
                self.notes.push(StoredNote { path, primitive, is_archived, hash, note });
            }
            Err(Error::Note { source, .. }) => self.refuse(&path, source.to_string()),
            Err(Error::Io { source, .. }) => self.refuse(&path, source.to_string()),
            Err(error) => self.refuse(&path, error.to_string()),
        }
    }

    fn refuse(&mut self, path: &Path, reason: String) {
        self.unreadable.push(Unreadable { path: path.to_path_buf(), reason });
    }
}

/// Whether a folder is there and no link; anything else of that name is named in `unreadable`.
fn is_real_folder(folder: &Path, unreadable: &mut Vec<Unreadable>) -> bool {
    let reason = match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => return true,
        Ok(found) if found.is_symlink() => "a link".to_owned(),
        Ok(_) => "not a folder".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => return false,
        Err(error) => error.to_string(),
    };
    unreadable.push(Unreadable { path: folder.to_path_buf(), reason });
    false
}

fn is_note(name: &str) -> bool {
    let is_markdown = Path::new(name).extension().is_some_and(|ending| ending == EXTENSION);
    is_markdown && !name.starts_with('.') && conflict_stem(name).is_none()
}

/// The name of the note, without its ending, that a file of a conflict lies beside.
fn conflict_stem(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    let (note, number) = stem.rsplit_once(CONFLICT)?;
    let is_numbered = number
        .strip_prefix('-')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    (!note.is_empty() && (number.is_empty() || is_numbered)).then_some(note)
}

fn conflict_path(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let end = if number == 1 { String::new() } else { format!("-{number}") };
    path.with_file_name(format!("{stem}{CONFLICT}{end}.{EXTENSION}"))
}

/// Whether a file holds this text.
fn holds(path: &Path, text: &str) -> Result<bool> {
    Ok(read_file(path)? == text.as_bytes())
}

/// The text of a note, which can be read: what could not be is never written.
fn rendered(note: &Note, path: &Path) -> Result<String> {
    let text = note.render();
    Note::from_bytes(text.as_bytes()).map_err(Error::note(path))?;
    Ok(text)
}

/// The bytes of a regular file within the limit of notes; a link is refused.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let found = path.symlink_metadata().map_err(Error::io("read", path))?;
    if !found.is_file() {
        return Err(Error::io("read", path)(ErrorKind::InvalidInput.into()));
    }
    let bytes_max = NOTE_BYTES_MAX as u64;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::io("read", path))?;
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if bytes.len() as u64 > bytes_max {
        let bytes = found.len().max(bytes_max + 1);
        return Err(Error::note(path)(NoteError::TooLarge { bytes, bytes_max }));
    }
    Ok(bytes)
}
