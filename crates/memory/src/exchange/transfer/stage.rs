//! How does something large appear all at once? It is made in a folder beside its place, and gets
//! its name when it is whole.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use kapsa_capsule::{FileSystem, Volume};

use super::markdown;
use crate::error::{Error, Result, misuse};
use crate::exchange::sync::failed;

/// What the names of these folders begin with; a number follows.
const PREFIX: &str = ".kapsa-part-";
/// Nobody else looks into it: what is to be sealed lies open here until it is.
const FOLDER_MODE: u32 = 0o700;
/// Most of them in one folder: some of those who made them were killed, the others are at work.
const STAGES_MAX: u32 = 1000;

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
        for number in 0..STAGES_MAX {
            let folder = parent.join(format!("{PREFIX}{number}"));
            match DirBuilder::new().mode(FOLDER_MODE).create(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(failed("make a folder in", &parent, source)),
            }
            if let Some(lock) = hold(&folder) {
                return Ok(Stage { folder, _lock: lock });
            }
        }
        Err(misuse(&format!(
            "{} is full of leftovers; kapsa gc removes those among the exports",
            parent.display()
        )))
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
            if !force || !markdown::is_export(to) {
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

/// Whether a name is one of a stage.
pub(super) fn is_stage(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
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
