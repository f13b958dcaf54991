//! Files to sessions: opens a file, finds its format, and feeds its records to the reader of that
//! format. Knows no record of any format.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;
use std::path::Path;

use crate::adapters::{self, Adapter, Context, Record, database, storage};
use crate::detect::{Shape, detect};
use crate::document::{Broken, Pieces};
use crate::error::Error;
use crate::json;
use crate::output::{Output, Reading, Seen};
use crate::persisted;
use crate::session::{Place, Session};
use crate::skipped::Reason;
use crate::source::{Lines, Source};

/// What gets each session.
type Each<'a> = &'a mut dyn FnMut(Session) -> ControlFlow<()>;

/// Reads the sessions of a file.
pub fn sessions(path: &Path, each: Each<'_>) -> Result<Reading, Error> {
    sessions_once(path, &mut Seen::new(), each)
}

/// Reads the sessions of a file, and of each only what was not seen before.
pub fn sessions_once(path: &Path, seen: &mut Seen, each: Each<'_>) -> Result<Reading, Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let about = path.metadata().map_err(failed)?;
    if !about.is_file() && !about.is_dir() {
        // A pipe or a device may never end, or wait for somebody for ever.
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(Error::Io { path: path.to_owned(), source });
    }
    let source = File::open(path).and_then(Source::new).map_err(failed)?;
    let found = detect(source.head());
    if let Some((format, shape @ (Shape::Database | Shape::Folder))) = found {
        drop(source);
        seen.next_file();
        let mut output = Output::new(seen, each);
        if shape == Shape::Database {
            database::read(path, &mut output)?;
        } else {
            output.reading.format = format;
            storage::read(path, &mut output).map_err(failed)?;
        }
        return Ok(output.finish());
    }
    let context = Context { stem: stem(path), outputs: persisted::folder(path) };
    read(source, context, seen, each).map_err(failed)
}

/// Whether a file may be a trace, by its start. One that cannot be opened may be: reading it says
/// why.
pub fn looks_like_trace(path: &Path) -> bool {
    File::open(path).and_then(Source::new).map_or(true, |source| detect(source.head()).is_some())
}

/// Reads the sessions in a trace's bytes; `name` identifies a session that has no id of its own.
/// Databases, and sessions in several files, must be files: they are not found.
pub fn sessions_in(
    name: &str,
    bytes: impl Read,
    seen: &mut Seen,
    each: Each<'_>,
) -> io::Result<Reading> {
    let context = Context { stem: name.to_owned(), outputs: None };
    read(Source::new(bytes)?, context, seen, each)
}

/// The name of a file without its endings.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() { name.to_owned() } else { stem.to_owned() }
}

fn read(
    source: Source<'_>,
    context: Context,
    seen: &mut Seen,
    each: Each<'_>,
) -> io::Result<Reading> {
    seen.next_file();
    let mut output = Output::new(seen, each);
    let Some((Some(format), shape)) = detect(source.head()) else {
        output.skip(Reason::UnknownFormat, "file");
        return Ok(output.finish());
    };
    output.reading.format = Some(format);
    let mut adapter = adapters::of(format, context);
    let reader = source.into_reader();
    match shape {
        Shape::Document => document(reader, adapter.as_mut(), &mut output)?,
        _ => lines(reader, format.is_markdown(), adapter.as_mut(), &mut output)?,
    }
    adapter.end(&mut output);
    Ok(output.finish())
}

/// What programs leave between records.
fn is_filling(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\0' | '\u{feff}')
}

fn lines(
    reader: impl BufRead,
    is_markdown: bool,
    adapter: &mut dyn Adapter,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let mut lines = Lines::new(reader);
    while !output.reading.stopped {
        let Some(line) = lines.next()? else { break };
        let Some(text) = &line.text else {
            output.skip(Reason::TooLong, "line");
            continue;
        };
        if line.is_mended() {
            output.skip(Reason::NotUtf8, "line");
        }
        let text = if is_markdown { text } else { text.trim_matches(is_filling) };
        let record = Record { text, place: Place::line(line.number), list: "" };
        if (text.is_empty() && !is_markdown) || take(&record, adapter, output) {
            continue;
        }
        if line.is_whole {
            output.skip(Reason::NotJson, "line");
        } else {
            output.skip(Reason::Cut, "line");
            output.reading.waiting = Some(line.number);
        }
    }
    Ok(())
}

/// Gives a record to the adapter; if it is not JSON, once more with its control characters escaped.
fn take(record: &Record<'_>, adapter: &mut dyn Adapter, output: &mut Output<'_>) -> bool {
    if adapter.record(record, output).is_ok() {
        return true;
    }
    let Some(mended) = json::mended(record.text) else { return false };
    adapter.record(&Record { text: mended.trim(), ..*record }, output).is_ok()
}

fn document(
    reader: impl BufRead,
    adapter: &mut dyn Adapter,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let mut pieces = Pieces::new(reader);
    while !output.reading.stopped {
        let piece = match pieces.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(Broken::Io(error)) => return Err(error),
            Err(Broken::NotJson) => {
                output.skip(Reason::NotJson, "rest of the document");
                break;
            }
            Err(Broken::Cut) => {
                output.skip(Reason::Cut, "document");
                output.reading.waiting = Some(0);
                break;
            }
        };
        let Some(value) = piece.value else {
            output.skip(Reason::TooLong, &piece.name);
            continue;
        };
        let text = String::from_utf8_lossy(&value);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            output.skip(Reason::NotUtf8, &piece.name);
        }
        let Some(index) = piece.index else {
            adapter.member(&piece.name, &text, output);
            continue;
        };
        let record = Record { text: &text, place: Place::Message(index), list: &piece.name };
        if !take(&record, adapter, output) {
            output.skip(Reason::NotJson, &piece.name);
        }
    }
    Ok(())
}
