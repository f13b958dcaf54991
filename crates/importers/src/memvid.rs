//! Files of Memvid (`.mv2`), as the helper program tells what they hold: documents with their older
//! revisions, and memory cards, one a line.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read as _};
use std::path::Path;

use kapsa_memory::kinds::FACT;
use kapsa_memory::record::TAGS_MAX;
use kapsa_memory::{Micros, Uri};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::input::{SOURCE_BYTES_MAX, foreign, io, text};
use crate::item::{Draft, Source};
use crate::time::moment;

/// What the library adds to the metadata of a text by itself.
const OF_THE_LIBRARY: &str = "extractous_metadata";
/// Where an export of ours keeps what Memvid has no field for.
const REST: &str = "kapsa";

/// Reads what the program said of the file at `path`.
pub(crate) fn read(
    product: &'static str,
    path: &Path,
    answer: &mut dyn BufRead,
) -> Result<Source, Error> {
    let (mut frames, mut cards, mut end) = (Vec::new(), Vec::new(), None);
    // What a file of so many bytes unpacks to is bounded as well.
    let mut answer = answer.take(SOURCE_BYTES_MAX);
    let mut line = Vec::new();
    while answer.read_until(b'\n', &mut line).map_err(io(path))? > 0 {
        let value: Value = serde_json::from_slice(&line)
            .map_err(|error| foreign(path, format!("its reader said what is not JSON: {error}")))?;
        line.clear();
        let Value::Object(value) = value else { continue };
        for (what, value) in value {
            match what.as_str() {
                "frame" => frames.push(value),
                "card" => cards.push(value),
                "end" => end = Some(value),
                "error" => {
                    let reason = format!("{} ({})", text(&value, "message"), text(&value, "code"));
                    return Err(foreign(path, reason));
                }
                _ => {}
            }
        }
    }
    let end = end.ok_or_else(|| foreign(path, "its reader ended before the end"))?;
    let mut source = Source::default();
    source.leave("images", end.get("images").and_then(Value::as_u64).unwrap_or_default());
    take_frames(&mut source, product, path, joined(frames));
    take_cards(&mut source, product, path, &cards);
    Ok(source)
}

/// Frames as the helper program tells them, as documents: the pages of a long text that Kapsa wrote
/// are joined, and a title that the library made has gone. What misses pages has an `error`.
#[must_use]
pub fn memvid_documents(frames: Vec<Value>) -> Vec<Value> {
    let mut documents = joined(frames);
    for document in &mut documents {
        let given = rest(document);
        if given.get("title").is_some() {
            document["title"] = json!(text(&given, "title"));
        }
    }
    documents
}

/// Joins the pages of long texts.
fn joined(frames: Vec<Value>) -> Vec<Value> {
    let is_page = |frame: &Value| !text(&rest(frame), "part_of").is_empty();
    let (pages, mut documents): (Vec<Value>, Vec<Value>) = frames.into_iter().partition(is_page);
    let mut by_name: BTreeMap<(String, u64), Vec<&Value>> = BTreeMap::new();
    for page in &pages {
        let rest = rest(page);
        let number = rest.get("part").and_then(Value::as_u64).unwrap_or_default();
        by_name.entry((text(&rest, "part_of"), number)).or_default().push(page);
    }
    let revisions: BTreeSet<(String, u64)> =
        documents.iter().map(|it| (text(it, "uri"), id_of(it))).collect();
    for document in &mut documents {
        let total = rest(document).get("parts").and_then(Value::as_u64);
        // What is one page has no others.
        let Some(total) = total.filter(|total| *total > 1) else { continue };
        let uri = text(document, "uri");
        let is_active = text(document, "status") == "active";
        let begin = id_of(document);
        // Pages of an older revision stand between it and the next one.
        let later = (uri.clone(), begin.saturating_add(1))..=(uri.clone(), u64::MAX);
        let end = revisions.range(later).next().map_or(u64::MAX, |(_, id)| *id);
        let is_its = |page: &&&Value| match is_active {
            true => text(page, "status") == "active",
            false => (begin..end).contains(&id_of(page)),
        };
        let mut whole = text(document, "text");
        let mut found = 1;
        for (_, pages) in by_name.range((uri.clone(), 2)..=(uri, total)) {
            if let Some(page) = pages.iter().find(is_its).filter(|page| page.get("text").is_some())
            {
                whole.push_str(&text(page, "text"));
                found += 1;
            }
        }
        if found == total {
            document["text"] = json!(whole);
        } else {
            document["error"] = json!(format!("{found} of its {total} pages are there"));
        }
    }
    documents
}

