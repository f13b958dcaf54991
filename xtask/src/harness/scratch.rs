//! The files of a run: a fresh temporary folder, kept only when something failed.

use std::path::{Path, PathBuf};
use std::{env, fs, io, process, thread};

/// A folder that is removed when it is dropped, unless it is to be kept or the thread panics.
pub(crate) struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Makes a new folder for the command `verb`.
    pub(crate) fn new(verb: &str) -> Result<Scratch, String> {
        for attempt in 0..1000 {
            let path = env::temp_dir().join(format!("kapsa-{verb}-{}-{attempt}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Scratch { path, keep: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("cannot make {}: {error}", path.display())),
            }
        }
        Err(format!("{} is full of old folders", env::temp_dir().display()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder in place, and says where it is.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
        eprintln!("the files of this run are kept in {}", self.path.display());
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.keep || thread::panicking() {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("cannot remove {}: {error}", self.path.display());
        }
    }
}
