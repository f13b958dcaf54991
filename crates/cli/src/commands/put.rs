//! `put`: one text, a stream of JSON records, or documents.
//!
//! Input is read and checked before the lock is taken. A stream is stored batch by batch; each batch is one commit, so that an error loses at most the batch it is in, and says where to go on. Memory is bounded by one batch and one record.

use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use kapsa_memory::access::Access;
use kapsa_memory::record::TEXT_BYTES_MAX;
use kapsa_memory::request::Put;
use kapsa_memory::{BATCH_BYTES_MAX, NewRecord, Uri, is_small_put};

use crate::app::{self, AnyWriter, App};
use crate::args::{self, EmbedWhen, Fields};
use crate::commands::documents;
use crate::commands::embed::{Ahead, New};
use crate::error::{CliError, Result};
use crate::json_input::{self, Fault};
use crate::lines::{Piece, Pieces, located};
use crate::output::Output;
use crate::progress::Progress;
use crate::render::counted;
use crate::wire::{PutOut, Tally};

/// Bytes read from standard input at a time.
const READ_BYTES: usize = 256 << 10;

/// After so long a bulk put gives the lock back between two commits, for so long: more than the pause between two tries of one
/// that waits.
const LOCK_HELD_MAX: Duration = Duration::from_millis(500);
const LOCK_FREE: Duration = Duration::from_millis(8);

/// `kapsa put`.
pub(crate) fn run(app: &mut App, args: args::Put) -> Result<()> {
    let Stored { answer, embedding } = put(app, args)?;
    answer.tell(&mut app.out, embedding)
}

/// What a put did, and what became of the vectors where they could not be made.
struct Stored {
    answer: Answer,
    embedding: Option<String>,
}

/// What a put did, to be told at its end.
pub(crate) enum Answer {
    One(Put),
    Many(Tally),
}

impl Answer {
    /// Tells it, and what became of the vectors where they could not be made.
    fn tell(self, out: &mut Output, embedding: Option<String>) -> Result<()> {
        match self {
            Answer::One(put) if out.is_json() => out.json(&PutOut { embedding: embedding.as_deref(), ..PutOut::from(&put) }),
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
        // What kept us from looking at the capsule before kept the put from its end as well.
        let embedding = new?.end(app);
        return Ok(Stored { answer, embedding });
    }
    if args.sources.is_empty() && io::stdin().is_terminal() {
        return Err(CliError::usage("nothing to put")
            .hint("give --text TEXT, files or folders, or records on standard input (kapsa put --help)"));
    }
    if args.plain {
        return one(app, &defaults, when, plain_text()?);
    }
    Bulk::new(app, &defaults, &args)?.run()
}

fn one(app: &mut App, defaults: &Defaults, when: Option<EmbedWhen>, text: String) -> Result<Stored> {
    let record = defaults.fill(NewRecord::text(text));
    record.check()?;
    let path = app.capsule()?;
    let (mut puts, ahead) = put_small(app, &path, defaults, when, vec![record])?;
    Ok(Stored { answer: Answer::One(puts.remove(0)), embedding: ahead.report(app) })
}

/// Puts records that are all there: their vectors are made before the lock is taken, and published with them in one commit.
fn put_small(
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
        Some(vectors) => writer.put_embedded(records, vectors)?,
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
    let parts =
        [(tally.added, "added"), (tally.revised, "revised"), (tally.unchanged, "unchanged"), (tally.forgotten, "forgotten")];
    let parts: Vec<_> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let from = tally.source_count.map_or_else(String::new, |sources| format!(" from {}", counted(sources, "document")));
    let what = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let now = if tally.commit_count == 0 { String::new() } else { format!(", now at #{}", tally.last_sequence) };
    out.line(&format!("{}{from}{what} ({}{now})", counted(tally.record_count, "record"), counted(tally.commit_count, "commit")))
}

/// Standard input as one text; more of it than a record may hold is left for the record's own check to refuse.
pub(crate) fn plain_text() -> Result<String> {
    let mut bytes = Vec::new();
    let limit = TEXT_BYTES_MAX as u64 + 1;
    io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(|error| CliError::io("read standard input", &error))?;
    utf8(bytes, "standard input")
}

/// The text that was typed in words; `-` alone is standard input.
pub(crate) fn typed_text(words: &[String]) -> Result<String> {
    let text = if words == ["-"] { plain_text()?.trim_end().to_string() } else { words.join(" ") };
    if text.trim().is_empty() {
        return Err(CliError::usage("the text is empty"));
    }
    Ok(text)
}

/// The bytes of `name` as text.
pub(crate) fn utf8(bytes: Vec<u8>, name: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::user("invalid_utf8", format!("{name} is not UTF-8 text: invalid byte at {at}")).field("offset", at)
    })
}

