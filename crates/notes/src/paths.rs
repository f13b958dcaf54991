//! Where a path leads, as the system walks it. Knows nothing of what may lie there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Most links on one path; the system allows 40.
const LINKS_MAX: usize = 40;
/// Most parts of one path, those of links included.
const PARTS_MAX: usize = 4096;

/// The absolute path without links, `.` and `..`. Links are followed wherever something lies, the
/// last part included; what does not lie there yet is taken by its name.
///
/// # Errors
/// For a relative path, too many links or parts, and what may not be looked at.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    if !path.is_absolute() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut rest: VecDeque<Part> = parts(path).collect();
    let mut resolved = PathBuf::from("/");
    let (mut links, mut walked) = (0, 0);
    while let Some(part) = rest.pop_front() {
        walked += 1;
        if walked > PARTS_MAX {
            return Err(ErrorKind::InvalidFilename.into());
        }
        let name = match part {
            Part::Root => {
                resolved = PathBuf::from("/");
                continue;
            }
            Part::Up => {
                resolved.pop();
                continue;
            }
            Part::Name(name) => name,
        };
        resolved.push(name);
        let is_link = match fs::symlink_metadata(&resolved) {
            Ok(found) => found.is_symlink(),
            Err(error) if is_missing(&error) => false,
            Err(error) => return Err(error),
        };
        if is_link {
            links += 1;
            if links > LINKS_MAX {
                return Err(ErrorKind::InvalidFilename.into());
            }
            let target = fs::read_link(&resolved)?;
            resolved.pop();
            for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(part);
            }
        }
    }
    Ok(resolved)
}

/// The path without `.` and `..` by its words alone, as programs do that do not ask the system.
pub(crate) fn by_words(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in parts(path) {
        match part {
            Part::Root => plain.push("/"),
            Part::Up => {
                plain.pop();
            }
            Part::Name(name) => plain.push(name),
        }
    }
    plain
}

/// Whether a path leads into a folder, wherever links on either of them lead. What cannot be
/// resolved does not.
pub(crate) fn is_within(path: &Path, folder: &Path) -> bool {
    // May be dropped: a path that cannot be walked leads nowhere, hence not into the folder.
    let (Ok(path), Ok(folder)) = (resolve(path), resolve(folder)) else {
        return false;
    };
    path != folder && path.starts_with(folder)
}

enum Part {
    Root,
    Up,
    Name(OsString),
}

fn parts(path: &Path) -> impl Iterator<Item = Part> + '_ {
    path.components().filter_map(|component| match component {
        Component::Prefix(_) | Component::CurDir => None,
        Component::RootDir => Some(Part::Root),
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
