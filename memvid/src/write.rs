//! `write` and `put`: records as `kapsa export --format jsonl` writes them become frames.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, stdin};
use std::path::Path;

use memvid_core::types::{Frame, FrameStatus};
use memvid_core::{Memvid, PutOptions};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::answer::{Answer, Failure};
use crate::pages::{self, Page};

/// Records between two commits: the log of what is not committed stays small.
const COMMIT_EVERY: usize = 500;
/// How often what the library lost is put again.
const ROUNDS_MAX: usize = 4;
/// Longest text of a frame, in bytes. The library cuts texts of 2,400 characters itself, and loses
/// blank lines, and most of a table or of code.
const FRAME_BYTES_MAX: usize = 2_000;

/// Makes a file of the records on standard input, and reads it again.
pub(crate) fn run(file: &Path, answer: &mut Answer) -> Result<(), Failure> {
    let mut memvid = Memvid::create(file)?;
    memvid.enable_lex()?;
    // The SDK for Node opens nothing to read that has no index of vectors, be it empty.
    memvid.enable_vec()?;
    let (mut wanted, mut records, mut passed) = (Vec::new(), 0_u64, 0_u64);
    for line in stdin().lock().lines() {
        match record(&line?)? {
            Some(record) => {
                records += 1;
                wanted.extend(frames(record));
            }
            None => passed += 1,
        }
    }
    let total = wanted.len();
    let mut rounds = 0;
    // The library acknowledges a commit and may have lost what it was of: so it is counted.
    while !wanted.is_empty() {
        if rounds == ROUNDS_MAX {
            let message = format!("{} of {total} frames were lost on the way", wanted.len());
            return Err(Failure::new("lost", message));
        }
        rounds += 1;
        for (index, record) in wanted.iter().enumerate() {
            insert(&mut memvid, record)?;
            if (index + 1) % COMMIT_EVERY == 0 {
                memvid.commit()?;
            }
        }
        memvid.commit()?;
        drop(memvid);
        memvid = Memvid::open(file)?;
        wanted = missing(&mut memvid, wanted)?;
    }
    drop(memvid);
    answer.line("end", json!({ "records": records, "passed": passed, "frames": total }))
}

/// Adds the one record on standard input, in the place of what is there under its URI.
pub(crate) fn put(file: &Path, answer: &mut Answer) -> Result<(), Failure> {
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    let record =
        record(&line)?.ok_or_else(|| Failure::new("input", "there is no record to put"))?;
    let uri = record.uri.clone();
    let mut wanted = frames(record);
    let mut memvid = match file.exists() {
        true => Memvid::open(file)?,
        false => Memvid::create(file)?,
    };
    memvid.enable_lex()?;
    let there = active(&memvid)?;
    for record in &mut wanted {
        keep_unsaid(record, &there);
    }
    for record in &wanted {
        insert(&mut memvid, record)?;
    }
    for page in left_over(&there, &uri, wanted.len()) {
        memvid.delete_frame(page)?;
    }
    memvid.commit()?;
    drop(memvid);
    let mut memvid = Memvid::open(file)?;
    let left = left_over(&active(&memvid)?, &uri, wanted.len());
    if !left.is_empty() || !missing(&mut memvid, wanted)?.is_empty() {
        return Err(Failure::new("lost", "the record was lost on the way"));
    }
    answer.line("end", json!({ "records": 1 }))
}

/// A record on its way to a frame.
struct Record {
    uri: String,
    text: String,
    options: PutOptions,
}

/// The record of a line; none of a line that marks what only a capsule holds, and of a file without
/// a text.
fn record(line: &str) -> Result<Option<Record>, Failure> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| Failure::new("input", format!("a line is not a record: {error}")))?;
    let Value::Object(mut fields) = value else {
        return Err(Failure::new("input", "a line is not a record"));
    };
    let has_text = fields.get("text").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if fields.contains_key("system") || !has_text {
        return Ok(None);
    }
    let mut take = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let [uri, text, title, kind, label] = ["uri", "text", "title", "kind", "label"].map(&mut take);
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    let mut options = PutOptions {
        uri: given(uri.clone()),
        title: given(title),
        kind: given(kind),
        // Nothing is added that nobody wrote.
        auto_tag: false,
        extract_dates: false,
        extract_triplets: false,
        instant_index: false,
        ..PutOptions::default()
    };
    options.timestamp = fields.get("created_at").and_then(Value::as_str).and_then(seconds);
    let mut metadata = object(fields.remove("metadata"));
    options.labels = labels(&mut metadata);
    if options.labels.is_empty() {
        options.labels.extend(given(label));
    }
    for (name, value) in object(fields.remove("tags")) {
        match value.as_str() {
            None | Some("") => options.tags.push(name),
            Some(value) => options.tags.push(format!("{name}={value}")),
        }
    }
    for (name, value) in metadata {
        // The SDKs keep a value as JSON.
        options.extra_metadata.insert(name, value.to_string());
    }
    if options.title.is_none() {
        fields.insert("title".to_string(), json!(""));
    }
    if !fields.is_empty() {
        options.extra_metadata.insert(pages::REST.to_string(), Value::Object(fields).to_string());
    }
    Ok(Some(Record { uri, text, options }))
}

