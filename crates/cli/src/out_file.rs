//! Files that the user names for what a command writes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kapsa_memory::{FileSystem, Volume};

use crate::error::{CliError, Result};

/// A file that the user named: one that is not there yet, or a regular one, which is replaced all
/// at once. Never a part of the capsule.
pub(crate) struct OutFile {
    /// As it was named.
    shown: PathBuf,
    /// Behind symbolic links.
    path: PathBuf,
    /// The permissions of the file that is there.
    permissions: Option<fs::Permissions>,
}

impl OutFile {
    /// Looks at what is there now; refuses what must not be replaced.
    pub(crate) fn at(shown: &Path, capsule: &Path) -> Result<OutFile> {
        expect_named(shown)?;
        let refused = |why: &str| {
            let message = format!("cannot write {}: {why}", shown.display());
            Err(CliError::user("not_writable", message)
                .hint("choose a new file, or a regular one to replace, with --out FILE"))
        };
        let failed = |error: io::Error| CliError::io(&format!("write {}", shown.display()), &error);
        let (path, found) = match fs::metadata(shown) {
            Ok(found) => (fs::canonicalize(shown).map_err(failed)?, Some(found)),
            Err(_) if shown.symlink_metadata().is_ok() => {
                return refused("it is a link that leads nowhere");
            }
            Err(_) => (shown.to_path_buf(), None),
        };
        expect_folder_of(&path)?;
        if is_of_capsule(&path, found.as_ref(), capsule) {
            return refused("it belongs to the capsule");
        }
        if let Some(found) = &found {
            if !found.is_file() {
                return refused("not a regular file");
            }
            // What may not be written to is not replaced either.
            OpenOptions::new().write(true).open(&path).map_err(failed)?;
        }
        Ok(OutFile {
            shown: shown.to_path_buf(),
            path,
            permissions: found.map(|found| found.permissions()),
        })
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(&self, content: &[u8]) -> Result<()> {
        let mut rest = Some(content);
        self.write_blobs(&mut || Ok(rest.take().unwrap_or_default().to_vec()))
    }

    /// Writes what `next` gives until that is nothing, whole or not at all.
    pub(crate) fn write_blobs(&self, next: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()> {
        let temporary = FileSystem.temporary(&self.path);
        let failed =
            |error: io::Error| CliError::io(&format!("write {}", self.shown.display()), &error);
        let written = self
            .fill(&temporary, next, &failed)
            .and_then(|()| fs::rename(&temporary, &self.path).map_err(failed));
        if written.is_err() {
            let _the_first_error_counts = fs::remove_file(&temporary);
        }
        written
    }

    fn fill(
        &self,
        temporary: &Path,
        next: &mut dyn FnMut() -> Result<Vec<u8>>,
        failed: &dyn Fn(io::Error) -> CliError,
    ) -> Result<()> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(temporary).map_err(failed)?;
        if let Some(permissions) = &self.permissions {
            file.set_permissions(permissions.clone()).map_err(failed)?;
        }
        loop {
            let bytes = next()?;
            if bytes.is_empty() {
                return file.sync_all().map_err(failed);
            }
            file.write_all(&bytes).map_err(failed)?;
        }
    }
}

/// Whether a file is named as standard output is.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses `-`, which people type to mean standard output, where a file is written.
pub(crate) fn expect_named(path: &Path) -> Result<()> {
    if !is_standard_output(path) {
        return Ok(());
    }
    let message = "this is written to a file, not to standard output";
    Err(CliError::usage(message).hint("name a file; ./- is a file called -"))
}

/// Refuses a file whose folder is not there.
pub(crate) fn expect_folder_of(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    let is_missing = match fs::metadata(folder) {
        Ok(found) => !found.is_dir(),
        Err(error) => {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    };
    if !is_missing {
        return Ok(());
    }
    let message = format!("there is no folder {}", folder.display());
    Err(CliError::user("no_folder", message).hint("make the folder first, or name another place"))
}

/// Whether a file is the capsule, by whatever name, or lies beside it under a name that begins
/// with its.
fn is_of_capsule(path: &Path, found: Option<&fs::Metadata>, capsule: &Path) -> bool {
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    // May be dropped: in a folder that cannot be looked at nothing can be written either, and that
    // failure is reported.
    let is_same = |a: &Path, b: &Path| match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => same(&a, &b),
        _ => false,
    };
    if let (Some(found), Ok(capsule)) = (found, fs::metadata(capsule))
        && same(found, &capsule)
    {
        return true;
    }
    let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec());
    let begins =
        matches!((name(path), name(capsule)), (Some(name), Some(of)) if name.starts_with(&of));
    begins && is_same(folder_of(path), folder_of(capsule))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
