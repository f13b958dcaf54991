//! Target: foreign JSON becomes records within their limits, or a refusal that names its place.

use kapsa_cli::fuzzing::{JSON_DEPTH_MAX, LINE_BYTES_MAX, Refusal, records};
use kapsa_memory::NewRecord;
use kapsa_memory::record::{FIELD_BYTES_MAX, TAGS_MAX, TEXT_BYTES_MAX};
use serde_json::Value;

/// Levels that a record and its `metadata` take of [`JSON_DEPTH_MAX`].
const METADATA_LEVELS: usize = 2;

/// Reads the bytes as `kapsa put` reads its standard input.
pub fn json_input(data: &[u8]) {
    let lines = data.split(|&byte| byte == b'\n').count() as u64;
    let (records, refusal) = records(data);
    let mut before = 0;
    for (line, record) in &records {
        assert!(
            before < *line && *line <= lines,
            "a record on line {line} after line {before} of {lines}"
        );
        before = *line;
        check(record, data.len());
    }
    if let Some(refusal) = refusal {
        check_refusal(&refusal, before, lines);
    } else {
        assert!(data.len() <= LINE_BYTES_MAX || lines > 1, "an endless line is refused");
    }
}

fn check(record: &NewRecord, input_bytes: usize) {
    let depth = record.metadata.values().map(depth).max().unwrap_or(0);
    assert!(depth + METADATA_LEVELS <= JSON_DEPTH_MAX, "{depth} levels in metadata");
    assert!(record.text.len() <= input_bytes, "a text longer than its JSON");
    if record.check().is_ok() {
        assert!(
            (1..=TEXT_BYTES_MAX).contains(&record.text.len()),
            "a text of {} bytes",
            record.text.len()
        );
        assert!(record.tags.len() <= TAGS_MAX, "{} tags", record.tags.len());
        assert!(
            record.tags.iter().all(|(name, value)| name.len().max(value.len()) <= FIELD_BYTES_MAX),
            "a long tag"
        );
        assert!(
            record.confidence.is_none_or(|c| (0.0..=1.0).contains(&c)),
            "confidence {:?}",
            record.confidence
        );
    }
}

fn check_refusal(refusal: &Refusal, last_record: u64, lines: u64) {
    assert!(!refusal.code.is_empty() && !refusal.message.is_empty(), "{refusal:?}");
    let line = refusal.line.expect("only reading itself fails without a place");
    assert!(
        last_record <= line && line <= lines,
        "a fault on line {line} after line {last_record} of {lines}: {refusal:?}"
    );
}

/// Levels of arrays and objects.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(values) => 1 + values.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
