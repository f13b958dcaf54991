//! A memory as lines of JSON: records that can be put again, and marked lines for what cannot.
//!
//! A record has the fields that a put takes. `{"system":"alias"|"checkpoint"|"event", …}` marks
//! what only a capsule itself writes: whoever puts the file passes over such lines.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::current;
use crate::error::Result;
use crate::exchange::export::Export;
use crate::exchange::sync::failed;
use crate::records::provenance::Trust;
use crate::records::record::{Micros, Record};
use crate::records::{escape, kinds};

pub(super) fn write(export: &Export<'_>, to: &Path, time: fn(Micros) -> String) -> Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(to)
        .map_err(|source| failed("create", to, source))?;
    let mut out = BufWriter::with_capacity(1 << 16, &file);
    let current = current(export)?;
    for record in export.records() {
        let record = record?;
        if let Some(line) = line(&record, current.contains(&record.sequence), time) {
            writeln!(out, "{}", escape::json(&Value::Object(line)))
                .map_err(|source| failed("write", to, source))?;
        }
    }
    out.flush().and_then(|()| file.sync_all()).map_err(|source| failed("write", to, source))
}

pub(super) fn line(
    record: &Record,
    is_current: bool,
    time: fn(Micros) -> String,
) -> Option<Map<String, Value>> {
    if record.system {
        return system(record, time);
    }
    if !is_current {
        return None;
    }
    if let Some(target) = &record.alias {
        return Some(object(
            json!({"system": "alias", "uri": record.uri.as_str(), "alias_of": target.as_str()}),
        ));
    }
    Some(memory(record, time))
}

fn memory(record: &Record, time: fn(Micros) -> String) -> Map<String, Value> {
    let mut line = object(
        json!({"uri": record.uri.as_str(), "text": record.text, "created_at": time(record.created_at)}),
    );
    let texts = [
        ("title", &record.title),
        ("kind", &record.kind),
        ("label", &record.label),
        ("entity", &record.entity),
        ("domain", &record.domain),
        ("agent", &record.agent),
        ("run", &record.run),
    ];
    add(&mut line, texts.map(|(name, text)| (name, text.as_str())));
    if !record.tags.is_empty() {
        line.insert("tags".to_string(), json!(record.tags));
    }
    if !record.metadata.is_empty() {
        line.insert("metadata".to_string(), Value::Object(record.metadata.clone()));
    }
    if let Some(confidence) = record.confidence {
        line.insert("confidence".to_string(), confidence.into());
    }
    // Whoever puts it may lower its own trust by this, never raise it.
    if record.provenance.trust != Trust::Owner {
        line.insert("trust".to_string(), record.provenance.trust.name().into());
    }
    if let Some(access) = &record.access {
        line.insert("classification".to_string(), access.level.name().into());
        if !access.named.is_empty() {
            line.insert("named".to_string(), json!(access.named));
        }
    }
    if let Some(source) = &record.source {
        let (path, hash) = (&source.path, &source.content_hash);
        let source = json!({"path": path, "line_start": source.line_start, "line_end": source.line_end, "content_hash": hash});
        line.insert("source".to_string(), source);
    }
    line
}

fn system(record: &Record, time: fn(Micros) -> String) -> Option<Map<String, Value>> {
    let tag = |name: &str| record.tags.get(name).map(String::as_str).unwrap_or_default();
    let text = |name: &str| record.metadata.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut line = object(json!({"uri": record.uri.as_str()}));
    if record.kind == kinds::CHECKPOINT {
        let told = [
            ("system", "checkpoint"),
            ("label", &record.label),
            ("timestamp", &time(record.committed_at)),
        ];
        add(&mut line, told);
        add(
            &mut line,
            [
                ("stage", text("stage")),
                ("spec_id", text("spec_id")),
                ("git_commit", text("git_commit")),
            ],
        );
        add(&mut line, [("run_id", record.run.as_str())]);
    } else if record.kind == kinds::EVENT {
        let told = [
            ("system", "event"),
            ("event_type", tag("type")),
            ("timestamp", &time(record.created_at)),
        ];
        add(&mut line, told);
        add(
            &mut line,
            [
                ("spec_id", tag("spec")),
                ("run_id", &record.run),
                ("stage", tag("stage")),
                ("agent", &record.agent),
            ],
        );
        line.insert("payload".to_string(), Value::Object(record.metadata.clone()));
    } else {
        return None;
    }
    Some(line)
}

/// Adds what is not empty.
fn add<'a>(line: &mut Map<String, Value>, texts: impl IntoIterator<Item = (&'a str, &'a str)>) {
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        line.insert(name.to_string(), text.into());
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
