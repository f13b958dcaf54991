//! Documents: which files are meant, what they are called, and what is in them.
//!
//! A named file must be text; in a folder, a file that is not text is skipped with a note. Symbolic
//! links in folders are not followed, and nothing but regular files is ever opened.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use kapsa_memory::document;
use kapsa_memory::{put_source, sources_under};

use crate::app::{App, owner_of};
use crate::args;
use crate::commands::bulk::many_done;
use crate::commands::defaults::Defaults;
use crate::commands::put::{Answer, tell_one};
use crate::commands::turn::Turn;
use crate::error::{CliError, Result, after};
use crate::progress::Progress;
use crate::wire::Tally;

/// Largest document (64 MiB).
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
/// What is taken for a document in a folder; a file that is named itself may be called anything.
const EXTENSIONS: [&str; 6] = ["md", "markdown", "txt", "rst", "adoc", "org"];
/// Folders that hold what tools made, besides hidden ones.
const FOLDERS_SKIPPED: [&str; 2] = ["target", "node_modules"];
/// Deepest folder that is walked.
const FOLDER_DEPTH_MAX: usize = 128;

/// Longest text that a hint repeats, in characters.
const HINT_TEXT_CHARS_MAX: usize = 60;

/// A file to be remembered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    /// What it is called in the capsule.
    pub(crate) name: String,
    /// Whether it was named itself: then it must be text.
    pub(crate) named: bool,
}

/// `kapsa put FILE… FOLDER…`.
pub(crate) fn put(app: &mut App, defaults: &Defaults, args: &args::Put) -> Result<Answer> {
    let (sources, each) = (args.sources.as_slice(), args.each);
    if args.plain || sources.iter().any(|source| source.as_os_str() == "-") {
        return Err(CliError::usage("documents and standard input cannot be combined in one call"));
    }
    let documents = gather(sources)?;
    let capsule = app.capsule()?;
    let mut turn = Turn::default();
    let mut tally = Tally { source_count: Some(0), skipped: Some(0), ..Tally::default() };
    let mut progress = Progress::new("remembering documents", &app.out);
    for (at, document) in documents.iter().enumerate() {
        let Some(text) = text_or_skip(app, document, &mut tally)
            .map_err(|error| stored_so_far(error, &tally))?
        else {
            continue;
        };
        let passages = document::cut(&document.name, &text)
            .map_err(|error| stored_so_far(error.into(), &tally))?
            .into_iter()
            .map(|p| defaults.fill_passage(p))
            .collect();
        let writer = turn.writer(app, &capsule, defaults)?;
        let report = put_source(owner_of(app, writer, "put documents")?, &document.name, passages)
            .map_err(|error| stored_so_far(error.into(), &tally))?;
        turn.let_others_write();
        let puts = || report.puts.iter().chain(&report.forgotten);
        tally.count(puts());
        tally.source_count = tally.source_count.map(|count| count + 1);
        progress.set(at as u64 + 1, Some(documents.len() as u64));
        if each {
            puts()
                .try_for_each(|put| tell_one(&mut app.out, put))
                .map_err(|error| after(many_done(&tally), error))?;
        }
    }
    drop(progress);
    for gone in gone(app, sources, &documents)? {
        if !args.prune {
            let message =
                format!("{gone} is gone; its records stay unless `kapsa put --prune` forgets them");
            app.out.warn("document_gone", &message);
            continue;
        }
        let writer = turn.writer(app, &capsule, defaults)?;
        let report = put_source(owner_of(app, writer, "put documents")?, &gone, Vec::new())
            .map_err(|error| stored_so_far(error.into(), &tally))?;
        tally.count(&report.forgotten);
    }
    Ok(Answer::Many(tally))
}

