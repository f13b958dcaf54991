//! What a file is called: the same from whatever folder it is put.
//!
//! A file of the project has its path from the project's folder, which is the one above `.kapsa`,
//! else the repository that holds the capsule, else the capsule's own folder. A working tree of
//! the same repository is the project as well. Any other file has its whole path, with `~` for the
//! home folder.

use std::path::{Component, Path, PathBuf};

use kapsa_runs::shared_root;

use crate::locate::WORKSPACE_FOLDER;

/// Stands for the home folder.
const HOME: &str = "~";
/// What marks the folder of a working tree.
const WORKING_TREE: &str = ".git";

/// What names are relative to.
#[derive(Debug)]
pub(crate) struct Project {
    folder: PathBuf,
    home: Option<PathBuf>,
}

impl Project {
    /// The project of a capsule.
    pub(super) fn of(capsule: &Path) -> Project {
        let whole = lexical(capsule);
        let beside = whole.parent().unwrap_or(&whole);
        let workspace = beside.parent().filter(|_| beside.ends_with(WORKSPACE_FOLDER));
        let shared = || shared_root(beside).unwrap_or_else(|| beside.to_path_buf());
        Project::at(&workspace.map_or_else(shared, Path::to_path_buf))
    }

    /// The project in a folder.
    pub(crate) fn at(folder: &Path) -> Project {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        Project { folder: real(folder), home: home.map(|home| real(&home)) }
    }

    /// What a file or folder is called; the project's own folder has no name.
    pub(super) fn name(&self, path: &Path) -> String {
        let whole = real(path);
        let here = self.in_main_tree(&whole).unwrap_or_else(|| whole.clone());
        if let Ok(inside) = here.strip_prefix(&self.folder) {
            return joined(inside);
        }
        match self.home.as_ref().and_then(|home| whole.strip_prefix(home).ok()) {
            Some(inside) if inside.as_os_str().is_empty() => HOME.to_string(),
            Some(inside) => format!("{HOME}/{}", joined(inside)),
            None => format!("/{}", joined(whole.strip_prefix("/").unwrap_or(&whole))),
        }
    }

    /// Where the file of a name is, seen from a folder that may be of another working tree.
    pub(super) fn path_of(&self, name: &str, near: &Path) -> PathBuf {
        if let (Some(inside), Some(home)) = (name.strip_prefix("~/"), &self.home) {
            return home.join(inside);
        }
        let whole = real(near);
        let main = self.in_main_tree(&whole);
        let tree = main.and_then(|main| {
            let inside = main.strip_prefix(&self.folder).ok()?.components().count();
            whole.ancestors().nth(inside).map(Path::to_path_buf)
        });
        tree.unwrap_or_else(|| self.folder.clone()).join(name)
    }

    /// The same path in the main working tree, for one of another working tree of the project's
    /// repository. A repository inside that tree is a folder of it.
    fn in_main_tree(&self, whole: &Path) -> Option<PathBuf> {
        if whole.starts_with(&self.folder) {
            return None;
        }
        let is_top = |folder: &&Path| folder.join(WORKING_TREE).symlink_metadata().is_ok();
        whole.ancestors().filter(is_top).find_map(|top| {
            let shared = real(&shared_root(top)?);
            let is_ours = shared != top && self.folder.starts_with(&shared);
            is_ours.then(|| shared.join(whole.strip_prefix(top).unwrap_or(Path::new(""))))
        })
    }
}

/// Whether a name is one of a file of the project.
pub(super) fn is_inside(name: &str) -> bool {
    !name.starts_with('/') && !name.starts_with("~/") && name != HOME
}

fn joined(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// The absolute path with the links of its folders followed; the last part stays what it is called.
/// Folders that are gone are called what they were.
fn real(path: &Path) -> PathBuf {
    let whole = lexical(path);
    if whole.is_dir() {
        return whole.canonicalize().unwrap_or(whole);
    }
    for folder in whole.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), whole.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    whole
}

/// The absolute path without `.` and `..`, by its words alone.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut out = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_name() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let root = root.path().canonicalize().expect("a folder");
        for folder in ["project/.kapsa", "project/docs/sub", "project/inner/.git", "home/notes"] {
            std::fs::create_dir_all(root.join(folder)).expect("folders");
        }
        std::os::unix::fs::symlink(root.join("project/docs"), root.join("link")).expect("a link");
        let mut project = Project::of(&root.join("project/.kapsa/workspace.kapsa"));
        project.home = Some(root.join("home"));
        let outside = root.join("else.md").to_str().expect("UTF-8").to_string();
        for (path, want) in [
            ("project/docs/a.md", "docs/a.md"),
            ("project/docs/../b.md", "b.md"),
            ("link/sub/c.md", "docs/sub/c.md"),
            ("link/gone/too/c.md", "docs/gone/too/c.md"),
            ("project/inner/c.md", "inner/c.md"),
            ("project", ""),
            ("home/notes/d.md", "~/notes/d.md"),
            ("else.md", &outside),
        ] {
            assert_eq!(project.name(&root.join(path)), want);
        }
        for name in ["docs/a.md", "~/notes/d.md", &outside] {
            assert_eq!(project.name(&project.path_of(name, &root.join("project"))), name);
        }
    }

    #[test]
    fn a_capsule_elsewhere_has_the_folder_it_lies_in() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let project = Project::of(&root.path().join("team.kapsa"));
        assert_eq!(project.name(&root.path().join("a/b.md")), "a/b.md");
    }
}
