//! A stream of JSON records: parsed ahead of the disk, stored batch by batch. Each batch is one
//! commit, so that an error loses at most the batch it is in, and says where to go on. Memory is
//! bounded by one batch and one record.

use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use kapsa_memory::request::{Change, Put};
use kapsa_memory::{BATCH_BYTES_MAX, BATCH_RECORDS_MAX, NewRecord, Uri, is_small_put};

use super::backlog::Backlog;

use super::defaults::Defaults;
use super::embed::{Ahead, New};
use super::known::{Known, Rules};
use super::put::{Answer, Stored, put_small, tell_one};
use super::text::standard_input;
use super::turn::Turn;
use crate::app::App;
use crate::args::{self, EmbedWhen};
use crate::error::{CliError, Done, Result, after};
use crate::json_input::{self, Fault};
use crate::lines::{JsonPiece, Pieces, located};
use crate::progress::Progress;
use crate::render::counted;
use crate::wire::Tally;

/// Bytes read from standard input at a time.
const READ_BYTES: usize = 256 << 10;

/// A record, the line that it begins on, and the bytes of input that it was; or why the line is not
/// a record.
struct Parsed {
    line: u64,
    bytes: usize,
    record: Result<NewRecord>,
}
/// Most lines that are not records of which each is named.
const REFUSED_NAMED_MAX: usize = 10;
/// Most records that are handed on together; never more than a batch, so that a small batch is
/// stored as it comes.
const PARSED_RECORDS: usize = 256;
/// Runs of records that may wait to be stored.
const PARSED_RUNS_MAX: usize = 64;
/// Bytes of input after which records are handed on.
const PARSED_RUN_BYTES: usize = 1 << 20;

/// Parses standard input in a thread of its own, so that the next batch is ready when this one is
/// on disk. The thread is not waited for: after an error it may sit in a read that never returns.
fn parse_ahead(
    defaults: Arc<Defaults>,
    run_records: usize,
    backlog: Arc<Backlog>,
) -> Result<Receiver<Result<Vec<Parsed>>>> {
    let (sender, receiver) = sync_channel(PARSED_RUNS_MAX);
    let parse = move || {
        if let Err(error) = parse_all(&defaults, run_records, &backlog, &sender) {
            // Nobody listens any more when storing has failed: that error counts.
            let _storing_failed_first = sender.send(Err(error));
        }
    };
    thread::Builder::new()
        .spawn(parse)
        .map_err(|error| CliError::io("start a thread that reads the input", &error))?;
    Ok(receiver)
}

fn parse_all(
    defaults: &Defaults,
    run_records: usize,
    backlog: &Backlog,
    sender: &SyncSender<Result<Vec<Parsed>>>,
) -> Result<()> {
    let input = standard_input()?.lock();
    let mut pieces = Pieces::new(BufReader::with_capacity(READ_BYTES, input));
    let (mut seen, mut run, mut bytes) = (0, Vec::new(), 0);
    loop {
        if run.len() >= run_records || bytes >= PARSED_RUN_BYTES {
            bytes = 0;
            if sender.send(Ok(std::mem::take(&mut run))).is_err() {
                return Ok(());
            }
            backlog.wait_for_room();
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
            Ok(record) => {
                let piece_bytes = piece.bytes.len();
                bytes += piece_bytes;
                backlog.add(piece_bytes);
                run.push(Parsed { line: piece.line, bytes: piece_bytes, record: Ok(record) });
            }
            Err(_) if json_input::is_system(piece.bytes) => {
                defaults.system_lines.fetch_add(1, Ordering::Relaxed);
            }
            // What holds a zero byte is not text, and nothing of it is believed.
            Err(error) if piece.bytes.contains(&0) => {
                let _storing_failed_first = sender.send(Ok(run));
                return Err(error);
            }
            Err(error) => run.push(Parsed { line: piece.line, bytes: 0, record: Err(error) }),
        }
    }
}

