//! Kapsa through its library, as a program would use it: one capsule for each scope.

use std::collections::HashMap;
use std::path::PathBuf;

use kapsa_embed::{LocalEmbedder, LocalReranker};
use kapsa_memory::request::FIND_K_DEFAULT;
use kapsa_memory::{
    Clock, EmbedRequest, FindRequest, Found, Grouping, Micros, Models, NewRecord, Reader,
    SearchMode, Uri, WriteOptions, Writer, create, embed, stats,
};
use kapsa_model::{Embedder, Reranker};
use tempfile::TempDir;

use super::Ranker;
use crate::collection::{Doc, Result, Scope};

/// Records of one commit.
const BATCH_RECORDS: usize = 4096;
/// The time of every commit, so that a run can be repeated: 1 January 2026.
const NOW: Micros = 1_767_225_600_000_000;

/// A capsule in a temporary folder, searched in one way.
pub(crate) struct Kapsa {
    name: &'static str,
    mode: SearchMode,
    embedder: Option<LocalEmbedder>,
    /// The file of another embedder than the bundled one.
    embedder_file: Option<PathBuf>,
    /// The file of a re-ranker, until it is opened.
    reranker_file: Option<PathBuf>,
    reranker: Option<LocalReranker>,
    open: Option<Open>,
}

struct Open {
    reader: Reader,
    /// Document by the sequence of its record.
    documents: HashMap<u64, usize>,
    /// Deleted with the capsule.
    _folder: TempDir,
}

impl Kapsa {
    /// Searches as `name` says, by `mode`.
    pub(crate) fn new(name: &'static str, mode: SearchMode) -> Kapsa {
        Kapsa {
            name,
            mode,
            embedder: None,
            embedder_file: None,
            reranker_file: None,
            reranker: None,
            open: None,
        }
    }

    /// The same, with the embedder of a file.
    pub(crate) fn embedded(name: &'static str, mode: SearchMode, file: PathBuf) -> Kapsa {
        Kapsa { embedder_file: Some(file), ..Kapsa::new(name, mode) }
    }

    /// The same, with the re-ranker of a file.
    pub(crate) fn reranked(name: &'static str, mode: SearchMode, file: PathBuf) -> Kapsa {
        Kapsa { reranker_file: Some(file), ..Kapsa::new(name, mode) }
    }

    fn request(&self, query: &str, k: usize) -> FindRequest {
        FindRequest { k, mode: self.mode, time: Some(Clock::utc(NOW)), ..FindRequest::new(query) }
    }
}

impl Ranker for Kapsa {
    fn name(&self) -> String {
        self.name.to_string()
    }

    fn model(&self) -> String {
        if self.mode == SearchMode::Words {
            return String::new();
        }
        let of_file = self.embedder.as_ref().filter(|_| self.embedder_file.is_some());
        of_file.map_or_else(|| "bundled".to_string(), |embedder| embedder.model().name.clone())
    }

    /// The size is that of the whole file: records and index.
    fn prepare(&mut self, scope: &Scope) -> Result<u64> {
        self.open = None;
        if let Some(file) = self.reranker_file.take() {
            self.reranker = Some(LocalReranker::from_bytes(std::fs::read(file)?)?);
        }
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("scope.kapsa");
        let options = WriteOptions::new(|| NOW);
        create(&path, &options)?;
        let mut writer = Writer::open(&path, options)?;
        let mut documents = HashMap::new();
        // A record without text is refused, and nothing could find it.
        let filled: Vec<usize> =
            (0..scope.documents.len()).filter(|&at| !scope.documents[at].text.is_empty()).collect();
        for batch in filled.chunks(BATCH_RECORDS) {
            let puts = writer
                .put_many(batch.iter().map(|&at| record(&scope.documents[at], at)).collect())?;
            documents.extend(puts.iter().zip(batch).map(|(put, &at)| (put.sequence, at)));
        }
        drop(writer);
        if self.mode != SearchMode::Words {
            if self.embedder.is_none() {
                self.embedder = Some(match &self.embedder_file {
                    Some(file) => LocalEmbedder::from_bytes(std::fs::read(file)?.into())?,
                    None => LocalEmbedder::bundled()?,
                });
            }
            let embedder = self.embedder.as_ref().ok_or("there is no model")?;
            embed(
                &path,
                &WriteOptions::new(|| NOW),
                embedder,
                &EmbedRequest::default(),
                &mut |_, _| (),
            )?;
        }
        let reader = Reader::open(&path)?;
        let bytes = stats(&reader, false)?.size_bytes;
        self.open = Some(Open { reader, documents, _folder: folder });
        Ok(bytes)
    }

