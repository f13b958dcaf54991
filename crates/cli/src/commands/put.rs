//! `put`: one text, a stream of JSON records, or documents.
//!
//! Input is read and checked before the lock is taken, and so are the vectors of a small put: they
//! are published with its records in one commit.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use kapsa_memory::request::{Change, Put};
use kapsa_memory::{Error, NewRecord, Reader, Uri, review};

use super::bulk::Bulk;
use super::defaults::Defaults;
use super::file;
use super::known::{self, Known};
use super::text::plain_text;
use crate::app::{App, did};
use crate::args::{self, EmbedWhen};
use crate::commands::documents;
use crate::commands::embed::{Ahead, New};
use crate::error::{CliError, Result};
use crate::output::Output;
use crate::render::counted;
use crate::wire::{PutOut, Tally};

/// `kapsa put`.
pub(crate) fn run(app: &mut App, args: args::Put) -> Result<()> {
    let Stored { answer, embedding } = put(app, args)?;
    if let Answer::One(put, _) = &answer
        && put.change == Change::Held
    {
        return Err(held(app, put)?);
    }
    did(app, answer.done());
    if let Answer::Many(tally) = &answer
        && tally.held > 0
    {
        let count = counted(tally.held, "record");
        let message = format!("{count} kept for review: the owner decides with kapsa review");
        app.out.warn("held_for_review", &message);
    }
    answer.tell(&mut app.out, embedding)
}

/// What a put did, and what became of the vectors where they could not be made.
pub(super) struct Stored {
    pub(super) answer: Answer,
    pub(super) embedding: Option<String>,
}

/// What a put did, to be reported at its end.
pub(crate) enum Answer {
    /// One record, and another that holds the same text.
    One(Put, Option<Uri>),
    Many(Tally),
}

impl Answer {
    /// Tells it, and what became of the vectors where they could not be made.
    fn tell(self, out: &mut Output, embedding: Option<String>) -> Result<()> {
        match self {
            Answer::One(put, same) if out.is_json() => out.json(&PutOut {
                embedding: embedding.as_deref(),
                same_text: same.as_ref().map(Uri::as_str),
                ..PutOut::from(&put)
            }),
            Answer::One(put, same) => tell_named(out, &put, same.as_ref()),
            Answer::Many(tally) => tell_many(out, &Tally { embedding, ..tally }),
        }
    }
}

fn put(app: &mut App, mut args: args::Put) -> Result<Stored> {
    let when = args.embed;
    let defaults = Arc::new(Defaults::new(std::mem::take(&mut args.fields))?);
    if let Some(text) = args.text.take() {
        return one(app, &defaults, &args, NewRecord::text(text));
    }
    let only_stdin = args.sources.iter().all(|source| source.as_os_str() == "-");
    if let ([path], true, false) = (&*args.sources, defaults.uri.is_some(), only_stdin) {
        known::refuse_documents(&args)?;
        return file::put(app, &defaults, &args, path);
    }
    if !only_stdin {
        known::refuse_documents(&args)?;
        defaults.expect_many("documents")?;
        let new = New::begin(app, when);
        let answer = documents::put(app, &defaults, &args)?;
        return Ok(Stored { answer, embedding: New::end_of(new, app) });
    }
    if args.sources.is_empty() && io::stdin().is_terminal() {
        return Err(CliError::usage("nothing to put").hint(
            "give --text TEXT, files or folders, or records on standard input (kapsa put --help)",
        ));
    }
    if args.plain {
        return one(app, &defaults, &args, NewRecord::text(plain_text()?));
    }
    Bulk::new(app, &defaults, &args)?.run()
}

/// Puts one record.
pub(super) fn one(
    app: &mut App,
    defaults: &Defaults,
    args: &args::Put,
    record: NewRecord,
) -> Result<Stored> {
    let record = defaults.fill(record);
    record.check()?;
    let path = app.capsule()?;
    let mut known = Known::one(app, record, args)?;
    if let Some(put) = known.kept.pop() {
        return Ok(Stored { answer: Answer::One(put, None), embedding: None });
    }
    let same = known.same_text.pop().flatten();
    if known.new.is_empty() {
        return Ok(Stored { answer: Answer::Many(Tally::default()), embedding: None });
    }
    let (mut puts, ahead) = put_small(app, &path, defaults, args.embed, known.new)?;
    let put = puts.remove(0);
    let same = same.filter(|_| put.change == Change::Added);
    Ok(Stored { answer: Answer::One(put, same), embedding: ahead.report(app) })
}

/// What is reported of a record that waits for review: it is not what was asked for.
fn held(app: &App, put: &Put) -> Result<CliError> {
    let item = review::item(&Reader::open(&app.capsule()?)?, &put.uri)?;
    let reasons: Vec<&str> = item.reasons.iter().map(|one| one.reason.as_str()).collect();
    Ok(Error::HeldForReview { item: put.uri.clone(), reasons: reasons.join("; ") }.into())
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
    tell_named(out, put, None)
}

/// The same for people, with the record that holds the same text.
fn tell_named(out: &mut Output, put: &Put, same: Option<&Uri>) -> Result<()> {
    let shown = PutOut::from(put);
    let same = same.map_or_else(String::new, |same| format!("  same text as {}", same.short()));
    out.line(&format!("{}  #{}  {}{same}", put.uri.short(), shown.sequence, shown.change))
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
        (tally.held, "held for review"),
    ];
    let parts: Vec<_> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let from = tally
        .source_count
        .map_or_else(String::new, |sources| format!(" from {}", counted(sources, "document")));
    let same = tally.same_text.unwrap_or_default();
    let same =
        if same > 0 { format!(", {same} with the text of another record") } else { String::new() };
    let what =
        if parts.is_empty() { String::new() } else { format!(": {}{same}", parts.join(", ")) };
    let now = || format!(", now at #{}", tally.last_sequence);
    let now = (tally.commit_count > 0).then(now).unwrap_or_default();
    out.line(&format!(
        "{}{from}{what} ({}{now})",
        counted(tally.record_count, "record"),
        counted(tally.commit_count, "commit")
    ))?;
    tally.skipped_line().map_or(Ok(()), |line| out.line(&line))
}
