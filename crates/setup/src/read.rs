//! Reads configuration files, within limits. Writes nothing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::clients::{Client, Places, Scope};
use crate::content::split_bom;
use crate::error::{EditError, Error, line_at};
use crate::plan::chosen;
use crate::server::Server;
use crate::{json, passage};

/// Longest configuration file that is read, in bytes.
pub const CONFIG_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A file as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The file itself, where the path is a link.
    pub(crate) target: PathBuf,
    /// What it holds; none where there is no file.
    pub(crate) text: Option<String>,
    /// Its permissions.
    pub(crate) mode: Option<u32>,
}

/// Reads a file. A link is followed; within a project only to a file of the project.
pub(crate) fn read(path: &Path, project: Option<&Path>) -> Result<Found, Error> {
    if let Some(project) = project {
        expect_inside(path, project)?;
    }
    let target = match fs::symlink_metadata(path) {
        Err(error) if is_missing(&error) => {
            return Ok(Found { target: path.to_path_buf(), text: None, mode: None });
        }
        Err(error) => return Err(Error::io("read", path, error)),
        Ok(found) if found.is_symlink() => followed(path)?,
        Ok(_) => path.to_path_buf(),
    };
    let found = fs::metadata(&target).map_err(|error| Error::io("read", &target, error))?;
    if !found.is_file() {
        return Err(Error::refused(path, "is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(&target)
        .and_then(|file| file.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| Error::io("read", &target, error))?;
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        let mib = CONFIG_BYTES_MAX / (1024 * 1024);
        return Err(Error::refused(path, format!("is longer than {mib} MiB")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        Error::edit(path, EditError::at(line_at(&before, valid), "it is not UTF-8"))
    })?;
    let mode = Some(found.permissions().mode());
    Ok(Found { target, text: Some(text), mode })
}

/// Refuses a path of a project that a link on the way leads out of it, whether or not there is a
/// file: a repository comes from anybody, and names no place outside of itself.
///
/// # Errors
///
/// [`Error`]: the link and where it leads; or the way cannot be looked at.
pub fn expect_inside(path: &Path, project: &Path) -> Result<(), Error> {
    let root = match fs::canonicalize(project) {
        // Where there is no project there is no link in it.
        Err(error) if is_missing(&error) => return Ok(()),
        root => root.map_err(|error| Error::io("find", project, error))?,
    };
    // A file that a link led to is known by its real path.
    let start = if path.starts_with(project) { project } else { root.as_path() };
    let below = path
        .strip_prefix(start)
        .map_err(|_| Error::refused(path, format!("is not in {}", project.display())))?;
    let mut way = start.to_path_buf();
    for part in below.components() {
        way.push(part);
        match fs::symlink_metadata(&way) {
            Err(error) if is_missing(&error) => return Ok(()),
            Err(error) => return Err(Error::io("read", &way, error)),
            Ok(found) if !found.is_symlink() => {}
            Ok(_) => {
                let target = followed(&way)?;
                if !target.starts_with(&root) {
                    let reason =
                        format!("is a link that leads out of the project, to {}", target.display());
                    return Err(Error::refused(&way, reason));
                }
            }
        }
    }
    Ok(())
}

/// What a link leads to.
fn followed(path: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(path).map_err(|error| {
        if !is_missing(&error) {
            return Error::io("follow", path, error);
        }
        let named = fs::read_link(path).unwrap_or_default();
        Error::refused(path, format!("is a link that leads to no file, {}", named.display()))
    })
}

/// Refuses a file that must not be written to, or whose folder must not.
pub(crate) fn expect_writable(path: &Path, found: &Found) -> Result<(), Error> {
    let is_read_only = |path: &Path| fs::metadata(path).map(|found| found.permissions().readonly());
    if found.text.is_some()
        && is_read_only(&found.target).map_err(|error| Error::io("read", path, error))?
    {
        return Err(Error::refused(path, "is read-only"));
    }
    for folder in found.target.ancestors().skip(1) {
        match fs::metadata(folder) {
            Ok(there) if !there.is_dir() => {
                return Err(Error::refused(folder, "is no folder"));
            }
            Ok(there) if there.permissions().readonly() => {
                return Err(Error::refused(folder, "is a read-only folder"));
            }
            Ok(_) => return Ok(()),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(Error::io("read", folder, error)),
        }
    }
    Ok(())
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// What a client's files say about this memory, read as the client would.
#[derive(Clone, Debug, Default)]
pub struct Doors {
    /// The file that lists servers.
    pub server_file: PathBuf,
    /// What it starts under our name.
    pub server: Option<Server>,
    /// The file of hooks.
    pub hooks_file: Option<PathBuf>,
    /// Our hooks: names of events and commands.
    pub hooks: Vec<(String, String)>,
    /// The file with our passage.
    pub passage_file: Option<PathBuf>,
}

/// Reads the files of a client; none where it has no file of this scope.
///
/// # Errors
///
/// [`Error`]: a file cannot be read.
pub fn doors(
    client: &Client,
    scope: Scope,
    places: &Places,
    program: &str,
) -> Result<Option<Doors>, Error> {
    let Some(files) = client.files(scope) else { return Ok(None) };
    let project = (scope == Scope::Project).then_some(places.project.as_path());
    let text = |path: &Path| Ok::<_, Error>(read(path, project)?.text.unwrap_or_default());
    let server_file = chosen(files.server, places);
    let content = text(&server_file)?;
    let server = client.form.read(&content).map_err(|error| Error::edit(&server_file, error))?;
    let mut doors = Doors { server_file, server, ..Doors::default() };
    if let Some(place) = files.hooks {
        let path = places.path(place);
        let content = text(&path)?;
        doors.hooks = json::read_hooks(split_bom(&content).1, program)
            .map_err(|error| Error::edit(&path, error))?;
        doors.hooks_file = Some(path);
    }
    if let Some(place) = files.passage {
        let path = places.path(place);
        let has = passage::remove(&text(&path)?).map_err(|error| Error::edit(&path, error))?;
        doors.passage_file = has.map(|_| path);
    }
    Ok(Some(doors))
}
