//! Documents: which files are meant, what they are called, and what is in them.
//!
//! A file that is named must be readable; in a folder, what cannot be read is skipped with a note,
//! and whatever else is passed over is counted by its kind. Symbolic links in folders are not
//! followed, and nothing but regular files is ever opened.

pub(crate) mod content;
mod folder;
mod moved;
mod project;
mod skipped;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use kapsa_memory::request::{Filter, TimelineRequest};
use kapsa_memory::{NewRecord, Reader, put_source, sources_under};

use self::moved::Moved;
use crate::app::{App, owner_of};
use crate::args;
use crate::commands::bulk::many_done;
use crate::commands::defaults::Defaults;
use crate::commands::known;
use crate::commands::put::{Answer, tell_one};
use crate::commands::turn::Turn;
use crate::error::{CliError, Result, after};
use crate::progress::Progress;
use crate::wire::Tally;

pub(crate) use self::content::read;
pub(crate) use self::project::Project;
pub(crate) use self::skipped::Skipped;

/// Longest text that a hint repeats, in characters.
const HINT_TEXT_CHARS_MAX: usize = 60;

/// A file to be remembered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    /// What it is called in the capsule.
    pub(crate) name: String,
    /// Whether it was named itself: then it must be readable.
    pub(crate) named: bool,
}

/// `kapsa put FILE… FOLDER…`.
pub(crate) fn put(app: &mut App, defaults: &Defaults, args: &args::Put) -> Result<Answer> {
    let sources = args.sources.as_slice();
    if args.plain || sources.iter().any(|source| source.as_os_str() == "-") {
        return Err(CliError::usage("documents and standard input cannot be combined in one call"));
    }
    let capsule = app.capsule()?;
    let project = Project::of(&capsule);
    let mut skipped = Skipped::default();
    let there = there(app, &project, sources, args.prune)?;
    let documents = gather(&there, &project, &mut skipped)?;
    let mut doing = DocumentPut {
        turn: Turn::default(),
        tally: Tally { source_count: Some(0), skipped: Some(0), ..Tally::default() },
        moved: Moved::of(app, &project)?,
    };
    let mut progress = Progress::new("remembering documents", &app.out);
    for (at, document) in documents.iter().enumerate() {
        if let Some(passages) = passages_or_skip(app, document, &mut skipped)
            .map_err(|error| stored_so_far(error, &doing.tally))?
        {
            doing
                .put(app, defaults, args, &capsule, &document.name, passages)
                .map_err(|error| stored_so_far(error, &doing.tally))?;
        }
        progress.set(at as u64 + 1, Some(documents.len() as u64));
    }
    drop(progress);
    for gone in gone(app, &project, sources, &documents)? {
        if !args.prune {
            let message =
                format!("{gone} is gone; its records stay unless `kapsa put --prune` forgets them");
            app.out.warn("document_gone", &message);
            continue;
        }
        let writer = doing.turn.writer(app, &capsule, defaults)?;
        let report = put_source(owner_of(app, writer, "put documents")?, &gone, Vec::new())
            .map_err(|error| stored_so_far(error.into(), &doing.tally))?;
        doing.tally.count(&report.forgotten);
    }
    doing.tally.skipped = Some(skipped.unread());
    doing.tally.skipped_by_kind = skipped.by_kind();
    Ok(Answer::Many(doing.tally))
}

/// A put of many documents.
struct DocumentPut {
    turn: Turn,
    tally: Tally,
    moved: Moved,
}

impl DocumentPut {
    fn put(
        &mut self,
        app: &mut App,
        defaults: &Defaults,
        args: &args::Put,
        capsule: &Path,
        name: &str,
        passages: Vec<NewRecord>,
    ) -> Result<()> {
        let passages: Vec<_> = passages.into_iter().map(|p| defaults.fill_passage(p)).collect();
        let passages = self.moved.own(name, passages)?;
        let older = self.moved.older(name, &passages)?;
        let passages = older.iter().fold(passages, |passages, older| older.keeping(passages));
        let (passages, left_out) = match args.if_new && older.is_empty() {
            true => known::new_passages(app, &app.reader()?, passages)?,
            false => (passages, Vec::new()),
        };
        let writer = self.turn.writer(app, capsule, defaults)?;
        let writer = owner_of(app, writer, "put documents")?;
        let mut report = put_source(writer, name, passages)?;
        report.puts.extend(left_out);
        for older in older {
            report.forgotten.extend(older.forget(writer, &report.puts)?);
            app.out.note(&format!("{} is called {name} now", older.name));
        }
        self.turn.let_others_write();
        let puts = || report.puts.iter().chain(&report.forgotten);
        self.tally.count(puts());
        self.tally.source_count = self.tally.source_count.map(|count| count + 1);
        if args.each {
            puts().try_for_each(|put| tell_one(&mut app.out, put))?;
        }
        Ok(())
    }
}

