//! Writes files whole: a temporary file in the same folder takes the old one's place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Permissions of a file that was not there.
const NEW_FILE_MODE: u32 = 0o644;
/// Those that a file keeps.
const MODE_BITS: u32 = 0o7777;
/// Ending of what a file was before.
const BACKUP: &str = ".kapsa-backup";
/// Most backups of one file that setup does not know of.
const BACKUPS_MAX: u32 = 100;

/// Puts a text in a file's place.
pub(crate) fn replace(path: &Path, text: &str, mode: Option<u32>) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let written = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".kapsa-").tempfile_in(folder)?;
        let mode = mode.map_or(NEW_FILE_MODE, |mode| mode & MODE_BITS);
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(folder)?.sync_all()
    };
    written().map_err(|error| Error::io("write", path, error))
}

/// Removes a file that may be gone already.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Makes the folders of a file. Returns those that were not there, the outermost first.
pub(crate) fn make_folders(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_path_buf)
        .collect();
    missing.reverse();
    for (made, folder) in missing.iter().enumerate() {
        if let Err(error) = fs::create_dir(folder) {
            remove_folders(&missing[..made]);
            return Err(Error::io("make", folder, error));
        }
    }
    Ok(missing)
}

/// Removes folders that setup made, the innermost first, as far as they are empty.
pub(crate) fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // May be dropped: a folder with something in it stays.
        let _not_empty = fs::remove_dir(folder);
    }
}

/// The names that a file's backups have, the first first.
fn backup_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let name = path.as_os_str().to_owned();
    (1..=BACKUPS_MAX).map(move |number| {
        let mut name = name.clone();
        name.push(BACKUP);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    })
}

/// The backups that lie beside a file.
pub(crate) fn backups_of(path: &Path) -> Vec<PathBuf> {
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
    backup_names(path).filter(is_there).collect()
}

/// A name for the backup of a file that nothing has.
pub(crate) fn backup_name(path: &Path) -> Result<PathBuf, Error> {
    backup_names(path)
        .find(|path| path.symlink_metadata().is_err())
        .ok_or_else(|| Error::refused(path, format!("has {BACKUPS_MAX} backups beside it already")))
}
