//! Throws away exports that are old, and what killed exports, imports and compactions left. Nothing
//! else, and nothing that a symbolic link leads to.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kapsa_capsule::{FileSystem, Volume as _};

use super::stage::{folder_of, hold, is_stage};
use super::{EXPORTS_FOLDER, folder, mounts};
use crate::error::Result;
use crate::exchange::sync::failed;

/// What the names of exports in a file end with.
const EXPORT_ENDINGS: [&str; 6] =
    [".kapsa", ".kapsa.age", ".jsonl", ".jsonl.age", ".mv2", ".mv2.age"];
/// What the names of exports in a folder end with.
const FOLDER_ENDINGS: [&str; 2] = [".markdown", ".json-dir"];
/// A file with this ending beside an export keeps it.
const PIN_ENDING: &str = ".pin";

/// What is to be thrown away.
#[derive(Clone, Copy, Debug)]
pub struct GcRequest {
    /// The time now.
    pub now: SystemTime,
    /// How long exports are kept.
    pub retention: Duration,
    /// Whether only to say what would go.
    pub dry_run: bool,
    /// Whether pinned ones stay, however old they are.
    pub keep_pinned: bool,
}

/// What was thrown away, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Exports that went.
    pub exports_deleted: u64,
    /// Exports that stay: young, or pinned.
    pub exports_preserved: u64,
    /// What is not an export, or could not be removed.
    pub exports_skipped: u64,
    /// Leftovers that went.
    pub temp_files_deleted: u64,
    /// Bytes of what went.
    pub bytes_freed: u64,
    /// What went, by name.
    pub deleted_paths: Vec<PathBuf>,
}

/// Throws away old exports of `capsule` and leftovers.
///
/// # Errors
/// What the disk says to reading the folders; what cannot be removed is skipped.
pub fn gc(capsule: &Path, request: &GcRequest) -> Result<GcReport> {
    let folder = folder_of(capsule);
    let mut report = GcReport::default();
    for entry in entries(&folder.join(EXPORTS_FOLDER))? {
        look_at(&entry, request, &mut report);
    }
    for entry in entries(&folder.join(mounts::FOLDER))? {
        leftover(&entry, request, &mut report);
    }
    unfinished(capsule, request, &mut report)?;
    Ok(report)
}

/// Removes the files that killed compactions left beside the capsule.
fn unfinished(capsule: &Path, request: &GcRequest, report: &mut GcReport) -> Result<()> {
    let failed = |source| failed("look for leftovers of", capsule, source);
    let sizes: Vec<(PathBuf, u64)> = FileSystem
        .leftovers(capsule)
        .map_err(failed)?
        .into_iter()
        .map(|path| {
            let bytes = size(&path);
            (path, bytes)
        })
        .collect();
    if !request.dry_run && !sizes.is_empty() {
        FileSystem.sweep(capsule).map_err(failed)?;
    }
    for (path, bytes) in sizes {
        // What somebody took hold of meanwhile stays.
        if request.dry_run || path.symlink_metadata().is_err() {
            report.temp_files_deleted += 1;
            report.bytes_freed += bytes;
            report.deleted_paths.push(path);
        }
    }
    Ok(())
}

/// What is in a folder, by name; nothing when there is no such folder, or a link in its place.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed("look at", folder, source)),
    }
    let read = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
    let mut entries = read.map_err(|source| failed("read", folder, source))?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

fn look_at(entry: &DirEntry, request: &GcRequest, report: &mut GcReport) {
    if leftover(entry, request, report) || is_pin(&entry.path()) {
        return;
    }
    let (path, Ok(found)) = (entry.path(), entry.metadata()) else {
        report.exports_skipped += 1;
        return;
    };
    let Some(made) = exported_at(&path, &found) else {
        report.exports_skipped += 1;
        return;
    };
    // A time in the future gives no age.
    let age = request.now.duration_since(made).unwrap_or_default();
    if age <= request.retention || request.keep_pinned && is_pinned(&path) {
        report.exports_preserved += 1;
    } else if remove(&path, request, report) {
        report.exports_deleted += 1;
    } else {
        report.exports_skipped += 1;
    }
}

/// When an export was made; none when it is something else, such as a symbolic link.
fn exported_at(path: &Path, found: &Metadata) -> Option<SystemTime> {
    let name = path.file_name()?.to_str()?;
    if found.is_file() && EXPORT_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        // May be dropped: what has no time that can be read is not collected.
        return found.modified().ok();
    }
    let folder = found.is_dir() && folder::is_export(path);
    // May be dropped, likewise.
    if folder { folder::modified(path).ok() } else { None }
}

fn is_pin(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.ends_with(PIN_ENDING))
}

/// Whether `<name>.pin`, or the name with `.pin` for its ending, lies beside it.
fn is_pinned(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return true };
    let stems =
        EXPORT_ENDINGS.iter().chain(&FOLDER_ENDINGS).filter_map(|ending| name.strip_suffix(ending));
    stems
        .chain([name])
        .any(|stem| path.with_file_name(format!("{stem}{PIN_ENDING}")).symlink_metadata().is_ok())
}

/// Removes what an export or an import left that nobody works on. Gives whether it is such a thing.
fn leftover(entry: &DirEntry, request: &GcRequest, report: &mut GcReport) -> bool {
    if !is_stage(&entry.path()) {
        return false;
    }
    let held = hold(&entry.path());
    if held.is_some() && remove(&entry.path(), request, report) {
        report.temp_files_deleted += 1;
    }
    true
}

fn remove(path: &Path, request: &GcRequest, report: &mut GcReport) -> bool {
    let bytes = size(path);
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let removed = request.dry_run
        || if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) }.is_ok();
    if removed {
        report.bytes_freed += bytes;
        report.deleted_paths.push(path.to_path_buf());
    }
    removed
}

/// Bytes of a file, or of all files in a folder; links are not followed.
fn size(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| size(&entry.path())).sum()
}
