//! What a put brings that the capsule has already: a record that is there as it is, the same text
//! under another name, and revisions that have been replaced since they were exported. Looked up
//! before anything is written.

use std::collections::{HashMap, HashSet};

use kapsa_memory::record::KIND_DEFAULT;
use kapsa_memory::request::{Change, Filter, Put, TimelineRequest};
use kapsa_memory::{EXPORT_RECORDS_MAX, Error, Micros, NewRecord, Record, Trust, Uri};

use crate::app::{AnyReader, App};
use crate::args::{self, OnConflict};
use crate::error::{CliError, Result};
use crate::render::counted;

/// Kind of the records that have the content of a file.
pub(super) const FILE_KIND: &str = "file";
/// Most texts of one call that are compared with what is there; of larger puts only those are that
/// must be new.
const COMPARED_MAX: usize = 64;
/// Most files that one is compared with.
const FILES_COMPARED_MAX: usize = EXPORT_RECORDS_MAX;
/// Most names that a message lists.
const NAMED_MAX: usize = 3;

/// What is to be put, looked at beside what is there.
#[derive(Default)]
pub(super) struct Known {
    /// What is left to be written.
    pub(super) new: Vec<NewRecord>,
    /// What is there already and is not to be put again.
    pub(super) kept: Vec<Put>,
    /// For each of `new` the record that holds the same text.
    pub(super) same_text: Vec<Option<Uri>>,
    /// How many were passed over since another record of the same call has their URI, or their text
    /// where only what is new is wanted.
    pub(super) passed_over: u64,
    /// Those whose URI is taken, by their place among what was given, and why they are refused.
    pub(super) refused: Vec<(usize, CliError)>,
}

/// What is put only under a condition.
#[derive(Clone, Copy, Default)]
pub(super) struct Rules {
    /// Whether what has the text of another record is left out.
    pub(super) if_new: bool,
    /// What becomes of a record whose URI is taken.
    pub(super) on_conflict: Option<OnConflict>,
}

impl Rules {
    /// Those of a call.
    pub(super) fn of(args: &args::Put) -> Rules {
        Rules { if_new: args.if_new, on_conflict: args.on_conflict }
    }
}

/// Refuses what is for records where documents are put.
pub(super) fn refuse_documents(args: &args::Put) -> Result<()> {
    if !args.atomic && args.on_conflict.is_none() {
        return Ok(());
    }
    Err(CliError::usage("--atomic and --on-conflict are for records, not documents")
        .hint("give the records as JSON on standard input"))
}

/// What is under a URI already.
enum Taken {
    /// A record of the capsule.
    Stored(Box<Record>),
    /// A record of the same call, and when it was created, where it says so.
    Before(Option<Micros>),
}

impl Known {
    /// As [`Known::of`], for one record, which may be refused.
    pub(super) fn one(app: &mut App, record: NewRecord, args: &args::Put) -> Result<Known> {
        let mut known = Known::of(app, vec![record], Rules::of(args))?;
        known.refused.pop().map_or(Ok(known), |(_, error)| Err(error))
    }

