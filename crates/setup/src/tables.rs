//! Edits of TOML: a table at the end, and values in it. Texts only; knows no file.
//!
//! The reader of TOML says where things are; the text itself is cut and joined, so that every
//! other byte stays as it is. Afterwards it is read again: but for our own table it says what it
//! said before.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, TableLike};

use crate::content::Edited;
use crate::error::{EditError, line_at};
use crate::json::foreign;
use crate::passage::newline;
use crate::server::{Form, SERVER_NAME, Server};

/// The table of all servers.
const SERVERS: &str = "mcp_servers";

/// The text with the server in it.
pub(crate) fn add(
    text: &str,
    server: &Server,
    program: &str,
    force: bool,
) -> Result<Edited, EditError> {
    let document = parse(text)?;
    let edited = match entry(&document) {
        Some(item) => {
            let value = json(item);
            match Form::Toml.server(&value).filter(|found| found.is_own(program)) {
                Some(found) => update(text, item, &found, server)?,
                None if force => append(&cut(text, &document)?, server),
                None => return Err(foreign(&value.to_string())),
            }
        }
        None if is_closed(&document) => {
            let reason =
                format!("`{SERVERS}` is written as one value; make it a table, `[{SERVERS}.…]`");
            return Err(EditError::whole(reason));
        }
        None => append(text, server),
    };
    let now = read(&edited)?;
    let is_there = now.is_some_and(|now| now.command == server.command);
    let kept = force || without_ours(text, program)? == without_ours(&edited, program)?;
    match is_there && kept {
        true => Ok(Edited { text: edited, made: Vec::new() }),
        false => Err(EditError::TooMuch),
    }
}

/// The server that a document starts under our name.
pub(crate) fn read(text: &str) -> Result<Option<Server>, EditError> {
    Ok(entry(&parse(text)?).and_then(|item| Form::Toml.server(&json(item))))
}

/// The text without the server; none where there is none of ours.
pub(crate) fn remove(text: &str, program: &str) -> Result<Option<String>, EditError> {
    let document = parse(text)?;
    let own = entry(&document).and_then(|item| Form::Toml.server(&json(item)));
    if !own.is_some_and(|own| own.is_own(program)) {
        return Ok(None);
    }
    let removed = cut(text, &document)?;
    match without_ours(text, program)? == without_ours(&removed, program)? {
        true => Ok(Some(removed)),
        false => Err(EditError::TooMuch),
    }
}

/// What a document says besides the server.
pub(crate) fn without_ours(text: &str, program: &str) -> Result<Value, EditError> {
    let document = parse(text)?;
    let mut value = table(document.as_table());
    if let Some(servers) = value.get_mut(SERVERS).and_then(Value::as_object_mut) {
        let own = servers.get(SERVER_NAME).and_then(|entry| Form::Toml.server(entry));
        if own.is_some_and(|own| own.is_own(program)) {
            servers.remove(SERVER_NAME);
        }
        if servers.is_empty() {
            value.remove(SERVERS);
        }
    }
    Ok(Value::Object(value))
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let line = error.span().map(|span| line_at(text, span.start));
        let reason = error.message().lines().next().unwrap_or("no TOML").to_string();
        EditError::Unreadable { line, reason }
    })
}

fn entry<'a>(document: &'a Document<&str>) -> Option<&'a Item> {
    document.as_table().get(SERVERS)?.as_table_like()?.get(SERVER_NAME)
}

/// Whether servers are one value, which no table can be added to.
fn is_closed(document: &Document<&str>) -> bool {
    document.as_table().get(SERVERS).is_some_and(Item::is_value)
}

