//! `memory_write` and `memory_forget`.

use kapsa_memory::request::{Change, Put};
use kapsa_memory::{
    AnyWriter, Error, NewRecord, NewVectors, Record, UnlockedWriter, Uri, is_small_put,
};

use crate::host::Problem;
use crate::memory::{Memory, Place, Progress, Session};
use crate::wire::{ForgetIn, WriteIn, WrittenOut};
use crate::{reading, shown};

/// Said of what has no vector.
const UNEMBEDDED: &str =
    "it is found by words; ask the user to run `kapsa embed`, so that it is found by meaning too";
/// Said of what was forgotten.
const FORGOTTEN: &str =
    "its history stays; ask the user to run `kapsa purge` if it must be erased for good";

/// Kind of what is compared with what is known when it comes.
const FACT: &str = "fact";
/// First parts of names by which the memory rules itself.
const OWN_NAMES: [&str; 4] = ["access", "clearance", "kapsa", "policy"];
/// First part of the names of files of the memory tool, which looks for files alone there.
const FILES: &str = "memories";
/// Kinds of what the memory writes itself.
const OWN_KINDS: [&str; 11] = [
    "access",
    "audit",
    "clearance",
    "event",
    "pending",
    "policy",
    "review",
    "trace_file",
    "trace_job",
    "trace_note",
    "trace_session",
];

/// `memory_write`. What is there already is looked at again once it is this call's turn, so
/// that nothing is overwritten that was not asked for.
pub(crate) fn put(
    memory: &Memory,
    session: &Session,
    args: WriteIn,
    progress: &dyn Progress,
) -> Result<WrittenOut, Problem> {
    let place = memory.place(session, args.branch.as_deref())?;
    let (overwrite, expected) = (args.overwrite, args.expected_sequence);
    if expected.is_some() && !overwrite {
        let message = "expected_sequence is for a record that is revised";
        return Err(Problem::new("invalid_argument", message).hint("say overwrite: true as well"));
    }
    let record = new_record(memory, session, args)?;
    let uri = record.uri.clone();
    let text = record.text.clone();
    let seen = match &uri {
        Some(uri) => may_write(memory, &place, uri, overwrite, expected)?,
        None => None,
    };
    let filled = [kept(record.clone(), seen.as_ref())];
    let mut notes = Vec::new();
    let (put, has_vectors) = memory.write(
        &place,
        progress,
        |unlocked| Ok(vectors(memory, unlocked, &filled, &mut notes)),
        |writer, vectors| {
            let known = match &uri {
                Some(uri) => may_write(memory, &place, uri, overwrite, expected)?,
                None => None,
            };
            let is_as_seen = known.as_ref().map(|known| known.sequence)
                == seen.as_ref().map(|seen| seen.sequence);
            let put = match vectors {
                Some(vectors) if is_as_seen => writer.put_embedded(filled.to_vec(), vectors),
                _ => writer.put_many(vec![kept(record, known.as_ref())]).map(|puts| (puts, false)),
            };
            let (mut puts, has_vectors) = put.map_err(|error| memory.problem(error))?;
            Ok((puts.remove(0), has_vectors))
        },
    )?;
    if !has_vectors && !matches!(put.change, Change::Unchanged | Change::Held) {
        notes.push(UNEMBEDDED.to_string());
    }
    Ok(written(memory, &place, &put, Some(&text), notes))
}

