//! The rules that a run worked under: snapshots of a policy, each named by the hash of its content,
//! and an event wherever another one began to hold.

use std::collections::BTreeSet;

use base16ct::lower::encode_string as hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, misuse};
use crate::records::codec::Envelope;
use crate::records::record::{NewRecord, Record};
use crate::records::request::LIMIT_NONE;
use crate::records::uri::Uri;
use crate::search::reader::Reader;
use crate::tables::branch_table::Class;
use crate::tables::lineage::Lineage;
use crate::versions::event::{EventType, NewEvent};
use crate::view::View;
use crate::write::pending::{Name, Pending, What};
use crate::write::whole;
use crate::write::writer::{Writer, fresh_id};

/// What the URIs of policies begin with.
const NAMES: &str = "policy/";
/// Kind of the records that hold policies.
pub const KIND: &str = "policy";
/// Version of the shape of a snapshot.
pub const SCHEMA_VERSION: &str = "1.0";
/// Parts of a policy; a snapshot holds each, null where nothing was given.
pub const PARTS: [&str; 5] = ["source_files", "model_config", "weights", "prompts", "governance"];

/// A policy as it was captured.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySnapshot {
    /// Its id.
    pub id: String,
    /// Its URI, `mv2://default/policy/<id>`.
    pub uri: Uri,
    /// SHA-256 of its parts in canonical form, 64 hexadecimal digits.
    pub hash: String,
    /// The record that holds it; the snapshot is its metadata.
    pub record: Record,
    /// Id of the policy that held before, if this one took its place.
    pub drift_from: Option<String>,
}

/// What capturing a policy did.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// The policy that holds now.
    pub policy: PolicySnapshot,
    /// Whether it is another one than before; else nothing was written.
    pub changed: bool,
}

/// The parts of a policy, checked and in canonical order: prompts and source files sorted.
///
/// # Errors
/// `InvalidOperation` for a field that no policy has, or none at all.
pub fn canonical(given: &Map<String, Value>) -> Result<Map<String, Value>> {
    const OURS: [&str; 5] = ["schema_version", "policy_id", "hash", "created_at", "drift_from"];
    if let Some(odd) =
        given.keys().find(|name| !PARTS.contains(&name.as_str()) && !OURS.contains(&name.as_str()))
    {
        return Err(misuse(&format!(
            "a policy has no `{odd}`; its parts are {}",
            PARTS.join(", ")
        )));
    }
    if PARTS.iter().all(|part| given.get(*part).is_none_or(Value::is_null)) {
        return Err(misuse(&format!("a policy needs at least one of {}", PARTS.join(", "))));
    }
    let mut parts = Map::new();
    for part in PARTS {
        let mut value = given.get(part).cloned().unwrap_or(Value::Null);
        if let Value::Array(entries) = &mut value
            && matches!(part, "source_files" | "prompts")
        {
            entries.sort_by_key(canonical_text);
        }
        parts.insert(part.to_string(), as_read(value));
    }
    Ok(parts)
}

/// Most times that a value is written and read until it stays the same.
const READS_MAX: usize = 8;

/// A value as it will be read again: the last digit of a long number may change when it is read,
/// and the hash is of what is read.
fn as_read(mut value: Value) -> Value {
    for _ in 0..READS_MAX {
        // What was just written can be read.
        let Ok(again) = serde_json::from_str::<Value>(&value.to_string()) else { break };
        if again == value {
            break;
        }
        value = again;
    }
    value
}

/// SHA-256 of the canonical JSON of a policy's parts.
#[must_use]
pub fn hash(parts: &Map<String, Value>) -> String {
    let digest = Sha256::digest(canonical_text(&Value::Object(parts.clone())).as_bytes());
    hex(&digest)
}

/// JSON without spaces, the keys of every object in order.
fn canonical_text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let field = |name: &&String| {
                format!("{}:{}", Value::String((*name).clone()), canonical_text(&fields[*name]))
            };
            format!("{{{}}}", names.iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(entries) => {
            format!("[{}]", entries.iter().map(canonical_text).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// The policy that holds on this branch: the one that the newest event names, on the branch or
/// where it left. Whether it is still what was captured is not asked here.
fn in_force(view: &View) -> Result<Option<PolicySnapshot>> {
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("tag:type={}", EventType::PolicySnapshotRef.name())]],
        seqs: Some(view.store().sequences(view.lineage(), Class::System)?),
        ..kapsa_index::Filter::default()
    };
    let Some(&event) = view.store().searcher()?.newest(&filter, 1, None, &mut |_| true)?.first()
    else {
        return Ok(None);
    };
    let payload = view.store().record(event)?.metadata;
    let text = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default();
    let Some(policy) = of_id(view, text("policy_id"))? else { return Ok(None) };
    let is_as_named = [policy.hash.as_str(), ""].contains(&text("policy_hash"));
    if is_as_named { Ok(Some(policy)) } else { Err(changed_since(&policy.id)) }
}

