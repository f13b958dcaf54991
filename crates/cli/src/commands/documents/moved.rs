//! Documents that a capsule knows under a name of an older rule: relative to the folder that they
//! were put from, or to a folder above. What is the same file gets its name of now, and whoever
//! asks for an old URI is led to the new one.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use kapsa_memory::access::Classified;
use kapsa_memory::request::{Filter, Put, TimelineRequest};
use kapsa_memory::{Error, NewRecord, Reader, Record, Source, Uri, Writer, document, put_source};

use super::project::Project;
use crate::app::App;
use crate::error::Result;

/// Ends the URI of a passage whose name leads to another document.
const OWN: &str = "-2";
/// Digits of a hash that tell two documents apart whose names are alike.
const MARK_DIGITS: usize = 8;

/// What a capsule held before this put, to be looked through for older names.
pub(super) struct Moved {
    reader: Reader,
    /// The folder of the project.
    folder: PathBuf,
    /// Older names that a document was found under already.
    found: HashSet<String>,
    /// The document of each URI that this put gave.
    given: HashMap<Uri, String>,
}

/// A document under a name of an older rule.
pub(super) struct Older {
    pub(super) name: String,
    /// Its passages that are in the document of now.
    records: Vec<Record>,
    /// The others, which stay as they are.
    others: Vec<Record>,
}

impl Moved {
    pub(super) fn of(app: &App, project: &Project) -> Result<Moved> {
        let folder = project.path_of("", Path::new("."));
        Ok(Moved {
            reader: app.owner_reader()?,
            folder,
            found: HashSet::new(),
            given: HashMap::new(),
        })
    }

    /// What the capsule holds of the document under older names: names that end the one of now,
    /// of which no file is left, and of whose passages most are passages of it. Files of one name
    /// often have a passage in common, such as a licence.
    pub(super) fn older(&mut self, name: &str, passages: &[NewRecord]) -> Result<Vec<Older>> {
        let mut found = Vec::new();
        let mut rest = name;
        while let Some((_, shorter)) = rest.split_once('/') {
            rest = shorter;
            let records = self.records_of(rest)?;
            let hashes: HashSet<&str> = passages.iter().filter_map(|it| hash(&it.source)).collect();
            let is_same =
                |record: &Record| hash(&record.source).is_some_and(|hash| hashes.contains(hash));
            let (records, others): (Vec<Record>, Vec<Record>) =
                records.into_iter().partition(is_same);
            // A file of the project that is called so now has the better claim.
            let is_left = records.len() > others.len() && !self.folder.join(rest).exists();
            if is_left && self.found.insert(rest.to_string()) {
                found.push(Older { name: rest.to_string(), records, others });
            }
        }
        Ok(found)
    }

    /// The passages with names of their own where one leads elsewhere: to what was called so before
    /// and has another name now, or to a file that is there as well and whose name differs in case,
    /// spaces or punctuation only.
    pub(super) fn own(
        &mut self,
        name: &str,
        mut passages: Vec<NewRecord>,
    ) -> Result<Vec<NewRecord>> {
        let (another, mark) = (format!("/{name}"), mark(name));
        for uri in passages.iter_mut().filter_map(|passage| passage.uri.as_mut()) {
            let found = match self.reader.get(uri) {
                Ok(found) => Some(found),
                Err(Error::UriNotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            let is_given = self.given.get(uri).is_some_and(|other| other != name);
            let source = found.as_ref().and_then(|found| found.source.as_ref());
            let source = source.map_or("", |source| &source.path);
            let is_alias = found.as_ref().is_some_and(|found| found.uri != *uri);
            let is_beside = !is_alias && ![name, ""].contains(&source) && self.is_there(source);
            if is_alias && source.ends_with(&another) {
                *uri = Uri::parse(&format!("{uri}{OWN}"))?;
            } else if is_given || is_beside {
                *uri = Uri::parse(&format!("{uri}-{mark}"))?;
            }
            self.given.insert(uri.clone(), name.to_string());
        }
        Ok(passages)
    }

    /// Whether a document of this name is a file.
    fn is_there(&self, name: &str) -> bool {
        self.folder.join(name).is_file()
    }

    fn records_of(&self, name: &str) -> Result<Vec<Record>> {
        let filter = Filter { sources: vec![name.to_string()], ..Filter::default() };
        let limit = document::PASSAGES_MAX;
        let request = TimelineRequest { filter, limit, ..TimelineRequest::default() };
        let records: Result<Vec<Record>, _> = self.reader.list(&request)?.collect();
        Ok(records?.into_iter().filter(is_passage).collect())
    }
}

/// What tells the URIs of a document from those of one whose name is alike.
fn mark(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..MARK_DIGITS].to_string()
}

/// Whether a record is a passage of a document.
pub(super) fn is_passage(record: &Record) -> bool {
    record.uri.short().split('/').next() == Some(document::KIND)
}

/// By what two passages are known to say the same.
fn hash(source: &Option<Source>) -> Option<&str> {
    source.as_ref().map(|source| source.content_hash.as_str())
}

impl Older {
    /// The passages with the domain and level of what they take the place of, where they name none.
    pub(super) fn keeping(&self, mut passages: Vec<NewRecord>) -> Vec<NewRecord> {
        let Some(widest) = self.records.iter().max_by_key(|record| record.classification()) else {
            return passages;
        };
        for passage in &mut passages {
            if passage.domain.is_empty() {
                passage.domain.clone_from(&widest.domain);
            }
            passage.access = passage.access.take().or_else(|| widest.access.clone());
        }
        passages
    }

    /// Forgets the passages that have their name of now, and lets their URIs stand for those.
    pub(super) fn forget(&self, writer: &mut Writer, now: &[Put]) -> Result<Vec<Put>> {
        let again =
            |record: &Record| NewRecord { uri: Some(record.uri.clone()), ..record.as_new() };
        let others = self.others.iter().map(again).collect();
        let forgotten = put_source(writer, &self.name, others)?.forgotten;
        let last = |uri: &Uri| uri.short().rsplit('/').next().unwrap_or_default().to_string();
        for record in &self.records {
            let new = now.iter().find(|put| last(&put.uri) == last(&record.uri));
            if let Some(new) = new.filter(|new| new.uri != record.uri) {
                writer.alias(&record.uri, &new.uri)?;
            }
        }
        Ok(forgotten)
    }
}
