//! `fs`: the memory of an agent as a file system.

use std::io::{self, IsTerminal};
use std::path::Path;

use kapsa_agents::{
    Details, EntryKind, FileError, FileHit, Listing, MemoryFilesystem, MemoryTool, RetrievalTrace,
};
use serde::Serialize;
use serde_json::json;

use super::episode::{agent, memory, writing_agent};
use crate::app::{App, did};
use crate::args::{FsOf, FsVerb, FsWrite, Level};
use crate::commands::embed::New;
use crate::commands::run::text_of;
use crate::commands::text::plain_text;
use crate::error::{CliError, Done, Result};
use crate::escape;
use crate::render::{counted, shortened};
use crate::role_config::Declared;
use crate::wire::fs::{FileOut, FilesFoundOut, FsOut, ListingOut, TraceOut, WrittenOut};

/// Longest text of a hit that people are shown, in characters.
const HIT_CHARS_MAX: usize = 300;
/// Widest column of names.
const NAME_WIDTH_MAX: usize = 40;

/// `kapsa fs`.
pub(crate) fn run(app: &mut App, verb: FsVerb) -> Result<()> {
    match verb {
        FsVerb::Ls { path, limit, of } => list(app, &of, &path, 1, limit),
        FsVerb::Tree { path, depth, limit, of } => list(app, &of, &path, depth, limit),
        FsVerb::Cat { path, of } => {
            let session = Session::begin(app, &of)?;
            let content = session.of(session.files.open(&path))?;
            session.end(app, FileOut { path: &path, text: &content }, |app| {
                app.out.line(content.strip_suffix('\n').unwrap_or(&content))
            })
        }
        FsVerb::Search { query, scope, limit, of } => {
            let query = query.join(" ");
            let session = Session::begin(app, &of)?.limited(limit);
            let found = session.of(session.files.search(&query, &scope))?;
            session.end(app, FilesFoundOut::of(&query, &scope, &found), |app| {
                found.hits.iter().try_for_each(|hit| tell_hit(app, hit))?;
                if found.hits.is_empty() {
                    app.out.note("no file contains all these words");
                }
                tell_more(app, found.more);
                Ok(())
            })
        }
        FsVerb::Write(args) => write(app, &args),
    }
}

/// The URI of the record behind a file that a call wants to read, as it would be if all names in it
/// were plain.
pub(super) fn named(app: &App, verb: &FsVerb) -> Option<String> {
    let FsVerb::Cat { path, of } = verb else { return None };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let own = |kind: &str, id: &str| Some(format!("{kind}/{}/{id}", agent(app, &of.owner).ok()?));
    match parts[..] {
        ["memories", ..] => {
            let agent = agent(app, &of.owner).ok()?;
            Some(format!("memories/{agent}/files/{}", parts[1..].join("/")))
        }
        ["references", _, id] => Some(format!("fact/{id}")),
        ["knowledge", .., id] => own("insight", id),
        ["experience", .., id] => own("episode", id),
        _ => None,
    }
}

/// One call.
struct Session {
    agent: String,
    files: MemoryFilesystem,
    trace: bool,
}

impl Session {
    fn begin(app: &App, of: &FsOf) -> Result<Session> {
        Session::new(app, agent(app, &of.owner)?, of.as_of.as_deref(), of.trace)
    }

    fn new(app: &App, agent: String, as_of: Option<&str>, trace: bool) -> Result<Session> {
        let declared = Declared::find()?;
        let memory = memory(app, &agent, as_of)?.with_clearance(declared.effective(app, &agent)?);
        // To count that a fact was read would cost a commit, and a turn among the writers.
        let own = MemoryTool::new(app.location_when(as_of)?, agent.as_str());
        let mut files = MemoryFilesystem::new(memory).uncounted().with_files(own);
        // Who the agent is and what it wants is told to itself and the owner.
        if declared.has(&agent) && app.principal().is_none_or(|principal| principal == agent) {
            let spec = declared.spec(&agent)?;
            files = files.with_soul(spec.soul).with_goals(spec.goals);
        }
        Ok(Session { agent, files, trace })
    }

    fn limited(self, limit: usize) -> Session {
        Session { files: self.files.with_limit(limit), ..self }
    }

    /// A result, or what failed with its traces.
    fn of<T>(&self, result: Result<T, FileError>) -> Result<T> {
        result.map_err(|error| {
            let error = failure(error, &self.agent);
            if self.trace {
                error.field(
                    "traces",
                    json!(self.files.traces().iter().map(TraceOut::from).collect::<Vec<_>>()),
                )
            } else {
                error
            }
        })
    }

    /// Answers, and tells the traces where they are wanted.
    fn end(
        self,
        app: &mut App,
        answer: impl Serialize,
        tell: impl FnOnce(&mut App) -> Result<()>,
    ) -> Result<()> {
        let traces = if self.trace { self.files.traces() } else { Vec::new() };
        if app.out.is_json() {
            let traces = self.trace.then(|| traces.iter().map(TraceOut::from).collect());
            return app.out.json(&FsOut { agent: &self.agent, answer, traces });
        }
        tell(app)?;
        traces.iter().for_each(|trace| tell_trace(app, trace));
        Ok(())
    }
}

