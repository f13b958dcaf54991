//! `init` and `create`: where a capsule begins.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use kapsa_memory::request::Level;
use kapsa_memory::{CapsuleError, Created, Error, check};

use crate::app::{App, did};
use crate::args::{Create, Init};
use crate::error::{CliError, Done, Result};
use crate::out_file::expect_folder_of;
use crate::wire::{Made, Versions, show};
use crate::{git_exclude, locate};

/// Most old capsules kept beside the new one.
const BACKUPS_MAX: u32 = 10_000;

/// `kapsa init`.
pub(crate) fn init(app: &mut App, args: &Init) -> Result<()> {
    let path = locate::capsule_to_make(app.global.capsule.as_deref())?;
    make_folder(&path)?;
    let mut backup = None;
    if args.force {
        set_aside(app, &path, &mut backup)?;
    }
    let created = kapsa_memory::create(&path, &app.write_options(None))?;
    let made = match created {
        Created::New => {
            did(app, made_beside(&path, backup.as_deref()));
            exclude(app, &path);
            Made {
                created: true,
                exists: false,
                capsule_path: show(&path),
                message: None,
                backup_path: backup.as_deref().map(show),
                versions: Versions::OURS,
            }
        }
        Created::Existing => already_there(&path),
    };
    tell(app, &made)
}

/// That a capsule was made, and where the old one is.
fn made_beside(path: &Path, backup: Option<&Path>) -> Done {
    let made = format!("created {}", path.display());
    match backup {
        Some(backup) => {
            Done::new(format!("{made}; {}", moved(backup))).field("backup_path", show(backup))
        }
        None => Done::new(made),
    }
}

fn moved(backup: &Path) -> String {
    format!("the old capsule is {}", backup.display())
}

/// `kapsa create PATH`.
pub(crate) fn create(app: &mut App, args: &Create) -> Result<()> {
    make_folder(&args.path)?;
    let made = match kapsa_memory::create(&args.path, &app.write_options(None))? {
        Created::New => {
            did(app, Done::new(format!("created {}", args.path.display())));
            exclude(app, &args.path);
            Made {
                created: true,
                exists: false,
                capsule_path: show(&args.path),
                message: None,
                backup_path: None,
                versions: Versions::OURS,
            }
        }
        Created::Existing => already_there(&args.path),
    };
    tell(app, &made)
}

/// Keeps the lock beside a new capsule out of `git status`. The folder of a workspace ignores
/// itself; what fails elsewhere is reported and spoils nothing.
fn exclude(app: &mut App, path: &Path) {
    if path.parent().is_some_and(|folder| folder.ends_with(locate::WORKSPACE_FOLDER)) {
        return;
    }
    if let Err(error) = git_exclude::exclude_beside(path) {
        let message = format!("git may list {}.lock as untracked: {error}", path.display());
        app.out.warn("git_may_list", &message);
    }
}

fn already_there(path: &Path) -> Made {
    let message = format!("{} already exists; left unchanged", path.display());
    Made {
        created: false,
        exists: true,
        capsule_path: show(path),
        message: Some(message),
        backup_path: None,
        versions: Versions::OURS,
    }
}

fn tell(app: &mut App, made: &Made) -> Result<()> {
    if app.out.is_json() {
        return app.out.json(made);
    }
    if let Some(message) = &made.message {
        return app.out.line(message);
    }
    app.out.line(&format!("created {}", made.capsule_path))?;
    match &made.backup_path {
        Some(backup) => app.out.line(&moved(Path::new(backup))),
        None => Ok(()),
    }
}

/// Makes the folder of a capsule where there is none, and keeps the content of what it makes, and
/// of
/// a workspace's folder, out of version control.
pub(crate) fn make_folder(capsule: &Path) -> Result<()> {
    let Some(folder) = capsule.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    if folder.is_dir() && !folder.ends_with(locate::WORKSPACE_FOLDER) {
        return Ok(());
    }
    let failed = |error: io::Error| CliError::io(&format!("make {}", folder.display()), &error);
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        // A file in the place of a folder is for the caller to mend.
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            expect_folder_of(capsule).err().unwrap_or_else(|| failed(error))
        }
        _ => failed(error),
    })?;
    let ignore = folder.join(".gitignore");
    match OpenOptions::new().write(true).create_new(true).open(&ignore) {
        Ok(mut file) => io::Write::write_all(&mut file, b"*\n").map_err(|error| {
            // One that is cut short would be left as it is by the next call.
            let _the_first_error_counts = fs::remove_file(&ignore);
            failed(error)
        }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Renames an existing capsule out of the way, unless somebody writes to it. Holds the lock while
/// it does. `backup` is where it is then, also when something fails afterwards.
fn set_aside(app: &mut App, path: &Path, backup: &mut Option<PathBuf>) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if found.is_dir() || !fs::metadata(path).is_ok_and(|target| target.is_file()) {
        return Err(CliError::user(
            "not_a_capsule",
            format!("{} is not a regular file", path.display()),
        )
        .hint("it was not touched"));
    }
    let writer = match app.keeper(path) {
        Ok(writer) => Some(writer),
        Err(error) if error.code == "locked_by_writer" => return Err(error),
        Err(_) => refuse_if_locked(path)?,
    };
    let to = claim_backup(path)?;
    fs::rename(path, &to).map_err(|error| {
        let _it_is_empty = fs::remove_file(&to);
        CliError::io(&format!("rename {} to {}", path.display(), to.display()), &error)
    })?;
    did(app, Done::new(moved(&to)).field("backup_path", show(&to)));
    *backup = Some(to);
    sync_folder(path)?;
    drop(writer);
    Ok(())
}

/// A capsule too damaged to be opened may still be somebody's.
fn refuse_if_locked<T>(path: &Path) -> Result<Option<T>> {
    let locked = check::doctor(path)
        .into_iter()
        .find(|found| found.code == "locked" && found.level > Level::Info);
    match locked {
        Some(_) => Err(Error::from(CapsuleError::LockedByWriter {
            path: path.to_path_buf(),
            holder: None,
            waited: std::time::Duration::ZERO,
        })
        .into()),
        None => Ok(None),
    }
}

/// Takes a name that no older backup has: `.bak`, then `.bak.1` and so on. The empty file made here
/// is what the rename replaces.
fn claim_backup(path: &Path) -> Result<PathBuf> {
    for number in 0..BACKUPS_MAX {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".bak".to_string() } else { format!(".bak.{number}") });
        let backup = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&backup) {
            Ok(_) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(CliError::io(&format!("make {}", backup.display()), &error)),
        }
    }
    Err(CliError::user(
        "too_many_backups",
        format!("{} already has {BACKUPS_MAX} backups", path.display()),
    ))
}

fn sync_folder(path: &Path) -> Result<()> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| CliError::io(&format!("sync {}", folder.display()), &error))
}
