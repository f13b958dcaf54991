//! What a put brings that the capsule has already: the same text under another name, and revisions
//! that have been replaced since they were exported. Looked up before anything is written.

use kapsa_memory::NewRecord;
use kapsa_memory::request::{Change, Put};
use kapsa_memory::{Error, Uri};

use crate::app::{AnyReader, App};
use crate::error::Result;
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
}

impl Known {
    /// Compares records with what is there; with `if_new` leaves out what has the text of another.
    pub(super) fn of(app: &mut App, records: Vec<NewRecord>, if_new: bool) -> Result<Known> {
        let compares = if_new || records.len() <= COMPARED_MAX;
        let is_exported = |record: &NewRecord| record.uri.is_some() && record.created_at.is_some();
        if !compares && !records.iter().any(is_exported) {
            let same_text = records.iter().map(|_| None).collect();
            return Ok(Known { new: records, same_text, ..Known::default() });
        }
        let reader = app.reader()?;
        let (mut known, mut stale) = (Known::default(), Vec::new());
        for record in records {
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
