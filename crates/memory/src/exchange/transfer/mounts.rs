//! Keeps a foreign capsule at hand without mixing it in, as a mount: a checked, read-only copy
//! under a name, in a folder of its own.
//!
//! `mounts/<name>.kapsa` beside the capsule, and `mounts/mounts.json` that lists them. The file
//! comes first and the list after, so that what is listed is there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kapsa_capsule::{FileSystem, Volume};
use serde_json::{Map, Value, json};

use super::hash_file;
use super::stage::{Stage, folder_of};
use crate::error::{Error, Result};
use crate::exchange::check::{self, LostFile};
use crate::exchange::sync::failed;
use crate::records::request::{Diagnosis, Level};
use crate::search::reader::Reader;
use crate::versions::stats::stats;
use crate::write::options::Progress;

/// Longest name of a mount, in characters.
pub const MOUNT_NAME_CHARS_MAX: usize = 64;
/// Folder of the mounts, in the folder of the capsule.
pub(super) const FOLDER: &str = "mounts";
const REGISTRY: &str = "mounts.json";
/// The only shape of the registry so far.
const SCHEMA_VERSION: u64 = 1;
/// Largest registry that is read, in bytes.
const REGISTRY_BYTES_MAX: u64 = 16 << 20;
/// Problems that a failure lists.
const PROBLEMS_TOLD: usize = 3;

/// A capsule beside the capsule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// BLAKE3 of the file, 64 hexadecimal digits.
    pub content_hash: String,
    /// When it was imported, as it was given.
    pub imported_at: String,
    /// Id of the capsule that was imported.
    pub original_capsule_id: String,
}

/// What is to become of a capsule that is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The name of its mount.
    pub name: String,
    /// The time now, as it is to be written.
    pub imported_at: String,
    /// Whether warnings are failures.
    pub strict: bool,
}

/// What an import did.
#[derive(Clone, Debug, PartialEq)]
pub struct Mounted {
    /// The mount.
    pub mount: Mount,
    /// Whether the same capsule was mounted under this name already.
    pub existed: bool,
    /// What `doctor` had to say.
    pub diagnostics: Vec<Diagnosis>,
}

/// The mounts of a capsule.
#[derive(Clone, Debug)]
pub struct Mounts {
    folder: PathBuf,
}

/// Where the mount `name` of `capsule` lies.
///
/// # Errors
/// As [`Mounts::get`].
pub fn mount_path(capsule: &Path, name: &str) -> Result<PathBuf> {
    Ok(Mounts::of(capsule).get(name)?.path)
}

/// Checks that `name` can be the name of a mount: 1 to 64 letters, digits, `-` and `_` of ASCII.
///
/// # Errors
/// `InvalidMountName`.
pub fn check_mount_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if (1..=MOUNT_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    Err(Error::InvalidMountName { name: name.chars().take(MOUNT_NAME_CHARS_MAX + 1).collect() })
}

impl Mounts {
    /// Those of the capsule at `capsule`.
    #[must_use]
    pub fn of(capsule: &Path) -> Mounts {
        Mounts { folder: folder_of(capsule).join(FOLDER) }
    }

