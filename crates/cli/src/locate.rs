//! Which capsule is meant: found as git finds its repository.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use kapsa_memory::FileSystem;
use kapsa_memory::branch::branch_name;
use kapsa_runs::shared_root;

use crate::error::{CliError, Result};

/// Where a workspace keeps its capsule, below its folder.
pub(crate) const WORKSPACE_FOLDER: &str = ".kapsa";
/// The workspace's capsule in that folder.
pub(crate) const WORKSPACE_FILE: &str = "workspace.kapsa";

/// The capsule asked for, else the workspace's here or in the nearest parent folder that has one.
pub(crate) fn capsule(asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = given(asked) {
        return Ok(path.to_path_buf());
    }
    let here =
        std::env::current_dir().map_err(|error| CliError::io("find the current folder", &error))?;
    seen_from(&here)
}

/// The workspace's capsule in a folder or in the nearest one above that has one.
pub(crate) fn seen_from(here: &Path) -> Result<PathBuf> {
    // A working tree of its own shares the memory of its repository.
    let shared =
        || shared_root(here).map(|root| root.join(workspace())).filter(|path| path.exists());
    nearest(here).or_else(shared).ok_or_else(|| {
        CliError::user(
            "no_capsule",
            format!("no {WORKSPACE_FOLDER}/{WORKSPACE_FILE} here or in any parent folder"),
        )
        .hint("kapsa init creates one here; --capsule PATH or KAPSA_CAPSULE selects another")
    })
}

/// The capsule that `init` makes: the one asked for, else this folder's.
pub(crate) fn capsule_to_make(asked: Option<&Path>) -> PathBuf {
    given(asked).map_or_else(workspace, Path::to_path_buf)
}

/// The folder here or above that has a workspace.
pub(crate) fn workspace_above(here: &Path) -> Option<PathBuf> {
    here.ancestors().find(|folder| folder.join(workspace()).exists()).map(Path::to_path_buf)
}

/// This folder's capsule, whether or not it exists.
pub(crate) fn workspace() -> PathBuf {
    Path::new(WORKSPACE_FOLDER).join(WORKSPACE_FILE)
}

/// Longest name of a current branch that is read back, in bytes.
const BRANCH_BYTES_MAX: u64 = 1024;

/// The file beside a capsule that names its current branch.
fn branch_file(capsule: &Path) -> PathBuf {
    let mut name = capsule.as_os_str().to_os_string();
    name.push(".branch");
    PathBuf::from(name)
}

/// The branch that the capsule was switched to; none when it never was.
pub(crate) fn current_branch(capsule: &Path) -> Result<Option<String>> {
    let path = branch_file(capsule);
    let mut text = String::new();
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
    match opened.and_then(|file| file.take(BRANCH_BYTES_MAX).read_to_string(&mut text)) {
        Ok(_) => {
            let named = branch_name(&text).map_err(|error| {
                let hint = format!(
                    "{} should hold the name of a branch; remove it to be on main again",
                    path.display()
                );
                CliError::from(error).hint(hint)
            })?;
            Ok(Some(named))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let failed = CliError::io(&format!("read {}", path.display()), &error);
            let is_its_fault =
                matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::InvalidData);
            Err(if is_its_fault { failed.hint("remove it to be on main again") } else { failed })
        }
    }
}

/// Makes a branch the capsule's current one, for every later command. A file that holds something
/// else than a branch's name is not touched.
pub(crate) fn set_current_branch(capsule: &Path, name: &str) -> Result<()> {
    let path = branch_file(capsule);
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => {
            let message = format!("{} is not a regular file", path.display());
            return Err(CliError::user("not_a_file", message).hint("it was not touched; move it"));
        }
        Ok(found) if found.len() > 0 => drop(current_branch(capsule)?),
        _ => {}
    }
    FileSystem
        .replace(&path, format!("{name}\n").as_bytes())
        .map_err(|error| CliError::io(&format!("write {}", path.display()), &error))
}

/// An empty path counts as none, since an empty variable means "not set" to most people.
fn given(asked: Option<&Path>) -> Option<&Path> {
    asked.filter(|path| !path.as_os_str().is_empty())
}

fn nearest(from: &Path) -> Option<PathBuf> {
    workspace_above(from).map(|folder| folder.join(workspace()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_workspace_wins() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let deep = root.path().join("a/b");
        std::fs::create_dir_all(deep.join("c")).expect("folders");
        assert_eq!(nearest(&deep).filter(|p| p.starts_with(root.path())), None);
        for folder in [root.path(), deep.as_path()] {
            std::fs::create_dir_all(folder.join(WORKSPACE_FOLDER)).expect("a folder");
            std::fs::write(folder.join(workspace()), "").expect("a file");
        }
        assert_eq!(nearest(&deep.join("c")), Some(deep.join(workspace())));
        assert_eq!(nearest(&root.path().join("a")), Some(root.path().join(workspace())));
    }

    #[test]
    fn an_empty_path_is_none() {
        assert_eq!(capsule_to_make(Some(Path::new(""))), workspace());
        assert_eq!(capsule_to_make(Some(Path::new("x"))), Path::new("x"));
    }
}
