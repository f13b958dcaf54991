//! A record: the one shape that facts, notes, documents and events share.
//!
//! Domain types only. How a record lies on disk is `codec`'s business, its JSON the command line's.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::records::access::Access;
use crate::records::content::Content;
use crate::records::kinds;
use crate::records::provenance::{Provenance, Trust};
use crate::records::uri::Uri;

/// Longest text of one record, in bytes (16 MiB).
pub const TEXT_BYTES_MAX: usize = 16 << 20;
/// Longest title, kind, label, tag, agent, run, entity or domain, in bytes.
pub const FIELD_BYTES_MAX: usize = 4096;
/// Most tags on one record.
pub const TAGS_MAX: usize = 256;
/// Largest metadata object, in bytes of its JSON text (1 MiB).
pub const METADATA_BYTES_MAX: usize = 1 << 20;
/// Most principals that one restricted record names.
pub const NAMED_MAX: usize = 256;
/// The kind of a record that names none.
pub const KIND_DEFAULT: &str = "note";

/// A line of records in a capsule. `main` is always there; any other is named by the sequence of
/// the record that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(pub u64);

impl BranchId {
    /// The branch that every capsule begins with.
    pub const MAIN: BranchId = BranchId(0);
}

/// Why a revision that was not simply put is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Merged: only the other side had changed.
    Merged,
    /// A conflict, decided for the other side.
    Theirs,
    /// A conflict, decided for this side: what was here stays.
    Ours,
    /// A conflict, left open: both stay visible.
    Contested,
    /// A conflict, decided by a text that a reviewer wrote.
    Edited,
    /// Picked from another branch by hand.
    Picked,
    /// An earlier revision, brought back.
    Reverted,
}

/// Where a revision came from that was merged, picked or brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Branch of the revision that it stands for.
    pub branch: BranchId,
    /// Sequence of that revision. For [`Decision::Ours`] the one that was decided against.
    pub sequence: u64,
    /// How it was decided.
    pub decision: Decision,
    /// Who decided, may be empty.
    pub by: String,
    /// The reason given, may be empty.
    pub note: String,
}

/// A moment: microseconds since the Unix epoch, UTC.
pub type Micros = i64;

/// Where in which source a passage was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Name of the source, such as a file's path as the user gave it. Shown, never opened.
    pub path: String,
    /// First line, counted from 1.
    pub line_start: u32,
    /// Last line, inclusive.
    pub line_end: u32,
    /// BLAKE3 of the passage's bytes, 32 lower-case hexadecimal digits (the first 128 bits).
    pub content_hash: String,
}

/// What the caller knows of a record before it is stored. Empty strings mean "not given".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewRecord {
    /// Logical URI; none makes a new one under `note/`.
    pub uri: Option<Uri>,
    /// Short title.
    pub title: String,
    /// The text itself; the only part that must not be empty.
    pub text: String,
    /// Kind, such as `note`, `fact`, `doc`; [`KIND_DEFAULT`] when empty.
    pub kind: String,
    /// Free label, such as the author's role.
    pub label: String,
    /// Tags by name.
    pub tags: BTreeMap<String, String>,
    /// Any JSON object; kept, returned, not searched.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// What the record is about.
    pub entity: String,
    /// Field of knowledge it belongs to.
    pub domain: String,
    /// Who wrote it.
    pub agent: String,
    /// Run it was written in.
    pub run: String,
    /// How sure the writer is, 0 to 1.
    pub confidence: Option<f64>,
    /// When what it describes happened; the time of the commit when absent.
    pub created_at: Option<Micros>,
    /// Where it was read.
    pub source: Option<Source>,
    /// How far it may spread; internal in its domain when that is not said.
    pub access: Option<Access>,
    /// How far it is believed, where that is less far than whoever writes it.
    pub trust: Option<Trust>,
    /// The bytes of a file beside the text, stored before.
    pub content: Option<Content>,
}

impl NewRecord {
    /// A record of `text` alone.
    #[must_use]
    pub fn text(text: impl Into<String>) -> NewRecord {
        NewRecord { text: text.into(), ..NewRecord::default() }
    }

    /// Checks every field against its limit, and that the URI is not one that only the capsule
    /// itself gives.
    ///
    /// # Errors
    /// [`Error::InvalidRecord`] naming the field and what is wrong with it;
    /// [`Error::InvalidOperation`] for such a URI.
    pub fn check(&self) -> Result<()> {
        self.uri.as_ref().map_or(Ok(()), crate::records::uri::refuse_reserved)?;
        self.check_fields()
    }

