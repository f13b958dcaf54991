//! What the events and checkpoints of an export name: the policies that they refer to, the
//! checkpoints of merges, what searches found. An export has them, or its events would lead
//! nowhere.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use crate::error::Result;
use crate::records::record::Record;
use crate::records::uri::{SCHEME, Uri};
use crate::tables::lineage::Lineage;
use crate::view::View;

/// Fields of events that hold the id of a checkpoint.
const CHECKPOINT_IDS: [&str; 2] = ["checkpoint_id", "merge_checkpoint_id"];
/// Deepest payload that is looked through.
const DEPTH_MAX: usize = 32;

/// The sequences of what is named by the records `sequences`, or by what those name, and is not
/// among them; only what `may_leave`.
pub(super) fn of(
    view: &View,
    sequences: &[u64],
    may_leave: &dyn Fn(&Record) -> bool,
) -> Result<BTreeSet<u64>> {
    let mut known: HashSet<u64> = sequences.iter().copied().collect();
    let mut added = BTreeSet::new();
    let mut waiting = sequences.to_vec();
    while let Some(sequence) = waiting.pop() {
        let record = view.store().record(sequence)?;
        let mut named = Vec::new();
        if record.system {
            record.metadata.iter().for_each(|(field, value)| names(field, value, 0, &mut named));
        }
        named.extend(record.alias.clone());
        for uri in named {
            let Some(found) = meant(view, &record, &uri)? else { continue };
            let named = view.store().record(found)?;
            let is_purged = named.purged || !named.system && view.store().is_purged(&uri, found)?;
            if !is_purged && may_leave(&named) && known.insert(found) {
                added.insert(found);
                waiting.push(found);
            }
        }
    }
    Ok(added)
}

fn names(field: &str, value: &Value, depth: usize, found: &mut Vec<Uri>) {
    match value {
        Value::String(text) if CHECKPOINT_IDS.contains(&field) => {
            found.extend(Uri::parse(&format!("checkpoint/{text}")).ok());
        }
        Value::String(text) if text.starts_with(SCHEME) => found.extend(Uri::parse(text).ok()),
        Value::Array(all) if depth < DEPTH_MAX => {
            all.iter().for_each(|one| names(field, one, depth + 1, found));
        }
        Value::Object(all) if depth < DEPTH_MAX => {
            all.iter().for_each(|(field, one)| names(field, one, depth + 1, found));
        }
        _ => {}
    }
}

/// The revision that a record means by a URI: what is there now, on its own branch, where the
/// export looks, or on `main`. What was forgotten stays forgotten, and what only another run has
/// stays there.
fn meant(view: &View, record: &Record, uri: &Uri) -> Result<Option<u64>> {
    let below = view.lineage().below();
    let own = view.store().lineage_of(record.branch)?.before(below);
    for lineage in [own, view.lineage().clone(), Lineage::main().before(below)] {
        if let Some(seen) = view.with(lineage).visible(uri)? {
            return Ok(Some(seen.record.sequence));
        }
    }
    Ok(None)
}