fn append(text: &str, server: &Server) -> String {
    let newline = newline(text);
    let gap = match () {
        () if text.is_empty() || text.ends_with("\n\n") || text.ends_with("\r\n\r\n") => {
            String::new()
        }
        () if text.ends_with('\n') => newline.to_string(),
        () => newline.repeat(2),
    };
    let args: Vec<String> = server.args.iter().map(|arg| quoted(arg)).collect();
    let mut lines = vec![
        format!("[{SERVERS}.{SERVER_NAME}]"),
        format!("command = {}", quoted(&server.command)),
        format!("args = [{}]", args.join(", ")),
    ];
    if !server.env.is_empty() {
        let env =
            server.env.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
        lines.push(format!("env = {{ {} }}", env.collect::<Vec<_>>().join(", ")));
    }
    let mut text = format!("{text}{gap}");
    lines.iter().for_each(|line| text.extend([line.as_str(), newline]));
    text
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Only the command is ours: what a person added to the table stays.
fn update(text: &str, item: &Item, found: &Server, server: &Server) -> Result<String, EditError> {
    if found.command == server.command {
        return Ok(text.to_string());
    }
    let command = item.as_table_like().and_then(|table| table.get("command"));
    let span = command.and_then(Item::span).ok_or(EditError::TooMuch)?;
    Ok(format!("{}{}{}", &text[..span.start], quoted(&server.command), &text[span.end..]))
}

/// The text without the lines of our table and of the tables below it.
fn cut(text: &str, document: &Document<&str>) -> Result<String, EditError> {
    let servers = document.as_table().get(SERVERS).and_then(Item::as_table_like);
    let servers = servers.ok_or(EditError::TooMuch)?;
    let mut spans = Vec::new();
    match servers.get(SERVER_NAME) {
        Some(Item::Table(table)) if !table.is_dotted() => blocks(table, &mut spans),
        // A value on a line of its own, not part of a value that holds all servers.
        Some(Item::Value(value)) if !is_closed(document) => {
            let key = servers.get_key_value(SERVER_NAME).and_then(|(key, _)| key.span());
            let (key, value) = (key.ok_or(EditError::TooMuch)?, value.span());
            spans.push(key.start..value.ok_or(EditError::TooMuch)?.end);
        }
        _ => {
            return Err(EditError::whole("the entry is written in a way that setup does not edit"));
        }
    }
    let mut lines: Vec<Range<usize>> =
        spans.into_iter().map(|span| whole_lines(text, span)).collect();
    lines.sort_unstable_by_key(|span| span.start);
    let mut out = text.to_string();
    for span in lines.into_iter().rev() {
        let start = blank_line_before(&out, span.start);
        out.replace_range(start..span.end, "");
    }
    Ok(out)
}

/// The spans of a table, header and values, and of those below it.
fn blocks(table: &toml_edit::Table, spans: &mut Vec<Range<usize>>) {
    let mut span = table.span().filter(|_| !table.is_implicit());
    for (_, item) in table.iter() {
        match item {
            Item::Table(below) if !below.is_dotted() => blocks(below, spans),
            item => {
                if let (Some(span), Some(value)) = (span.as_mut(), item_end(item)) {
                    span.end = span.end.max(value);
                }
            }
        }
    }
    spans.extend(span);
}

fn item_end(item: &Item) -> Option<usize> {
    match item {
        Item::Table(table) => table.iter().filter_map(|(_, item)| item_end(item)).max(),
        item => item.span().map(|span| span.end),
    }
}

fn whole_lines(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    // A span may end after its newline.
    let from = span.end.saturating_sub(1).max(span.start);
    let end = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
    start..end
}

/// Where the blank line before a table begins, which goes with it.
fn blank_line_before(text: &str, start: usize) -> usize {
    let before = &text[..start];
    ["\r\n\r\n", "\n\n"]
        .iter()
        .find(|blank| before.ends_with(**blank))
        .map_or(start, |blank| start - blank.len() / 2)
}

fn table(table: &dyn TableLike) -> Map<String, Value> {
    table.iter().map(|(key, item)| (key.to_string(), json(item))).collect()
}

fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_json(value),
        Item::Table(below) => Value::Object(table(below)),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|below| Value::Object(table(below))).collect()
        }
    }
}

fn value_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::String(number.value().to_string()),
        toml_edit::Value::Boolean(yes) => Value::Bool(*yes.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(values) => values.iter().map(value_json).collect(),
        toml_edit::Value::InlineTable(below) => Value::Object(table(below)),
    }
}