    /// Compares records with what is there, and leaves out what the rules say.
    pub(super) fn of(app: &mut App, records: Vec<NewRecord>, rules: Rules) -> Result<Known> {
        let Rules { if_new, on_conflict } = rules;
        let compares = if_new || records.len() <= COMPARED_MAX;
        let is_named = |record: &NewRecord| record.uri.is_some();
        let is_exported = |record: &NewRecord| {
            record.uri.is_some()
                && record.created_at.is_some()
                && on_conflict != Some(OnConflict::Replace)
        };
        let is_ruled = on_conflict.is_some_and(|how| how != OnConflict::Replace);
        if !compares && !records.iter().any(is_named) {
            let same_text = records.iter().map(|_| None).collect();
            return Ok(Known { new: records, same_text, ..Known::default() });
        }
        let reader = app.reader()?;
        let (mut known, mut stale) = (Known::default(), Vec::new());
        let mut before: HashMap<Uri, Option<Micros>> = HashMap::new();
        let (mut given, mut texts) = (HashSet::new(), HashSet::new());
        let mut revisions = HashMap::new();
        for (at, record) in records.into_iter().enumerate() {
            if let Some(how) = on_conflict.filter(|_| is_ruled)
                && let Some(taken) = taken(&reader, &before, &record)?
                && !known.admits(how, at, &record, taken)
            {
                continue;
            }
            if is_ruled && let Some(uri) = &record.uri {
                before.insert(uri.clone(), record.created_at);
            }
            if is_exported(&record) && is_stale(&reader, &mut revisions, &record)? {
                stale.extend(record.uri);
                continue;
            }
            // What the same call puts there before is what this one would change.
            let is_first = record.uri.as_ref().is_none_or(|uri| !given.contains(uri));
            if is_first && let Some(put) = unchanged(app, &reader, &record, if_new)? {
                known.kept.push(put);
                continue;
            }
            let same = if compares { reader.same_text(&record.text)? } else { None };
            match same {
                Some(same) if if_new => known.kept.push(kept(&same)),
                None if if_new && !texts.insert(record.text.trim().to_string()) => {
                    known.passed_over += 1;
                }
                same => {
                    given.extend(record.uri.clone());
                    let same = same.map(|same| same.uri);
                    known.same_text.push(same.filter(|same| record.uri.as_ref() != Some(same)));
                    known.new.push(record);
                }
            }
        }
        tell_stale(app, &stale);
        Ok(known)
    }

    /// Whether a record is put although its URI is taken. What becomes of it otherwise is noted.
    fn admits(&mut self, how: OnConflict, at: usize, record: &NewRecord, taken: Taken) -> bool {
        // What says nothing of its time is of now.
        let is_newer = |there: Option<Micros>| match (record.created_at, there) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(given), Some(there)) => given > there,
        };
        let there = match &taken {
            Taken::Stored(stored) => Some(stored.created_at),
            Taken::Before(created_at) => *created_at,
        };
        match (how, taken) {
            (OnConflict::Replace, _) => return true,
            (OnConflict::Newer, _) if is_newer(there) => return true,
            (OnConflict::Fail, _) => {
                let uri = record.uri.as_ref().map_or("", Uri::short);
                let error = CliError::user("exists", format!("{uri} already holds another text"))
                    .hint("--on-conflict newer, skip or replace decides what becomes of it");
                self.refused.push((at, error));
            }
            (_, Taken::Stored(stored)) => self.kept.push(kept(&stored)),
            (_, Taken::Before(_)) => self.passed_over += 1,
        }
        false
    }
}

/// What is said of a record that stays as it is.
fn kept(there: &Record) -> Put {
    Put { uri: there.uri.clone(), sequence: there.sequence, change: Change::Unchanged }
}

