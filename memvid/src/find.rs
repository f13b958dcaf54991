//! `find`: what the library's own search answers.

use std::io::{BufRead as _, stdin};
use std::path::Path;

use memvid_core::Memvid;
use memvid_core::types::SearchRequest;
use serde::Deserialize;
use serde_json::json;

use crate::answer::{Answer, Failure};

/// Characters around what was found.
const SNIPPET_CHARS: usize = 2_000;

#[derive(Deserialize)]
struct Request {
    query: String,
    limit: usize,
}

/// Searches the file.
pub(crate) fn run(file: &Path, answer: &mut Answer) -> Result<(), Failure> {
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)
        .map_err(|error| Failure::new("input", format!("the request cannot be read: {error}")))?;
    let mut memvid = Memvid::open_read_only(file)?;
    let found = memvid.search(SearchRequest {
        query: request.query,
        top_k: request.limit,
        snippet_chars: SNIPPET_CHARS,
        uri: None,
        scope: None,
        cursor: None,
        as_of_frame: None,
        as_of_ts: None,
        // The prefilter hides answers.
        no_sketch: true,
        acl_context: None,
        acl_enforcement_mode: Default::default(),
    })?;
    for hit in &found.hits {
        let hit = json!({
            "uri": hit.uri, "title": hit.title, "score": hit.score, "text": hit.text,
        });
        answer.line("hit", hit)?;
    }
    answer.line("end", json!({ "hits": found.hits.len() }))
}
