//! Writes files whole: a temporary file in the same folder takes the old one's place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::Error;

/// Permissions of a file that was not there.
const NEW_FILE_MODE: u32 = 0o644;
/// Those that a file keeps.
const MODE_BITS: u32 = 0o7777;
/// Ending of what a file was before.
const BACKUP: &str = ".kapsa-backup";
/// How the name of a file begins that is not in its place yet.
const TEMPORARY: &str = ".kapsa-setup-";
/// Age from which on such a file is of a process that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(60);
/// Most backups of one file that setup does not know of.
const BACKUPS_MAX: u32 = 100;

/// Puts a text in a file's place.
pub(crate) fn replace(path: &Path, text: &str, mode: Option<u32>) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let written = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
        sweep(folder, file.as_file().metadata()?.modified()?)?;
        let mode = mode.map_or(NEW_FILE_MODE, |mode| mode & MODE_BITS);
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(folder)?.sync_all()
    };
    written().map_err(|error| Error::io("write", path, error))
}

/// Removes what processes left in a folder that were killed long before `now`.
fn sweep(folder: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            continue;
        }
        let found = entry.metadata()?;
        // A time in the future is not old.
        let age = now.duration_since(found.modified()?);
        let is_old = age.is_ok_and(|age| age > LEFT_AFTER);
        if found.is_file() && is_old {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_goes_with_the_next_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, age: u64| {
            let path = folder.path().join(name);
            let file = File::create(&path).expect("made");
            let now = file.metadata().and_then(|made| made.modified()).expect("a time");
            file.set_modified(now - Duration::from_secs(age)).expect("dated");
            path
        };
        let left = file(".kapsa-setup-aB3xYz", 3600);
        let kept = [file(".kapsa-setup-c", 1), file(".kapsa-notes", 3600), file("b", 3600)];
        replace(&folder.path().join("a.json"), "{}", None).expect("written");
        assert!(!left.exists());
        assert!(kept.iter().all(|path| path.exists()));
    }
}
