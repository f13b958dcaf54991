//! Excludes the files beside a capsule from git, by a line in `info/exclude` of the repository,
//! which belongs to this machine: no file that the project versions is touched. Knows nothing of
//! `.kapsa` folders, which ignore themselves.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kapsa_runs::shared_root;

/// Endings of the files beside a capsule that are of this machine only.
const ENDINGS: [&str; 3] = [".lock", ".branch", ".watch.lock"];
/// What `setup` keeps of files as they were.
const BACKUPS: &str = "*.kapsa-backup*";
/// Ending of capsules as they are usually named.
const USUAL: &str = ".kapsa";
/// Characters that mean something in a pattern of git.
const SPECIAL: [char; 6] = ['\\', '*', '?', '[', '#', '!'];

/// Excludes the files beside a capsule, where it lies in a working tree of git.
pub(crate) fn exclude_beside(capsule: &Path) -> io::Result<()> {
    exclude(capsule, &patterns(capsule))
}

/// Excludes what `setup` keeps beside files of a project.
pub(crate) fn exclude_backups(file: &Path) -> io::Result<()> {
    exclude(file, &[BACKUPS.to_string()])
}

/// Excludes patterns in the working tree of git that a file lies in.
fn exclude(beside: &Path, wanted: &[String]) -> io::Result<()> {
    let Some(folder) = git_folder(beside) else { return Ok(()) };
    let file = folder.join("info/exclude");
    // Nothing else than a file of rules is waited for or written to.
    if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let known = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let missing: Vec<_> = wanted
        .iter()
        .filter(|pattern| !known.lines().any(|line| line.trim_end() == *pattern))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder.join("info"))?;
    let mut text =
        if known.is_empty() || known.ends_with('\n') { String::new() } else { "\n".to_string() };
    missing.iter().for_each(|pattern| text.extend([pattern, "\n"]));
    OpenOptions::new().append(true).create(true).open(&file)?.write_all(text.as_bytes())
}

/// The folder of the repository that the capsule's working tree belongs to.
fn git_folder(capsule: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(capsule).ok()?.parent()?.to_path_buf();
    let root = shared_root(&folder)?;
    [root.join(".git"), root].into_iter().find(|folder| folder.join("HEAD").is_file())
}

/// What is excluded: the files beside any capsule with the usual ending, else those of this one.
fn patterns(capsule: &Path) -> Vec<String> {
    let name =
        capsule.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = if name.ends_with(USUAL) { format!("*{USUAL}") } else { escaped(&name) };
    ENDINGS.iter().map(|ending| format!("{name}{ending}")).collect()
}

fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if SPECIAL.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_patterns_of_themselves() {
        assert_eq!(
            patterns(Path::new("a/team.kapsa")),
            ["*.kapsa.lock", "*.kapsa.branch", "*.kapsa.watch.lock"]
        );
        assert_eq!(
            patterns(Path::new("a/[x]*#1")),
            ["\\[x]\\*\\#1.lock", "\\[x]\\*\\#1.branch", "\\[x]\\*\\#1.watch.lock"]
        );
    }
}
