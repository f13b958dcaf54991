//! One setup at a time: the ledger and the files that it is about are read and written by whoever
//! holds the lock beside the ledger.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kapsa_memory::{CapsuleError, Error as MemoryError, Lock, WriteOptions, lock_path};

use crate::error::{CliError, Result};

/// The turn of this process, until dropped.
pub(super) struct SetupTurn {
    ledger: PathBuf,
    _lock: Lock,
}

impl SetupTurn {
    /// Waits for those who came before, as long as for another writer.
    pub(super) fn wait(ledger: &Path, options: &WriteOptions) -> Result<SetupTurn> {
        let folder = ledger.parent().unwrap_or(Path::new("/"));
        let begun = Instant::now();
        loop {
            fs::create_dir_all(folder)
                .map_err(|error| CliError::io(&format!("make {}", folder.display()), &error))?;
            let patience = options.lock_timeout.saturating_sub(begun.elapsed());
            match Lock::acquire(ledger, &options.holder, patience) {
                Ok(lock) => return Ok(SetupTurn { ledger: ledger.to_path_buf(), _lock: lock }),
                // Whoever had the turn before has left nothing, not even the folder.
                Err(CapsuleError::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && !patience.is_zero() => {}
                Err(error) => return Err(MemoryError::from(error).into()),
            }
        }
    }
}

impl Drop for SetupTurn {
    fn drop(&mut self) {
        if self.ledger.symlink_metadata().is_ok() {
            return;
        }
        // Nothing is set up: the lock goes as well. Whoever waits for it notices that it has lost
        // its name, and makes another one.
        // May be dropped: an empty file that stays does no harm.
        let _stays = fs::remove_file(lock_path(&self.ledger));
        if let Some(folder) = self.ledger.parent() {
            // May be dropped: a folder with something in it stays.
            let _not_empty = fs::remove_dir(folder);
        }
    }
}
