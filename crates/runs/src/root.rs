//! The root that all working trees of a repository share. Read from the files that git itself
//! keeps; git is not called.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Most bytes of a file of git that are read: each holds one path.
const POINTER_BYTES_MAX: u64 = 8192;
const GIT: &str = ".git";

/// The root shared by all working trees of the repository that `from` lies in: the main working
/// tree, or the repository itself when that has none. None outside any repository.
///
/// In a working tree of its own (`git worktree add`) `.git` is a file that names a folder of the
/// repository, and `commondir` there names what is shared. The folder must name the working tree in
/// turn and lie in `worktrees` of what is shared, else the file is taken for no more than the mark
/// of a root: a file that came with a download leads nowhere.
#[must_use]
pub fn shared_root(from: &Path) -> Option<PathBuf> {
    let top = from.ancestors().find(|folder| folder.join(GIT).symlink_metadata().is_ok())?;
    Some(common(top).unwrap_or_else(|| top.to_path_buf()))
}

/// The shared root of a working tree whose `.git` is a file.
fn common(top: &Path) -> Option<PathBuf> {
    let pointer = top.join(GIT);
    if pointer.is_dir() {
        return None;
    }
    let own = plain(&top.join(first_line(&pointer)?.strip_prefix("gitdir:")?.trim()));
    let back = own.join(first_line(&own.join("gitdir"))?.trim());
    if fs::canonicalize(&back).ok()? != fs::canonicalize(&pointer).ok()? {
        return None;
    }
    let shared = plain(&own.join(first_line(&own.join("commondir"))?.trim()));
    // Both ends can be forged by whoever made the working tree, but not a place within the
    // repository.
    if fs::canonicalize(&own).ok()?.parent()? != fs::canonicalize(&shared).ok()?.join("worktrees") {
        return None;
    }
    let parent = shared.parent()?;
    // The repository lies in its main working tree, beside the file that names it, or stands alone.
    let named = || {
        Some(plain(&parent.join(first_line(&parent.join(GIT))?.strip_prefix("gitdir:")?.trim())))
    };
    let has_tree = shared.file_name().is_some_and(|name| name == GIT)
        || named().is_some_and(|named| named == shared);
    Some(if has_tree { parent.to_path_buf() } else { shared })
}

/// The path without `.` and `..`, as far as its own words say.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn first_line(path: &Path) -> Option<String> {
    let mut text = String::new();
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    File::open(path).ok()?.take(POINTER_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.lines().next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder above")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// A repository with one working tree more, made as git makes it.
    fn repository(root: &Path, git_folder: &str) -> PathBuf {
        let git = root.join("main").join(git_folder);
        let tree = root.join("trees/task-1");
        fs::create_dir_all(tree.join("src")).expect("folders");
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
        write(&git.join("worktrees/task-1/commondir"), "../..\n");
        write(&git.join("worktrees/task-1/gitdir"), &format!("{}\n", tree.join(GIT).display()));
        write(&tree.join(GIT), &format!("gitdir: {}\n", git.join("worktrees/task-1").display()));
        tree
    }

    #[test]
    fn every_working_tree_has_the_same_root() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let tree = repository(root.path(), ".git");
        let main = root.path().join("main");
        for from in [main.clone(), main.join(".git"), tree.clone(), tree.join("src")] {
            assert_eq!(shared_root(&from), Some(main.clone()), "{}", from.display());
        }
    }

    #[test]
    fn a_bare_repository_is_its_own_root_unless_a_file_beside_it_names_it() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let tree = repository(root.path(), "store.git");
        assert_eq!(shared_root(&tree), Some(root.path().join("main/store.git")));
        write(&root.path().join("main/.git"), "gitdir: ./store.git\n");
        assert_eq!(shared_root(&tree), Some(root.path().join("main")));
    }

    #[test]
    fn a_git_file_that_nobody_answers_leads_nowhere() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let tree = repository(root.path(), ".git");
        let foreign = root.path().join("download");
        write(&foreign.join(GIT), &fs::read_to_string(tree.join(GIT)).expect("the file"));
        assert_eq!(
            shared_root(&foreign),
            Some(foreign.clone()),
            "it names a folder that belongs to another tree"
        );
        // The attacker writes both ends, and names the victim's repository.
        write(&foreign.join("fake/gitdir"), "../.git\n");
        write(
            &foreign.join("fake/commondir"),
            &format!("{}\n", root.path().join("main/.git").display()),
        );
        write(&foreign.join(GIT), "gitdir: fake\n");
        assert_eq!(
            shared_root(&foreign),
            Some(foreign.clone()),
            "it does not lie in the repository that it names"
        );
        write(&foreign.join(GIT), "gitdir: ../../../../etc\n");
        assert_eq!(shared_root(&foreign.join("x")), Some(foreign.clone()));
        write(&foreign.join(GIT), "nonsense");
        assert_eq!(shared_root(&foreign), Some(foreign));
    }

    #[test]
    fn a_submodule_has_a_root_of_its_own() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let sub = root.path().join("main/sub");
        write(&root.path().join("main/.git/modules/sub/HEAD"), "x");
        write(&sub.join(GIT), "gitdir: ../.git/modules/sub\n");
        assert_eq!(shared_root(&sub), Some(sub));
    }
}
