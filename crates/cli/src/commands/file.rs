//! `put --uri URI FILE`: one file under a name, whatever its bytes are.
//!
//! What is text becomes the text of the record. Anything else is stored as its content, in blobs
//! that files share; the text says what it is, so that it is found.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::time::SystemTime;

use kapsa_memory::record::TEXT_BYTES_MAX;
use kapsa_memory::request::Put;
use kapsa_memory::{CONTENT_BYTES_MAX, Content, ContentNames, Error, NewRecord};
use kapsa_memory::{split_content, tokens::first_bytes};

use super::defaults::Defaults;
use super::documents::{content, missing, unreadable};
use super::known;
use super::put::{Answer, Stored, one, put_small};
use super::turn::Turn;
use crate::app::{App, owner_of};
use crate::args;
use crate::error::{CliError, Result};
use crate::progress::Progress;
use crate::render;

/// Media type of what is nothing known.
const UNKNOWN: &str = "application/octet-stream";
/// Bytes at the beginning that say what a file is.
const HEAD_BYTES: u64 = 8192;
/// Longest name of a file that is kept, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// How often a file is read anew because a compaction took away what was stored of it.
const TRIES_MAX: usize = 3;

/// Stores a file under the URI of `defaults`.
pub(super) fn put(
    app: &mut App,
    defaults: &Defaults,
    args: &args::Put,
    path: &Path,
) -> Result<Stored> {
    let mut file = Source::open(path)?;
    if let Some(text) = file.text()? {
        file.expect_same()?;
        let record = NewRecord { title: file.name, ..NewRecord::text(text) };
        return one(app, defaults, args, record);
    }
    app.refuse_principals("put files that are not text")?;
    if let Some(why) = &file.unread {
        let message = format!("{} is found by its name alone: {why}", path.display());
        app.out.warn("partly_read", &message);
    }
    let capsule = app.capsule()?;
    for _ in 0..TRIES_MAX {
        let content = store(app, &capsule, defaults, &mut file)?;
        let record = defaults.fill(file.record(content));
        record.check()?;
        if let Some(put) = there(app, &record, args.if_new)? {
            return Ok(Stored { answer: Answer::One(put, None), embedding: None });
        }
        match put_small(app, &capsule, defaults, args.embed, vec![record]) {
            Ok((mut puts, ahead)) => {
                let answer = Answer::One(puts.remove(0), None);
                return Ok(Stored { answer, embedding: ahead.report(app) });
            }
            Err(error) if error.code == "content_missing" => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::ContentMissing.into())
}

/// Stores what the capsule lacks of the content of a file.
fn store(
    app: &mut App,
    capsule: &Path,
    defaults: &Defaults,
    source: &mut Source<'_>,
) -> Result<Content> {
    let names = ContentNames { name: source.name.clone(), media_type: source.media_type.clone() };
    let total = source.size;
    let mut progress = Progress::new("storing bytes", &app.out);
    let mut turn = Turn::default();
    let mut failure = None;
    source.file.rewind().map_err(|error| source.failed(&error))?;
    let content = split_content(
        names,
        &mut source.file,
        &mut |bytes| progress.set(bytes, Some(total)),
        &mut |blobs| {
            let stored = turn
                .writer(app, capsule, defaults)
                .and_then(|writer| owner_of(app, writer, "put files that are not text"))
                .and_then(|writer| Ok(blobs.store(writer)?));
            turn.let_others_write();
            stored.map(drop).map_err(|error| {
                failure = Some(error);
                Error::ContentMissing
            })
        },
    );
    match (failure, content) {
        (Some(error), _) => Err(error),
        (None, content) => {
            source.expect_same()?;
            Ok(content?)
        }
    }
}

/// What is there already and makes the put of a file needless.
fn there(app: &App, record: &NewRecord, if_new: bool) -> Result<Option<Put>> {
    let reader = app.reader()?;
    match known::unchanged(app, &reader, record, if_new)? {
        None if if_new => known::same_file(&reader, record),
        found => Ok(found),
    }
}

/// A file that is to be stored.
struct Source<'a> {
    path: &'a Path,
    file: File,
    size: u64,
    /// Its name without folders, as far as it can be kept.
    name: String,
    media_type: String,
    /// What it says, where it is a document of a known format.
    words: Option<String>,
    /// Why that is not known.
    unread: Option<String>,
    /// When it was changed last, as the file system has it.
    modified: Option<SystemTime>,
}

