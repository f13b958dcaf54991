//! The JSON of what was written: `init`, `create`, `put`, `forget` and all that write one record.

use std::collections::BTreeMap;

use kapsa_memory::request::{Change, Put};
use schemars::JsonSchema;
use serde::Serialize;

use super::Versions;
use super::backend::StoredElsewhereOut;

/// A capsule that was created, or was there already.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Made {
    /// Whether this call created it.
    pub(crate) created: bool,
    /// Whether it was there before.
    pub(crate) exists: bool,
    /// The capsule.
    pub(crate) capsule_path: String,
    /// What happened, where nothing was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The old capsule, which `--force` replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup_path: Option<String>,
    #[serde(flatten)]
    pub(crate) versions: Versions,
}

/// What happened to one record.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Put")]
pub(crate) struct PutOut<'a> {
    /// URI of the record.
    pub(crate) uri: &'a str,
    /// Sequence of its newest revision.
    pub(crate) sequence: u64,
    /// What happened to it.
    #[schemars(extend("enum" = ["added", "revised", "unchanged", "forgotten", "held"]))]
    pub(crate) change: &'static str,
    /// URI of another record that holds the same text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_text: Option<&'a str>,
    /// Why the record, which is stored, has no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embedding: Option<&'a str>,
}

impl<'a> From<&'a Put> for PutOut<'a> {
    fn from(put: &'a Put) -> PutOut<'a> {
        PutOut {
            uri: put.uri.as_str(),
            sequence: put.sequence,
            change: change_name(put.change),
            same_text: None,
            embedding: None,
        }
    }
}

/// What `put` prints: one record's change for `--text`, `--plain` and each record of `--each`; the
/// totals for everything else.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the two are printed on their own; together they describe the verb")]
pub(crate) enum PutAnswer<'a> {
    /// One record.
    One(PutOut<'a>),
    /// Many records.
    Many(Tally),
    /// One text in another store.
    Elsewhere(StoredElsewhereOut<'a>),
}

/// The name of a change, for people and programs alike.
pub(crate) fn change_name(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Revised => "revised",
        Change::Unchanged => "unchanged",
        Change::Forgotten => "forgotten",
        Change::Held => "held",
    }
}

/// What happened to many records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Totals")]
pub(crate) struct Tally {
    /// Number of records that are new.
    pub(crate) added: u64,
    /// Number of records that got a new revision.
    pub(crate) revised: u64,
    /// Number of records that were stored already as they are.
    pub(crate) unchanged: u64,
    /// Number of records that were forgotten, since their document no longer has them.
    pub(crate) forgotten: u64,
    /// Number of records that wait for review instead.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) held: u64,
    /// Number of records given, unchanged ones included.
    pub(crate) record_count: u64,
    /// Number of commits made.
    pub(crate) commit_count: u64,
    /// Highest sequence of these records.
    pub(crate) last_sequence: u64,
    /// Number of records whose text another record holds as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_text: Option<u64>,
    /// Number of documents read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_count: Option<u64>,
    /// Number of files that are not text or cannot be read, or of lines that are not records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<u64>,
    /// What was passed over in folders, by kind: `hidden`, `ignored`, `not_text` and others; a
    /// format that is not read is `.` and the ending of the files.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) skipped_by_kind: BTreeMap<String, u64>,
    /// Why the records, which are stored, have no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) embedding: Option<String>,
}

impl Tally {
    /// Counts what one commit did.
    pub(crate) fn count<'a>(&mut self, puts: impl IntoIterator<Item = &'a Put>) {
        let mut written = false;
        for put in puts {
            self.last_sequence = self.last_sequence.max(put.sequence);
            self.record_count += u64::from(put.change != Change::Forgotten);
            written |= put.change != Change::Unchanged;
            *self.slot(put.change) += 1;
        }
        self.commit_count += u64::from(written);
    }

    /// What was passed over in folders, for people.
    pub(crate) fn skipped_line(&self) -> Option<String> {
        let kinds = self.skipped_by_kind.iter();
        let kinds: Vec<_> =
            kinds.map(|(kind, count)| format!("{count} {}", kind.replace('_', " "))).collect();
        (!kinds.is_empty()).then(|| format!("skipped: {}", kinds.join(", ")))
    }

    fn slot(&mut self, change: Change) -> &mut u64 {
        match change {
            Change::Added => &mut self.added,
            Change::Revised => &mut self.revised,
            Change::Unchanged => &mut self.unchanged,
            Change::Forgotten => &mut self.forgotten,
            Change::Held => &mut self.held,
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use kapsa_memory::Uri;

    use super::*;

    fn put(sequence: u64, change: Change) -> Put {
        Put { uri: Uri::parse("note/a").expect("valid"), sequence, change }
    }

    #[test]
    fn a_tally_counts_changes_and_commits() {
        let mut tally = Tally::default();
        tally.count(&[put(1, Change::Added), put(2, Change::Revised)]);
        tally.count(&[put(1, Change::Unchanged)]);
        tally.count(&[put(3, Change::Forgotten)]);
        let want = Tally {
            added: 1,
            revised: 1,
            unchanged: 1,
            forgotten: 1,
            record_count: 3,
            commit_count: 2,
            last_sequence: 3,
            ..Tally::default()
        };
        assert_eq!(tally, want);
    }

    #[test]
    fn an_acknowledgement_has_three_fields() {
        let json =
            serde_json::to_string(&PutOut::from(&put(7, Change::Added))).expect("serialises");
        assert_eq!(json, r#"{"uri":"mv2://default/note/a","sequence":7,"change":"added"}"#);
    }
}
