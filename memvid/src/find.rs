//! `find`: what the library's own search answers, as documents: a hit in a page is one of its
//! document, and what it shows is the text, without the fields that the library searches with it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, stdin};
use std::path::Path;

use memvid_core::Memvid;
use memvid_core::types::{Frame, FrameRole, FrameStatus, SearchRequest};
use serde::Deserialize;
use serde_json::json;

use crate::answer::{Answer, Failure};
use crate::pages::{self, Page};
use crate::text;

/// Characters around what was found.
const SNIPPET_CHARS: usize = 2_000;
/// Hits that are asked for so that as many documents are found: several may be of one.
const HITS_PER_DOCUMENT: usize = 4;
/// Characters that the beginnings of two words have in common if they count as one: so that one of
/// them may be another form.
const STEM_CHARS: usize = 4;

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
    let stored = File::open(file)?;
    let found = memvid.search(SearchRequest {
        query: request.query.clone(),
        top_k: request.limit.saturating_mul(HITS_PER_DOCUMENT),
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
    let words = words(&request.query);
    let mut told = HashSet::new();
    for hit in &found.hits {
        let Ok(frame) = memvid.frame_by_id(hit.frame_id) else { continue };
        let Some(document) = document(&memvid, &frame) else { continue };
        let uri = document.uri.clone().unwrap_or_else(|| hit.uri.clone());
        if told.len() == request.limit || told.contains(&uri) {
            continue;
        }
        let text = text::found(&mut memvid, &stored, &frame)
            .map_err(|error| Failure::new("damaged", format!("{uri}: {error}")))?;
        let title = pages::title(&document);
        // The library also finds by names of fields and other things that nobody wrote.
        if !says_any(&format!("{text}\n{title}\n{uri}"), &words) {
            continue;
        }
        let hit = json!({ "uri": uri, "title": title, "score": hit.score, "text": text });
        answer.line("hit", hit)?;
        told.insert(uri);
    }
    answer.line("end", json!({ "hits": told.len() }))
}

/// The document that a frame is or belongs to; none where that is no longer in force.
fn document(memvid: &Memvid, frame: &Frame) -> Option<Frame> {
    let document = match (Page::of(frame), frame.role) {
        (Some(page), _) => {
            let document = memvid.frame_by_uri(&page.document).ok()?;
            (page.number <= pages::total(&document)).then_some(document)?
        }
        (None, FrameRole::Document) => frame.clone(),
        (None, _) => memvid.frame_by_id(frame.parent_id?).ok()?,
    };
    let is_in_force = |frame: &Frame| frame.status == FrameStatus::Active;
    (is_in_force(frame) && is_in_force(&document)).then_some(document)
}

/// The words of a text by their beginnings.
fn words(text: &str) -> HashSet<String> {
    let words =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word.chars().flat_map(char::to_lowercase).take(STEM_CHARS).collect()).collect()
}

/// Whether a text has one of the words; any text has, where there are none.
fn says_any(text: &str, wanted: &HashSet<String>) -> bool {
    wanted.is_empty() || !words(text).is_disjoint(wanted)
}
