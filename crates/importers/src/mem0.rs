//! Memories of mem0: what its history database says became of each, or the list that `get_all`
//! gives. Payloads of its vector stores are pickled objects of Python, which nobody should open.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::error::Error;
use crate::input::{
    FILE_BYTES_MAX, NO_FILE, SOURCE_BYTES_MAX, file_in, foreign, io, json, json_lines, others, text,
};
use crate::item::{Draft, Source};
use crate::time::{moment, of_text};

/// First bytes of a database.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Steps of a database between two looks at how many there were, and the most of them: what is
/// damaged must come to an end.
const STEPS: i32 = 1_000_000;
const STEPS_MAX: u32 = 5_000;

pub(crate) fn read(product: &'static str, path: &Path) -> Result<Source, Error> {
    let file = file_in(path, &["history.db", "memories.json", "export.json"])?;
    let found = std::fs::metadata(&file).map_err(io(&file))?;
    if !found.is_file() {
        return Err(foreign(&file, NO_FILE));
    }
    if found.len() > SOURCE_BYTES_MAX {
        let limit = SOURCE_BYTES_MAX;
        return Err(Error::TooLarge { path: file, limit, of: "bytes" });
    }
    let mut first = [0; 16];
    let begins = std::fs::File::open(&file)
        .and_then(|mut file| std::io::Read::read(&mut file, &mut first))
        .map_err(io(&file))?;
    if first[..begins] == *SQLITE { of_history(product, &file) } else { of_list(product, &file) }
}

/// A row of the history.
struct Change {
    memory: String,
    text: Option<String>,
    event: String,
    created: Option<String>,
    updated: Option<String>,
    is_deleted: bool,
    actor: Option<String>,
}

fn of_history(product: &'static str, path: &Path) -> Result<Source, Error> {
    let failed = |error: rusqlite::Error| foreign(path, error.to_string());
    let mut last: BTreeMap<String, (Change, Option<String>)> = BTreeMap::new();
    for change in changes(path).map_err(failed)? {
        let created = last.get(&change.memory).and_then(|(_, created)| created.clone());
        let created = created.or_else(|| change.created.clone());
        last.insert(change.memory.clone(), (change, created));
    }
    let mut source = Source::default();
    let mut deleted = 0;
    for (id, (change, created)) in last {
        if change.is_deleted || change.event.eq_ignore_ascii_case("DELETE") {
            deleted += 1;
            continue;
        }
        let at = [change.updated, created].into_iter().flatten().find_map(|at| of_text(&at));
        let draft = Draft {
            product,
            what: "memory",
            text: change.text.unwrap_or_default(),
            agent: change.actor.unwrap_or_default(),
            at,
            id: id.clone(),
            ..Draft::default()
        };
        source.take(format!("{}: {id}", path.display()), draft);
    }
    source.leave("deleted memories", deleted);
    Ok(source)
}

/// The rows in their order.
fn changes(path: &Path) -> rusqlite::Result<Vec<Change>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = Connection::open_with_flags(path, flags)?;
    database
        .set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(FILE_BYTES_MAX).unwrap_or(i32::MAX))?;
    let mut looks = 0;
    database.progress_handler(
        STEPS,
        Some(move || {
            looks += 1;
            looks > STEPS_MAX
        }),
    )?;
    let known: Vec<String> = database
        .prepare("SELECT name FROM pragma_table_info('history')")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let column = |name: &str| {
        if known.iter().any(|known| known == name) { name.to_string() } else { "NULL".to_string() }
    };
    let names =
        ["memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id"];
    let query = format!("SELECT {} FROM history ORDER BY rowid", names.map(column).join(", "));
    let mut statement = database.prepare(&query)?;
    let rows = statement.query_map([], |row| {
        Ok(Change {
            memory: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
            text: row.get(1)?,
            event: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
            created: row.get(3)?,
            updated: row.get(4)?,
            is_deleted: row.get::<_, Option<i64>>(5)?.unwrap_or_default() != 0,
            actor: row.get(6)?,
        })
    })?;
    rows.collect()
}

fn of_list(product: &'static str, path: &Path) -> Result<Source, Error> {
    let mut source = Source::default();
    if path.extension().is_some_and(|ending| ending == "jsonl") {
        for (number, line) in json_lines(path)? {
            let place = format!("{}:{number}", path.display());
            match line {
                Err(reason) => source.skip(place, reason),
                Ok(line) => source.take(place, of_memory(product, &line)),
            }
        }
        return Ok(source);
    }
    let file = json(path)?;
    let list = file
        .as_array()
        .or_else(|| ["results", "memories"].iter().find_map(|name| file.get(name)?.as_array()));
    let Some(list) = list else { return Err(foreign(path, "it holds no list of memories")) };
    for (index, memory) in list.iter().enumerate() {
        source.take(format!("{}: [{index}]", path.display()), of_memory(product, memory));
    }
    Ok(source)
}

fn of_memory(product: &'static str, memory: &Value) -> Draft {
    // A payload of a vector store has the text under `data`.
    let payload = memory.get("payload").unwrap_or(memory);
    let said = ["memory", "data", "text"].map(|name| text(payload, name));
    let said = said.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    let id = match text(memory, "id") {
        id if !id.is_empty() => id,
        _ => blake3::hash(said.as_bytes()).to_hex().to_string(),
    };
    let mut more = others(payload, &["memory", "data", "text", "id", "hash", "score"]);
    if let Some(Value::Object(own)) = more.remove("metadata") {
        more.extend(own);
    }
    let categories = payload.get("categories").and_then(Value::as_array).into_iter().flatten();
    let tags = categories.filter_map(Value::as_str).map(|name| (name.to_string(), String::new()));
    let user = text(payload, "user_id");
    let agent = text(payload, "agent_id");
    more.extend(Some(("user_id".to_string(), json!(user.clone()))).filter(|_| !user.is_empty()));
    Draft {
        product,
        what: "memory",
        id,
        text: said,
        entity: user,
        agent,
        tags: tags.collect(),
        more,
        at: moment(payload.get("updated_at")).or_else(|| moment(payload.get("created_at"))),
        ..Draft::default()
    }
}