/// What the flags say about every record of a call.
pub(crate) struct Defaults {
    fields: Fields,
    uri: Option<Uri>,
    /// Lines of an export that were passed over, since only a capsule writes what they tell.
    system_lines: AtomicU64,
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
        Err(CliError::usage(format!("{flag} fits one record, not {what}")).hint("documents name their passages themselves"))
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

    /// Fills in what a document's passage does not bring; a kind that was asked for replaces the cutter's.
    pub(crate) fn fill_passage(&self, mut passage: NewRecord) -> NewRecord {
        if let Some(kind) = &self.fields.kind {
            passage.kind.clone_from(kind);
        }
        self.fill(passage)
    }
}

/// Records with the lines they begin on.
type Parsed = Vec<(u64, NewRecord)>;
/// Most records that are handed on together; never more than a batch, so that a small batch is stored as it comes.
const PARSED_RECORDS: usize = 256;
/// Runs of records that may wait to be stored.
const PARSED_RUNS_MAX: usize = 64;

/// Parses standard input in a thread of its own, so that the next batch is ready when this one is on disk. The thread is
/// not waited for: after an error it may sit in a read that never returns.
fn parse_ahead(defaults: Arc<Defaults>, run_records: usize) -> Receiver<Result<Parsed>> {
    let (sender, receiver) = sync_channel(PARSED_RUNS_MAX);
    thread::spawn(move || {
        if let Err(error) = parse_all(&defaults, run_records, &sender) {
            // Nobody listens any more when storing has failed: that error counts.
            let _storing_failed_first = sender.send(Err(error));
        }
    });
    receiver
}

fn parse_all(defaults: &Defaults, run_records: usize, sender: &SyncSender<Result<Parsed>>) -> Result<()> {
    let mut pieces = Pieces::new(BufReader::with_capacity(READ_BYTES, io::stdin().lock()));
    let (mut seen, mut run) = (0, Vec::new());
    loop {
        if run.len() >= run_records && sender.send(Ok(std::mem::take(&mut run))).is_err() {
            return Ok(());
        }
        let piece = match pieces.next() {
            Ok(Some(piece)) => piece,
            ended => {
                let _storing_failed_first = sender.send(Ok(run));
                return ended.map(drop);
            }
        };
        seen += 1;
        match parse(defaults, &piece, seen) {
            Ok(record) => run.push((piece.line, record)),
            Err(_) if json_input::is_system(piece.bytes) => {
                defaults.system_lines.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                let _storing_failed_first = sender.send(Ok(run));
                return Err(error);
            }
        }
    }
}

fn parse(defaults: &Defaults, piece: &Piece<'_>, seen: u64) -> Result<NewRecord> {
    let at = |fault: Fault| located(piece.line, fault);
    let record = json_input::record(piece.bytes).map_err(at)?;
    if seen > 1 && record.uri.is_none() && defaults.uri.is_some() {
        let fault =
            Fault::new("invalid_record", "--uri fits one record, and this is another").hint("give each record its own `uri`");
        return Err(located(piece.line, fault));
    }
    let record = defaults.fill(record);
    record.check().map_err(|error| at(error.into()))?;
    Ok(record)
}

/// A bulk put under way.
struct Bulk<'a> {
    app: &'a mut App,
    defaults: Arc<Defaults>,
    batch_records_max: usize,
    batch_bytes_max: usize,
    each: bool,
    when: Option<EmbedWhen>,
    path: PathBuf,
    writer: Option<AnyWriter>,
    locked_since: Instant,
    batch: Vec<NewRecord>,
    batch_bytes: usize,
    /// Line that the batch begins on: where to go on when it is lost.
    batch_line: u64,
    tally: Tally,
    first: Option<Put>,
    /// Vectors that were made ahead, when everything fitted one small commit.
    ahead: Option<Ahead>,
    progress: Progress,
}

