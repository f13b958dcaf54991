//! `get`, `timeline`, `history` and `forget`: records by name and by time.

use kapsa_memory::request::{Put, TimelineRequest};
use kapsa_memory::{Record, Uri};

use crate::app::{self, AnyReader, App, did};
use crate::args::{Get, OneUri, Timeline};
use crate::commands::bytes::Bytes;
use crate::commands::{find, names, put};
use crate::error::{CliError, Done, Result};
use crate::render;
use crate::wire::record::HistoryOut;
use crate::wire::{RecordOut, Records};

/// `kapsa get`.
pub(crate) fn get(app: &mut App, args: &Get) -> Result<()> {
    if args.raw && app.out.is_json() {
        return Err(CliError::usage("--raw and --json cannot be combined"));
    }
    let uri = app::uri(&args.uri)?;
    let (reader, record) = match args.seq {
        Some(sequence) => {
            let reader = app.reader_when(&args.when)?;
            let record = revision_of(&uri, reader.record(sequence)?)?;
            (reader, record)
        }
        None => app.record(&uri, &args.when)?,
    };
    if args.raw && record.content.is_some() {
        Bytes::of(&reader, &record).print(app)
    } else if args.raw {
        app.out.exact(&record.text)
    } else if app.out.is_json() {
        let branch = reader.branch_of(&record)?;
        app.out.json(&RecordOut::whole(&record).on(&branch))
    } else {
        render::record(&mut app.out, &record)?;
        rivals(app, &reader, &record)
    }
}

/// Prints the other sides of a contested record.
fn rivals(app: &mut App, reader: &AnyReader, record: &Record) -> Result<()> {
    for sequence in &record.conflicts_with {
        let rival = reader.record(*sequence)?;
        app.out.text("\n")?;
        render::rival(&mut app.out, &rival, &reader.branch_of(&rival)?)?;
    }
    Ok(())
}

fn revision_of(uri: &Uri, record: Record) -> Result<Record> {
    if record.uri == *uri {
        return Ok(record);
    }
    let message = format!(
        "#{} is not a revision of {} but of {}",
        record.sequence,
        uri.short(),
        record.uri.short()
    );
    Err(CliError::user("no_such_revision", message)
        .hint(format!("kapsa history {} lists its revisions", uri.short()))
        .field("sequence", record.sequence))
}

/// `kapsa timeline`.
pub(crate) fn timeline(app: &mut App, args: Timeline) -> Result<()> {
    let newest = !args.oldest;
    // One more than is shown says whether there are more.
    let limit = args.limit.saturating_add(1);
    let asked = find::filter(args.filters);
    let filter = names::of_entities(app, &asked, &args.when)?;
    let request = TimelineRequest { filter, limit, reverse: newest };
    let reader = app.reader_when(&args.when)?;
    names::warn_unknown(app, &reader, &asked, &args.when)?;
    let mut listing = reader.list(&request)?;
    let more = listing.truncate(args.limit);
    let (count, width) = (listing.len(), width_of(listing.last_sequence()));
    let records: Box<dyn Iterator<Item = _>> =
        if newest == args.reverse { Box::new(listing) } else { Box::new(listing.rev()) };
    if app.out.is_json() {
        let answer = Records::of(records, count, more);
        let written = app.out.json(&answer);
        return answer.failure().map_or(written, |error| Err(error.into()));
    }
    if count == 0 {
        app.out.note("no records match");
    }
    for record in records {
        render::list_line(&mut app.out, &record?, width)?;
    }
    if more {
        let (which, other) = if newest {
            ("newest", "--oldest the oldest")
        } else {
            ("oldest", "without --oldest the newest")
        };
        app.out.flush()?;
        app.out.note(&format!("only the {which} {count} are shown; --limit N shows more, {other}"));
    }
    Ok(())
}

/// `kapsa history`.
pub(crate) fn history(app: &mut App, args: &OneUri) -> Result<()> {
    let uri = app::uri(&args.uri)?;
    let reader = app.reader()?;
    let mut revisions = reader.revisions(&uri)?;
    if app.out.is_json() {
        let answer = HistoryOut::of(&uri, revisions);
        let written = app.out.json(&answer);
        return answer.failure().map_or(written, |error| Err(error.into()));
    }
    let width = width_of(revisions.last_sequence());
    revisions.try_for_each(|record| render::list_line(&mut app.out, &record?, width))
}

/// Columns of the highest sequence of a list.
fn width_of(last_sequence: Option<u64>) -> usize {
    last_sequence.unwrap_or(0).to_string().len()
}

/// Notes and prints what happened to the one record of a call.
pub(super) fn wrote(app: &mut App, put: &Put) -> Result<()> {
    did(app, Done::put(put));
    put::tell_one(&mut app.out, put)
}

/// `kapsa forget`.
pub(crate) fn forget(app: &mut App, args: &OneUri) -> Result<()> {
    let uri = app::uri(&args.uri)?;
    let path = app.capsule()?;
    let put = app.writer(&path, None)?.forget(&uri)?;
    wrote(app, &put)
}