    fn rank(&mut self, _scope: &Scope, query: &str, k: usize) -> Result<Vec<usize>> {
        self.find(&self.request(query, k))
    }

    fn rank_groups(&mut self, _scope: &Scope, query: &str, k: usize) -> Result<Vec<usize>> {
        self.find(&FindRequest { group: Some(Grouping::Session), ..self.request(query, k) })
    }
}

impl Kapsa {
    /// Makes a scope ready to be searched.
    pub(crate) fn ready(&mut self, scope: &Scope) -> Result<()> {
        self.prepare(scope).map(drop)
    }

    /// What the search for a question comes back with.
    pub(crate) fn ask(&self, query: &str) -> Result<Found> {
        self.found(&self.request(query, FIND_K_DEFAULT))
    }

    fn found(&self, request: &FindRequest) -> Result<Found> {
        let open = self.open.as_ref().ok_or("no scope was prepared")?;
        let embedder = self.embedder.as_ref().map(|embedder| embedder as &dyn Embedder);
        let reranker = self.reranker.as_ref().map(|reranker| reranker as &dyn Reranker);
        let found = open.reader.find_by(request, Models { embedder, reranker })?;
        match &found.means.rerank_error {
            Some(error) => Err(error.clone().into()),
            None => Ok(found),
        }
    }

    fn find(&self, request: &FindRequest) -> Result<Vec<usize>> {
        let open = self.open.as_ref().ok_or("no scope was prepared")?;
        let found = self.found(request)?;
        Ok(found
            .hits
            .iter()
            .filter_map(|hit| open.documents.get(&hit.record.sequence).copied())
            .collect())
    }
}

/// The record of a document. An id that cannot be a URI is replaced by the document's number.
fn record(document: &Doc, number: usize) -> NewRecord {
    let numbered = || Uri::from_segments(["document", &number.to_string()]);
    let mut record = NewRecord {
        uri: Some(Uri::parse(&document.id).unwrap_or_else(|_| numbered())),
        entity: document.speaker.clone(),
        created_at: document.time,
        ..NewRecord::text(document.text.clone())
    };
    if document.group != document.id {
        record.tags.insert("session".to_string(), document.group.clone());
    }
    if !document.role.is_empty() {
        record.tags.insert("role".to_string(), document.role.clone());
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::tests::doc;

    #[test]
    fn a_turn_becomes_a_record() {
        let turn = Doc {
            speaker: "Ann".to_string(),
            time: Some(5),
            ..doc("session-3/D3-7", "session-3", "Hello.")
        };
        let record = record(&turn, 0);
        assert_eq!(
            record.uri.map(|uri| uri.short().to_string()),
            Some("session-3/D3-7".to_string())
        );
        assert_eq!((record.entity.as_str(), record.created_at), ("Ann", Some(5)));
        assert_eq!(record.tags.get("session").map(String::as_str), Some("session-3"));
    }

    #[test]
    fn finds_by_words() {
        let documents = vec![
            doc("a", "a", "a red boat"),
            doc("b b", "b b", ""),
            doc("c c", "c c", "green trees"),
        ];
        let scope = Scope { name: String::new(), documents, questions: Vec::new() };
        let mut kapsa = Kapsa::new("kapsa lex", SearchMode::Words);
        assert!(kapsa.rank(&scope, "tree", 3).is_err(), "nothing was prepared");
        assert!(kapsa.prepare(&scope).expect("it can be written") > 0);
        assert_eq!(kapsa.rank(&scope, "Where is the tree?", 3).expect("it was prepared"), [2]);
    }
}
