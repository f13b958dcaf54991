//! What the flags of a put say about every record of the call. Knows nothing of how records are
//! stored.

use std::sync::atomic::AtomicU64;

use kapsa_memory::access::Access;
use kapsa_memory::{NewRecord, Uri};

use crate::app;
use crate::args::Fields;
use crate::error::{CliError, Result};

/// What the flags say about every record of a call.
pub(crate) struct Defaults {
    fields: Fields,
    pub(super) uri: Option<Uri>,
    /// Lines of an export that were skipped, since only a capsule writes what they describe.
    pub(super) system_lines: AtomicU64,
}

impl Defaults {
    pub(super) fn new(fields: Fields) -> Result<Defaults> {
        let uri = fields.uri.as_deref().map(app::uri).transpose()?;
        Ok(Defaults { fields, uri, system_lines: AtomicU64::new(0) })
    }

    /// The run that the lock names.
    pub(crate) fn run(&self) -> Option<&str> {
        self.fields.run.as_deref()
    }

    /// Refuses what fits only one record.
    pub(super) fn expect_many(&self, what: &str) -> Result<()> {
        let flag = if self.uri.is_some() { "--uri" } else { "--title" };
        if self.uri.is_none() && self.fields.title.is_none() {
            return Ok(());
        }
        Err(CliError::usage(format!("{flag} applies to one record, not {what}"))
            .hint("documents name their passages themselves"))
    }

    /// Fills in what the record does not bring itself.
    pub(crate) fn fill(&self, mut record: NewRecord) -> NewRecord {
        let flags = &self.fields;
        let texts = [
            (&mut record.title, &flags.title),
            (&mut record.kind, &flags.kind),
            (&mut record.label, &flags.label),
            (&mut record.entity, &flags.entity),
            (&mut record.domain, &flags.domain),
            (&mut record.agent, &flags.agent),
            (&mut record.run, &flags.run),
        ];
        for (own, default) in texts {
            if let (true, Some(default)) = (own.is_empty(), default) {
                own.clone_from(default);
            }
        }
        for (name, value) in &flags.tags {
            record.tags.entry(name.clone()).or_insert_with(|| value.clone());
        }
        for (name, value) in flags.meta.iter().flatten() {
            record.metadata.entry(name.clone()).or_insert_with(|| value.clone());
        }
        record.uri = record.uri.or_else(|| self.uri.clone());
        record.confidence = record.confidence.or(flags.confidence);
        record.created_at = record.created_at.or(flags.created_at);
        if let (None, Some(level)) = (&record.access, flags.classification) {
            record.access = Some(Access { level: level.into(), named: flags.named.clone() });
        }
        record
    }

    /// Fills in what a document's passage does not bring; a kind that was asked for replaces the
    /// cutter's.
    pub(crate) fn fill_passage(&self, mut passage: NewRecord) -> NewRecord {
        if let Some(kind) = &self.fields.kind {
            passage.kind.clone_from(kind);
        }
        self.fill(passage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Defaults {
        let fields = Fields {
            kind: Some("fact".into()),
            label: Some("builder".into()),
            tags: vec![("a".into(), "default".into()), ("b".into(), "default".into())],
            confidence: Some(0.5),
            ..Fields::default()
        };
        Defaults::new(fields).unwrap_or_else(|error| panic!("{error:?}"))
    }

    #[test]
    fn a_record_keeps_what_it_brings() {
        let mut own = NewRecord::text("t");
        own.kind = "note".into();
        own.tags.insert("a".into(), "own".into());
        let filled = defaults().fill(own);
        assert_eq!((filled.kind.as_str(), filled.label.as_str()), ("note", "builder"));
        assert_eq!((filled.tags["a"].as_str(), filled.tags["b"].as_str()), ("own", "default"));
        assert_eq!(filled.confidence, Some(0.5));
    }

    #[test]
    fn a_passage_takes_the_kind_that_was_asked_for() {
        let mut passage = NewRecord::text("t");
        passage.kind = "doc".into();
        assert_eq!(defaults().fill_passage(passage).kind, "fact");
    }
}