impl<'a> Bulk<'a> {
    fn new(app: &'a mut App, defaults: &Arc<Defaults>, args: &args::Put) -> Result<Bulk<'a>> {
        let path = app.capsule()?;
        let progress = Progress::new("remembering records", &app.out);
        Ok(Bulk {
            app,
            defaults: defaults.clone(),
            batch_records_max: args.batch,
            batch_bytes_max: BATCH_BYTES_MAX,
            each: args.each,
            when: args.embed,
            path,
            writer: None,
            locked_since: Instant::now(),
            batch: Vec::new(),
            batch_bytes: 0,
            batch_line: 1,
            tally: Tally::default(),
            first: None,
            ahead: None,
            progress,
        })
    }

    fn run(mut self) -> Result<Stored> {
        match self.store_all(&parse_ahead(self.defaults.clone(), self.batch_records_max.min(PARSED_RECORDS))) {
            Ok(0) if self.system_lines() == 0 => Err(CliError::user("empty_input", "standard input holds no record")),
            Ok(_) => Ok(self.stored()),
            Err(error) => Err(self.where_to_go_on(error)),
        }
    }

    /// Stores every record that was parsed. Returns how many there were.
    fn store_all(&mut self, parsed: &Receiver<Result<Parsed>>) -> Result<u64> {
        let mut seen = 0;
        for run in parsed {
            for (line, record) in run? {
                seen += 1;
                self.make_room(&record)?;
                if self.batch.is_empty() {
                    self.batch_line = line;
                }
                self.batch_bytes += record.text.len();
                self.batch.push(record);
                if self.batch.len() >= self.batch_records_max {
                    self.commit()?;
                }
            }
        }
        self.commit_last()?;
        Ok(seen)
    }

    /// Gives the lock back for a moment when this call has had it for long: others may be waiting.
    fn let_others_write(&mut self) {
        if self.locked_since.elapsed() > LOCK_HELD_MAX {
            self.writer = None;
            std::thread::sleep(LOCK_FREE);
        }
    }

    /// Commits the batch when the next record would make it too large.
    fn make_room(&mut self, next: &NewRecord) -> Result<()> {
        let full = self.batch.len() >= self.batch_records_max || self.batch_bytes + next.text.len() > self.batch_bytes_max;
        if full { self.commit() } else { Ok(()) }
    }

    /// Commits what is left. When that is all there is and little, it gets its vectors in the same commit.
    fn commit_last(&mut self) -> Result<()> {
        let is_all = self.tally.record_count == 0 && self.writer.is_none();
        let is_small = is_small_put(self.batch.iter().map(|record| record.text.as_str()));
        if self.batch.is_empty() || !is_all || !is_small {
            return self.commit();
        }
        let batch = std::mem::take(&mut self.batch);
        let (puts, ahead) = put_small(self.app, &self.path, &self.defaults, self.when, batch)?;
        self.ahead = Some(ahead);
        self.stored_batch(puts)
    }

    fn commit(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if self.writer.is_none() {
            self.locked_since = Instant::now();
        }
        let writer = open_once(&mut self.writer, self.app, &self.path, &self.defaults)?;
        let puts = writer.put_many(batch)?;
        self.let_others_write();
        self.stored_batch(puts)
    }

    fn stored_batch(&mut self, puts: Vec<Put>) -> Result<()> {
        self.tally.count(&puts);
        self.progress.set(self.tally.record_count, None);
        if self.each {
            puts.iter().try_for_each(|put| tell_one(&mut self.app.out, put))?;
            // Whoever feeds the pipe learns of each commit when it is durable, not when a buffer is full.
            self.app.out.flush()?;
        }
        if self.first.is_none() {
            self.first = puts.into_iter().next();
        }
        Ok(())
    }

    fn system_lines(&self) -> u64 {
        self.defaults.system_lines.load(Ordering::Relaxed)
    }

    fn stored(mut self) -> Stored {
        let embedding = match (self.ahead.take(), &self.first) {
            (Some(ahead), _) => ahead.report(self.app),
            (None, Some(first)) => New::since(self.when, first.sequence).end(self.app),
            (None, None) => None,
        };
        Stored { answer: self.answer(), embedding }
    }

    fn answer(mut self) -> Answer {
        let passed_over = self.system_lines();
        self.tally.skipped = (passed_over > 0).then_some(passed_over);
        let Bulk { app, tally, first, each, progress, .. } = self;
        drop(progress);
        if passed_over > 0 {
            let lines = counted(passed_over, "line");
            app.out.note(&format!("skipped {lines} of aliases, checkpoints and events: only their own capsule can hold them"));
        }
        match first {
            Some(put) if tally.record_count == 1 && !each && passed_over == 0 => Answer::One(put),
            _ => Answer::Many(tally),
        }
    }

    /// Adds what is stored and where to go on. `batch_line` is still that of the batch that was lost.
    fn where_to_go_on(&self, error: CliError) -> CliError {
        let failed_line = error.fields.get("line").and_then(serde_json::Value::as_u64);
        let resume = match failed_line {
            Some(line) if self.batch.is_empty() => line,
            _ => self.batch_line,
        };
        let stored = self.tally.record_count;
        let go_on = format!("{} stored; resume from line {resume}", counted(stored, "record"));
        let hint = match error.hint.clone() {
            Some(hint) if stored > 0 => format!("{hint}; {go_on}"),
            Some(hint) => hint,
            None => go_on,
        };
        error.hint(hint).field("committed", stored).field("resume_line", resume)
    }
}

/// The writer of this call, opened when the first thing is ready to be stored.
pub(crate) fn open_once<'w>(
    writer: &'w mut Option<AnyWriter>,
    app: &App,
    path: &Path,
    defaults: &Defaults,
) -> Result<&'w mut AnyWriter> {
    if writer.is_none() {
        *writer = Some(app.writer(path, defaults.run())?);
    }
    Ok(writer.as_mut().expect("it was opened just now"))
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
