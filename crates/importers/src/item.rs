//! What was read of a source, and how it becomes a record.

use kapsa_memory::kinds::FACT;
use kapsa_memory::record::{FIELD_BYTES_MAX, TEXT_BYTES_MAX};
use kapsa_memory::tokens::{first_bytes, first_chars};
use kapsa_memory::uri::slug;
use kapsa_memory::{Micros, NewRecord, Trust, Uri};
use serde_json::{Map, Value, json};

/// Hexadecimal digits of the hash by which ids are told apart that make one name.
const TOLD_APART: usize = 10;
/// Longest part of an id in a name that a hash follows, in characters.
const NAME_CHARS_MAX: usize = 40;
/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 200;

/// Something that was read.
#[derive(Clone, Debug)]
pub struct Item {
    /// The record. Its name comes from the product's id, its trust is that of imports.
    pub record: NewRecord,
    /// Its older revisions in the source, the oldest first.
    pub older: Vec<NewRecord>,
    /// Where it stood: a file, with the line where it has lines.
    pub place: String,
}

/// Something that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it stood.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// What a source holds.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// What can be put.
    pub items: Vec<Item>,
    /// What cannot.
    pub skipped: Vec<Skipped>,
    /// What is not a memory and is left where it is, such as messages: what it is, and how many.
    pub left: Vec<(&'static str, u64)>,
    /// How many of the texts the product itself keeps shortened: without blank lines and doubled
    /// spaces.
    pub shortened: u64,
    /// Of how many texts it keeps a part.
    pub cut: u64,
}

impl Source {
    /// How many memories the source holds: those that were read, and those that were skipped.
    #[must_use]
    pub fn count(&self) -> usize {
        self.items.len() + self.skipped.len()
    }

    pub(crate) fn skip(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(Skipped { place: place.into(), reason: reason.into() });
    }

    pub(crate) fn leave(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            self.left.push((what, count));
        }
    }

    /// Takes a draft, or says why it cannot be used.
    pub(crate) fn take(&mut self, place: impl Into<String>, draft: Draft) {
        self.take_with(place, draft, Vec::new());
    }

    /// Takes a draft with its older revisions, the oldest first. Those that cannot be used are told
    /// like others.
    pub(crate) fn take_with(&mut self, place: impl Into<String>, draft: Draft, older: Vec<Draft>) {
        let place = place.into();
        let mut revisions = Vec::new();
        for draft in older {
            match draft.record() {
                Ok(record) => revisions.push(record),
                Err(reason) => self.skip(format!("{place}, an older revision"), reason),
            }
        }
        match draft.record() {
            Ok(record) => self.items.push(Item { record, older: revisions, place }),
            Err(reason) => self.skip(place, reason),
        }
    }
}

/// A memory of a product on its way to a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// The product's name, the kind of thing there, and its id there.
    pub(crate) product: &'static str,
    pub(crate) what: &'static str,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
    /// Kind of the record; empty for a note.
    pub(crate) kind: &'static str,
    pub(crate) entity: String,
    pub(crate) agent: String,
    pub(crate) label: String,
    pub(crate) tags: Vec<(String, String)>,
    /// Everything else that the product says of it.
    pub(crate) more: Map<String, Value>,
    pub(crate) at: Option<Micros>,
    /// Whether white space around the text belongs to it.
    pub(crate) is_verbatim: bool,
}

impl Draft {
    fn record(self) -> Result<NewRecord, String> {
        let (text, title) = (self.text.trim(), self.title.trim());
        let text = match text.is_empty() {
            true => title,
            false if self.is_verbatim => self.text.as_str(),
            false => text,
        };
        if text.is_empty() {
            return Err("it has no text".to_string());
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("its text is longer than {TEXT_BYTES_MAX} bytes"));
        }
        // A fact is one by its name.
        let uri = match self.kind {
            FACT => {
                Uri::from_segments([FACT, &told_apart(&format!("{}-{}", self.product, self.id))])
            }
            _ => name(self.product, self.what, &self.id),
        };
        let mut metadata = self.more;
        let origin = json!({ "product": self.product, "what": self.what, "id": self.id });
        metadata.insert(ORIGIN.to_string(), origin);
        let field = |text: &str| first_bytes(text.trim(), FIELD_BYTES_MAX).to_string();
        let is_tag = |(name, value): &(String, String)| {
            !name.is_empty()
                && !name.starts_with("kapsa.")
                && name.len() + value.len() < FIELD_BYTES_MAX
        };
        let record = NewRecord {
            uri: Some(uri),
            title: first_chars(title, TITLE_CHARS_MAX).to_string(),
            kind: self.kind.to_string(),
            entity: field(&self.entity),
            agent: field(&self.agent),
            label: field(&self.label),
            tags: self.tags.into_iter().filter(is_tag).collect(),
            metadata,
            created_at: self.at,
            trust: Some(Trust::Import),
            ..NewRecord::text(text)
        };
        record.check().map_err(|error| error.to_string())?;
        Ok(record)
    }
}

/// Name in the metadata of where a record was imported from.
pub(crate) const ORIGIN: &str = "imported_from";

/// The name of a record: the product, the kind of thing, and the id there. Ids that would make one
/// name are told apart by their hash.
fn name(product: &str, what: &str, id: &str) -> Uri {
    Uri::from_segments([product, what, &told_apart(id)])
}

/// An id as part of a name.
fn told_apart(id: &str) -> String {
    let plain = slug(id);
    if plain == id {
        return plain;
    }
    let hash = blake3::hash(id.as_bytes()).to_hex();
    format!("{}-{}", first_chars(&plain, NAME_CHARS_MAX), &hash[..TOLD_APART])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_look_alike_have_names_of_their_own() {
        let uri = |id: &str| name("mem0", "memory", id);
        assert_eq!(uri("a-1").short(), "mem0/memory/a-1");
        let all =
            ["Ada L", "ada l", "ada-l", "Ada_L", "é", "e\u{301}", "", "../x", &"x".repeat(500)];
        let names: std::collections::BTreeSet<String> =
            all.iter().map(|id| uri(id).short().to_string()).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
        assert!(names.iter().all(|name| Uri::parse(name).is_ok() && !name.contains("..")));
    }
}