    /// Checks every field against its limit.
    pub(crate) fn check_fields(&self) -> Result<()> {
        if self.text.is_empty() {
            return Err(invalid("text", "it is empty"));
        }
        if self.text.len() > TEXT_BYTES_MAX {
            return Err(invalid("text", "it is longer than 16 MiB"));
        }
        for (name, value) in self.short_fields() {
            check_short(name, value)?;
        }
        if self.tags.len() > TAGS_MAX {
            return Err(invalid("tags", "there are more than 256"));
        }
        for (key, value) in &self.tags {
            check_short("tags", key)?;
            check_short("tags", value)?;
            if key.is_empty() || key.contains('=') {
                return Err(invalid("tags", "a tag's name is empty or contains `=`"));
            }
        }
        if let Some(access) = &self.access {
            if access.named.len() > NAMED_MAX || access.named.iter().any(String::is_empty) {
                return Err(invalid("named", "there are more than 256, or one is empty"));
            }
            access.named.iter().try_for_each(|name| check_short("named", name))?;
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<()> {
        if self.confidence.is_some_and(|c| !(0.0..=1.0).contains(&c)) {
            return Err(invalid("confidence", "it is not between 0 and 1"));
        }
        if self.metadata_json().len() > METADATA_BYTES_MAX {
            return Err(invalid("metadata", "its JSON is longer than 1 MiB"));
        }
        Ok(())
    }

    /// The metadata as JSON text, empty when there is none.
    pub(crate) fn metadata_json(&self) -> String {
        if self.metadata.is_empty() {
            return String::new();
        }
        serde_json::to_string(&self.metadata).expect("a JSON object always serialises")
    }

    fn short_fields(&self) -> [(&'static str, &str); 7] {
        [
            ("title", &self.title),
            ("kind", &self.kind),
            ("label", &self.label),
            ("entity", &self.entity),
            ("domain", &self.domain),
            ("agent", &self.agent),
            ("run", &self.run),
        ]
    }
}

pub(crate) fn check_short(name: &'static str, value: &str) -> Result<()> {
    if value.len() > FIELD_BYTES_MAX {
        return Err(invalid(name, "it is longer than 4096 bytes"));
    }
    Ok(())
}

fn invalid(field: &'static str, reason: &'static str) -> Error {
    Error::InvalidRecord { field, reason }
}

/// A revision as the capsule holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Position in the capsule's order, from 1, without gaps.
    pub sequence: u64,
    /// Logical URI.
    pub uri: Uri,
    /// Whether this revision forgets the URI: then all the fields below are empty.
    pub tombstone: bool,
    /// Whether the content was erased for good: then only sequence and URI-less hash remain.
    pub purged: bool,
    /// When it was committed.
    pub committed_at: Micros,
    /// When what it describes happened.
    pub created_at: Micros,
    /// Title, may be empty.
    pub title: String,
    /// Text.
    pub text: String,
    /// Kind.
    pub kind: String,
    /// Label, may be empty.
    pub label: String,
    /// Tags by name.
    pub tags: BTreeMap<String, String>,
    /// JSON object.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// What it is about, may be empty.
    pub entity: String,
    /// Field of knowledge, may be empty.
    pub domain: String,
    /// Who wrote it, may be empty.
    pub agent: String,
    /// Run, may be empty.
    pub run: String,
    /// How sure the writer was.
    pub confidence: Option<f64>,
    /// Where it was read.
    pub source: Option<Source>,
    /// How far it may spread, where that was said.
    pub access: Option<Access>,
    /// The bytes of a file beside the text.
    pub content: Option<Content>,
    /// Who wrote it, and how far that is believed.
    pub provenance: Provenance,
    /// Branch that it was written on.
    pub branch: BranchId,
    /// Whether the capsule wrote it about itself: a branch, a checkpoint, an event, a signature.
    pub system: bool,
    /// Revisions of the same URI that it does not replace, ascending: they contest each other.
    pub conflicts_with: Vec<u64>,
    /// Where it came from, unless it was simply put.
    pub origin: Option<Origin>,
    /// The URI that this one stands for, if it is an alias.
    pub alias: Option<Uri>,
}

impl Record {
    /// Whether it is a piece of the content of files.
    pub(crate) fn is_blob(&self) -> bool {
        self.system && self.kind == kinds::BLOB
    }

    /// Whether it is the signature of a commit.
    pub(crate) fn is_signature(&self) -> bool {
        self.system && self.kind == kinds::SIGNATURE
    }

    /// The same as a new record without a name, to be put elsewhere.
    #[must_use]
    pub fn as_new(&self) -> NewRecord {
        NewRecord {
            uri: None,
            title: self.title.clone(),
            text: self.text.clone(),
            kind: self.kind.clone(),
            label: self.label.clone(),
            tags: self.tags.clone(),
            metadata: self.metadata.clone(),
            entity: self.entity.clone(),
            domain: self.domain.clone(),
            agent: self.agent.clone(),
            run: self.run.clone(),
            confidence: self.confidence,
            created_at: Some(self.created_at),
            source: self.source.clone(),
            access: self.access.clone(),
            trust: None,
            content: self.content.clone(),
        }
    }
}
