//! Files that are there whole or not at all. Knows nothing of what is in them.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::error::{Error, Result};

/// Names of files that are being written begin like this; a killed writer leaves one behind.
pub(crate) const TEMPORARY_PREFIX: &str = ".kapsa-";
/// Permissions of a new file, before the user's mask.
const MODE: u32 = 0o666;

/// Writes a file in place of the one that is there, if any: a link is replaced, never followed.
/// Keeps the permissions of a file that it replaces.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = filled(path, content)?;
    let moved = temporary.persist(path).map_err(|error| error.error);
    moved.and_then(|_file| sync_folder(path)).map_err(Error::io("write", path))
}

/// Writes a new file; false if there is anything of that name.
pub(crate) fn create(path: &Path, content: &[u8]) -> Result<bool> {
    let temporary = filled(path, content)?;
    match temporary.persist_noclobber(path) {
        Ok(_file) => sync_folder(path).map(|()| true).map_err(Error::io("write", path)),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Error::io("write", path)(error.error)),
    }
}

/// Moves a file to a name that nothing has; false if something has it. A move that was interrupted
/// is completed.
pub(crate) fn move_new(from: &Path, to: &Path) -> Result<bool> {
    match fs::hard_link(from, to) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if !is_same_file(from, to).map_err(Error::io("move", from))? {
                return Ok(false);
            }
        }
        Err(error) => return Err(Error::io("move", from)(error)),
    }
    let removed = sync_folder(to).and_then(|()| fs::remove_file(from));
    removed.and_then(|()| sync_folder(from)).map_err(Error::io("move", from))?;
    Ok(true)
}

fn is_same_file(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (fs::symlink_metadata(a)?, fs::symlink_metadata(b)?);
    Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// A temporary file beside `path` with the content, on disk.
fn filled(path: &Path, content: &[u8]) -> Result<NamedTempFile> {
    let fill = || -> io::Result<NamedTempFile> {
        let permissions = match fs::symlink_metadata(path) {
            Ok(found) if found.is_file() => found.permissions(),
            _ => Permissions::from_mode(MODE),
        };
        let mut temporary = Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .permissions(permissions)
            .tempfile_in(folder_of(path))?;
        temporary.write_all(content)?;
        temporary.as_file().sync_all()?;
        Ok(temporary)
    };
    fill().map_err(Error::io("write", path))
}

/// Makes a name durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
