//! `memory_read`: one record, its text in parts where it is long, and its earlier revisions.

use kapsa_memory::tokens::first_bytes;
use kapsa_memory::{AnyReader, Error, Record, Uri};

use crate::fit::{self, TEXT_BYTES_MAX};
use crate::host::Problem;
use crate::memory::{Memory, Session};
use crate::searching::{self, from};
use crate::shown;
use crate::wire::{ReadIn, ReadOut, RevisionOut};

/// Prefix of the addresses under which records are resources.
pub(crate) const RECORDS: &str = "kapsa://record/";

/// Most revisions of an answer.
const REVISIONS_MAX: usize = 50;

/// `memory_read`.
pub(crate) fn read(memory: &Memory, session: &Session, args: &ReadIn) -> Result<ReadOut, Problem> {
    let uri = uri(memory, &args.uri)?;
    let place = memory.place(session, args.branch.as_deref())?;
    let as_of = args.as_of.as_deref().map(|as_of| memory.host().as_of(as_of));
    let reader = memory.reader(&place, as_of.as_ref())?;
    let record = get(memory, &reader, &uri)?;
    let start = usize::try_from(args.offset.unwrap_or_default()).unwrap_or(usize::MAX);
    let rest = record.text.get(start..).ok_or_else(|| {
        let message =
            format!("offset {start} is not within the text of {} bytes", record.text.len());
        Problem::new("invalid_argument", message).hint("give next_offset as it was")
    })?;
    let text = fitting(rest);
    let end = start + text.len();
    let mut history = args.history.then(|| history(memory, &reader, &uri)).transpose()?;
    let mut left_out = 0;
    if let Some((revisions, more)) = &mut history {
        left_out = fit::keep(revisions) + *more;
    }
    Ok(ReadOut {
        notice: shown::NOTICE,
        head: searching::head(memory, &record, searching::moment(memory, as_of.as_ref())),
        text: shown::body(text),
        next_offset: (end < record.text.len()).then_some(end as u64),
        text_bytes: record.text.len() as u64,
        conflicts_with: record.conflicts_with.clone(),
        history: history.map(|(revisions, _)| revisions),
        left_out: left_out as u64,
    })
}

/// The beginning of a text that fits an answer as it is shown: escapes take more room than what
/// they stand for.
fn fitting(text: &str) -> &str {
    let mut part = first_bytes(text, TEXT_BYTES_MAX);
    while serde_json::Value::from(shown::body(part)).to_string().len() > TEXT_BYTES_MAX + 2 {
        part = first_bytes(part, part.len() / 2);
    }
    part
}

/// A record; where there is none, the hint names how to find it.
pub(crate) fn get(memory: &Memory, reader: &AnyReader, uri: &Uri) -> Result<Record, Problem> {
    reader.get(uri).map_err(|error| {
        let is_missing = matches!(error, Error::UriNotFound { .. });
        let problem = memory.problem(error);
        if is_missing {
            problem.hint("memory_search and memory_timeline give the URIs of records")
        } else {
            problem
        }
    })
}

fn history(
    memory: &Memory,
    reader: &AnyReader,
    uri: &Uri,
) -> Result<(Vec<RevisionOut>, usize), Problem> {
    let failed = |error| memory.problem(error);
    let revisions = reader.revisions(uri).map_err(failed)?;
    let more = revisions.len().saturating_sub(REVISIONS_MAX);
    let newest = revisions.rev().take(REVISIONS_MAX).map(|record| {
        record.map(|record| RevisionOut {
            sequence: record.sequence,
            committed_at: memory.host().shown_time(record.committed_at),
            from: from(&record),
            forgotten: record.tombstone,
            beginning: shown::beginning(&record.text),
        })
    });
    let newest: kapsa_memory::Result<Vec<RevisionOut>> = newest.collect();
    Ok((newest.map_err(failed)?, more))
}

/// A URI as a model writes it: short, canonical, or the address of a resource.
pub(crate) fn uri(memory: &Memory, text: &str) -> Result<Uri, Problem> {
    let text = text.trim();
    let uri = Uri::parse(text.strip_prefix(RECORDS).unwrap_or(text));
    let uri = uri.map_err(|error| memory.problem(error))?;
    if uri.is_pending() {
        // What waits for review is shown to whoever reviews.
        return Err(memory.problem(Error::UriNotFound { uri: uri.to_string() }));
    }
    Ok(uri)
}
