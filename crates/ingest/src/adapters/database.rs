//! SQLite databases of OpenCode and Cursor, as of one moment. Knows no other file.
//!
//! They are opened through SQLite itself, read-only and with the log beside them, so that what a
//! program is writing is seen whole or not at all. Nothing is copied.

use std::path::Path;
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use super::{cursor, opencode};
use crate::detect::Format;
use crate::draft::{Draft, Spot};
use crate::error::Error;
use crate::json::{self, Object, Raw};
use crate::limits::{BUSY_WAIT_MS, RECORD_BYTES_MAX};
use crate::output::Output;
use crate::session::{Agent, Place};
use crate::skipped::Reason;

/// Reads the sessions of a database.
pub(crate) fn read(path: &Path, output: &mut Output<'_>) -> Result<(), Error> {
    let result = open(path).and_then(|database| {
        let tables = tables(&database)?;
        let has = |name: &str| tables.iter().any(|table| table == name);
        if has("session") && has("message") && has("part") {
            output.reading.format = Some(Format::OpenCode);
            sessions_of_opencode(&database, output)
        } else if has("cursorDiskKV") || has("ItemTable") {
            let before = output.reading.sessions;
            if has("cursorDiskKV") {
                composers(&database, output)?;
            }
            if has("ItemTable") {
                items(&database, path, before, output)?;
            }
            Ok(())
        } else {
            output.skip(Reason::UnknownFormat, "database");
            Ok(())
        }
    });
    result.map_err(|source| failure(path, source))
}

fn failure(path: &Path, source: rusqlite::Error) -> Error {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path },
        Some(ErrorCode::OutOfMemory) => Error::Limit { path, what: "192 MiB of memory" },
        Some(ErrorCode::TooBig) => Error::Limit { path, what: "32 MiB for one value" },
        Some(ErrorCode::OperationInterrupted) => Error::Limit { path, what: "a minute's work" },
        _ => Error::Database { path, source },
    }
}

/// Opens a database at one moment, which holds until it is closed.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = Connection::open_with_flags(path, flags)?;
    database.busy_timeout(Duration::from_millis(BUSY_WAIT_MS))?;
    // What a stranger's schema computes, sorts or joins ends at these.
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    database.progress_handler(STEPS_PER_LOOK, Some(steps_within(STEPS_MAX)))?;
    database.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; \
         PRAGMA soft_heap_limit = 67108864; PRAGMA hard_heap_limit = 201326592; BEGIN;",
    )?;
    Ok(database)
}

/// Longest value that a query makes or reads, in bytes.
const VALUE_BYTES_MAX: i32 = 32 << 20;
/// Steps of SQLite's machine between two looks at how many there were.
const STEPS_PER_LOOK: i32 = 100_000;
/// Most of them for one database: a minute of work.
const STEPS_MAX: u64 = 2_000_000_000;

/// Says when there were too many steps.
fn steps_within(most: u64) -> impl FnMut() -> bool {
    let mut steps = 0;
    move || {
        steps += u64::from(STEPS_PER_LOOK.unsigned_abs());
        steps > most
    }
}