fn id_of(frame: &Value) -> u64 {
    frame.get("id").and_then(Value::as_u64).unwrap_or_default()
}

/// What an export of ours keeps beside the fields of Memvid.
fn rest(frame: &Value) -> Value {
    frame.get("metadata").and_then(|more| more.get(REST)).map(unpacked).unwrap_or_default()
}

/// Frames of one URI are revisions; a frame without one stands alone.
fn take_frames(source: &mut Source, product: &'static str, path: &Path, frames: Vec<Value>) {
    let mut groups: BTreeMap<(String, usize), Vec<&Value>> = BTreeMap::new();
    for (place, frame) in frames.iter().enumerate() {
        let uri = text(frame, "uri");
        let place = if uri.is_empty() { place } else { 0 };
        groups.entry((uri, place)).or_default().push(frame);
    }
    let mut deleted = 0;
    for ((uri, _), revisions) in groups {
        let is_active = |frame: &&Value| text(frame, "status") == "active";
        let Some(current) = revisions.iter().rposition(is_active) else {
            deleted += 1;
            continue;
        };
        let name = match uri.is_empty() {
            true => format!("frame {}", revisions[current]["id"]),
            false => uri,
        };
        let place = format!("{}: {name}", path.display());
        let frame = revisions[current];
        if let Some(reason) = unusable(frame) {
            source.skip(place, reason);
            continue;
        }
        match text(frame, "text_from").as_str() {
            "parts" | "index" => source.shortened += 1,
            "remains" => source.cut += 1,
            _ => {}
        }
        let older = revisions[..current]
            .iter()
            .filter(|frame| text(frame, "status") != "deleted" && unusable(frame).is_none());
        let older = older.map(|frame| document(product, frame)).collect();
        source.take_with(place, document(product, frame), older);
    }
    source.leave("deleted documents", deleted);
}

/// Why a frame has no text.
fn unusable(frame: &Value) -> Option<String> {
    match (frame.get("error"), frame.get("bytes"), frame.get("text")) {
        (Some(error), ..) => Some(format!("it cannot be read: {}", error.as_str()?)),
        (None, Some(bytes), _) => {
            let mime = text(frame, "mime");
            let of = if mime.is_empty() { String::new() } else { format!(" of {mime}") };
            Some(format!("it is {bytes} bytes{of} without text"))
        }
        (None, None, None) if text(frame, "title").is_empty() => Some("it has no text".to_string()),
        _ => None,
    }
}

fn document(product: &'static str, frame: &Value) -> Draft {
    let (said, title) = (text(frame, "text"), text(frame, "title"));
    let mut more = Map::new();
    for (name, value) in frame.get("metadata").and_then(Value::as_object).into_iter().flatten() {
        if name != OF_THE_LIBRARY {
            more.insert(name.clone(), unpacked(value));
        }
    }
    let labels = words(frame, "labels");
    for name in ["track", "source_path", "mime", "content_dates", "labels"] {
        if let Some(value) = frame.get(name) {
            more.entry(name).or_insert_with(|| value.clone());
        }
    }
    let tags = words(frame, "tags");
    if tags.len() > TAGS_MAX {
        more.entry("tags").or_insert_with(|| json!(tags));
    }
    let tags = tags.iter().take(TAGS_MAX).map(|tag| match tag.split_once('=') {
        Some((name, value)) => (name.to_string(), value.to_string()),
        None => (tag.clone(), String::new()),
    });
    let kind = text(frame, "kind");
    let is_fact = kind == FACT;
    if !kind.is_empty() && !is_fact {
        more.entry("kind").or_insert_with(|| json!(kind));
    }
    let rest = rest(frame);
    // The library gives a title to a document without one.
    let title = if rest.get("title").is_some() { text(&rest, "title") } else { title };
    let at = frame.get("timestamp").and_then(Value::as_i64);
    let at = moment(rest.get("created_at")).or_else(|| at.and_then(micros));
    Draft {
        product,
        what: "document",
        id: id(frame, &title, &said),
        kind: if is_fact { FACT } else { "" },
        entity: text(&rest, "entity"),
        agent: text(&rest, "agent"),
        label: labels.into_iter().next().unwrap_or_default(),
        tags: tags.collect(),
        title,
        text: said,
        more,
        at,
        is_verbatim: true,
    }
}

