//! The bytes that a record stands for: of the file that it was made of, else its text. What the
//! capsule writes about itself has its metadata as JSON, a policy the JSON that its hash is of.

use std::borrow::Cow;
use std::io::{IsTerminal, Read, stdout};

use kapsa_memory::{Content, ContentReader, Record, open_content, policy};

use crate::app::{AnyReader, App};
use crate::error::{CliError, Result};
use crate::out_file::OutFile;

/// The bytes of a record.
pub(super) enum Bytes<'a> {
    Text(Cow<'a, str>),
    File(&'a AnyReader, &'a Content),
}

impl<'a> Bytes<'a> {
    pub(super) fn of(reader: &'a AnyReader, record: &'a Record) -> Bytes<'a> {
        match &record.content {
            _ if record.system => {
                let metadata = serde_json::Value::Object(record.metadata.clone());
                Bytes::Text(metadata.to_string().into())
            }
            Some(content) => Bytes::File(reader, content),
            None => match policy::content(record) {
                Some(json) => Bytes::Text(json.into()),
                None => Bytes::Text(record.text.as_str().into()),
            },
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        match self {
            Bytes::Text(text) => text.len() as u64,
            Bytes::File(_, content) => content.size_bytes(),
        }
    }

    /// The first of them as text; in what is none, other characters stand for its bytes.
    pub(super) fn preview(&self, most: usize) -> Result<String> {
        match self {
            Bytes::Text(text) => Ok(kapsa_memory::tokens::first_bytes(text, most).to_string()),
            Bytes::File(reader, content) => {
                let mut first = Vec::new();
                let read = open(reader, content).take(most as u64).read_to_end(&mut first);
                read.map_err(|error| damaged(&error))?;
                Ok(String::from_utf8_lossy(&first).into_owned())
            }
        }
    }

    /// Writes them to a file, all or none.
    pub(super) fn write(&self, out: &OutFile) -> Result<()> {
        match self {
            Bytes::Text(text) => out.write(text.as_bytes()),
            Bytes::File(reader, content) => {
                let mut contents = open(reader, content);
                out.write_blobs(&mut || Ok(contents.next_blob()?))
            }
        }
    }

    /// Prints them exactly. A terminal gets no bytes that are not text.
    pub(super) fn print(&self, app: &mut App) -> Result<()> {
        let (reader, content) = match self {
            Bytes::Text(text) => return app.out.exact(text),
            Bytes::File(reader, content) => (reader, content),
        };
        if stdout().is_terminal() {
            let message = format!("this is a file ({}), not text", content.media_type());
            return Err(CliError::user("not_text", message)
                .hint("kapsa resolve-uri URI --out FILE writes it to a file"));
        }
        let mut contents = open(reader, content);
        loop {
            let blob = contents.next_blob()?;
            if blob.is_empty() {
                return Ok(());
            }
            app.out.own(&blob)?;
        }
    }
}

fn open<'a>(reader: &'a AnyReader, content: &'a Content) -> ContentReader<'a> {
    let view = match reader {
        AnyReader::Owner(reader) => reader.raw(),
        AnyReader::Principal(reader) => reader.raw(),
    };
    open_content(view, content)
}

fn damaged(error: &std::io::Error) -> CliError {
    CliError::system("content_damaged", error.to_string())
        .hint("kapsa verify shows what is damaged")
}