fn new_record(memory: &Memory, session: &Session, args: WriteIn) -> Result<NewRecord, Problem> {
    if args.text.trim().is_empty() {
        return Err(Problem::new("invalid_argument", "text is empty"));
    }
    if let Some(confidence) = args.confidence
        && !(0.0..=1.0).contains(&confidence)
    {
        let message = format!("confidence is {confidence}, not 0 to 1");
        return Err(Problem::new("invalid_argument", message));
    }
    let own = args.tags.iter().flatten().find(|(name, _)| name.starts_with("kapsa."));
    if let Some((name, _)) = own {
        let message = format!("the tag {name} is the memory's own");
        return Err(Problem::new("invalid_argument", message));
    }
    let agent = match (memory.host().principal(), args.agent) {
        (Some(principal), Some(agent)) if agent != principal => {
            let message = format!("agent: {principal} writes in its own name only");
            return Err(Problem::new("access_denied", message).hint("leave it out"));
        }
        (Some(principal), _) => principal.to_string(),
        (None, agent) => agent.unwrap_or_else(|| session.client.clone()),
    };
    let record = NewRecord {
        uri: args.uri.as_deref().map(|uri| reading::uri(memory, uri)).transpose()?,
        title: args.title.unwrap_or_default(),
        kind: args.kind.unwrap_or_default(),
        tags: args.tags.unwrap_or_default(),
        entity: args.entity.unwrap_or_default(),
        domain: args.domain.unwrap_or_default(),
        agent,
        confidence: args.confidence,
        ..NewRecord::text(args.text)
    };
    record.check().map_err(|error| memory.problem(error))?;
    if let Some(uri) = &record.uri {
        refuse_own(uri)?;
        if uri.short().split('/').next() == Some(FILES) {
            let message = format!("uri: {FILES}/… holds the files of the memory tool");
            return Err(Problem::new("access_denied", message).hint("leave it out"));
        }
    }
    if OWN_KINDS.contains(&record.kind.as_str()) {
        let message = format!("kind: {} is the memory's own", record.kind);
        return Err(Problem::new("access_denied", message).hint("leave it out, or name another"));
    }
    Ok(record)
}

/// The vectors of a small record, made while nobody waits; without a model it is found by
/// words.
fn vectors(
    memory: &Memory,
    unlocked: &UnlockedWriter,
    records: &[NewRecord],
    notes: &mut Vec<String>,
) -> Option<NewVectors> {
    if !is_small_put(records.iter().map(|record| record.text.as_str())) {
        return None;
    }
    let made = unlocked.model().map_err(|error| memory.problem(error)).and_then(|model| {
        let embedder = memory.embedder(model.as_ref())?;
        unlocked.embed(records, embedder.as_ref()).map_err(|error| memory.problem(error))
    });
    made.map_err(|problem| notes.push(format!("no vector: {}", problem.message))).ok()
}

/// What is there now; refuses to overwrite what was not asked for, or what somebody has changed
/// since.
fn may_write(
    memory: &Memory,
    place: &Place,
    uri: &Uri,
    overwrite: bool,
    expected: Option<u64>,
) -> Result<Option<Record>, Problem> {
    let reader = memory.reader(place, None)?;
    let known = match reader.get(uri) {
        Ok(known) => known,
        Err(Error::UriNotFound { .. }) if expected.is_some() => {
            let message = format!("{} is no longer there", uri.short());
            return Err(Problem::new("changed", message)
                .hint("leave overwrite and expected_sequence out to write it anew"));
        }
        Err(Error::UriNotFound { .. }) => return Ok(None),
        Err(error) => return Err(memory.problem(error)),
    };
    if !overwrite {
        return Err(exists(&known));
    }
    if known.kind == FACT {
        let message = format!("{} is a fact: another text is compared with it", uri.short());
        return Err(Problem::new("access_denied", message)
            .hint("propose what holds instead with memory_propose"));
    }
    match expected {
        Some(expected) if expected != known.sequence => {
            let message = format!(
                "{} was changed since #{expected}: it is #{} now",
                uri.short(),
                known.sequence
            );
            Err(Problem::new("changed", message).hint("read it again, then write"))
        }
        _ => Ok(Some(known)),
    }
}

/// `memory_forget`.
pub(crate) fn forget(
    memory: &Memory,
    session: &Session,
    args: &ForgetIn,
    progress: &dyn Progress,
) -> Result<WrittenOut, Problem> {
    let uri = reading::uri(memory, &args.uri)?;
    refuse_own(&uri)?;
    let place = memory.place(session, args.branch.as_deref())?;
    let agent = session.client.as_str();
    let (put, note) = memory.write(
        &place,
        progress,
        |_| Ok(()),
        |writer: &mut AnyWriter, ()| match writer.forget_by(&uri, agent) {
            Ok(put) => Ok((put, FORGOTTEN)),
            Err(error @ Error::UriNotFound { .. }) => match forgotten(memory, &place, &uri)? {
                Some(put) => Ok((put, "it was forgotten already")),
                None => Err(memory.problem(error).hint("memory_search gives the URIs of records")),
            },
            Err(error) => Err(memory.problem(error)),
        },
    )?;
    Ok(written(memory, &place, &put, None, vec![note.to_string()]))
}

