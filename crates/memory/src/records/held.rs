//! A record that waits for review, and the one that it is to become. Knows no transaction.
//!
//! The waiting record has the text, tags and level of what was brought, the kind `pending`, and in
//! its metadata what it was to be. It is a system record: no search, list or context shows it.

use serde_json::{Map, Value, json};

use crate::records::kinds::PENDING;
use crate::records::record::{NewRecord, Record};
use crate::records::uri::Uri;

const FLAGS: &str = "flags";
const KIND: &str = "kind";
const METADATA: &str = "metadata";
const URI: &str = "uri";

/// One reason why somebody should read a record before it is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Name of the flag, such as `instruction`, or `policy` where a rule asks for a review.
    pub flag: String,
    /// What was seen, for a person.
    pub reason: String,
}

/// What waits: the record as it was brought.
pub(crate) fn held(mut record: NewRecord, reasons: &[Reason]) -> NewRecord {
    let flags: Vec<Value> =
        reasons.iter().map(|one| json!({"name": one.flag, "reason": one.reason})).collect();
    let mut metadata = Map::new();
    metadata.insert(FLAGS.to_string(), flags.into());
    metadata.insert(KIND.to_string(), std::mem::take(&mut record.kind).into());
    if let Some(uri) = record.uri.take() {
        metadata.insert(URI.to_string(), uri.as_str().into());
    }
    let brought = std::mem::take(&mut record.metadata);
    if !brought.is_empty() {
        metadata.insert(METADATA.to_string(), brought.into());
    }
    NewRecord { kind: PENDING.to_string(), metadata, ..record }
}

/// Why a record waits.
pub(crate) fn reasons(record: &Record) -> Vec<Reason> {
    reasons_in(&record.metadata)
}

/// Why a record that is about to be written waits.
pub(crate) fn reasons_of(record: &NewRecord) -> Vec<Reason> {
    reasons_in(&record.metadata)
}

fn reasons_in(metadata: &Map<String, Value>) -> Vec<Reason> {
    let text = |flag: &Value, name: &str| {
        flag.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let flags = metadata.get(FLAGS).and_then(Value::as_array);
    flags
        .into_iter()
        .flatten()
        .map(|flag| Reason { flag: text(flag, "name"), reason: text(flag, "reason") })
        .collect()
}

/// What a record that waits is to become.
pub(crate) fn brought(record: &Record) -> NewRecord {
    let text = |name: &str| record.metadata.get(name).and_then(Value::as_str).unwrap_or_default();
    let metadata = record.metadata.get(METADATA).and_then(Value::as_object);
    NewRecord {
        // What is not a name was never taken for one when it was brought.
        uri: Uri::parse(text(URI)).ok(),
        kind: text(KIND).to_string(),
        metadata: metadata.cloned().unwrap_or_default(),
        ..record.as_new()
    }
}