impl<'a> Source<'a> {
    fn open(path: &'a Path) -> Result<Source<'a>> {
        if let Err(error) = path.metadata() {
            return Err(missing(path, &error));
        }
        let (file, size) = content::open(path).map_err(|unread| match path.is_dir() {
            true => unread.error.hint("leave out --uri to put the documents of a folder"),
            false => unread.error.hint("kapsa put --uri URI FILE stores one regular file"),
        })?;
        if size > CONTENT_BYTES_MAX {
            return Err(unreadable(path, "larger than 4 GiB"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = first_bytes(&name, NAME_BYTES_MAX).to_string();
        let mut source = Source {
            path,
            file,
            size,
            name,
            media_type: UNKNOWN.to_string(),
            words: None,
            unread: None,
            modified: None,
        };
        source.modified = source.changed()?;
        Ok(source)
    }

    /// When it was changed last; none where the file system does not say.
    fn changed(&self) -> Result<Option<SystemTime>> {
        let found = self.file.metadata().map_err(|error| self.failed(&error))?;
        if found.len() != self.size {
            return Err(self.changed_meanwhile());
        }
        // May be dropped: where there is no time the size says what it can.
        Ok(found.modified().ok())
    }

    fn changed_meanwhile(&self) -> CliError {
        unreadable(self.path, "it changed while it was read").hint("put it again once it is whole")
    }

    /// Refuses a file that was changed since it was opened: what was read of it is of no version.
    fn expect_same(&self) -> Result<()> {
        if self.changed()? == self.modified { Ok(()) } else { Err(self.changed_meanwhile()) }
    }

    fn failed(&self, error: &std::io::Error) -> CliError {
        unreadable(self.path, &error.to_string())
    }

    /// All of it where that is text which one record holds. Else says of what type it is, and which
    /// words are in it.
    fn text(&mut self) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let is_read = self.size <= content::DOCUMENT_BYTES_MAX;
        let limit = if is_read { content::DOCUMENT_BYTES_MAX } else { HEAD_BYTES };
        let read = (&self.file).take(limit).read_to_end(&mut bytes);
        let read = read.map_err(|error| self.failed(&error))?;
        if (read as u64) < limit {
            let stored = content::expect_stored(self.path, &self.file, self.size, read as u64);
            stored.map_err(|unread| unread.error)?;
        }
        let found = infer::get(&bytes);
        if let Some(found) = &found {
            self.media_type = found.mime_type().to_string();
        }
        // Some formats are made of letters and are no text all the same.
        let is_other = found.is_some_and(|found| found.matcher_type() != infer::MatcherType::Text);
        let is_whole = bytes.len() as u64 == self.size && !bytes.is_empty();
        if !is_other && is_whole && bytes.len() <= TEXT_BYTES_MAX && !bytes.contains(&0) {
            match String::from_utf8(bytes) {
                Ok(text) => return Ok(Some(text)),
                Err(error) => bytes = error.into_bytes(),
            }
        }
        if is_whole {
            match content::words(&self.name, &bytes) {
                Ok(words) => self.words = words,
                Err(error) => self.unread = Some(error.to_string()),
            }
        }
        Ok(None)
    }

    /// The record of it, which is found by its name.
    fn record(&self, content: Content) -> NewRecord {
        let size = render::size(content.size_bytes());
        let mut text = format!("{} ({}, {size})", self.name, content.media_type());
        if let Some(words) = &self.words {
            let room = TEXT_BYTES_MAX - text.len() - 1;
            text = format!("{text}\n{}", first_bytes(words, room));
        }
        NewRecord {
            title: self.name.clone(),
            kind: known::FILE_KIND.to_string(),
            content: Some(content),
            ..NewRecord::text(text)
        }
    }
}