    /// All, by name.
    ///
    /// # Errors
    /// `MountsRegistry` when the list cannot be understood; what the disk says.
    pub fn list(&self) -> Result<Vec<Mount>> {
        let path = self.folder.join(REGISTRY);
        let damaged = |reason: String| Error::MountsRegistry { path: path.clone(), reason };
        let text = match fs::metadata(&path).map(|found| found.len()) {
            Ok(length) if length > REGISTRY_BYTES_MAX => {
                return Err(damaged("it is larger than 16 MiB".to_string()));
            }
            Ok(_) => fs::read(&path).map_err(|source| failed("read", &path, source))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed("read", &path, source)),
        };
        let registry: Value =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if registry["schema_version"].as_u64() != Some(SCHEMA_VERSION) {
            return Err(damaged("its schema_version is not 1".to_string()));
        }
        let listed = registry["mounts"]
            .as_array()
            .ok_or_else(|| damaged("it holds no list `mounts`".to_string()))?;
        let mut mounts =
            listed.iter().map(|entry| self.mount(entry)).collect::<Result<Vec<_>>>()?;
        mounts.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(mounts)
    }

    /// The mount called `name`.
    ///
    /// # Errors
    /// `InvalidMountName`, `MountNotFound`; as [`Mounts::list`].
    pub fn get(&self, name: &str) -> Result<Mount> {
        check_mount_name(name)?;
        let found = self.list()?.into_iter().find(|mount| mount.name == name);
        found.ok_or_else(|| Error::MountNotFound { name: name.to_string() })
    }

    /// Mounts a capsule that `fill` writes to the path it is given, after a check of every byte of
    /// it. Nothing is left behind by a failure. The same capsule again changes nothing.
    ///
    /// # Errors
    /// `InvalidMountName`; `NotACapsule`; `VerificationFailed`; `MountHashConflict` when something
    /// else has this name; what `fill` or the disk says.
    pub fn import<E: From<Error>>(
        &self,
        import: &Import,
        fill: impl FnOnce(&Path) -> Result<(), E>,
        progress: Progress<'_>,
    ) -> Result<Mounted, E> {
        check_mount_name(&import.name)?;
        let io = |source| failed("make", &self.folder, source);
        fs::create_dir_all(&self.folder).map_err(io)?;
        let stage = Stage::beside(&self.folder.join(REGISTRY))?;
        let copy = stage.path("import.kapsa");
        let added = fill(&copy).and_then(|()| Ok(self.add(&stage, &copy, import, progress)?));
        drop(stage);
        if added.is_err() {
            let _not_empty_when_there_are_others = fs::remove_dir(&self.folder);
        }
        added
    }

    fn add(
        &self,
        stage: &Stage,
        copy: &Path,
        import: &Import,
        progress: Progress<'_>,
    ) -> Result<Mounted> {
        let diagnostics = examine(copy, import.strict, progress)?;
        let content_hash = hash_file(copy)?;
        let original_capsule_id = stats(&Reader::open(copy)?, false)?.capsule_id;
        let _one_at_a_time = self.lock()?;
        let mut mounts = self.list()?;
        let path = self.path(&import.name);
        let conflict = || Error::MountHashConflict { name: import.name.clone() };
        if let Ok(found) = path.symlink_metadata()
            && !(found.is_file() && hash_file(&path)? == content_hash)
        {
            return Err(conflict());
        }
        let listed = mounts.iter().find(|mount| mount.name == import.name);
        if listed.is_some_and(|mount| mount.content_hash != content_hash) {
            return Err(conflict());
        }
        let is_new = path.symlink_metadata().is_err();
        self.put_file(stage, copy, &path)?;
        if let Some(mount) = listed {
            return Ok(Mounted { mount: mount.clone(), existed: true, diagnostics });
        }
        let (name, imported_at) = (import.name.clone(), import.imported_at.clone());
        let mount = Mount { name, path, content_hash, imported_at, original_capsule_id };
        mounts.push(mount.clone());
        self.register(stage, &mounts).inspect_err(|_| {
            let is_listed = |all: Vec<Mount>| all.iter().any(|listed| listed.name == mount.name);
            if is_new && !self.list().is_ok_and(is_listed) {
                let _the_first_error_counts = fs::remove_file(&mount.path);
            }
        })?;
        Ok(Mounted { mount, existed: false, diagnostics })
    }

    /// Where a mount lies; the name alone says so, whatever the list may claim.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.kapsa"))
    }

    fn mount(&self, entry: &Value) -> Result<Mount> {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_string();
        let name = text("name");
        check_mount_name(&name).map_err(|error| self.damaged(&error.to_string()))?;
        Ok(Mount {
            path: self.path(&name),
            name,
            content_hash: text("content_hash"),
            imported_at: text("imported_at"),
            original_capsule_id: text("original_capsule_id"),
        })
    }

    fn damaged(&self, reason: &str) -> Error {
        Error::MountsRegistry { path: self.folder.join(REGISTRY), reason: reason.to_string() }
    }

    /// Held while the list is read and replaced.
    fn lock(&self) -> Result<File> {
        let failed = |source| failed("lock", &self.folder, source);
        let folder = File::open(&self.folder).map_err(failed)?;
        folder.lock().map_err(failed)?;
        Ok(folder)
    }

    /// Puts the copy in place for good, unless it is there.
    fn put_file(&self, stage: &Stage, copy: &Path, path: &Path) -> Result<()> {
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let io = |source| failed("write", copy, source);
        let file = File::open(copy).map_err(io)?;
        let mut permissions = file.metadata().map_err(io)?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions).and_then(|()| file.sync_all()).map_err(io)?;
        stage.place_file(copy, path, false)
    }

    fn register(&self, stage: &Stage, mounts: &[Mount]) -> Result<()> {
        let entry = |mount: &Mount| {
            json!({"name": mount.name, "file": format!("{}.kapsa", mount.name), "content_hash": mount.content_hash,
                "imported_at": mount.imported_at, "original_capsule_id": mount.original_capsule_id, "read_only": true})
        };
        let mut registry = Map::new();
        registry.insert("schema_version".to_string(), SCHEMA_VERSION.into());
        registry.insert("mounts".to_string(), mounts.iter().map(entry).collect());
        let temporary = stage.path(REGISTRY);
        let text = format!("{:#}\n", Value::Object(registry));
        let written = File::create_new(&temporary);
        written
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(|source| failed("write", &temporary, source))?;
        let registry = self.folder.join(REGISTRY);
        fs::rename(&temporary, &registry).map_err(|source| failed("replace", &registry, source))?;
        FileSystem
            .sync_folder(&registry)
            .map_err(|source| failed("sync the folder of", &registry, source))
    }
}

/// Looks at a copy as `doctor` and `verify` do.
fn examine(copy: &Path, strict: bool, progress: Progress<'_>) -> Result<Vec<Diagnosis>> {
    if let Err(kapsa_capsule::Error::NotACapsule { found, .. }) =
        kapsa_capsule::Snapshot::open(copy)
    {
        return Err(Error::Capsule(kapsa_capsule::Error::NotACapsule {
            path: "the file".into(),
            found,
        }));
    }
    let diagnostics = check::doctor(copy);
    let bad = if strict { Level::Warning } else { Level::Error };
    let mut problems: Vec<String> = diagnostics
        .iter()
        .filter(|found| found.level >= bad)
        .map(|found| found.message.clone())
        .collect();
    if problems.is_empty() {
        let report = check::verify(copy, progress)?;
        problems.extend(
            report.problems.iter().map(|found| format!("byte {}: {}", found.offset, found.what)),
        );
    }
    if problems.is_empty() {
        let incomplete = |file: &LostFile| format!("a part of the file of {} is missing", file.uri);
        problems.extend(check::lost_files(copy)?.iter().map(incomplete));
    }
    if problems.is_empty() {
        return Ok(diagnostics);
    }
    problems.truncate(PROBLEMS_TOLD);
    // Where the copy lies says nothing to whoever brought it.
    let copy = copy.display().to_string();
    Err(Error::VerificationFailed { problems: problems.join("; ").replace(&copy, "the file") })
}