/// What hides a record already: its tombstone. A principal is not told of any: it could be that of
/// something hidden.
fn forgotten(memory: &Memory, place: &Place, uri: &Uri) -> Result<Option<Put>, Problem> {
    if memory.host().principal().is_some() {
        return Ok(None);
    }
    let reader = memory.reader(place, None)?;
    let newest = match reader.revisions(uri) {
        Ok(revisions) => revisions.last().transpose(),
        Err(Error::UriNotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    let newest = newest.map_err(|error| memory.problem(error))?;
    Ok(newest.filter(|record| record.tombstone).map(|record| Put {
        uri: record.uri,
        sequence: record.sequence,
        change: Change::Unchanged,
    }))
}

/// What is answered, now that it is durable: whatever fails from here on fails nothing.
fn written(
    memory: &Memory,
    place: &Place,
    put: &Put,
    text: Option<&str>,
    mut notes: Vec<String>,
) -> WrittenOut {
    let same = match (put.change, text) {
        (Change::Added, Some(text)) => {
            same_text(memory, place, put, text).unwrap_or_else(|problem| {
                notes.push(format!("not compared with other texts: {}", problem.message));
                None
            })
        }
        _ => None,
    };
    if put.change == Change::Held {
        // It is stored: why it waits may stay unknown.
        let why = memory.why_held(place, &put.uri).unwrap_or_else(|problem| problem.message);
        notes.push(shown::message(&format!(
            "it waits for a review, and does not count before: {why}. Ask the user to decide with `kapsa review`"
        )));
    }
    WrittenOut {
        uri: put.uri.short().to_string(),
        sequence: put.sequence,
        change: change(put.change).to_string(),
        same_text: same,
        notes,
    }
}

/// Another record that holds the same text.
fn same_text(
    memory: &Memory,
    place: &Place,
    put: &Put,
    text: &str,
) -> Result<Option<String>, Problem> {
    let reader = memory.reader(place, None)?;
    let same = reader.same_text(text).map_err(|error| memory.problem(error))?;
    let same = same.filter(|same| same.uri != put.uri);
    Ok(same.map(|same| shown::line(same.uri.short())))
}

/// A record with what a revision does not say kept as it is known. Text, writer and time are the
/// revision's own.
fn kept(record: NewRecord, known: Option<&Record>) -> NewRecord {
    let Some(known) = known else { return record };
    let or = |new: String, old: &String| if new.is_empty() { old.clone() } else { new };
    NewRecord {
        title: or(record.title, &known.title),
        kind: or(record.kind, &known.kind),
        label: known.label.clone(),
        tags: if record.tags.is_empty() { known.tags.clone() } else { record.tags },
        metadata: known.metadata.clone(),
        entity: or(record.entity, &known.entity),
        domain: or(record.domain, &known.domain),
        confidence: record.confidence.or(known.confidence),
        ..record
    }
}

/// Refuses names by which the memory rules itself: who may read, what is reviewed, which policies
/// hold. A model changes none of it, whoever it acts for.
fn refuse_own(uri: &Uri) -> Result<(), Problem> {
    let first = uri.short().split('/').next().unwrap_or_default();
    if !OWN_NAMES.contains(&first) {
        return Ok(());
    }
    let message = format!("{} is the memory's own", shown::line(uri.short()));
    Err(Problem::new("access_denied", message)
        .hint("ask the user to change it with the kapsa command"))
}

fn exists(known: &Record) -> Problem {
    let message =
        format!("{} exists as #{}; nothing was written", known.uri.short(), known.sequence);
    Problem::new("exists", message).hint(format!(
        "read it first; overwrite: true with expected_sequence: {} revises it, another uri makes a new record",
        known.sequence
    ))
}

fn change(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Revised => "revised",
        Change::Unchanged => "unchanged",
        Change::Forgotten => "forgotten",
        Change::Held => "held",
    }
}
