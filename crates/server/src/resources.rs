//! Resources: records, an agent's files and runs under addresses that begin with `kapsa://`.

use kapsa_agents::{EntryKind, FileError, MemoryFilesystem, MemoryTool};
use kapsa_memory::request::{Filter, TimelineRequest};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::json;

use crate::cursor::Cursor;
use crate::fit;
use crate::host::Problem;
use crate::memory::{Memory, Session};
use crate::reading::{self, RECORDS};
use crate::wire::{ListedOut, ReadIn};
use crate::{searching, shown};

/// Addresses of an agent's files: the agent's name, then the path.
pub(crate) const FILES: &str = "kapsa://files/";
/// Addresses of runs.
pub(crate) const RUNS: &str = "kapsa://run/";
const JSON: &str = "application/json";

/// Resources of a page.
const PAGE: usize = 50;
/// Records of a run that are shown.
const RUN_RECORDS_MAX: usize = 200;

/// The templates of addresses.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{RECORDS}{{+uri}}"), "record")
            .with_title("A record")
            .with_description("One record by its URI, such as note/deploy-steps")
            .with_mime_type(JSON),
        ResourceTemplate::new(format!("{FILES}{{agent}}/{{+path}}"), "files")
            .with_title("An agent's files")
            .with_description("A file or a folder of an agent's memory, such as knowledge")
            .with_mime_type(JSON),
        ResourceTemplate::new(format!("{RUNS}{{run}}"), "run")
            .with_title("A run")
            .with_description("What was recorded in a run, oldest first")
            .with_mime_type(JSON),
    ]
}

/// A page of records as resources, newest first, and where the next page begins.
pub(crate) fn resources(
    memory: &Memory,
    session: &Session,
    cursor: Option<&str>,
) -> Result<(Vec<Resource>, Option<String>), Problem> {
    let cursor = Cursor::parse(cursor)?;
    let place = memory.place(session, None)?;
    let as_of = cursor.as_of.map(kapsa_memory::AsOf::Sequence);
    let reader = memory.reader(&place, as_of.as_ref())?;
    let request = TimelineRequest {
        limit: cursor.offset + PAGE + 1,
        reverse: true,
        ..TimelineRequest::default()
    };
    let since = cursor.as_of.is_some().then(|| memory.reader(&place, None)).transpose()?;
    let mut listing = reader.list(&request).map_err(|error| memory.problem(error))?;
    let is_more = listing.truncate(cursor.offset + PAGE);
    let next = is_more.then(|| cursor.after(PAGE, reader.moment()));
    let mut resources = Vec::new();
    for record in listing.skip(cursor.offset) {
        let record = record.map_err(|error| memory.problem(error))?;
        if !searching::still_there(memory, since.as_ref(), &record)? {
            continue;
        }
        let uri = shown::line(record.uri.short());
        let mut resource = Resource::new(format!("{RECORDS}{uri}"), uri)
            .with_description(shown::line(&searching::beginning(memory, &record)))
            .with_mime_type(JSON);
        if !record.title.is_empty() {
            resource = resource.with_title(shown::field(&record.title));
        }
        resources.push(resource);
    }
    Ok((resources, next))
}

/// Sequences of the first page of resources.
pub(crate) fn newest(memory: &Memory, session: &Session) -> Result<Vec<u64>, Problem> {
    let place = memory.place(session, None)?;
    let reader = memory.reader(&place, None)?;
    let request = TimelineRequest { limit: PAGE, reverse: true, ..TimelineRequest::default() };
    let listing = reader.list(&request).map_err(|error| memory.problem(error))?;
    Ok(listing.sequences().to_vec())
}

/// What is at an address; none where no address is like it.
pub(crate) fn resource(
    memory: &Memory,
    session: &Session,
    uri: &str,
) -> Option<Result<ResourceContents, Problem>> {
    let content = if uri.starts_with(RECORDS) {
        let args = ReadIn { uri: uri.to_string(), ..ReadIn::default() };
        reading::read(memory, session, &args).and_then(|record| text(&record))
    } else if let Some(path) = uri.strip_prefix(FILES) {
        file(memory, session, path)
    } else {
        run(memory, session, uri.strip_prefix(RUNS)?)
    };
    Some(content.map(|content| ResourceContents::text(content, uri).with_mime_type(JSON)))
}

pub(crate) fn files(
    memory: &Memory,
    session: &Session,
    agent: &str,
) -> Result<MemoryFilesystem, Problem> {
    let place = memory.place(session, None)?;
    memory.reader(&place, None)?;
    if let Some(principal) = memory.host().principal()
        && principal != agent
    {
        memory.refuse_principals("read the files of another agent")?;
    }
    let location = memory.location(&place)?;
    let memory = memory.host().agent(&place.path, &location, agent)?;
    let own = MemoryTool::new(location, agent);
    Ok(MemoryFilesystem::of_agent(memory).uncounted().with_files(own))
}

fn file(memory: &Memory, session: &Session, file: &str) -> Result<String, Problem> {
    let (agent, path) = file.split_once('/').unwrap_or((file, ""));
    if agent.is_empty() {
        return Err(Problem::new("invalid_argument", "the address names no agent")
            .hint("kapsa://files/AGENT/ is the top folder of an agent"));
    }
    let files = files(memory, session, agent)?;
    let path = format!("/{path}");
    match files.browse(&path) {
        Ok(listing) => text(&json!({
            "notice": shown::NOTICE,
            "path": shown::line(&listing.path),
            "entries": listing.entries.iter().map(|entry| json!({
                "name": shown::line(&entry.name),
                "folder": matches!(entry.kind, EntryKind::Folder { .. }),
            })).collect::<Vec<_>>(),
            "more": listing.more,
        })),
        Err(FileError::IsFile { .. }) => {
            let content = files.read(&path).map_err(|error| of_file(memory, error))?;
            text(&json!({
                "notice": shown::NOTICE,
                "path": shown::line(&path),
                "text": shown::body(&content),
            }))
        }
        Err(error) => Err(of_file(memory, error)),
    }
}

pub(crate) fn of_file(memory: &Memory, error: FileError) -> Problem {
    match error {
        FileError::Memory(error) => memory.problem(error),
        other => Problem::new("no_such_file", other.to_string()),
    }
}

fn run(memory: &Memory, session: &Session, run: &str) -> Result<String, Problem> {
    let place = memory.place(session, None)?;
    let reader = memory.reader(&place, None)?;
    let filter = Filter { runs: vec![run.to_string()], ..Filter::default() };
    let request =
        TimelineRequest { filter, limit: RUN_RECORDS_MAX + 1, ..TimelineRequest::default() };
    let mut listing = reader.list(&request).map_err(|error| memory.problem(error))?;
    let is_more = listing.truncate(RUN_RECORDS_MAX);
    let mut records = Vec::new();
    for record in listing {
        let record = record.map_err(|error| memory.problem(error))?;
        records.push(ListedOut {
            beginning: shown::beginning(&record.text),
            head: searching::head(memory, &record, memory.host().now()),
        });
    }
    if records.is_empty() {
        let message = format!("nothing was recorded in a run called {}", shown::line(run));
        return Err(Problem::new("run_not_found", message));
    }
    let left_out = fit::keep(&mut records);
    text(&json!({
        "notice": shown::NOTICE,
        "run": shown::line(run),
        "records": records,
        "more": is_more || left_out > 0,
    }))
}

fn text<T: Serialize>(content: &T) -> Result<String, Problem> {
    serde_json::to_string(content).map_err(|error| Problem::new("internal", error.to_string()))
}