/// The documents that were read from these folders before, and whose files are there no more.
fn gone(app: &App, sources: &[PathBuf], documents: &[Document]) -> Result<Vec<String>> {
    let here =
        std::env::current_dir().map_err(|error| CliError::io("find the current folder", &error))?;
    let mut gone = Vec::new();
    for folder in sources.iter().filter(|source| source.is_dir()) {
        let base = outside_base(&here, folder);
        let name = name(&here, base.as_deref(), folder);
        let prefix = if name.is_empty() { name } else { format!("{name}/") };
        let root = base.as_deref().unwrap_or(&here);
        for name in sources_under(&app.owner_reader()?, &prefix)? {
            let is_read = documents.iter().any(|document| document.name == name);
            if !is_read && !gone.contains(&name) && !root.join(&name).exists() {
                gone.push(name);
            }
        }
    }
    Ok(gone)
}

fn text_or_skip(app: &mut App, document: &Document, tally: &mut Tally) -> Result<Option<String>> {
    match read(&document.path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if document.named => Err(error),
        Err(error) => {
            app.out.warn("file_skipped", &format!("skipped: {}", error.message));
            tally.skipped = tally.skipped.map(|count| count + 1);
            Ok(None)
        }
    }
}

fn stored_so_far(error: CliError, tally: &Tally) -> CliError {
    after(many_done(tally), error.field("committed", tally.record_count))
}

/// Every document that the sources mean, in order, each with its name.
pub(crate) fn gather(sources: &[PathBuf]) -> Result<Vec<Document>> {
    let here =
        std::env::current_dir().map_err(|error| CliError::io("find the current folder", &error))?;
    let mut documents = Vec::new();
    for source in sources {
        let found = fs::metadata(source).map_err(|error| missing(source, &error))?;
        if found.is_dir() {
            let base = outside_base(&here, source);
            walk(&here, base.as_deref(), source, 0, &mut documents)?;
        } else if found.is_file() {
            documents.push(Document {
                path: source.clone(),
                name: name(&here, None, source),
                named: true,
            });
        } else {
            return Err(unreadable(source, "neither a file nor a folder"));
        }
    }
    refuse_namesakes(documents)
}

/// A source that cannot be found is often meant as text.
fn missing(source: &Path, error: &std::io::Error) -> CliError {
    let unreadable = unreadable(source, &error.to_string());
    if error.kind() != std::io::ErrorKind::NotFound {
        return unreadable;
    }
    let text = source.to_string_lossy();
    let shown = if text.chars().count() > HINT_TEXT_CHARS_MAX {
        "TEXT".into()
    } else {
        shlex::try_quote(&text).unwrap_or("TEXT".into())
    };
    unreadable
        .hint(format!("arguments are files and folders; to store text: kapsa put --text {shown}"))
}

pub(super) fn unreadable(path: &Path, why: &str) -> CliError {
    CliError::user("source_unreadable", format!("cannot read {}: {why}", path.display()))
}

/// Two documents of one name would take each other's passages for their own, old ones.
fn refuse_namesakes(documents: Vec<Document>) -> Result<Vec<Document>> {
    let mut seen: HashMap<&str, &Path> = HashMap::new();
    for document in &documents {
        if let Some(other) = seen.insert(&document.name, &document.path)
            && lexical(other) != lexical(&document.path)
        {
            let message = format!(
                "{} and {} would both be called {}",
                other.display(),
                document.path.display(),
                document.name
            );
            return Err(CliError::user("ambiguous_source", message)
                .hint("put them from a folder above both"));
        }
    }
    Ok(documents)
}

fn walk(
    here: &Path,
    base: Option<&Path>,
    folder: &Path,
    depth: usize,
    documents: &mut Vec<Document>,
) -> Result<()> {
    if depth > FOLDER_DEPTH_MAX {
        return Err(unreadable(folder, "the folders are nested too deep"));
    }
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = entries.map_err(|error| unreadable(folder, &error.to_string()))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, file_name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().map_err(|error| unreadable(&path, &error.to_string()))?;
        let file_name = file_name.to_string_lossy();
        if file_name.starts_with('.') {
            continue;
        }
        if kind.is_dir() && !FOLDERS_SKIPPED.contains(&file_name.as_ref()) {
            walk(here, base, &path, depth + 1, documents)?;
        } else if kind.is_file() && is_document(&path) {
            let name = name(here, base, &path);
            documents.push(Document { path, name, named: false });
        }
    }
    Ok(())
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