/// A record as frames that the library keeps as they are: a long text goes on in pages, which name
/// the first one.
fn frames(mut record: Record) -> Vec<Record> {
    let pages = pages(&record.text);
    let total = pages.len();
    if total <= 1 {
        return vec![record];
    }
    let first = pages[0].to_string();
    let rest = pages[1..].iter().zip(2..).map(|(page, number)| {
        let part = json!({ "part_of": record.uri, "part": number });
        let uri = format!("{}#page-{number}", record.uri);
        let title = record.options.title.as_deref().unwrap_or(&record.uri);
        let options = PutOptions {
            uri: Some(uri.clone()),
            title: Some(format!("{title} (page {number}/{total})")),
            extra_metadata: BTreeMap::from([(pages::REST.to_string(), part.to_string())]),
            ..record.options.clone()
        };
        Record { uri, text: page.to_string(), options }
    });
    let rest: Vec<Record> = rest.collect();
    let mut fields =
        match record.options.extra_metadata.get(pages::REST).map(|it| serde_json::from_str(it)) {
            Some(Ok(Value::Object(fields))) => fields,
            _ => Map::new(),
        };
    fields.insert("parts".to_string(), json!(total));
    let fields = Value::Object(fields).to_string();
    record.options.extra_metadata.insert(pages::REST.to_string(), fields);
    record.text = first;
    [record].into_iter().chain(rest).collect()
}

/// A text in pages, cut behind a line, else behind a word, else anywhere.
fn pages(text: &str) -> Vec<&str> {
    let mut pages = Vec::new();
    let mut left = text;
    while left.len() > FRAME_BYTES_MAX {
        let room = &left[..left.floor_char_boundary(FRAME_BYTES_MAX)];
        let cut = room.rfind('\n').or_else(|| room.rfind(' ')).map_or(room.len(), |at| at + 1);
        let (page, rest) = left.split_at(cut);
        pages.push(page);
        left = rest;
    }
    pages.push(left);
    pages
}

/// Seconds since 1970 of a moment in RFC 3339.
fn seconds(moment: &str) -> Option<i64> {
    // May be dropped: the moment itself is kept beside the other fields.
    OffsetDateTime::parse(moment, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}

/// The labels that a record had when it came from Memvid.
fn labels(metadata: &mut Map<String, Value>) -> Vec<String> {
    let product = metadata.get("imported_from").and_then(|origin| origin.get("product"));
    if product.and_then(Value::as_str) != Some("memvid") {
        return Vec::new();
    }
    let labels = metadata.remove("labels");
    let labels = labels.iter().filter_map(Value::as_array).flatten();
    labels.filter_map(Value::as_str).map(str::to_string).collect()
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The frames in force, by their URIs.
fn active(memvid: &Memvid) -> Result<HashMap<String, Frame>, Failure> {
    let mut active = HashMap::new();
    for id in 0..u64::try_from(memvid.frame_count()).unwrap_or(u64::MAX) {
        let frame = memvid.frame_by_id(id)?;
        if frame.status == FrameStatus::Active {
            active.extend(frame.uri.clone().map(|uri| (uri, frame)));
        }
    }
    Ok(active)
}

/// What a revision does not say stays as it is: the library does the same, and tells nobody.
fn keep_unsaid(record: &mut Record, there: &HashMap<String, Frame>) {
    let Some(frame) = there.get(&record.uri) else { return };
    if record.options.labels.is_empty() {
        record.options.labels.clone_from(&frame.labels);
    }
}

/// The pages of a longer text that was there before, by their numbers.
fn left_over(there: &HashMap<String, Frame>, uri: &str, total: usize) -> Vec<u64> {
    let is_left = |frame: &&Frame| {
        Page::of(frame).is_some_and(|page| page.document == uri && page.number > total as u64)
    };
    there.values().filter(is_left).map(|frame| frame.id).collect()
}

fn insert(memvid: &mut Memvid, record: &Record) -> Result<(), Failure> {
    // A URI that is there gets a revision: a second put would be a second frame.
    let there = memvid.frame_by_uri(&record.uri).ok().filter(|_| !record.uri.is_empty());
    match there {
        Some(frame) if frame.status == FrameStatus::Active => {
            let bytes = record.text.clone().into_bytes();
            // Else the library goes on searching the text that was there.
            let search_text = Some(record.text.clone());
            let options = PutOptions { search_text, ..record.options.clone() };
            memvid.update_frame(frame.id, Some(bytes), options, None)?;
        }
        _ => {
            memvid.put_bytes_with_options(record.text.as_bytes(), record.options.clone())?;
        }
    }
    Ok(())
}

/// The records that the file does not hold as they are.
fn missing(memvid: &mut Memvid, wanted: Vec<Record>) -> Result<Vec<Record>, Failure> {
    let there = active(memvid)?;
    let mut missing = Vec::new();
    for record in wanted {
        let is_there = there.get(&record.uri).is_some_and(|frame| {
            // One without a title gets one, from its URI.
            (record.options.title.is_none() || frame.title == record.options.title)
                && frame.labels == record.options.labels
                && frame.extra_metadata == record.options.extra_metadata
                && memvid
                    .frame_canonical_payload(frame.id)
                    .is_ok_and(|payload| payload == record.text.as_bytes())
        });
        if !is_there {
            missing.push(record);
        }
    }
    Ok(missing)
}