/// What is there under the URI of a record, if nothing would change; for a put of what is new, if
/// no text would.
pub(super) fn unchanged(
    app: &App,
    reader: &AnyReader,
    record: &NewRecord,
    if_new: bool,
) -> Result<Option<Put>> {
    let Some(uri) = &record.uri else { return Ok(None) };
    let there = match reader.get(uri) {
        Ok(there) => there,
        Err(Error::UriNotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let of_writer = match reader {
        AnyReader::Owner(_) => app.write_options(None).provenance.trust,
        AnyReader::Principal(_) => Trust::Principal,
    };
    let trust = record.trust.map_or(of_writer, |trust| trust.min(of_writer));
    let is_same = match if_new {
        true => says_the_same(&there, record),
        // Who is trusted more vouches for it, and who says it again decides what is contested.
        false => {
            is_same(&there, record)
                && there.provenance.trust >= trust
                && there.conflicts_with.is_empty()
        }
    };
    Ok((is_same && !there.system).then(|| kept(&there)))
}

/// Whether two records hold the same text, or the same file.
fn says_the_same(there: &Record, new: &NewRecord) -> bool {
    match (&there.content, &new.content) {
        (Some(there), Some(new)) => there.hash() == new.hash(),
        (None, None) => there.text.trim() == new.text.trim(),
        _ => false,
    }
}

/// Whether a record would be put as it is there. Time, confidence and level stay where the new one
/// names none.
fn is_same(there: &Record, new: &NewRecord) -> bool {
    let there = there.as_new();
    let kind = if new.kind.is_empty() { KIND_DEFAULT } else { &new.kind };
    let kept = NewRecord {
        uri: new.uri.clone(),
        trust: new.trust,
        created_at: new.created_at.and(there.created_at),
        confidence: new.confidence.and(there.confidence),
        access: new.access.as_ref().and(there.access.clone()),
        ..there
    };
    kept == NewRecord { kind: kind.to_string(), ..new.clone() }
}

/// The record of another name that holds the same file, where one does.
pub(super) fn same_file(reader: &AnyReader, record: &NewRecord) -> Result<Option<Put>> {
    let kinds = vec![FILE_KIND.to_string(), record.kind.clone()];
    let filter = Filter { kinds, ..Filter::default() };
    let request =
        TimelineRequest { filter, limit: FILES_COMPARED_MAX, ..TimelineRequest::default() };
    for there in reader.list(&request)? {
        let there = there?;
        if says_the_same(&there, record) {
            return Ok(Some(kept(&there)));
        }
    }
    Ok(None)
}

/// The passages of a document without those whose text another record holds already, and what is
/// said of these.
pub(super) fn new_passages(
    app: &App,
    reader: &AnyReader,
    passages: Vec<NewRecord>,
) -> Result<(Vec<NewRecord>, Vec<Put>)> {
    let (mut new, mut left_out) = (Vec::new(), Vec::new());
    for passage in passages {
        // What the document has there already is no other record.
        let same = match unchanged(app, reader, &passage, true)? {
            Some(_) => None,
            None => reader.same_text(&passage.text)?,
        };
        match same {
            Some(same) => left_out.push(kept(&same)),
            None => new.push(passage),
        }
    }
    Ok((new, left_out))
}

/// What holds another text under the URI of a record.
fn taken(
    reader: &AnyReader,
    before: &HashMap<Uri, Option<Micros>>,
    record: &NewRecord,
) -> Result<Option<Taken>> {
    let Some(uri) = &record.uri else { return Ok(None) };
    if let Some(created_at) = before.get(uri) {
        return Ok(Some(Taken::Before(*created_at)));
    }
    match reader.get(uri) {
        Ok(there) if there.text == record.text => Ok(None),
        Ok(there) => Ok(Some(Taken::Stored(Box::new(there)))),
        Err(Error::UriNotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The revisions of some URIs by the times at which they came about.
type Revisions = HashMap<Uri, HashMap<Micros, Vec<u64>>>;

/// Whether a record is an earlier revision of its URI, as an older export brings it. The revisions
/// of a URI are listed once.
fn is_stale(reader: &AnyReader, known: &mut Revisions, record: &NewRecord) -> Result<bool> {
    let Some(uri) = &record.uri else { return Ok(false) };
    let newest = match reader.get(uri) {
        Ok(newest) => newest,
        Err(Error::UriNotFound { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if newest.text == record.text || Some(newest.created_at) <= record.created_at {
        return Ok(false);
    }
    if !known.contains_key(uri) {
        let mut by_time: HashMap<Micros, Vec<u64>> = HashMap::new();
        for revision in reader.revisions(uri)? {
            let revision = revision?;
            by_time.entry(revision.created_at).or_default().push(revision.sequence);
        }
        known.insert(uri.clone(), by_time);
    }
    let then = record.created_at.and_then(|at| known.get(uri)?.get(&at));
    for &sequence in then.into_iter().flatten() {
        if reader.record(sequence)?.text == record.text {
            return Ok(true);
        }
    }
    Ok(false)
}

fn tell_stale(app: &mut App, stale: &[Uri]) {
    if stale.is_empty() {
        return;
    }
    let mut names: Vec<&str> = stale.iter().take(NAMED_MAX).map(Uri::short).collect();
    if stale.len() > NAMED_MAX {
        names.push("others");
    }
    let message = format!(
        "skipped {} older than what is stored: {}",
        counted(stale.len() as u64, "revision"),
        names.join(", ")
    );
    app.out.warn("older_skipped", &message);
}
