//! A memory for programs: a folder with its events, its checkpoints and its records as they are
//! now, the files that records have, and a manifest with the hash of each.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::folder::Files;
use super::{Written, current, jsonl};
use crate::error::Result;
use crate::exchange::export::Export;
use crate::records::record::Micros;
use crate::records::{escape, kinds};

/// The file that lists the others.
pub(super) const MANIFEST: &str = "manifest.json";
/// How that file begins; by it an export is known again.
pub(super) const MARK: &str = "{\n  \"format\": \"kapsa json-dir\",\n  \"version\": \"1.0.0\"";
/// What the names of the files that records have begin with; their hash follows.
const FILE_PREFIX: &str = "file-";

pub(super) fn write(export: &Export<'_>, to: &Path, time: fn(Micros) -> String) -> Result<Written> {
    let current = current(export)?;
    let mut files = Files::begin(to)?;
    let [mut events, mut checkpoints] = [const { Vec::new() }; 2];
    let mut records = String::new();
    for record in export.records() {
        let record = record?;
        let is_current = current.contains(&record.sequence);
        let Some(mut line) = jsonl::line(&record, is_current, time) else { continue };
        if let Some(content) = &record.content {
            let name = format!("{FILE_PREFIX}{}", content.hash());
            line.insert("file".to_string(), name.clone().into());
            if !files.hashes.contains_key(&name) {
                let mut file = files.stream(name)?;
                export.copy_content(content, &mut |bytes| file.add(bytes))?;
            }
        }
        match record.kind.as_str() {
            kinds::EVENT if record.system => events.push(unmarked(line)),
            kinds::CHECKPOINT if record.system => checkpoints.push(unmarked(line)),
            _ => records.push_str(&format!("{}\n", escape::json(&Value::Object(line)))),
        }
    }
    files.put("records.jsonl".to_string(), records.as_bytes())?;
    for (name, field, list) in
        [("events.json", "events", events), ("checkpoints.json", "checkpoints", checkpoints)]
    {
        let document = json!({ field: list, "count": list.len() });
        files.put(name.to_string(), pretty(&document).as_bytes())?;
    }
    let hashes: Map<String, Value> = files
        .hashes
        .iter()
        .map(|(name, hash)| (name.clone(), hash.to_hex().to_string().into()))
        .collect();
    let manifest = json!({
        "record_count": export.record_count,
        "uri_count": export.uri_count,
        "checkpoint_count": export.checkpoint_count,
        "event_count": export.event_count,
        "file_count": export.file_count,
        "content_hash": export.content_hash,
        "files": hashes,
    });
    let rest = pretty(&manifest);
    let rest = rest.strip_prefix('{').expect("an object begins with a brace");
    files.put(MANIFEST.to_string(), format!("{MARK},{rest}").as_bytes())?;
    files.finish()
}

/// A line without the mark that only lines need.
fn unmarked(mut line: Map<String, Value>) -> Value {
    line.remove("system");
    line.into()
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("JSON always serialises");
    let mut text = escape::within_json(&text);
    text.push('\n');
    text
}