fn parse(defaults: &Defaults, piece: &JsonPiece<'_>, seen: u64) -> Result<NewRecord> {
    let at = |fault: Fault| located(piece.line, fault);
    let record = json_input::record(piece.bytes).map_err(at)?;
    if seen > 1 && record.uri.is_none() && defaults.uri.is_some() {
        let fault =
            Fault::new("invalid_record", "--uri applies to one record, and this is a second one")
                .hint("give each record its own `uri`");
        return Err(located(piece.line, fault));
    }
    let record = defaults.fill(record);
    record.check().map_err(|error| at(error.into()))?;
    Ok(record)
}

impl Answer {
    /// What was committed; nothing when all of it was there already.
    pub(super) fn done(&self) -> Option<Done> {
        match self {
            Answer::One(put, _) => Some(Done::put(put)),
            Answer::Many(tally) => many_done(tally),
        }
    }
}

/// That many records were committed.
pub(super) fn many_done(tally: &Tally) -> Option<Done> {
    let last = tally.last_sequence;
    let what =
        format!("stored {}, up to #{last}", counted(tally.record_count - tally.held, "record"));
    (tally.commit_count > 0).then(|| Done::new(what).field("sequence", last))
}

/// A bulk put under way.
pub(super) struct Bulk<'a> {
    app: &'a mut App,
    defaults: Arc<Defaults>,
    batch_records_max: usize,
    batch_bytes_max: usize,
    each: bool,
    when: Option<EmbedWhen>,
    path: PathBuf,
    turn: Turn,
    batch: Vec<NewRecord>,
    /// The line that each of them begins on.
    batch_lines: Vec<u64>,
    batch_bytes: usize,
    /// Line that the batch begins on: where to go on when it is lost.
    batch_line: u64,
    /// Line after the newest record of the batch.
    next_line: u64,
    tally: Tally,
    first: Option<Put>,
    /// Sequence of the first record that was written.
    first_new: Option<u64>,
    /// For a single record another that holds the same text.
    same: Option<Uri>,
    /// What is stored only under a condition.
    rules: Rules,
    /// Whether all are stored in one commit, or none.
    atomic: bool,
    /// Why the first lines that are not records are none, and how many there are in all.
    refused: Vec<CliError>,
    refused_count: u64,
    /// Vectors that were made ahead, when everything fitted one small commit.
    ahead: Option<Ahead>,
    progress: Progress,
}

