//! A file of Memvid's as the store, through the helper program.

use std::path::PathBuf;

use kapsa_importers::memvid_documents;
use kapsa_memory::Uri;
use serde_json::{Value, json};

use super::{Backend, Note, StoredText, unavailable};
use crate::backend_kind::BackendKind;
use crate::error::{CliError, Result};
use crate::memvid::{Helper, Request};
use crate::moment;

/// What is searched to see whether a file can be.
const ANY_QUERY: &str = "the";

/// A store in one file, made by the first put.
pub(super) struct MemvidStore {
    file: PathBuf,
}

impl MemvidStore {
    pub(super) fn new(file: PathBuf) -> MemvidStore {
        MemvidStore { file }
    }

    /// Whether the file can be opened: by a search in it, if it is there.
    pub(super) fn opens(&self) -> Result<()> {
        self.health()?;
        self.find(ANY_QUERY, 1).map(drop)
    }

    /// The lines of one kind that the program answers.
    fn lines(&self, request: Request, input: &Value, name: &str) -> Result<Vec<Value>> {
        let lines = Helper::find()?.ask(request, &self.file, input)?;
        Ok(lines.into_iter().filter_map(|mut line| line.get_mut(name).map(Value::take)).collect())
    }
}

fn stored(line: &Value) -> StoredText {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_string();
    let score = line["score"].as_f64().unwrap_or_default();
    StoredText { id: text("uri"), title: text("title"), text: text("text"), score }
}

impl Backend for MemvidStore {
    fn kind(&self) -> BackendKind {
        BackendKind::Memvid
    }

    fn health(&self) -> Result<()> {
        Helper::find().map(drop)
    }

    fn put(&self, note: &Note) -> Result<String> {
        let now = moment::rfc3339(moment::now());
        let named = || {
            let hash = blake3::hash(format!("{now}\n{}", note.text).as_bytes()).to_hex();
            Uri::from_segments(["note", &hash[..16]]).as_str().to_string()
        };
        let uri = note.uri.clone().unwrap_or_else(named);
        let record = json!({"uri": uri, "title": note.title, "text": note.text, "created_at": now});
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| unavailable(BackendKind::Memvid, &error.to_string()))?;
        }
        self.lines(Request::Put, &record, "end")?;
        Ok(uri)
    }

    fn find(&self, query: &str, limit: usize) -> Result<Vec<StoredText>> {
        if !self.file.exists() {
            return Ok(Vec::new());
        }
        let request = json!({"query": query, "limit": limit});
        Ok(self.lines(Request::Find, &request, "hit")?.iter().map(stored).collect())
    }

    fn get(&self, id: &str) -> Result<Option<StoredText>> {
        if !self.file.exists() {
            return Ok(None);
        }
        let documents = memvid_documents(self.lines(Request::Read, &Value::Null, "frame")?);
        let found = documents.iter().rev().find(|document| {
            document["uri"].as_str() == Some(id) && document["status"].as_str() == Some("active")
        });
        match found.map(|document| (document, document["error"].as_str())) {
            None => Ok(None),
            Some((document, None)) => Ok(Some(stored(document))),
            Some((_, Some(error))) => {
                Err(CliError::user("memvid_failed", format!("{id} cannot be read: {error}")))
            }
        }
    }
}