/// The policy with this id, as it is now.
fn of_id(view: &View, id: &str) -> Result<Option<PolicySnapshot>> {
    let Ok(uri) = Uri::policy(id) else { return Ok(None) };
    // A policy belongs to no branch: whoever names it means the same one.
    let all = view.store().revisions_under(&uri, &Lineage::all().before(view.lineage().below()))?;
    let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return Ok(None) };
    let now = view.store().record(last)?;
    if now.tombstone || now.purged {
        return Ok(None);
    }
    let captured = snapshot_of(view.store().record(first)?);
    let now = snapshot_of(now);
    let hash = |policy: &Option<PolicySnapshot>| policy.as_ref().map(|policy| policy.hash.clone());
    if captured.is_some() && hash(&captured) != hash(&now) {
        return Err(changed_since(id));
    }
    Ok(now)
}

fn changed_since(id: &str) -> Error {
    Error::PolicyChanged { id: id.to_string() }
}

fn parts_of(record: &Record) -> Map<String, Value> {
    let part =
        |part: &str| record.metadata.get(part).map(|value| (part.to_string(), value.clone()));
    PARTS.into_iter().filter_map(part).collect()
}

/// The canonical JSON of the parts of the policy that a record is, whose SHA-256 is the policy's
/// hash; none of any other record.
#[must_use]
pub fn content(record: &Record) -> Option<String> {
    let is_policy = record.kind == KIND && record.metadata.contains_key("policy_id");
    is_policy.then(|| canonical_text(&Value::Object(parts_of(record))))
}

/// The policy, unless it is not what its hash says.
fn whole(policy: PolicySnapshot) -> Result<PolicySnapshot> {
    let parts = parts_of(&policy.record);
    let is_whole = hash(&parts) == policy.hash
        && policy.record.text == text_of(&policy.hash, &parts)
        && Uri::policy(&policy.id)? == policy.uri;
    if is_whole { Ok(policy) } else { Err(changed_since(&policy.id)) }
}

/// The policy that holds on this branch; none where it is not what was captured. What was changed
/// holds no more, so that capturing it again mends it.
pub(crate) fn unchanged(view: &View) -> Result<Option<PolicySnapshot>> {
    match in_force(view).and_then(|policy| policy.map(whole).transpose()) {
        Err(Error::PolicyChanged { .. }) => Ok(None),
        found => found,
    }
}

/// What a record says of a policy; none for any other record.
fn snapshot_of(record: Record) -> Option<PolicySnapshot> {
    let text = |name: &str| record.metadata.get(name).and_then(Value::as_str).map(str::to_string);
    let (id, hash, drift_from) = (text("policy_id")?, text("hash")?, text("drift_from"));
    (record.kind == KIND).then(|| PolicySnapshot {
        id,
        hash,
        uri: record.uri.clone(),
        drift_from,
        record,
    })
}

/// The text of a policy's record: the beginning of its hash, and the parts that were given.
fn text_of(hash: &str, parts: &Map<String, Value>) -> String {
    let given: Vec<&str> = PARTS
        .into_iter()
        .filter(|part| parts.get(*part).is_some_and(|value| !value.is_null()))
        .collect();
    format!("policy {}: {}", hash.get(..12).unwrap_or_default(), given.join(", "))
}

