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
    let shared = || shared_root(here).filter(|root| root.join(workspace()).exists());
    let folder = workspace_above(here).or_else(shared).ok_or_else(|| {
        CliError::user(
            "no_capsule",
            format!("no {WORKSPACE_FOLDER}/{WORKSPACE_FILE} here or in any parent folder"),
        )
        .hint("kapsa init creates one here; --capsule PATH or KAPSA_CAPSULE selects another")
    })?;
    expect_inside(&folder)?;
    Ok(folder.join(workspace()))
}

/// Refuses the workspace of a folder where a link leads out of the folder, to the memory of
/// somebody else: a folder may come from anybody, and nobody has named what it leads to. The home
/// folder is the user's own.
pub(crate) fn expect_inside(folder: &Path) -> Result<()> {
    let is_link =
        |name: PathBuf| folder.join(name).symlink_metadata().is_ok_and(|found| found.is_symlink());
    if !is_link(WORKSPACE_FOLDER.into()) && !is_link(workspace()) || is_home(folder) {
        return Ok(());
    }
    kapsa_setup::expect_inside(&folder.join(workspace()), folder).map_err(|error| {
        CliError::user("capsule_elsewhere", error.to_string())
            .hint("name the capsule that is meant: --capsule PATH or KAPSA_CAPSULE")
    })
}

/// Refuses a file beside a capsule where a link leads out of the project, as [`expect_inside`]
/// refuses the capsule: the file is named after the capsule, and by nobody.
pub(crate) fn expect_beside(file: &Path) -> Result<()> {
    let beside = file.parent().unwrap_or(Path::new(""));
    let project = match beside.file_name() {
        Some(name) if name == WORKSPACE_FOLDER => beside.parent().unwrap_or(beside),
        _ => beside,
    };
    // What is below the current folder is named without it.
    let here = Path::new(".");
    let (project, file) = match project.as_os_str().is_empty() {
        true => (here, here.join(file)),
        false => (project, file.to_path_buf()),
    };
    if !file.symlink_metadata().is_ok_and(|found| found.is_symlink()) || is_home(project) {
        return Ok(());
    }
    kapsa_setup::expect_inside(&file, project).map_err(|error| {
        CliError::user("capsule_elsewhere", error.to_string())
            .hint("put the file itself there instead of the link")
    })
}

fn is_home(folder: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    home.and_then(|home| home.canonicalize().ok())
        .is_some_and(|home| folder.canonicalize().is_ok_and(|folder| folder == home))
}

/// The capsule that `init` makes: the one asked for, else this folder's.
pub(crate) fn capsule_to_make(asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = given(asked) {
        return Ok(path.to_path_buf());
    }
    expect_inside(Path::new("."))?;
    Ok(workspace())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_workspace_wins() {
        let nearest = |from: &Path| workspace_above(from).map(|folder| folder.join(workspace()));
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
        let to_make = |asked: &str| capsule_to_make(Some(Path::new(asked))).expect("a path");
        assert_eq!((to_make(""), to_make("x")), (workspace(), PathBuf::from("x")));
    }
}
