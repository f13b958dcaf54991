//! Keeps the lines that were typed: with the state of the user's other programs, readable by nobody
//! else; never beside a capsule.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Most lines that are kept.
pub(super) const LINES_MAX: usize = 1000;

/// The history's file; none when there is no place for it.
pub(super) fn file() -> Option<PathBuf> {
    let path = path(|name| std::env::var_os(name))?;
    // A pipe or a device of that name would be waited for.
    let usable = path.metadata().map_or(true, |found| found.is_file());
    (usable && make_folder(path.parent()?)).then_some(path)
}

fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("kapsa/history"))
}

fn make_folder(folder: &Path) -> bool {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_of_the_user_is_found() {
        let with = |state: Option<&str>, home: Option<&str>| {
            path(|name| if name == "HOME" { home } else { state }.map(OsString::from))
                .map(|path| path.display().to_string())
        };
        assert_eq!(with(Some("/s"), Some("/h")).as_deref(), Some("/s/kapsa/history"));
        for none in [None, Some(""), Some("relative")] {
            assert_eq!(with(none, Some("/h")).as_deref(), Some("/h/.local/state/kapsa/history"));
            assert_eq!(with(none, None), None);
        }
    }
}