/// The URI, and without one a hash of what it says: numbers of frames are the same in every file.
fn id(frame: &Value, title: &str, said: &str) -> String {
    let uri = text(frame, "uri");
    if !uri.is_empty() {
        // What an export of ours wrote keeps its name as an id.
        return Uri::parse(&uri).map_or(uri, |uri| uri.as_str().to_string());
    }
    let mut hasher = blake3::Hasher::new();
    for part in [title, said, &frame["timestamp"].to_string()] {
        hasher.update(part.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}

/// A value of the metadata: the SDKs keep it as JSON, the library as any text.
fn unpacked(value: &Value) -> Value {
    let parsed = value.as_str().map(serde_json::from_str);
    match parsed {
        Some(Ok(parsed)) => parsed,
        _ => value.clone(),
    }
}

fn words(frame: &Value, name: &str) -> Vec<String> {
    let words = frame.get(name).and_then(Value::as_array).into_iter().flatten();
    words.filter_map(Value::as_str).map(str::to_string).collect()
}

/// Memory cards: one that updates another ends its time.
fn take_cards(source: &mut Source, product: &'static str, path: &Path, cards: &[Value]) {
    let mut ends: BTreeMap<usize, Micros> = BTreeMap::new();
    let mut open: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    let mut retracted = 0;
    for (index, card) in cards.iter().enumerate() {
        let relation = text(card, "relation");
        let key = (text(card, "entity").to_lowercase(), text(card, "slot").to_lowercase());
        let open = open.entry(key).or_default();
        if matches!(relation.as_str(), "updates" | "retracts") {
            let at = holds_from(card);
            ends.extend(open.drain(..).filter_map(|older| at.map(|at| (older, at))));
        }
        match relation.as_str() {
            "retracts" => retracted += 1,
            _ => open.push(index),
        }
    }
    for (index, card) in cards.iter().enumerate() {
        if text(card, "relation") != "retracts" {
            let place = format!("{}: card {index}", path.display());
            source.take(place, fact(product, card, ends.get(&index).copied()));
        }
    }
    source.leave("retractions of cards", retracted);
}

fn fact(product: &'static str, card: &Value, until: Option<Micros>) -> Draft {
    let [entity, slot, value] = ["entity", "slot", "value"].map(|name| text(card, name));
    let mut more = Map::new();
    for name in ["kind", "slot", "value", "polarity", "relation", "engine", "source_uri"] {
        if let Some(value) = card.get(name).filter(|value| !value.is_null()) {
            let name = if name == "kind" { "card_kind" } else { name };
            more.insert(name.to_string(), value.clone());
        }
    }
    let from = card.get("event_date").and_then(Value::as_i64).and_then(micros);
    for (name, at) in [("valid_from", from), ("valid_to", until)] {
        more.extend(at.map(|at| (name.to_string(), json!(at))));
    }
    let about = [entity.as_str(), &slot.replace('_', " ")].join(" ");
    Draft {
        product,
        what: "card",
        id: [entity.as_str(), &slot, &value, &card["created_at"].to_string()].join("\n"),
        kind: FACT,
        text: if value.is_empty() { String::new() } else { format!("{}: {value}", about.trim()) },
        entity,
        more,
        at: card.get("created_at").and_then(Value::as_i64).and_then(micros),
        ..Draft::default()
    }
}

/// When a card began to hold.
fn holds_from(card: &Value) -> Option<Micros> {
    let named = ["event_date", "document_date", "created_at"];
    named.iter().find_map(|name| card.get(name)?.as_i64()).and_then(micros)
}

/// Seconds since 1970 as the moment that they are; none before it.
fn micros(seconds: i64) -> Option<Micros> {
    if seconds > 0 { moment(Some(&json!(seconds))) } else { None }
}
