//! The files of a folder that are documents: without what is hidden, ignored, generated or no
//! document, all of which is counted.
//!
//! The rules of `.gitignore` and `.ignore` in the folder, below it and above it up to the
//! repository count. Those of the machine do not, so that a folder gives the same everywhere.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::Gitignore;
use kapsa_documents::Format;
use kapsa_memory::transfer::is_export_index;

use super::skipped::{SkipKind, Skipped};
use super::{project, unreadable};
use crate::error::Result;

/// Endings of texts; a file that is named itself may be called anything.
const TEXTS: [&str; 6] = ["md", "markdown", "txt", "rst", "adoc", "org"];
/// Folders that hold what tools made.
const GENERATED: [&str; 2] = ["target", "node_modules"];
/// Files of rules; those of the later one win.
const RULES: [&str; 2] = [".gitignore", ".ignore"];
/// What marks the folder of a repository, above which no rule counts.
const REPOSITORY: &str = ".git";
/// Deepest folder that is walked.
const FOLDER_DEPTH_MAX: usize = 128;

/// Hands out the documents of a folder, in order.
pub(super) fn walk(
    folder: &Path,
    skipped: &mut Skipped,
    found: &mut dyn FnMut(PathBuf),
) -> Result<()> {
    let mut walk = FolderWalk { rules: rules_above(folder), skipped, found };
    walk.folder(folder, &project::lexical(folder), 0)
}

/// The rules of the folders above one, the outermost first.
fn rules_above(folder: &Path) -> Vec<Gitignore> {
    let whole = project::lexical(folder);
    let is_top = |folder: &Path| folder.join(REPOSITORY).symlink_metadata().is_ok();
    // Outside of any repository, rules that stand above belong to something else.
    let Some(top) = whole.ancestors().find(|folder| is_top(folder)) else { return Vec::new() };
    let between = whole.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    let mut folders: Vec<&Path> = between.collect();
    folders.reverse();
    folders.into_iter().flat_map(rules_in).collect()
}

/// The rules that stand in a folder.
fn rules_in(folder: &Path) -> Vec<Gitignore> {
    let files = RULES.iter().map(|name| folder.join(name));
    let files = files.filter(|file| file.symlink_metadata().is_ok_and(|found| found.is_file()));
    files
        .map(|file| {
            // May be dropped: a rule that git does not understand either ignores nothing.
            let (rules, _broken) = Gitignore::new(file);
            rules
        })
        .filter(|rules| !rules.is_empty())
        .collect()
}

struct FolderWalk<'a> {
    /// The rules that count here, the innermost last.
    rules: Vec<Gitignore>,
    skipped: &'a mut Skipped,
    found: &'a mut dyn FnMut(PathBuf),
}

impl FolderWalk<'_> {
    /// Walks a folder: by the path that was given, and by the whole one, which rules are about.
    fn folder(&mut self, folder: &Path, whole: &Path, depth: usize) -> Result<()> {
        if depth > FOLDER_DEPTH_MAX {
            return Err(unreadable(folder, "the folders are nested too deep"));
        }
        let known = self.rules.len();
        self.rules.extend(rules_in(whole));
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = entries.map_err(|error| unreadable(folder, &error.to_string()))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, whole) = (entry.path(), whole.join(entry.file_name()));
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error.to_string()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match self.passed_over(&name, &whole, kind) {
                Some(why) => self.skipped.count(why),
                None if kind.is_dir() => self.folder(&path, &whole, depth + 1)?,
                None if is_export_index(&path) => self.skipped.count(SkipKind::Generated),
                None if is_document(&name) => (self.found)(path),
                None => self.skipped.count_format(&path),
            }
        }
        self.rules.truncate(known);
        Ok(())
    }

    fn passed_over(&self, name: &str, whole: &Path, kind: FileType) -> Option<SkipKind> {
        if name.starts_with('.') {
            return Some(SkipKind::Hidden);
        }
        if kind.is_dir() && GENERATED.contains(&name) {
            return Some(SkipKind::Generated);
        }
        if self.is_ignored(whole, kind.is_dir()) {
            return Some(SkipKind::Ignored);
        }
        if kind.is_symlink() {
            return Some(SkipKind::Link);
        }
        (!kind.is_dir() && !kind.is_file()).then_some(SkipKind::Special)
    }

    /// The innermost rule about a path decides.
    fn is_ignored(&self, whole: &Path, is_folder: bool) -> bool {
        for rules in self.rules.iter().rev() {
            match rules.matched(whole, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

fn is_document(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    ending.is_some_and(|ending| TEXTS.contains(&ending.as_str())) || Format::named(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }
    }

    fn names(root: &Path, folder: &str) -> (Vec<String>, Vec<(String, u64)>) {
        let (mut found, mut skipped) = (Vec::new(), Skipped::default());
        walk(&root.join(folder), &mut skipped, &mut |path| found.push(path))
            .unwrap_or_else(|error| panic!("{error:?}"));
        let name = |path: PathBuf| {
            path.strip_prefix(root).expect("inside").to_str().expect("UTF-8").to_string()
        };
        (found.into_iter().map(name).collect(), skipped.by_kind().into_iter().collect())
    }

    fn counts(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
        counts.iter().map(|(kind, count)| ((*kind).to_string(), *count)).collect()
    }

    #[test]
    fn a_folder_is_walked_in_order_without_links_and_made_things() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let files = [
            "b.md",
            "a.TXT",
            "sub/c.rst",
            "target/no.md",
            "node_modules/no.md",
            ".git/no.md",
            ".hidden.md",
            "picture.png",
            "code.rs",
        ];
        write(root.path(), &files.map(|name| (name, "text")));
        std::os::unix::fs::symlink(root.path().join("b.md"), root.path().join("link.md"))
            .expect("a link");
        std::os::unix::fs::symlink(root.path(), root.path().join("loop")).expect("a link");
        let (found, skipped) = names(root.path(), "");
        assert_eq!(found, ["a.TXT", "b.md", "code.rs", "sub/c.rst"]);
        assert_eq!(skipped, counts(&[(".png", 1), ("generated", 2), ("hidden", 2), ("link", 2)]));
    }

    #[test]
    fn the_index_of_an_export_is_no_document() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let index = "<!-- kapsa export -->\n# Memories\n";
        write(root.path(), &[("out/index.md", index), ("out/a.md", "text"), ("index.md", "text")]);
        let (found, skipped) = names(root.path(), "");
        assert_eq!(found, ["index.md", "out/a.md"]);
        assert_eq!(skipped, counts(&[("generated", 1)]));
    }

    #[test]
    fn rules_of_the_repository_count_from_above_and_below() {
        let root = tempfile::tempdir().expect("a temporary folder");
        write(
            root.path(),
            &[
                (".git/HEAD", ""),
                (".gitignore", "*.log.md\n/docs/private/\n"),
                ("docs/.gitignore", "draft*\n!draft-kept.md\n"),
                ("docs/sub/.ignore", "x.md\n"),
                ("docs/a.md", ""),
                ("docs/a.log.md", ""),
                ("docs/draft.md", ""),
                ("docs/draft-kept.md", ""),
                ("docs/private/b.md", ""),
                ("docs/sub/x.md", ""),
                ("docs/sub/y.md", ""),
            ],
        );
        let (found, skipped) = names(root.path(), "docs");
        assert_eq!(found, ["docs/a.md", "docs/draft-kept.md", "docs/sub/y.md"]);
        assert_eq!(skipped, counts(&[("hidden", 2), ("ignored", 4)]));
        assert_eq!(names(root.path(), "docs/sub").0, ["docs/sub/y.md"]);
    }
}
