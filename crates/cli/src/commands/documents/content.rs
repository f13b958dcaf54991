//! What is in a file: a text as it is, or the parts of another format.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use kapsa_documents::{Format, Limits, Place, ReadError, Section, Text};
use kapsa_memory::document::{self, DocumentPart};
use kapsa_memory::record::FIELD_BYTES_MAX;
use kapsa_memory::tokens::first_bytes;
use kapsa_memory::{Error, NewRecord};
use serde_json::{Map, Value};

use super::skipped::SkipKind;
use super::unreadable;
use crate::error::{CliError, Result};

/// Largest document (64 MiB).
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
const MICROS: i64 = 1_000_000;

/// What is in a file.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// A text in itself: Markdown or plain.
    pub(super) text: String,
    /// The parts of another format.
    pub(super) parts: Option<Vec<DocumentPart>>,
    /// What it calls itself.
    pub(super) title: Option<String>,
    /// What could not be read.
    pub(super) unread: Vec<String>,
}

impl Content {
    /// The passages of a document of this name, each as it can be put. A title that is joined of
    /// many headings is cut.
    ///
    /// # Errors
    /// What is wrong with one, or that they are too many.
    pub(super) fn passages(&self, path: &Path, name: &str) -> Result<Vec<NewRecord>, Box<Unread>> {
        let unfit = |error: Error| Unread::new(SkipKind::TooLarge, path, &error.to_string());
        let mut passages = match &self.parts {
            Some(parts) => document::cut_parts(name, self.title.as_deref(), parts),
            None => document::cut(name, &self.text),
        }
        .map_err(unfit)?;
        for passage in &mut passages {
            let end = first_bytes(&passage.title, FIELD_BYTES_MAX).len();
            passage.title.truncate(end);
            passage.check().map_err(unfit)?;
        }
        Ok(passages)
    }
}

/// Why a file was not read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(super) kind: SkipKind,
    pub(crate) error: CliError,
}

impl Unread {
    fn new(kind: SkipKind, path: &Path, why: &str) -> Box<Unread> {
        Box::new(Unread { kind, error: unreadable(path, why) })
    }
}

/// What is in a file.
pub(super) fn of(path: &Path) -> Result<Content, Box<Unread>> {
    let bytes = bytes(path)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        // Nothing is in it, whatever it is called: what was there before is gone.
        return Ok(Content::default());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(format) = Format::of(&name, &bytes) else {
        return Ok(Content { text: text(path, bytes)?, ..Content::default() });
    };
    let found = kapsa_documents::read(format, &bytes, &Limits::default());
    let found = found.map_err(|error| refused(path, &error))?;
    Ok(parts(found))
}

fn refused(path: &Path, error: &ReadError) -> Box<Unread> {
    let kind = match error {
        ReadError::Broken(_) => SkipKind::Damaged,
        ReadError::Protected => SkipKind::Protected,
        ReadError::NoText => SkipKind::NoText,
        ReadError::TooLarge { .. } => SkipKind::TooLarge,
    };
    let hint = match error {
        ReadError::Broken(_) => {
            "see whether its own program opens it; kapsa put --uri URI FILE stores its bytes as \
             they are"
        }
        ReadError::Protected => "save a copy without the password, and put that",
        ReadError::NoText => "save its text in a file, and put that",
        ReadError::TooLarge { .. } => "put it in several smaller files",
    };
    Box::new(Unread { kind, error: unreadable(path, &error.to_string()).hint(hint) })
}

fn parts(text: Text) -> Content {
    let about = text.metadata;
    let parts = text.sections.into_iter().map(|section| part(section, &about)).collect();
    Content { text: String::new(), parts: Some(parts), title: text.title, unread: text.unread }
}

fn part(section: Section, about: &[(&'static str, String)]) -> DocumentPart {
    let said = about.iter().chain(&section.metadata);
    let mut metadata: Map<String, Value> =
        said.map(|(name, value)| ((*name).to_string(), Value::from(value.as_str()))).collect();
    let first_line = match section.place {
        Place::Lines(first, _) => u32::try_from(first).ok(),
        Place::Headings => None,
        place => {
            metadata.insert("place".into(), Value::from(place.to_string()));
            None
        }
    };
    DocumentPart {
        headings: section.headings,
        name: section.name,
        text: section.text,
        first_line,
        metadata,
        created_at: section.time.and_then(|seconds| seconds.checked_mul(MICROS)),
    }
}

/// The text of a file. Refuses what is not a regular file, too large, binary or not UTF-8.
pub(crate) fn read(path: &Path) -> Result<String> {
    bytes(path).and_then(|bytes| text(path, bytes)).map_err(|unread| unread.error)
}

/// The words in a file of a format that is no text in itself; none where no such format is known.
///
/// # Errors
/// Why they cannot be read.
pub(crate) fn words(name: &str, bytes: &[u8]) -> Result<Option<String>, ReadError> {
    let Some(format) = Format::of(name, bytes) else { return Ok(None) };
    let text = kapsa_documents::read(format, bytes, &Limits::default())?;
    let mut words = text.title.unwrap_or_default();
    for section in text.sections {
        for part in section.headings.iter().chain([&section.text]) {
            words.push('\n');
            words.push_str(part);
        }
    }
    Ok(Some(words))
}

/// Opens a regular file, and says how large it is; nothing else is waited for.
pub(crate) fn open(path: &Path) -> Result<(File, u64), Box<Unread>> {
    let failed =
        |error: std::io::Error| Unread::new(SkipKind::Unreadable, path, &error.to_string());
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(Unread::new(SkipKind::Special, path, "not a regular file"));
    }
    Ok((file, found.len()))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Box<Unread>> {
    let failed =
        |error: std::io::Error| Unread::new(SkipKind::Unreadable, path, &error.to_string());
    let (file, size) = open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(DOCUMENT_BYTES_MAX)).unwrap_or(0));
    (&file).take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(Unread::new(SkipKind::TooLarge, path, "larger than 64 MiB"));
    }
    expect_stored(path, &file, size, bytes.len() as u64)?;
    Ok(bytes)
}

/// Refuses a file of which more or less was read than it has, now as before: nothing is stored in
/// it, as below `/proc` and `/sys`, and what it says is of no version.
pub(crate) fn expect_stored(
    path: &Path,
    file: &File,
    size: u64,
    read: u64,
) -> Result<(), Box<Unread>> {
    // What grows meanwhile has another size now.
    if read == size || file.metadata().is_ok_and(|now| now.len() != size) {
        return Ok(());
    }
    let why = "the system makes it up whenever it is read, and stores nothing in it";
    let mut unread = Unread::new(SkipKind::Special, path, why);
    unread.error = unread.error.hint("copy what it says to a file, and put that");
    Err(unread)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Box<Unread>> {
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(Unread::new(SkipKind::NotText, path, &format!("not text: byte {at} is zero")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Unread::new(SkipKind::NotText, path, &format!("not UTF-8 text: invalid byte at {at}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_refused() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let file = root.path().join("x");
        for (bytes, why) in [(&b"a\0b"[..], "byte 1 is zero"), (b"ab\xff", "byte at 2")] {
            std::fs::write(&file, bytes).expect("a file");
            assert!(read(&file).expect_err("no text").message.contains(why));
        }
        assert!(read(root.path()).is_err());
    }
}
