//! The JSON of `fs`.

use kapsa_agents::{Entry, EntryKind, FileHit, FilesFound, Listing, RetrievalTrace, Written};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Extent, Time, given};

/// The result of an `fs` verb, the agent whose memory it comes from, and what was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FsOut<'a, T> {
    /// Whose memory it is.
    pub(crate) agent: &'a str,
    #[serde(flatten)]
    pub(crate) answer: T,
    /// What was looked at, with `--trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) traces: Option<Vec<TraceOut<'a>>>,
}

/// A folder.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Folder")]
pub(crate) struct ListingOut<'a> {
    /// Path of the folder, with a slash at its end.
    path: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// What is in it.
    entries: Vec<EntryOut<'a>>,
}

impl<'a> From<&'a Listing> for ListingOut<'a> {
    fn from(listing: &'a Listing) -> ListingOut<'a> {
        ListingOut { path: &listing.path, extent: extent(listing), entries: entries(listing) }
    }
}

fn extent(listing: &Listing) -> Extent {
    Extent::of(listing.entries.len(), listing.entries.len() + listing.more)
}

fn entries(listing: &Listing) -> Vec<EntryOut<'_>> {
    listing.entries.iter().map(|entry| EntryOut::of(&listing.path, entry)).collect()
}

/// A file or a folder.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "Entry")]
enum EntryOut<'a> {
    /// A folder.
    Folder {
        /// Its name.
        name: &'a str,
        /// Its path, with a slash at its end.
        path: String,
        /// Number of files in it, at any depth.
        file_count: usize,
        /// What is in it, where `tree` goes that deep.
        #[serde(skip_serializing_if = "Option::is_none")]
        entries: Option<Vec<EntryOut<'a>>>,
        /// Number of these entries.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<usize>,
        /// Whether there are more.
        #[serde(skip_serializing_if = "Option::is_none")]
        more: Option<bool>,
        /// Number of entries in all.
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<usize>,
    },
    /// A file.
    File {
        /// Its name.
        name: &'a str,
        /// Its path.
        path: String,
        /// How it begins, on one line.
        preview: &'a str,
        /// How sure it is, from 0 to 1, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        confidence: Option<f64>,
    },
}

impl<'a> EntryOut<'a> {
    fn of(folder: &str, entry: &'a Entry) -> EntryOut<'a> {
        let name = entry.name.as_str();
        match &entry.kind {
            EntryKind::Folder { file_count, listing } => {
                let extent = listing.as_ref().map(extent);
                EntryOut::Folder {
                    name,
                    path: format!("{folder}{name}/"),
                    file_count: *file_count,
                    entries: listing.as_ref().map(entries),
                    count: extent.map(|extent| extent.count),
                    more: extent.map(|extent| extent.more),
                    total: extent.and_then(|extent| extent.total),
                }
            }
            EntryKind::File { confidence, preview } => EntryOut::File {
                name,
                path: format!("{folder}{name}"),
                preview,
                confidence: *confidence,
            },
        }
    }
}

/// A file with its text.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "File")]
pub(crate) struct FileOut<'a> {
    /// Its path.
    pub(crate) path: &'a str,
    /// Its text.
    pub(crate) text: &'a str,
}

/// The files that have all these words, the best first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FilesFound")]
pub(crate) struct FilesFoundOut<'a> {
    /// The words.
    query: &'a str,
    /// The folder that was searched.
    scope: &'a str,
    #[serde(flatten)]
    extent: Extent,
    /// The files.
    hits: Vec<FileHitOut<'a>>,
}

/// A file that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FileHit")]
struct FileHitOut<'a> {
    /// Its path.
    path: &'a str,
    /// Its text.
    text: &'a str,
    /// How well it fits, from 0 to 1.
    score: f64,
    /// How sure it is, from 0 to 1.
    confidence: f64,
}

impl<'a> FilesFoundOut<'a> {
    pub(crate) fn of(query: &'a str, scope: &'a str, found: &'a FilesFound) -> FilesFoundOut<'a> {
        let hit = |hit: &'a FileHit| FileHitOut {
            path: &hit.path,
            text: &hit.content,
            score: hit.score,
            confidence: hit.confidence,
        };
        let extent = Extent::of(found.hits.len(), found.hits.len() + found.more);
        FilesFoundOut { query, scope, extent, hits: found.hits.iter().map(hit).collect() }
    }
}

/// A file that was written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FileWritten")]
pub(crate) struct WrittenOut<'a> {
    /// Path under which it is read from now on.
    path: &'a str,
    /// Whether it was there before.
    existed: bool,
    /// Why it, although written, has no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<String>,
}

impl<'a> WrittenOut<'a> {
    pub(crate) fn of(written: &'a Written, embedding: Option<String>) -> WrittenOut<'a> {
        WrittenOut { path: &written.path, existed: written.existed, embedding }
    }
}

/// One look into the memory.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Trace")]
pub(crate) struct TraceOut<'a> {
    /// What was done, such as `search`.
    action: &'static str,
    /// Where.
    path: &'a str,
    /// What was searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    /// Number of results.
    result_count: usize,
    /// Tokens of the results: a quarter of the bytes.
    tokens: usize,
    /// When.
    created_at: Time,
    /// How long it took, in milliseconds.
    duration_ms: u64,
}

impl<'a> From<&'a RetrievalTrace> for TraceOut<'a> {
    fn from(trace: &'a RetrievalTrace) -> TraceOut<'a> {
        TraceOut {
            action: trace.action.name(),
            path: &trace.path,
            query: given(&trace.query),
            result_count: trace.results_count,
            tokens: trace.tokens_loaded,
            created_at: Time(trace.timestamp),
            duration_ms: trace.duration_ms,
        }
    }
}