/// What names in a folder outside the current one are relative to: the folder above it.
fn outside_base(here: &Path, folder: &Path) -> Option<PathBuf> {
    let whole = lexical(folder);
    if whole.starts_with(here) { None } else { whole.parent().map(Path::to_path_buf) }
}

/// What a file is called: its path from the current folder or from `base`, else its name alone.
/// Never absolute, no `..`.
fn name(here: &Path, base: Option<&Path>, path: &Path) -> String {
    let whole = lexical(path);
    let relative = whole.strip_prefix(here).ok().or_else(|| whole.strip_prefix(base?).ok());
    let shown =
        relative.unwrap_or_else(|| Path::new(whole.file_name().unwrap_or(whole.as_os_str())));
    let parts: Vec<_> = shown.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// The absolute path without `.` and `..`, by its words alone.
fn lexical(path: &Path) -> PathBuf {
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

/// The text of a file. Refuses what is not a regular file, too large, binary or not UTF-8.
pub(crate) fn read(path: &Path) -> Result<String> {
    let failed = |error: std::io::Error| unreadable(path, &error.to_string());
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(unreadable(path, "not a regular file"));
    }
    let mut bytes =
        Vec::with_capacity(usize::try_from(found.len().min(DOCUMENT_BYTES_MAX)).unwrap_or(0));
    file.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(unreadable(path, "larger than 64 MiB"));
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(unreadable(path, &format!("not text: byte {at} is zero")));
    }
    String::from_utf8(bytes).map_err(|error| {
        unreadable(
            path,
            &format!("not UTF-8 text: invalid byte at {}", error.utf8_error().valid_up_to()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_and_never_climb() {
        let here = Path::new("/project/here");
        for (path, want) in [
            ("/project/here/docs/a.md", "docs/a.md"),
            ("/project/here/docs/../b.md", "b.md"),
            ("/elsewhere/c.md", "c.md"),
            ("/project/here/../up.md", "up.md"),
        ] {
            assert_eq!(name(here, None, Path::new(path)), want);
        }
        let base = outside_base(here, Path::new("/else/docs"));
        assert_eq!(name(here, base.as_deref(), Path::new("/else/docs/x/a.md")), "docs/x/a.md");
        assert_eq!(outside_base(here, Path::new("/project/here/docs")), None);
    }

    #[test]
    fn a_folder_is_walked_in_order_without_links_and_made_things() {
        let root = tempfile::tempdir().expect("a temporary folder");
        for file in [
            "b.md",
            "a.TXT",
            "sub/c.rst",
            "target/no.md",
            "node_modules/no.md",
            ".git/no.md",
            ".hidden.md",
            "picture.png",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, "text").expect("a file");
        }
        std::os::unix::fs::symlink(root.path().join("b.md"), root.path().join("link.md"))
            .expect("a link");
        std::os::unix::fs::symlink(root.path(), root.path().join("loop")).expect("a link");
        let found =
            gather(&[root.path().to_path_buf()]).unwrap_or_else(|error| panic!("{error:?}"));
        let names: Vec<_> = found
            .iter()
            .map(|d| d.path.strip_prefix(root.path()).expect("inside").to_str().expect("UTF-8"))
            .collect();
        assert_eq!(names, ["a.TXT", "b.md", "sub/c.rst"]);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let file = root.path().join("x");
        for (bytes, why) in [(&b"a\0b"[..], "byte 1 is zero"), (b"ab\xff", "byte at 2")] {
            fs::write(&file, bytes).expect("a file");
            assert!(read(&file).expect_err("no text").message.contains(why));
        }
        assert!(read(root.path()).is_err());
    }

    #[test]
    fn namesakes_are_refused_but_the_same_file_twice_is_not() {
        let document =
            |path: &str| Document { path: path.into(), name: "a.md".into(), named: true };
        assert!(refuse_namesakes(vec![document("/x/a.md"), document("/y/a.md")]).is_err());
        assert!(refuse_namesakes(vec![document("/x/a.md"), document("/x/../x/a.md")]).is_ok());
    }
}
