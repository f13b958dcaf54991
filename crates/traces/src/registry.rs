//! What was read of traces: of each file its size, time and hash, by which versions it was read,
//! and what became of its sessions. Kept as notes of the capsule, which no search and no list
//! shows. Knows no format.
//!
//! One look at all of them decides which files have to be read again.

use std::collections::{BTreeMap, BTreeSet};

use kapsa_agents::StoreLocation;
use kapsa_memory::kinds::TRACE_FILE;
use kapsa_memory::{Micros, NewRecord, Record, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::original::Original;
use crate::report::KeptDecision;
use crate::repositories::Repositories;

/// Decisions that are noted of one session: the first ones.
const DECISIONS_MAX: usize = 200;
/// Kinds of skipped records that are noted of one file.
const SKIPPED_MAX: usize = 32;

/// How a file stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// It was read whole.
    #[default]
    Read,
    /// Its last record was still being written.
    Waiting,
    /// It could not be read.
    Failed,
}

/// A file of traces that was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceFile {
    /// Its path. A name: nothing follows it.
    pub path: String,
    /// Its size, in bytes.
    pub size: u64,
    /// When it was changed last, in microseconds since 1970.
    pub changed: Micros,
    /// What it held: 32 hexadecimal digits.
    pub hash: String,
    /// The extractor that read it; 0 for none.
    pub extractor: u32,
    /// The rules by which it was redacted.
    pub rules: u32,
    /// When it was read.
    pub read_at: Micros,
    /// How it stands.
    pub state: FileState,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// What was skipped in it: why, what, how often.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<(String, String, u64)>,
    /// Its sessions, in the order of the file.
    pub sessions: Vec<SessionState>,
}

/// A session of a file that was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// What the format identifies it by.
    pub id: String,
    /// Who wrote it.
    pub agent: String,
    /// Hash of its original.
    pub original: String,
    /// When it began.
    pub started: Option<Micros>,
    /// How many turns it has.
    pub turns: u64,
    /// What became of what it offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<KeptDecision>,
    /// Where it worked, if it names the repository.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The repository that it names.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository: String,
}

impl TraceFile {
    /// Whether nothing of it would be read better today. What a model was asked about is not read
    /// by rules again.
    pub(crate) fn is_current(&self, extractor: u32, rules: u32) -> bool {
        self.state != FileState::Failed && self.extractor >= extractor && self.rules == rules
    }

    fn of(record: &Record) -> Option<TraceFile> {
        serde_json::from_value(Value::Object(record.metadata.clone())).ok()
    }

    fn uri_of(path: &str) -> kapsa_memory::Result<Uri> {
        const DIGITS: usize = 32;
        let hash = blake3::hash(path.as_bytes()).to_hex();
        Uri::parse(&format!("kapsa/trace/file/{}", &hash[..DIGITS]))
    }

    fn note(&self) -> kapsa_memory::Result<NewRecord> {
        let metadata = match serde_json::to_value(self) {
            Ok(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        Ok(NewRecord {
            uri: Some(TraceFile::uri_of(&self.path)?),
            kind: TRACE_FILE.to_string(),
            metadata,
            ..NewRecord::text("file")
        })
    }

    /// The same within the limits of a note.
    fn bounded(mut self) -> TraceFile {
        self.skipped.truncate(SKIPPED_MAX);
        self.sessions.iter_mut().for_each(|session| session.decisions.truncate(DECISIONS_MAX));
        self
    }
}

/// Every file that was read.
#[derive(Debug, Default)]
pub struct Registry {
    files: BTreeMap<String, TraceFile>,
}

impl Registry {
    /// What the capsule has noted.
    ///
    /// # Errors
    /// What the disk or a damaged file reports.
    pub fn load(location: &StoreLocation) -> Result<Registry> {
        let notes = location.notes(TRACE_FILE)?;
        let files = notes.iter().filter_map(TraceFile::of);
        Ok(Registry { files: files.map(|file| (file.path.clone(), file)).collect() })
    }

    /// The files, by their paths.
    pub fn files(&self) -> impl Iterator<Item = &TraceFile> {
        self.files.values()
    }

    /// The file with this path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&TraceFile> {
        self.files.get(path)
    }

    /// The sessions with this id, or whose id begins so where none has it, each with its file.
    #[must_use]
    pub fn sessions(&self, id: &str) -> Vec<(&TraceFile, &SessionState)> {
        let all = || {
            let with_file = |file| move |session| (file, session);
            self.files.values().flat_map(move |file| file.sessions.iter().map(with_file(file)))
        };
        let exact: Vec<_> = all().filter(|(_, session)| session.id == id).collect();
        if !exact.is_empty() || id.is_empty() {
            return exact;
        }
        let begins: Vec<_> = all().filter(|(_, session)| session.id.starts_with(id)).collect();
        // A session comes before those that it started.
        let first: Vec<_> =
            begins.iter().filter(|(_, session)| !session.id.contains('/')).copied().collect();
        if first.is_empty() { begins } else { first }
    }

    /// The repositories that sessions named.
    pub(crate) fn repositories(&self) -> Repositories {
        Repositories::of(self.files.values().flat_map(|file| &file.sessions))
    }

    /// Every original that some session has.
    pub(crate) fn originals(&self) -> BTreeSet<String> {
        let sessions = self.files.values().flat_map(|file| &file.sessions);
        sessions.map(|session| session.original.clone()).collect()
    }

    /// Notes files that were read, and drops the originals that nobody has any more, in one commit
    /// with other notes that are `kept` and `removed`. What is noted already costs nothing.
    pub(crate) fn note(
        &mut self,
        location: &StoreLocation,
        files: Vec<TraceFile>,
        mut kept: Vec<NewRecord>,
        mut removed: Vec<Uri>,
    ) -> Result<()> {
        let mut dropped = BTreeSet::new();
        for file in files {
            let file = file.bounded();
            let before = self.files.get(&file.path);
            if before.is_some_and(|before| is_same(before, &file)) {
                continue;
            }
            dropped.extend(
                before.iter().flat_map(|before| {
                    before.sessions.iter().map(|session| session.original.clone())
                }),
            );
            kept.push(file.note()?);
            self.files.insert(file.path.clone(), file);
        }
        dropped.retain(|hash| !hash.is_empty());
        if !dropped.is_empty() {
            let left = self.originals();
            for hash in dropped.difference(&left) {
                removed.push(Original::uri_of(hash)?);
            }
        }
        if kept.is_empty() && removed.is_empty() {
            return Ok(());
        }
        location.change_notes(kept, removed)?;
        Ok(())
    }
}

/// Whether two notes say the same but for when that was found.
fn is_same(a: &TraceFile, b: &TraceFile) -> bool {
    TraceFile { read_at: b.read_at, ..a.clone() } == *b
}
