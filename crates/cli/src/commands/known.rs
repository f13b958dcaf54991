//! What a put brings that the capsule has already: the same text under another name, and revisions
//! that have been replaced since they were exported. Looked up before anything is written.

use std::collections::HashMap;

use kapsa_memory::request::{Change, Put};
use kapsa_memory::{Error, Micros, NewRecord, Record, Uri};

use crate::app::{AnyReader, App};
use crate::args::{self, OnConflict};
use crate::error::{CliError, Result};
use crate::render::counted;

/// Most texts of one call that are compared with what is there; of larger puts only those are that
/// must be new.
const COMPARED_MAX: usize = 64;
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
    /// How many were passed over since another record of the same call has their URI.
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
        let is_exported = |record: &NewRecord| {
            record.uri.is_some()
                && record.created_at.is_some()
                && on_conflict != Some(OnConflict::Replace)
        };
        let is_ruled = on_conflict.is_some_and(|how| how != OnConflict::Replace);
        if !compares && !is_ruled && !records.iter().any(is_exported) {
            let same_text = records.iter().map(|_| None).collect();
            return Ok(Known { new: records, same_text, ..Known::default() });
        }
        let reader = app.reader()?;
        let (mut known, mut stale) = (Known::default(), Vec::new());
        let mut before: HashMap<Uri, Option<Micros>> = HashMap::new();
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
            if is_exported(&record) && is_stale(&reader, &record)? {
                stale.extend(record.uri);
                continue;
            }
            let same = if compares { reader.same_text(&record.text)? } else { None };
            let same = same.filter(|same| record.uri.as_ref() != Some(&same.uri));
            match same {
                Some(same) if if_new => known.kept.push(Put {
                    uri: same.uri,
                    sequence: same.sequence,
                    change: Change::Unchanged,
                }),
                same => {
                    known.same_text.push(same.map(|same| same.uri));
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
            (_, Taken::Stored(stored)) => self.kept.push(Put {
                uri: stored.uri,
                sequence: stored.sequence,
                change: Change::Unchanged,
            }),
            (_, Taken::Before(_)) => self.passed_over += 1,
        }
        false
    }
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

/// Whether a record is an earlier revision of its URI, as an older export brings it.
fn is_stale(reader: &AnyReader, record: &NewRecord) -> Result<bool> {
    let Some(uri) = &record.uri else { return Ok(false) };
    let newest = match reader.get(uri) {
        Ok(newest) => newest,
        Err(Error::UriNotFound { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if newest.text == record.text || Some(newest.created_at) <= record.created_at {
        return Ok(false);
    }
    let is_same = |old: &kapsa_memory::Record| {
        old.text == record.text && Some(old.created_at) == record.created_at
    };
    for revision in reader.revisions(uri)? {
        if is_same(&revision?) {
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
