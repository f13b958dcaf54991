//! The peer SQLite: a table of records and an FTS5 index over it, WAL, `synchronous=FULL`.

use std::path::Path;

use anyhow::Result;
use kapsa_bench_common::peer::{HITS, Request, records, single};
use kapsa_bench_common::record::Record;
use rusqlite::{Connection, params};

/// Records of one transaction while loading.
const BATCH_RECORDS: usize = 10_000;

const SCHEMA: &str = "
    CREATE TABLE record(id INTEGER PRIMARY KEY, title TEXT, text TEXT, kind TEXT, label TEXT, agent TEXT, entity TEXT,
        domain TEXT, created_at TEXT);
    CREATE TABLE tag(tag TEXT, id INTEGER, PRIMARY KEY(tag, id)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE lexical USING fts5(title, text, content='record', content_rowid='id', tokenize='porter unicode61');";
const PUT_RECORD: &str =
    "INSERT INTO record(title, text, kind, label, agent, entity, domain, created_at)
    VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const PUT_LEXICAL: &str = "INSERT INTO lexical(rowid, title, text) VALUES(?1, ?2, ?3)";
const PUT_TAG: &str = "INSERT OR IGNORE INTO tag(tag, id) VALUES(?1, ?2)";
const FIND: &str =
    "SELECT r.id, r.title FROM lexical l JOIN record r ON r.id = l.rowid WHERE lexical MATCH ?1
    ORDER BY rank LIMIT ?2";
/// The plus keeps SQLite from asking the index once for each record that carries the tag, which is
/// far slower.
const FIND_TAGGED: &str =
    "SELECT r.id, r.title FROM lexical l JOIN record r ON r.id = l.rowid WHERE lexical MATCH ?1
    AND +l.rowid IN (SELECT id FROM tag WHERE tag = ?3) ORDER BY rank LIMIT ?2";

fn main() -> Result<()> {
    match Request::from_args()? {
        Request::Load(store, _) => load(&store),
        Request::Put(store, text) => put(&store, &single(text)),
        Request::Find(store, query, tag) => find(&store, &query, tag.as_deref()),
    }
}

fn open(store: &Path) -> Result<Connection> {
    let connection = Connection::open(store)?;
    connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")?;
    Ok(connection)
}

fn load(store: &Path) -> Result<()> {
    let mut connection = open(store)?;
    connection.execute_batch(SCHEMA)?;
    let mut records = records().peekable();
    while records.peek().is_some() {
        let transaction = connection.transaction()?;
        for record in records.by_ref().take(BATCH_RECORDS) {
            insert(&transaction, &record?)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn put(store: &Path, record: &Record) -> Result<()> {
    let mut connection = open(store)?;
    let transaction = connection.transaction()?;
    insert(&transaction, record)?;
    // The connection closes in the usual way, which folds the write-ahead log in.
    Ok(transaction.commit()?)
}

fn insert(connection: &Connection, r: &Record) -> Result<()> {
    let fields =
        params![r.title, r.text, r.kind, r.label, r.agent, r.entity, r.domain, r.created_at];
    connection.prepare_cached(PUT_RECORD)?.execute(fields)?;
    let id = connection.last_insert_rowid();
    connection.prepare_cached(PUT_LEXICAL)?.execute(params![id, r.title, r.text])?;
    let mut put_tag = connection.prepare_cached(PUT_TAG)?;
    for tag in r.tag_terms() {
        put_tag.execute(params![tag, id])?;
    }
    Ok(())
}

fn find(store: &Path, query: &str, tag: Option<&str>) -> Result<()> {
    let connection = open(store)?;
    let words: Vec<String> = query.split_whitespace().map(|word| format!("\"{word}\"")).collect();
    let query = words.join(" OR ");
    let mut statement = connection.prepare(if tag.is_some() { FIND_TAGGED } else { FIND })?;
    let limit = HITS as i64;
    let mut rows = match tag {
        Some(tag) => statement.query(params![query, limit, tag])?,
        None => statement.query(params![query, limit])?,
    };
    while let Some(row) = rows.next()? {
        println!("{}\t{}", row.get::<_, i64>(0)?, row.get::<_, String>(1)?);
    }
    Ok(())
}
