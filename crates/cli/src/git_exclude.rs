//! Excludes the files beside a capsule from git, by a line in `info/exclude` of the repository,
//! which belongs to this machine: no file that the project versions is touched. Knows nothing of
//! `.kapsa` folders, which ignore themselves.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kapsa_runs::shared_root;

/// Endings of the files beside a capsule that are of this machine only.
const ENDINGS: [&str; 5] = [".lock", ".branch", ".watch.lock", ".hooks.lock", ".upkeep.lock"];
/// What `setup` keeps of files as they were.
const BACKUPS: &str = "*.kapsa-backup*";
/// File of rules, in the folder of a repository.
const RULES: &str = "info/exclude";
/// Ending of capsules as they are usually named.
const USUAL: &str = ".kapsa";
/// Characters that mean something in a pattern of git.
const SPECIAL: [char; 6] = ['\\', '*', '?', '[', '#', '!'];

/// Excludes the files beside a capsule, where it lies in a working tree of git.
pub(crate) fn exclude_beside(capsule: &Path) -> io::Result<()> {
    exclude(capsule, &patterns(capsule))
}

/// Excludes what `setup` keeps beside files of a project. Returns the file of rules, if the rule
/// was missing there.
pub(crate) fn exclude_backups(file: &Path) -> io::Result<Option<PathBuf>> {
    let rules = lacks_backups(file)?;
    if rules.is_some() {
        exclude(file, &[BACKUPS.to_string()])?;
    }
    Ok(rules)
}

/// The file of rules to which [`exclude_backups`] would add one.
pub(crate) fn lacks_backups(file: &Path) -> io::Result<Option<PathBuf>> {
    let Some(rules) = rules_for(file) else { return Ok(None) };
    let is_known = known(&rules)?.lines().any(is_backups);
    Ok(Some(rules).filter(|_| !is_known))
}

/// The file of rules from which [`include_backups`] would take one.
pub(crate) fn holds_backups(file: &Path) -> io::Result<Option<PathBuf>> {
    let Some(rules) = rules_for(file) else { return Ok(None) };
    let is_known = known(&rules)?.lines().any(is_backups);
    Ok(Some(rules).filter(|_| is_known))
}

/// Takes the rule out again that [`exclude_backups`] added. Returns the file of rules, if it was
/// there.
pub(crate) fn include_backups(file: &Path) -> io::Result<Option<PathBuf>> {
    let Some(rules) = rules_for(file) else { return Ok(None) };
    let text = known(&rules)?;
    let left: String = text.split_inclusive('\n').filter(|line| !is_backups(line)).collect();
    if left == text {
        return Ok(None);
    }
    // It was the last line, and went to the end of a file without one.
    let is_open = !text.ends_with('\n');
    let left = left.strip_suffix('\n').filter(|_| is_open).unwrap_or(&left);
    let folder = rules.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(left.as_bytes())?;
    file.as_file().set_permissions(fs::metadata(&rules)?.permissions())?;
    file.persist(&rules).map_err(|error| error.error)?;
    Ok(Some(rules))
}

/// The repository in whose working tree a file lies.
pub(crate) fn repository(file: &Path) -> Option<PathBuf> {
    git_folder(file)
}

fn is_backups(line: &str) -> bool {
    line.trim_end() == BACKUPS
}

fn rules_for(file: &Path) -> Option<PathBuf> {
    git_folder(file).map(|folder| folder.join(RULES))
}

/// The rules that are there.
fn known(rules: &Path) -> io::Result<String> {
    // Nothing else than a file of rules is waited for or written to.
    if fs::metadata(rules).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    match fs::read_to_string(rules) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        known => known,
    }
}

/// Excludes patterns in the working tree of git that a file lies in. The last line ends as the
/// last line did before.
fn exclude(beside: &Path, wanted: &[String]) -> io::Result<()> {
    let Some(rules) = rules_for(beside) else { return Ok(()) };
    let known = known(&rules)?;
    let missing: Vec<_> = wanted
        .iter()
        .filter(|pattern| !known.lines().any(|line| line.trim_end() == *pattern))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    rules.parent().map(fs::create_dir_all).transpose()?;
    let missing = missing.join("\n");
    let is_open = !known.is_empty() && !known.ends_with('\n');
    let text = if is_open { format!("\n{missing}") } else { format!("{missing}\n") };
    OpenOptions::new().append(true).create(true).open(&rules)?.write_all(text.as_bytes())
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
    fn a_rule_that_is_taken_out_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("info")).expect("made");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        let (file, rules) = (folder.path().join("a.json"), git.join(RULES));
        fs::write(&file, "{}").expect("written");
        for before in ["", "# rules\n*.o\n", "# rules\n*.o", "*.o\r\n", "\n"] {
            fs::write(&rules, before).expect("written");
            assert!(lacks_backups(&file).expect("read").is_some());
            assert!(exclude_backups(&file).expect("added").is_some());
            assert!(exclude_backups(&file).expect("there").is_none(), "once");
            let with = fs::read_to_string(&rules).expect("there");
            assert!(with.lines().any(is_backups) && with.starts_with(before), "{with:?}");
            assert!(include_backups(&file).expect("taken out").is_some());
            assert_eq!(fs::read_to_string(&rules).expect("there"), before);
            assert!(include_backups(&file).expect("nothing").is_none());
        }
    }

    #[test]
    fn names_are_patterns_of_themselves() {
        let of = |stem: &str| ENDINGS.map(|ending| format!("{stem}{ending}")).to_vec();
        assert_eq!(patterns(Path::new("a/team.kapsa")), of("*.kapsa"));
        assert_eq!(patterns(Path::new("a/[x]*#1")), of("\\[x]\\*\\#1"));
    }
}