/// The documents that were read from these folders before, and whose files are there no more.
fn gone(
    app: &App,
    project: &Project,
    sources: &[PathBuf],
    documents: &[Document],
) -> Result<Vec<String>> {
    let mut gone = Vec::new();
    for source in sources.iter().filter(|source| source.is_dir() || is_gone(source)) {
        let reader = app.owner_reader()?;
        for name in known_under(&reader, project, source)? {
            let is_read = documents.iter().any(|document| document.name == name);
            if !is_read && !gone.contains(&name) && !project.path_of(&name, source).exists() {
                gone.push(name);
            }
        }
    }
    Ok(gone)
}

/// The documents that the capsule has of a folder, or of a file.
fn known_under(reader: &Reader, project: &Project, source: &Path) -> Result<Vec<String>> {
    let own = project.name(source);
    let prefix = if own.is_empty() { String::new() } else { format!("{own}/") };
    let mut names = sources_under(reader, &prefix)?;
    // What lies outside of the project is not in its folder, whatever begins alike.
    names.retain(|name| !prefix.is_empty() || project::is_inside(name));
    names.push(own);
    let mut known = Vec::new();
    for name in names {
        if !name.is_empty() && is_document(reader, &name)? {
            known.push(name);
        }
    }
    Ok(known)
}

/// Whether nothing is there under this path any more.
fn is_gone(source: &Path) -> bool {
    let found = source.symlink_metadata();
    found.is_err_and(|error| {
        matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
    })
}

/// The sources that are there. One that is gone is an error, unless what came from it is to be
/// forgotten.
fn there(app: &App, project: &Project, sources: &[PathBuf], prunes: bool) -> Result<Vec<PathBuf>> {
    let (gone, there): (Vec<_>, Vec<_>) = sources.iter().cloned().partition(|one| is_gone(one));
    for source in &gone {
        let error = source.metadata().err().unwrap_or(std::io::ErrorKind::NotFound.into());
        if known_under(&app.owner_reader()?, project, source)?.is_empty() {
            return Err(missing(source, &error));
        }
        if !prunes {
            let hint = "kapsa put --prune forgets what came from it";
            return Err(missing(source, &error).hint(hint));
        }
    }
    Ok(there)
}

/// Whether records of this source are passages of a document, rather than what was imported with
/// a source of that name.
fn is_document(reader: &Reader, name: &str) -> Result<bool> {
    let filter = Filter { sources: vec![name.to_string()], ..Filter::default() };
    let request = TimelineRequest { filter, limit: 1, ..TimelineRequest::default() };
    let first = reader.list(&request)?.next().transpose()?;
    Ok(first.is_some_and(|record| moved::is_passage(&record)))
}

/// The passages of a document; none of one in a folder that cannot be read or stored.
fn passages_or_skip(
    app: &mut App,
    document: &Document,
    skipped: &mut Skipped,
) -> Result<Option<Vec<NewRecord>>> {
    let read = content::of(&document.path).and_then(|content| {
        let passages = content.passages(&document.path, &document.name)?;
        Ok((passages, content.unread))
    });
    match read {
        Ok((passages, unread)) => {
            for unread in unread {
                app.out.warn("partly_read", &format!("{}: {unread}", document.path.display()));
            }
            Ok(Some(passages))
        }
        Err(unread) if document.named => Err(unread.error),
        Err(unread) => {
            app.out.warn("file_skipped", &format!("skipped: {}", unread.error.message));
            skipped.count_unread(unread.kind);
            Ok(None)
        }
    }
}

fn stored_so_far(error: CliError, tally: &Tally) -> CliError {
    after(many_done(tally), error.field("committed", tally.record_count))
}

/// Every document that the sources mean, in order, each with its name.
pub(crate) fn gather(
    sources: &[PathBuf],
    project: &Project,
    skipped: &mut Skipped,
) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for source in sources {
        let found = fs::metadata(source).map_err(|error| missing(source, &error))?;
        if found.is_dir() {
            folder::walk(source, skipped, &mut |path| {
                let name = project.name(&path);
                documents.push(Document { path, name, named: false });
            })?;
        } else if found.is_file() {
            let (path, name) = (source.clone(), project.name(source));
            documents.push(Document { path, name, named: true });
        } else {
            return Err(unreadable(source, "neither a file nor a folder"));
        }
    }
    refuse_namesakes(documents)
}

/// A source that cannot be found is often meant as text.
pub(super) fn missing(source: &Path, error: &std::io::Error) -> CliError {
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
            && project::lexical(other) != project::lexical(&document.path)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namesakes_are_refused_but_the_same_file_twice_is_not() {
        let document =
            |path: &str| Document { path: path.into(), name: "a.md".into(), named: true };
        assert!(refuse_namesakes(vec![document("/x/a.md"), document("/y/a.md")]).is_err());
        assert!(refuse_namesakes(vec![document("/x/a.md"), document("/x/../x/a.md")]).is_ok());
    }
}
