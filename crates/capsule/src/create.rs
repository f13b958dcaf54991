//! Creates a capsule: writes it beside its place, syncs it, then renames it into place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::LOG_START;
use crate::format::header::{HEADER_BYTES, Header};
use crate::lock::{Lock, WriterOptions};
use crate::snapshot::Snapshot;
use crate::storage::{FileSystem, Storage, Volume, write_all_at};
use crate::temporary;

/// What a new capsule is made of.
#[derive(Clone, Copy, Debug)]
pub struct NewCapsule {
    /// Its id: random, the caller's to draw.
    pub capsule_id: [u8; 16],
    /// When it is made, microseconds since the Unix epoch.
    pub created_us: i64,
}

/// Makes an empty capsule at `path`. Returns whether it did: an existing capsule that opens is left
/// as it is.
///
/// # Errors
/// `NotACapsule` and the like when something else is there (it is not touched); `LockedByWriter`;
/// what the system reports.
pub fn create(path: &Path, new: NewCapsule, options: &WriterOptions) -> Result<bool> {
    expect_finished(path)?;
    let lock = |path: &Path| Lock::acquire(path, &options.holder, options.lock_timeout).map(Some);
    create_in(&FileSystem, path, new, &lock)
}

/// Makes an empty capsule in `volume` without a lock: for volumes that only one process uses.
///
/// # Errors
/// As [`create`].
pub fn create_unlocked(volume: &dyn Volume, path: &Path, new: NewCapsule) -> Result<bool> {
    create_in(volume, path, new, &|_| Ok(None))
}

fn create_in(
    volume: &dyn Volume,
    path: &Path,
    new: NewCapsule,
    lock: &dyn Fn(&Path) -> Result<Option<Lock>>,
) -> Result<bool> {
    let existing = |path: &Path| match Snapshot::open_in(volume, path) {
        Ok(_) => Ok(true),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    };
    if existing(path)? {
        return Ok(false);
    }
    let _lock = lock(path)?;
    if existing(path)? {
        return Ok(false);
    }
    let header = Header::new(new.capsule_id, new.created_us, 1);
    let (temporary, storage) = start_file(volume, path, &header)?;
    storage.sync().map_err(Error::io("sync", &temporary))?;
    give_name(volume, &temporary, path)?;
    Ok(true)
}

/// A new file beside `place`, which it is to take, that holds a header, empty commit pointers and
/// nothing else; not synced.
pub(crate) fn start_file(
    volume: &dyn Volume,
    place: &Path,
    header: &Header,
) -> Result<(PathBuf, Arc<dyn Storage>)> {
    volume.sweep(place).map_err(Error::io("remove what was left beside", place))?;
    let path = volume.temporary(place);
    let storage = volume.create_new(&path).map_err(Error::io("create", &path))?;
    let mut bytes = header.encode();
    assert_eq!(bytes.len(), HEADER_BYTES, "the header fills its page");
    bytes.resize(LOG_START as usize, 0);
    if let Err(error) = write_all_at(&*storage, &bytes, 0) {
        let _the_first_error_counts = volume.remove(&path);
        return Err(Error::io("write", &path)(error));
    }
    Ok((path, storage))
}

/// Refuses a file in the making: it is another capsule's, and about to go.
pub(crate) fn expect_finished(path: &Path) -> Result<()> {
    if !temporary::is_one(path) {
        return Ok(());
    }
    let found = "it has the name of a file that Kapsa is making".to_string();
    Err(Error::NotACapsule { path: path.to_path_buf(), found })
}

/// Gives a finished, synced file its name.
pub(crate) fn give_name(volume: &dyn Volume, from: &Path, to: &Path) -> Result<()> {
    volume.rename(from, to).map_err(Error::io("rename", from))?;
    volume.sync_folder(to).map_err(Error::io("sync the folder of", to))
}
