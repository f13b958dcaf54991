//! Makes something large appear all at once: it is made in a folder beside its place, and gets its
//! name when it is whole.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use kapsa_capsule::{FileSystem, Volume, random_bits};

use super::folder;
use crate::error::{Error, Result};
use crate::exchange::sync::failed;

/// What the names of these folders begin with; 64 bits follow that are drawn for each.
const PREFIX: &str = ".kapsa-part-";
const DRAWN_DIGITS: usize = 16;
/// A file in it, which says whose it is.
const MARK: &str = ".kapsa-part";
/// Nobody else looks into it: what is to be sealed lies open here until it is.
const FOLDER_MODE: u32 = 0o700;
/// A temporary folder beside the place of what is being made. Whoever makes it holds a lock on it,
/// so that it is known whether it is still wanted; removed on drop.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    /// Held until the folder is gone.
    _lock: File,
}

impl Stage {
    /// A stage beside `target`, whose folder must exist.
    ///
    /// # Errors
    /// What the disk says.
    pub fn beside(target: &Path) -> Result<Stage> {
        let parent = folder_of(target);
        let folder = parent.join(format!("{PREFIX}{:016x}", random_bits()));
        let made = DirBuilder::new().mode(FOLDER_MODE).create(&folder);
        made.map_err(|source| failed("make a folder in", &parent, source))?;
        let lock = mark(&folder).map_err(|source| {
            let _the_first_error_counts = fs::remove_dir(&folder);
            failed("make a folder in", &parent, source)
        })?;
        Ok(Stage { folder, _lock: lock })
    }

    /// A place in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Gives a file of this stage its name, durably. What is there is replaced when `force`d,
    /// unless it is a folder.
    ///
    /// # Errors
    /// `TargetExists`; what the disk says.
    pub fn place_file(&self, from: &Path, to: &Path, force: bool) -> Result<()> {
        let there = to.symlink_metadata();
        if there.as_ref().is_ok_and(fs::Metadata::is_dir) || there.is_ok() && !force {
            return Err(exists(to));
        }
        let placed = match force {
            true => fs::rename(from, to),
            // Unlike a rename it takes nobody's place. Some file systems know one name for a file
            // only.
            false => fs::hard_link(from, to).or_else(|error| {
                if to.symlink_metadata().is_ok() { Err(error) } else { fs::rename(from, to) }
            }),
        };
        match placed {
            Ok(()) => sync_folder_of(to),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(to)),
            Err(source) => Err(failed("put in place", to, source)),
        }
    }

    /// Gives a folder of this stage its name, durably. What is there is replaced when `force`d, if
    /// it is an export itself.
    ///
    /// # Errors
    /// `TargetExists`; what the disk says.
    pub fn place_folder(&self, from: &Path, to: &Path, force: bool) -> Result<()> {
        if to.symlink_metadata().is_ok() {
            if !force || !folder::is_export(to) {
                return Err(exists(to));
            }
            fs::rename(to, self.path("replaced"))
                .map_err(|source| failed("replace", to, source))?;
        }
        if let Err(source) = fs::rename(from, to) {
            let _the_first_error_counts = fs::rename(self.path("replaced"), to);
            return Err(failed("put in place", to, source));
        }
        sync_folder_of(to)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What is left of it is thrown away by the next `gc`.
        let _a_leftover_harms_nobody = fs::remove_dir_all(&self.folder);
    }
}

/// Whether a folder is a stage: by its name, and by the mark in it.
pub(super) fn is_stage(folder: &Path) -> bool {
    let drawn = folder.file_name().and_then(OsStr::to_str).and_then(|n| n.strip_prefix(PREFIX));
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_marked =
        || folder.join(MARK).symlink_metadata().is_ok_and(|mark| mark.is_file() && mark.len() == 0);
    drawn.is_some_and(|drawn| {
        drawn.len() == DRAWN_DIGITS && drawn.bytes().all(|b| b.is_ascii_hexdigit())
    }) && is_folder
        && is_marked()
}

/// Holds a new, empty folder and makes it a stage. When this fails, the folder is as empty as it
/// was.
fn mark(folder: &Path) -> io::Result<File> {
    let lock = File::open(folder)?;
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
        // A file system without locks, as in `hold`.
        Err(TryLockError::Error(_)) | Ok(()) => {}
    }
    File::create_new(folder.join(MARK))?;
    Ok(lock)
}

/// Holds a stage, unless somebody else does; none when that is so, or it is gone.
pub(super) fn hold(folder: &Path) -> Option<File> {
    let lock = File::open(folder).ok()?;
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        // A file system without locks: then age alone would have to tell, and nothing here is worth
        // guessing.
        Err(TryLockError::Error(_)) | Ok(()) => folder.symlink_metadata().is_ok().then_some(lock),
    }
}

fn exists(path: &Path) -> Error {
    Error::TargetExists { path: path.to_path_buf() }
}

pub(super) fn sync_folder_of(path: &Path) -> Result<()> {
    FileSystem.sync_folder(path).map_err(|source| failed("sync the folder of", path, source))
}

/// The folder that holds `path`.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