/// Captures a policy: when it is not the one that holds on this branch, it is written together with
/// the event that records it.
///
/// # Errors
/// `InvalidOperation` when it is not a policy.
pub fn capture(
    writer: &mut Writer,
    given: &Map<String, Value>,
    created_at: &str,
) -> Result<Captured> {
    let parts = canonical(given)?;
    let hash = hash(&parts);
    let before = unchanged(writer.view()?)?;
    if let Some(policy) = before.clone().filter(|before| before.hash == hash) {
        return Ok(Captured { policy, changed: false });
    }
    let text = text_of(&hash, &parts);
    let id = fresh_id(writer, &hash)?;
    let uri = Uri::policy(&id)?;
    let mut metadata = parts;
    let mut put = |name: &str, value: &str| metadata.insert(name.to_string(), value.into());
    put("schema_version", SCHEMA_VERSION);
    put("policy_id", &id);
    put("hash", &hash);
    put("created_at", created_at);
    if let Some(before) = &before {
        put("drift_from", &before.id);
    }
    let record = NewRecord {
        kind: KIND.to_string(),
        title: format!("Policy {}", &hash[..12]),
        metadata,
        ..NewRecord::text(text)
    };
    record.check_fields()?;
    let envelope = Envelope { branch: writer.branch_id(), ..Envelope::default() };
    let policy =
        Pending { name: Name::Given(uri.clone()), what: What::Put(Box::new(record)), envelope };
    let payload =
        [("policy_uri", uri.as_str()), ("policy_id", id.as_str()), ("policy_hash", hash.as_str())];
    let payload =
        payload.into_iter().map(|(name, value)| (name.to_string(), value.into())).collect();
    let event = NewEvent { payload, ..NewEvent::new(EventType::PolicySnapshotRef) }
        .pending(writer.branch_id())?;
    let record = whole::write(writer, vec![policy, event])?.swap_remove(0);
    let policy = snapshot_of(record)
        .ok_or_else(|| misuse("the policy that was just written is not there"))?;
    Ok(Captured { policy, changed: true })
}

/// The policy in force on the branch that is seen.
///
/// # Errors
/// `PolicyChanged` when it is not what was captured; what the disk or a damaged file reports.
pub fn current(reader: &Reader) -> Result<Option<PolicySnapshot>> {
    in_force(reader.view())?.map(whole).transpose()
}

/// The policy with this id.
///
/// # Errors
/// `PolicyChanged` when it is not what was captured; what the disk or a damaged file reports.
pub fn named(reader: &Reader, id: &str) -> Result<Option<PolicySnapshot>> {
    of_id(reader.view(), id)?.map(whole).transpose()
}

/// The ids of all policies that are not what was captured, on any branch.
///
/// # Errors
/// What the disk or a damaged file reports.
pub fn changed(reader: &Reader) -> Result<Vec<String>> {
    let store = reader.view().store();
    let filter = kapsa_index::Filter {
        all: vec![vec![format!("kind:{KIND}")]],
        seqs: Some(store.sequences(&Lineage::all(), Class::Memory)?),
        ..kapsa_index::Filter::default()
    };
    let mut ids = BTreeSet::new();
    for sequence in store.searcher()?.newest(&filter, LIMIT_NONE, None, &mut |_| true)? {
        let uri = store.record(sequence)?.uri;
        ids.extend(uri.short().strip_prefix(NAMES).map(str::to_string));
    }
    let mut changed = Vec::new();
    for id in ids {
        match named(reader, &id) {
            Err(Error::PolicyChanged { .. }) => changed.push(id),
            found => drop(found?),
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn the_hash_knows_no_order_of_keys_prompts_and_files() {
        let a = object(
            json!({"prompts": ["b", "a"], "weights": {"x": 1, "y": {"p": 1, "q": 2}}, "source_files": ["2", "1"]}),
        );
        let b = object(
            json!({"source_files": ["1", "2"], "weights": {"y": {"q": 2, "p": 1}, "x": 1}, "prompts": ["a", "b"], "hash": "old",
            "policy_id": "old", "created_at": "then"}),
        );
        let of = |given: &Map<String, Value>| hash(&canonical(given).expect("a policy"));
        assert_eq!(of(&a), of(&b));
        let long = object(json!({"weights": {"x": 0.123_456_789_012_345_67, "y": 1e-7}}));
        let once = canonical(&long).expect("a policy");
        let again = serde_json::from_str(&Value::Object(once.clone()).to_string()).expect("JSON");
        assert_eq!(hash(&once), hash(&again), "as it is read again");
        assert_eq!(of(&a).len(), 64);
        let other = object(json!({"weights": {"x": 2}}));
        assert_ne!(of(&a), of(&other));
        assert!(
            canonical(&object(json!({}))).is_err()
                && canonical(&object(json!({"wieghts": 1}))).is_err()
        );
    }
}