impl<'a> Bulk<'a> {
    pub(super) fn new(
        app: &'a mut App,
        defaults: &Arc<Defaults>,
        args: &args::Put,
    ) -> Result<Bulk<'a>> {
        let path = app.capsule()?;
        let progress = Progress::new("remembering records", &app.out);
        Ok(Bulk {
            app,
            defaults: defaults.clone(),
            batch_records_max: if args.atomic { BATCH_RECORDS_MAX } else { args.batch },
            batch_bytes_max: BATCH_BYTES_MAX,
            each: args.each,
            when: args.embed,
            path,
            turn: Turn::default(),
            batch: Vec::new(),
            batch_lines: Vec::new(),
            batch_bytes: 0,
            batch_line: 1,
            next_line: 1,
            tally: Tally::default(),
            first: None,
            first_new: None,
            same: None,
            rules: Rules::of(args),
            atomic: args.atomic,
            refused: Vec::new(),
            refused_count: 0,
            ahead: None,
            progress,
        })
    }

    pub(super) fn run(mut self) -> Result<Stored> {
        let backlog = Arc::new(Backlog::default());
        let run_records = self.batch_records_max.min(PARSED_RECORDS);
        let parsed = parse_ahead(self.defaults.clone(), run_records, backlog.clone())?;
        match self.store_all(&parsed, &backlog) {
            Ok(_) if self.stores_none() => Err(self.refusal_of_all()),
            Ok(0) if !self.refused.is_empty() => {
                let first = self.refused.swap_remove(0);
                Err(self.where_to_go_on(first))
            }
            Ok(0) if self.system_lines() == 0 => {
                Err(CliError::user("empty_input", "standard input contains no records"))
            }
            Ok(_) if !self.refused.is_empty() => Err(self.refusal()),
            Ok(_) => Ok(self.stored()),
            Err(error) => Err(self.where_to_go_on(error)),
        }
    }

    /// Stores every record that was parsed. Returns how many there were.
    fn store_all(
        &mut self,
        parsed: &Receiver<Result<Vec<Parsed>>>,
        backlog: &Backlog,
    ) -> Result<u64> {
        let mut seen = 0;
        for run in parsed {
            for Parsed { line, bytes, record } in run? {
                let record = match record {
                    Ok(record) => record,
                    Err(error) => {
                        self.refuse(error);
                        continue;
                    }
                };
                seen += 1;
                backlog.remove(bytes);
                self.make_room(bytes)?;
                if self.batch.is_empty() {
                    self.batch_line = line;
                }
                self.next_line = line + 1;
                self.batch_bytes += bytes;
                self.batch.push(record);
                self.batch_lines.push(line);
                if self.batch.len() >= self.batch_records_max && !self.atomic {
                    self.commit()?;
                }
            }
        }
        self.commit_last()?;
        Ok(seen)
    }

    /// Commits the batch when the next record would make it too large.
    fn make_room(&mut self, next_bytes: usize) -> Result<()> {
        let full = self.batch.len() >= self.batch_records_max
            || self.batch_bytes + next_bytes > self.batch_bytes_max;
        match full {
            true if self.atomic => Err(CliError::user(
                "too_large",
                format!("one commit holds at most {BATCH_RECORDS_MAX} records of 64 MiB in all"),
            )
            .hint("put them in parts, or without --atomic")),
            true => self.commit(),
            false => Ok(()),
        }
    }

    fn refuse(&mut self, error: CliError) {
        self.refused_count += 1;
        if self.refused.len() < REFUSED_NAMED_MAX {
            self.refused.push(error);
        }
    }

    /// Whether nothing is stored since all are wanted and one was refused.
    fn stores_none(&self) -> bool {
        self.atomic && self.refused_count > 0
    }

    /// Commits what is left. When that is all there is and little, it gets its vectors in the same
    /// commit.
    fn commit_last(&mut self) -> Result<()> {
        let is_all = self.tally.record_count == 0 && self.turn.is_free();
        let is_small = is_small_put(self.batch.iter().map(|record| record.text.as_str()));
        if self.stores_none() {
            return Ok(());
        }
        if self.batch.is_empty() || !is_all || !is_small {
            return self.commit();
        }
        let known = self.known()?;
        if self.stores_none() {
            return Ok(());
        }
        if known.new.is_empty() {
            return self.stored_batch(known.kept);
        }
        let (mut puts, ahead) =
            put_small(self.app, &self.path, &self.defaults, self.when, known.new)?;
        self.ahead = Some(ahead);
        puts.extend(known.kept);
        self.stored_batch(puts)
    }

    /// The batch, beside what is there already.
    fn known(&mut self) -> Result<Known> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let lines = std::mem::take(&mut self.batch_lines);
        let mut known = Known::of(self.app, batch, self.rules)?;
        for (at, error) in known.refused.drain(..) {
            let line = lines[at];
            let message = format!("line {line}: {}", error.message);
            self.refuse(CliError { message, ..error }.field("line", line));
        }
        self.tally.unchanged += known.passed_over;
        self.tally.record_count += known.passed_over;
        let same = known.same_text.iter().flatten().count() as u64;
        if same > 0 {
            *self.tally.same_text.get_or_insert(0) += same;
        }
        self.same = known.same_text.first_mut().and_then(Option::take);
        Ok(known)
    }

    /// The first line that is refused, with a message that names all of them.
    fn first_refused(&mut self) -> CliError {
        let mut all = self.refused.drain(..);
        let first = all.next().expect("a line was refused");
        let mut message = first.message.clone();
        for other in all {
            message = format!("{message}; {}", other.message);
        }
        let named = (REFUSED_NAMED_MAX as u64).min(self.refused_count);
        if self.refused_count > named {
            message = format!("{message}; and {} more", self.refused_count - named);
        }
        CliError { message, ..first }
    }

    /// What is said when nothing is stored, since all were wanted.
    fn refusal_of_all(mut self) -> CliError {
        let first = self.first_refused();
        let advice = first.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
        let hint =
            format!("{advice}nothing was stored: mend these lines and put all of them again");
        first.hint(hint).field("committed", 0).field("refused_count", self.refused_count)
    }

    /// What is said of lines that are not records, when the others are stored.
    fn refusal(mut self) -> CliError {
        let first = self.first_refused();
        let go_on = self.next_line;
        let done = many_done(&self.tally);
        let stored = self.tally.record_count;
        let advice = first.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
        let hint = format!(
            "{advice}{} stored; mend these lines and put them again; the rest goes on from line \
            {go_on}",
            counted(stored, "record")
        );
        let error = first
            .hint(hint)
            .field("committed", stored)
            .field("refused_count", self.refused_count)
            .field("resume_line", go_on);
        // Their vectors are made all the same; what failed there is said by a warning.
        drop(self.stored());
        after(done, error)
    }

    fn commit(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let known = self.known()?;
        if self.stores_none() {
            return Ok(());
        }
        if known.new.is_empty() {
            return self.stored_batch(known.kept);
        }
        let writer = self.turn.writer(self.app, &self.path, &self.defaults)?;
        let mut puts = writer.put_many(known.new)?;
        puts.extend(known.kept);
        self.turn.let_others_write();
        self.stored_batch(puts)
    }

    fn stored_batch(&mut self, puts: Vec<Put>) -> Result<()> {
        self.tally.count(&puts);
        self.progress.set(self.tally.record_count, None);
        // Whoever goes on must not store these again.
        self.batch_line = self.next_line;
        if self.each {
            self.tell_each(&puts).map_err(|error| after(many_done(&self.tally), error))?;
        }
        let mut new = puts.iter().filter(|put| put.change != Change::Unchanged);
        self.first_new = self.first_new.or_else(|| Some(new.next()?.sequence));
        if self.first.is_none() {
            self.first = puts.into_iter().next();
        }
        Ok(())
    }

    fn tell_each(&mut self, puts: &[Put]) -> Result<()> {
        puts.iter().try_for_each(|put| tell_one(&mut self.app.out, put))?;
        // Whoever feeds the pipe learns of each commit when it is durable, not when a buffer is
        // full.
        self.app.out.flush()
    }

    fn system_lines(&self) -> u64 {
        self.defaults.system_lines.load(Ordering::Relaxed)
    }

    fn stored(mut self) -> Stored {
        // Whoever makes the vectors takes the lock, too.
        self.turn.end();
        let embedding = match (self.ahead.take(), self.first_new) {
            (Some(ahead), _) => ahead.report(self.app),
            (None, Some(first)) => New::since(self.when, first).end(self.app),
            (None, None) => None,
        };
        Stored { answer: self.answer(), embedding }
    }

    fn answer(mut self) -> Answer {
        let passed_over = self.system_lines();
        self.tally.skipped = (passed_over > 0).then_some(passed_over);
        let Bulk { app, tally, first, same, each, progress, .. } = self;
        drop(progress);
        if passed_over > 0 {
            let lines = counted(passed_over, "line");
            let message = format!(
                "skipped {lines} of aliases, checkpoints and events: only their own capsule can hold them"
            );
            app.out.warn("lines_skipped", &message);
        }
        match first {
            Some(put) if tally.record_count == 1 && !each && passed_over == 0 => {
                let same = same.filter(|_| put.change == Change::Added);
                Answer::One(put, same)
            }
            _ => Answer::Many(tally),
        }
    }

    /// Adds what is stored and where to go on. `batch_line` is still that of the batch that was
    /// lost.
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
