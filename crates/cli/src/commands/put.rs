//! `put`: one text, a stream of JSON records, or documents.
//!
//! Input is read and checked before the lock is taken, and so are the vectors of a small put: they
//! are published with its records in one commit.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use kapsa_memory::access::Access;
use kapsa_memory::request::Put;
use kapsa_memory::{NewRecord, Uri};

use super::bulk::Bulk;
use super::text::plain_text;
use crate::app::{self, App, did};
use crate::args::{self, EmbedWhen, Fields};
use crate::commands::documents;
use crate::commands::embed::{Ahead, New};
use crate::error::{CliError, Result};
use crate::output::Output;
use crate::render::counted;
use crate::wire::{PutOut, Tally};

/// `kapsa put`.
pub(crate) fn run(app: &mut App, args: args::Put) -> Result<()> {
    let Stored { answer, embedding } = put(app, args)?;
    did(app, answer.done());
    answer.tell(&mut app.out, embedding)
}

/// What a put did, and what became of the vectors where they could not be made.
pub(super) struct Stored {
    pub(super) answer: Answer,
    pub(super) embedding: Option<String>,
}

/// What a put did, to be reported at its end.
pub(crate) enum Answer {
    One(Put),
    Many(Tally),
}

impl Answer {
    /// Tells it, and what became of the vectors where they could not be made.
    fn tell(self, out: &mut Output, embedding: Option<String>) -> Result<()> {
        match self {
            Answer::One(put) if out.is_json() => {
                out.json(&PutOut { embedding: embedding.as_deref(), ..PutOut::from(&put) })
            }
            Answer::One(put) => tell_one(out, &put),
            Answer::Many(tally) => tell_many(out, &Tally { embedding, ..tally }),
        }
    }
}

fn put(app: &mut App, mut args: args::Put) -> Result<Stored> {
    let when = args.embed;
    let defaults = Arc::new(Defaults::new(std::mem::take(&mut args.fields))?);
    if let Some(text) = args.text.take() {
        return one(app, &defaults, when, text);
    }
    let only_stdin = args.sources.iter().all(|source| source.as_os_str() == "-");
    if !only_stdin {
        defaults.expect_many("documents")?;
        let new = New::begin(app, when);
        let answer = documents::put(app, &defaults, &args.sources, args.plain, args.each)?;
        return Ok(Stored { answer, embedding: New::end_of(new, app) });
    }
    if args.sources.is_empty() && io::stdin().is_terminal() {
        return Err(CliError::usage("nothing to put").hint(
            "give --text TEXT, files or folders, or records on standard input (kapsa put --help)",
        ));
    }
    if args.plain {
        return one(app, &defaults, when, plain_text()?);
    }
    Bulk::new(app, &defaults, &args)?.run()
}

fn one(
    app: &mut App,
    defaults: &Defaults,
    when: Option<EmbedWhen>,
    text: String,
) -> Result<Stored> {
    let record = defaults.fill(NewRecord::text(text));
    record.check()?;
    let path = app.capsule()?;
    let (mut puts, ahead) = put_small(app, &path, defaults, when, vec![record])?;
    Ok(Stored { answer: Answer::One(puts.remove(0)), embedding: ahead.report(app) })
}

/// Puts records that are all there: their vectors are made before the lock is taken, and published
/// with them in one commit.
pub(super) fn put_small(
    app: &App,
    path: &Path,
    defaults: &Defaults,
    when: Option<EmbedWhen>,
    records: Vec<NewRecord>,
) -> Result<(Vec<Put>, Ahead)> {
    let capsule = app.unlocked(path, defaults.run())?;
    let mut ahead = Ahead::make(when, &capsule, &records);
    let mut writer = app.lock(capsule, path)?;
    let puts = match ahead.take() {
        Some(vectors) => ahead.placed(writer.put_embedded(records, vectors)?),
        None => writer.put_many(records)?,
    };
    Ok((puts, ahead))
}

/// Prints what happened to one record.
pub(crate) fn tell_one(out: &mut Output, put: &Put) -> Result<()> {
    let shown = PutOut::from(put);
    if out.is_json() {
        return out.json(&shown);
    }
    out.line(&format!("{}  #{}  {}", put.uri.short(), shown.sequence, shown.change))
}

/// Prints what happened to many.
fn tell_many(out: &mut Output, tally: &Tally) -> Result<()> {
    if out.is_json() {
        return out.json(tally);
    }
    let parts = [
        (tally.added, "added"),
        (tally.revised, "revised"),
        (tally.unchanged, "unchanged"),
        (tally.forgotten, "forgotten"),
    ];
    let parts: Vec<_> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let from = tally
        .source_count
        .map_or_else(String::new, |sources| format!(" from {}", counted(sources, "document")));
    let what = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let now = if tally.commit_count == 0 {
        String::new()
    } else {
        format!(", now at #{}", tally.last_sequence)
    };
    out.line(&format!(
        "{}{from}{what} ({}{now})",
        counted(tally.record_count, "record"),
        counted(tally.commit_count, "commit")
    ))
}

/// What the flags say about every record of a call.
pub(crate) struct Defaults {
    fields: Fields,
    pub(super) uri: Option<Uri>,
    /// Lines of an export that were skipped, since only a capsule writes what they describe.
    pub(super) system_lines: AtomicU64,
}

impl Defaults {
    fn new(fields: Fields) -> Result<Defaults> {
        let uri = fields.uri.as_deref().map(app::uri).transpose()?;
        Ok(Defaults { fields, uri, system_lines: AtomicU64::new(0) })
    }

    /// The run that the lock names.
    pub(crate) fn run(&self) -> Option<&str> {
        self.fields.run.as_deref()
    }

    /// Refuses what fits only one record.
    fn expect_many(&self, what: &str) -> Result<()> {
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