fn failure(error: FileError, agent: &str) -> CliError {
    let message = error.to_string();
    let tree = format!("kapsa fs tree --agent {agent} shows what is there");
    match error {
        FileError::Memory(error) => error.into(),
        FileError::InvalidPath { .. } => {
            CliError::user("invalid_path", message).hint("use a path such as /knowledge/sales/vp-sponsor")
        }
        FileError::NoSuchFile { path } => CliError::user("file_not_found", message).hint(tree).field("path", path),
        FileError::NoSuchFolder { path } => CliError::user("folder_not_found", message).hint(tree).field("path", path),
        FileError::IsFolder { path } => {
            CliError::user("is_folder", message).hint(format!("kapsa fs ls {path} lists it")).field("path", path)
        }
        FileError::IsFile { path } => {
            CliError::user("is_file", message).hint(format!("kapsa fs cat {path} prints it")).field("path", path)
        }
        FileError::ReadOnly { path } => CliError::user("read_only", message)
            .hint("write below /knowledge, /experience or /memories; add facts with kapsa fact add")
            .field("path", path),
        FileError::OtherDay { path, today } => CliError::user("other_day", message)
            .hint(format!("use /experience/{today}/ID or /experience/ID; for another day: kapsa episode add --at"))
            .field("path", path),
        FileError::Taken { path, by } => {
            CliError::user("taken", message).hint("choose another id").field("path", path).field("by", by)
        }
        _ => CliError::system("internal", message),
    }
}

fn list(app: &mut App, of: &FsOf, path: &str, depth: usize, limit: usize) -> Result<()> {
    let session = Session::begin(app, of)?.limited(limit);
    let listing = session.of(session.files.tree(path, depth))?;
    session.end(app, ListingOut::from(&listing), |app| {
        if depth > 1 {
            app.out.strong(&escape::line(&listing.path))?;
            app.out.text("\n")?;
        }
        tell_folder(app, &listing, if depth > 1 { 1 } else { 0 })?;
        if listing.entries.is_empty() {
            app.out.note(&format!("{} is empty", listing.path));
        }
        Ok(())
    })
}

/// `revenue/  2 files`, `ins_1f0c  0.90  A VP as sponsor …`, and what is in folders below them.
fn tell_folder(app: &mut App, listing: &Listing, level: usize) -> Result<()> {
    let indent = "  ".repeat(level);
    let names = listing.entries.iter().map(|entry| {
        let slash = if matches!(entry.kind, EntryKind::Folder { .. }) { "/" } else { "" };
        format!("{}{slash}", escape::line(&entry.name))
    });
    let names: Vec<String> = names.collect();
    let width =
        names.iter().map(|name| name.chars().count()).max().unwrap_or_default().min(NAME_WIDTH_MAX);
    for (entry, name) in listing.entries.iter().zip(names) {
        let gap = " ".repeat(width.saturating_sub(name.chars().count()) + 2);
        app.out.text(&indent)?;
        app.out.strong(&name)?;
        app.out.text(&gap)?;
        match &entry.kind {
            EntryKind::Folder { file_count, listing } => {
                let files = if *file_count == 0 {
                    "empty".to_string()
                } else {
                    counted(*file_count as u64, "file")
                };
                app.out.faint(&files)?;
                app.out.text("\n")?;
                if let Some(listing) = listing {
                    tell_folder(app, listing, level + 1)?;
                }
            }
            EntryKind::File { confidence, preview } => {
                let sure =
                    confidence.map_or_else(String::new, |confidence| format!("{confidence:.2}  "));
                app.out.line(&format!("{sure}{}", escape::line(preview)))?;
            }
        }
    }
    if level == 0 {
        tell_more(app, listing.more);
    } else if listing.more > 0 {
        app.out.line(&format!("{indent}… and {} more", listing.more))?;
    }
    Ok(())
}

fn tell_hit(app: &mut App, hit: &FileHit) -> Result<()> {
    app.out.strong(&escape::line(&hit.path))?;
    app.out.faint(&format!("  score {:.2}, confidence {:.2}", hit.score, hit.confidence))?;
    app.out.line(&format!("\n    {}", escape::line(&shortened(&hit.content, HIT_CHARS_MAX))))
}

/// Says how much of a list a limit left out.
pub(super) fn tell_more(app: &mut App, more: usize) {
    if more > 0 {
        app.out.note(&format!("and {more} more; show them with --limit N"));
    }
}

fn tell_trace(app: &mut App, trace: &RetrievalTrace) {
    let query =
        if trace.query.is_empty() { String::new() } else { format!(" for \"{}\"", trace.query) };
    app.out.note(&format!(
        "trace: {} {}{query}: {}, {}, {} ms",
        trace.action.name(),
        trace.path,
        counted(trace.results_count as u64, "result"),
        counted(trace.tokens_loaded as u64, "token"),
        trace.duration_ms
    ));
}

fn write(app: &mut App, args: &FsWrite) -> Result<()> {
    let agent = writing_agent(app, &args.owner)?;
    let text = match (&args.file, &args.text[..]) {
        (Some(file), _) => text_of(file)?,
        (None, [dash]) if dash == "-" => text_of(Path::new("-"))?,
        (None, []) if io::stdin().is_terminal() => {
            return Err(CliError::usage("nothing to write")
                .hint("give a text, --file FILE, or text on standard input"));
        }
        (None, []) => plain_text()?,
        (None, words) => words.join(" "),
    };
    let details = Details {
        confidence: args.confidence,
        entity: args.entity.clone(),
        domain: args.domain.clone().unwrap_or_default(),
        classification: args.classification.map(Level::into),
        ..Details::default()
    };
    let new = New::begin(app, args.embed)?;
    let session = Session::new(app, agent, None, args.trace)?;
    let written = session.of(session.files.write_with(
        &args.path,
        text.trim_end_matches(['\r', '\n']),
        &details,
    ))?;
    did(app, Done::new(format!("stored {}", written.path)).field("path", written.path.as_str()));
    let embedding = new.end(app);
    session.end(app, WrittenOut::of(&written, embedding), |app| {
        app.out.strong(&escape::line(&written.path))?;
        app.out.line(if written.existed { "  revised" } else { "  added" })
    })
}
