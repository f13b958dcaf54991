//! What `fs` says to programs. Each answer has `"agent"`, and `"traces":[trace]` with `--trace`.

use kapsa_agents::{Entry, EntryKind, FilesFound, Listing, RetrievalTrace, Written};
use serde_json::{Value, json};

use crate::moment::rfc3339;

/// `fs ls`, `fs tree`: `{"path","entries":[entry],"more"}`, entry one of `{"name","path","type":"folder","files"}`, with `"entries"` and
/// `"more"` where a tree shows what is in it, and `{"name","path","type":"file","confidence"?,"preview"}`.
pub(crate) fn listing(listing: &Listing) -> Value {
    json!({ "path": listing.path, "entries": entries(listing), "more": listing.more })
}

fn entries(listing: &Listing) -> Vec<Value> {
    listing.entries.iter().map(|each| entry(&listing.path, each)).collect()
}

fn entry(folder: &str, entry: &Entry) -> Value {
    match &entry.kind {
        EntryKind::Folder { file_count, listing } => {
            let path = format!("{folder}{}/", entry.name);
            let mut value = json!({ "name": entry.name, "path": path, "type": "folder", "files": file_count });
            if let Some(listing) = listing {
                value["entries"] = entries(listing).into();
                value["more"] = listing.more.into();
            }
            value
        }
        EntryKind::File { confidence, preview } => {
            let path = format!("{folder}{}", entry.name);
            let mut value = json!({ "name": entry.name, "path": path, "type": "file", "preview": preview });
            if let Some(confidence) = confidence {
                value["confidence"] = (*confidence).into();
            }
            value
        }
    }
}

/// `fs cat`: `{"path","content"}`.
pub(crate) fn file(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

/// `fs search`: `{"query","scope","count","hits":[{"path","content","score","confidence"}],"more"}`.
pub(crate) fn found(query: &str, scope: &str, found: &FilesFound) -> Value {
    let hits: Vec<Value> = found
        .hits
        .iter()
        .map(|hit| json!({ "path": hit.path, "content": hit.content, "score": hit.score, "confidence": hit.confidence }))
        .collect();
    json!({ "query": query, "scope": scope, "count": hits.len(), "hits": hits, "more": found.more })
}

/// `fs write`: `{"path","existed","embedding"?}`.
pub(crate) fn written(written: &Written, embedding: Option<String>) -> Value {
    let mut value = json!({ "path": written.path, "existed": written.existed });
    if let Some(embedding) = embedding {
        value["embedding"] = embedding.into();
    }
    value
}

/// A trace: `{"action","path","query"?,"results","tokens","timestamp","duration_ms"}`.
pub(crate) fn trace(trace: &RetrievalTrace) -> Value {
    let mut value = json!({
        "action": trace.action.name(),
        "path": trace.path,
        "results": trace.results_count,
        "tokens": trace.tokens_loaded,
        "timestamp": rfc3339(trace.timestamp),
        "duration_ms": trace.duration_ms,
    });
    if !trace.query.is_empty() {
        value["query"] = trace.query.as_str().into();
    }
    value
}