/// Real tables: a view would run what a stranger wrote.
fn tables(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let query =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'";
    let mut statement = database.prepare(query)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The text of a column; nothing if the column is missing, or holds none.
fn text(row: &Row<'_>, column: &str) -> Option<String> {
    // A version of the program that has no such column.
    match row.get_ref(column).ok()? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() <= RECORD_BYTES_MAX => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        ValueRef::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn time(row: &Row<'_>, column: &str) -> Option<i64> {
    crate::time::micros(&text(row, column)?)
}

fn sessions_of_opencode(database: &Connection, output: &mut Output<'_>) -> rusqlite::Result<()> {
    let mut statement = database.prepare("SELECT * FROM session ORDER BY time_created, id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(id) = text(row, "id") else { continue };
        let mut draft = Draft::new(Agent::OpenCode, &id);
        draft.works_in(text(row, "directory").as_deref(), None);
        draft.child_of(text(row, "parent_id").as_deref());
        draft.saw(time(row, "time_created"));
        draft.saw(time(row, "time_updated"));
        messages(database, &id, &mut draft, output)?;
        draft.finish(output);
        if output.reading.stopped {
            break;
        }
    }
    Ok(())
}

/// Every part of a session, beside its message.
const PARTS: &str = "SELECT m.id AS id, m.data AS message, p.data AS part, m.time_created AS at \
    FROM message m LEFT JOIN part p ON p.message_id = m.id WHERE m.session_id = ?1 \
    ORDER BY m.time_created, m.id, p.id";

fn messages(
    database: &Connection,
    session: &str,
    draft: &mut Draft,
    output: &mut Output<'_>,
) -> rusqlite::Result<()> {
    let mut statement = database.prepare(PARTS)?;
    let mut rows = statement.query([session])?;
    let mut last = None;
    let mut index = 0;
    while let Some(row) = rows.next()? {
        let id = text(row, "id");
        if last.is_some() && last != id {
            index += 1;
        }
        last = id;
        let spot = Spot { at: time(row, "at"), place: Place::Message(index) };
        let info = text(row, "message").unwrap_or_default();
        let role = opencode::role(draft, &Object::parse(&info).unwrap_or_default(), spot);
        match text(row, "part").as_deref().map(Object::parse) {
            Some(Some(part)) => opencode::part(draft, &part, role, output),
            Some(None) => output.skip(Reason::NotJson, "part"),
            None => output.skip(Reason::NotDialogue, "message without parts"),
        }
    }
    Ok(())
}

/// The conversations in Cursor's own table of keys and values.
fn composers(database: &Connection, output: &mut Output<'_>) -> rusqlite::Result<()> {
    let query = "SELECT key, value FROM cursorDiskKV \
        WHERE key >= 'composerData:' AND key < 'composerData;'";
    let mut statement = database.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(value) = text(row, "value") else { continue };
        let value = decoded_twice(value);
        let Some(composer) = Object::parse(&value) else {
            output.skip(Reason::NotJson, "composer");
            continue;
        };
        output.reading.format = Some(Format::Cursor);
        let key = text(row, "key").unwrap_or_default();
        let id = key.split_once(':').map_or("", |(_, id)| id);
        let mut draft = Draft::new(Agent::Cursor, id);
        cursor::about(&mut draft, &composer);
        bubbles(database, id, &composer, &mut draft, output)?;
        draft.finish(output);
        if output.reading.stopped {
            break;
        }
    }
    Ok(())
}

fn bubbles(
    database: &Connection,
    composer: &str,
    object: &Object<'_>,
    draft: &mut Draft,
    output: &mut Output<'_>,
) -> rusqlite::Result<()> {
    let spot = |index: usize| Spot { at: None, place: Place::Message(index as u64) };
    for (index, raw) in object.list("conversation").into_iter().enumerate() {
        cursor::bubble(draft, &Object::of(raw), spot(index));
    }
    let mut statement = database.prepare("SELECT value FROM cursorDiskKV WHERE key = ?1")?;
    for (index, id) in cursor::order(object).iter().enumerate() {
        let mut rows = statement.query([format!("bubbleId:{composer}:{id}")])?;
        let value = match rows.next()? {
            Some(row) => text(row, "value").map(decoded_twice),
            None => None,
        };
        match value.as_deref().map(Object::parse) {
            Some(Some(bubble)) => cursor::bubble(draft, &bubble, spot(index)),
            Some(None) => output.skip(Reason::NotJson, "bubble"),
            None => output.skip(Reason::NotDialogue, "bubble that is gone"),
        }
    }
    Ok(())
}

/// A value that is JSON in a JSON text.
fn decoded_twice(value: String) -> String {
    if !value.starts_with('"') {
        return value;
    }
    // Not JSON after all: the caller counts it.
    serde_json::from_str::<String>(&value).unwrap_or(value)
}

/// The chats in a workspace's table of items; where there is none, the prompts that it remembers.
fn items(
    database: &Connection,
    path: &Path,
    before: u64,
    output: &mut Output<'_>,
) -> rusqlite::Result<()> {
    let chats = item(database, "workbench.panel.aichat.view.aichat.chatdata")?;
    for raw in Object::parse(&chats).unwrap_or_default().list("tabs") {
        let tab = Object::of(raw);
        let mut draft = Draft::new(Agent::Cursor, &tab.text("tabId").unwrap_or_default());
        draft.saw(tab.time("lastSendTime"));
        for (index, raw) in tab.list("bubbles").into_iter().enumerate() {
            let spot = Spot { at: None, place: Place::Message(index as u64) };
            cursor::bubble(&mut draft, &Object::of(raw), spot);
        }
        output.reading.format = Some(Format::Cursor);
        draft.finish(output);
    }
    let prompts = item(database, "aiService.prompts")?;
    let Ok(prompts) = serde_json::from_str::<Raw<'_>>(&prompts) else { return Ok(()) };
    output.reading.format = Some(Format::Cursor);
    if output.reading.sessions == before {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut draft = Draft::new(Agent::Cursor, &format!("{stem}/prompts"));
        for (index, raw) in json::list(prompts).into_iter().enumerate() {
            let spot = Spot { at: None, place: Place::Message(index as u64) };
            draft.said(&Object::of(raw).text("text").unwrap_or_default(), spot);
        }
        draft.finish(output);
    }
    Ok(())
}

/// The value of an item; empty if there is none.
fn item(database: &Connection, key: &str) -> rusqlite::Result<String> {
    let mut statement = database.prepare("SELECT value FROM ItemTable WHERE key = ?1")?;
    let mut rows = statement.query([key])?;
    Ok(rows.next()?.and_then(|row| text(row, "value")).unwrap_or_default())
}
