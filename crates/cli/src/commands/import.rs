//! `import PRODUCT PATH`: brings the memory that another product keeps. The product's ids name the
//! records, so that nothing comes twice, and what people changed here since is weighed against what
//! the source says now.

use std::collections::BTreeSet;
use std::path::Path;

use kapsa_importers::{Error as SourceError, Item, Product, Source};
use kapsa_memory::request::Change;
use kapsa_memory::{
    BATCH_BYTES_MAX, BATCH_RECORDS_MAX, Error, NewRecord, Reader, Record, Trust, Uri, Writer,
};

use super::embed::New;
use crate::app::{App, Status, did};
use crate::args::{Import, OnConflict};
use crate::error::{CliError, Done, Result};
use crate::memvid::Helper;
use crate::progress::Progress;
use crate::render::counted;
use crate::wire::show;
use crate::wire::transfer::{ImportAnswer, ImportLeftOut, ImportSkippedOut, ImportedOut};

/// Most things that were skipped or kept that are named one by one in text.
const NAMED_MAX: usize = 10;
/// Exit code when some of a source could not be used.
const SOME_SKIPPED: u8 = 1;

/// What becomes of what was read.
#[derive(Default)]
struct Plan {
    /// To be put: new, or in the place of what is here; older revisions before newer ones.
    wanted: Vec<NewRecord>,
    /// How many of these are older revisions.
    revisions: u64,
    added: u64,
    replaced: u64,
    unchanged: u64,
    /// Left as they are here.
    kept: Vec<Uri>,
}

impl Plan {
    /// Takes a record, with those of its older revisions; from the last one on, as they are looked
    /// at.
    fn want(&mut self, item: &Item, older: &[NewRecord]) {
        self.wanted.push(item.record.clone());
        self.wanted.extend(older.iter().rev().cloned());
        self.revisions += older.len() as u64;
    }
}

/// `kapsa import PRODUCT PATH`.
pub(crate) fn run(app: &mut App, args: &Import, product: &Product, path: &Path) -> Result<Status> {
    let capsule = app.capsule()?;
    let read = match product.helper() {
        Some(_) => product.read_answer(path, &mut Helper::find()?.read(path)?),
        None => product.read(path),
    };
    let source = read.map_err(|error| failed(&error, product))?;
    let doubled = doubled(&source);
    if args.dry_run {
        let plan = plan(&app.owner_reader()?, &source, args.on_conflict)?;
        return tell(app, args, product, path, &source, &plan, 0, doubled);
    }
    let new = New::begin(app, args.embed)?;
    let mut writer = app.owner_writer(&capsule, None)?;
    let plan = plan(&writer.reader()?, &source, args.on_conflict)?;
    let held = put(app, &mut writer, plan.wanted.clone())?;
    drop(writer);
    let count = plan.added + plan.replaced;
    let what = format!("imported {}", counted(count, "record"));
    did(app, (count > 0).then(|| Done::new(what)));
    // What failed is a warning already: the records are stored.
    let _failed = new.end(app);
    tell(app, args, product, path, &source, &plan, held, doubled)
}

fn failed(error: &SourceError, product: &Product) -> CliError {
    if let SourceError::Io { path, source } = error {
        return CliError::io(&format!("read {}", path.display()), source);
    }
    let hint = format!("of {} it reads {}", product.title, product.reads);
    CliError::user(error.code(), error.to_string()).hint(hint)
}

/// How many of the source's memories have the id of another: the last one counts.
fn doubled(source: &Source) -> u64 {
    let names: BTreeSet<_> = source.items.iter().map(|item| &item.record.uri).collect();
    (source.items.len() - names.len()) as u64
}

fn plan(reader: &Reader, source: &Source, on_conflict: OnConflict) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut seen = BTreeSet::new();
    // From the last one: of one id it counts.
    for item in source.items.iter().rev() {
        let Some(uri) = item.record.uri.clone() else { continue };
        if !seen.insert(uri.clone()) {
            continue;
        }
        match reader.get(&uri) {
            Ok(here) if is_same(&item.record, &here) => plan.unchanged += 1,
            Ok(here) => match on_conflict {
                OnConflict::Fail => return Err(conflict(item, &uri)),
                OnConflict::Skip => plan.kept.push(uri),
                OnConflict::Newer if !is_newer(&item.record, &here) => plan.kept.push(uri),
                OnConflict::Newer | OnConflict::Replace => {
                    plan.replaced += 1;
                    // Only what came after what is here is missing.
                    let known = item.older.iter().rposition(|older| is_same(older, &here));
                    let missing = known.map_or(item.older.len(), |known| known + 1);
                    plan.want(item, &item.older[missing..]);
                }
            },
            // What was forgotten here stays so, unless it is asked for.
            Err(Error::UriNotFound { .. }) if was_here(reader, &uri)? => match on_conflict {
                OnConflict::Fail => return Err(conflict(item, &uri)),
                OnConflict::Replace => {
                    plan.replaced += 1;
                    plan.want(item, &[]);
                }
                OnConflict::Newer | OnConflict::Skip => plan.kept.push(uri),
            },
            Err(Error::UriNotFound { .. }) => {
                plan.added += 1;
                plan.want(item, &item.older);
            }
            Err(error) => return Err(error.into()),
        }
    }
    plan.wanted.reverse();
    plan.kept.reverse();
    Ok(plan)
}

fn was_here(reader: &Reader, uri: &Uri) -> Result<bool> {
    match reader.revisions(uri) {
        Ok(mut revisions) => Ok(revisions.next().is_some()),
        Err(Error::UriNotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether nothing of it has changed in the source.
fn is_same(new: &NewRecord, here: &Record) -> bool {
    new.text == here.text
        && new.title == here.title
        && new.tags == here.tags
        && new.metadata == here.metadata
        && new.entity == here.entity
}

/// Whether the source has it newer than it is here: by its time, and where it has none, unless
/// somebody changed here what was imported.
fn is_newer(new: &NewRecord, here: &Record) -> bool {
    match new.created_at {
        Some(at) => at > here.created_at,
        None => here.provenance.trust == Trust::Import,
    }
}

fn conflict(item: &Item, uri: &Uri) -> CliError {
    let message =
        format!("{} is here already, and says something else than {}", uri.short(), item.place);
    CliError::user("conflict", message)
        .hint("nothing was imported; --on-conflict newer, skip or replace decides")
}

/// Puts them batch by batch. Returns how many wait for a review.
fn put(app: &mut App, writer: &mut Writer, records: Vec<NewRecord>) -> Result<u64> {
    let total = records.len() as u64;
    let mut progress = Progress::new("importing", &app.out);
    let (mut batch, mut bytes, mut held, mut done) = (Vec::new(), 0, 0, 0);
    let mut records = records.into_iter().peekable();
    while let Some(record) = records.next() {
        bytes += record.text.len();
        batch.push(record);
        let is_full = batch.len() >= BATCH_RECORDS_MAX
            || records.peek().is_some_and(|next| bytes + next.text.len() > BATCH_BYTES_MAX / 4);
        if is_full || records.peek().is_none() {
            let puts = match writer.put_many(std::mem::take(&mut batch)) {
                Ok(puts) => puts,
                Err(error) => {
                    let what = format!("imported {} of {total} records", done);
                    did(app, (done > 0).then(|| Done::new(what)));
                    return Err(error.into());
                }
            };
            held += puts.iter().filter(|put| put.change == Change::Held).count() as u64;
            done += puts.len() as u64;
            bytes = 0;
            progress.set(done, Some(total));
        }
    }
    Ok(held)
}

fn wait(held: u64) -> String {
    let verb = if held == 1 { "waits" } else { "wait" };
    format!("{} {verb}", counted(held, "record"))
}

/// Says which texts are not what was once given to the product.
fn warn_of_texts(app: &mut App, product: &Product, source: &Source) {
    if source.shortened > 0 {
        let (keeps, texts) = (product.title, counted(source.shortened, "text"));
        let message = format!("{keeps} keeps {texts} without blank lines and doubled spaces");
        app.out.warn("texts_shortened", &message);
    }
    if source.cut > 0 {
        let (keeps, texts) = (product.title, counted(source.cut, "long text"));
        let message = format!("{keeps} itself has lost parts of {texts} with tables or code");
        app.out.warn("texts_cut", &message);
    }
}

#[expect(clippy::too_many_arguments, reason = "they are the parts of one answer")]
fn tell(
    app: &mut App,
    args: &Import,
    product: &Product,
    path: &Path,
    source: &Source,
    plan: &Plan,
    held: u64,
    doubled: u64,
) -> Result<Status> {
    let status = match source.skipped.is_empty() {
        true => Status::Done,
        false => Status::Told(SOME_SKIPPED),
    };
    warn_of_texts(app, product, source);
    if app.out.is_json() {
        let skipped = source.skipped.iter().map(ImportSkippedOut::from).collect();
        let left = source.left.iter().map(|(what, count)| ImportLeftOut { what, count: *count });
        app.out.json(&ImportAnswer::Memories(ImportedOut {
            product: product.name,
            source_path: show(path),
            dry_run: args.dry_run,
            source_count: source.count() as u64,
            added: plan.added,
            replaced: plan.replaced,
            unchanged: plan.unchanged,
            revisions: plan.revisions,
            doubled,
            held,
            kept: plan.kept.iter().map(|uri| uri.as_str().to_string()).collect(),
            skipped,
            left: left.collect(),
        }))?;
        return Ok(status);
    }
    let would = if args.dry_run { "would be " } else { "" };
    let mut parts = vec![format!("{} {would}added", plan.added)];
    for (count, what) in [
        (plan.replaced, format!("{would}replaced")),
        (plan.revisions, format!("older revisions {would}added")),
        (plan.unchanged, "unchanged".to_string()),
        (doubled, "with the id of another".to_string()),
        (plan.kept.len() as u64, "kept as they are here".to_string()),
        (source.skipped.len() as u64, "skipped".to_string()),
    ] {
        parts.extend((count > 0).then(|| format!("{count} {what}")));
    }
    let memories = if source.count() == 1 { "memory" } else { "memories" };
    let found = format!("{} {memories} of {}", source.count(), product.title);
    app.out.line(&format!("{found}: {}", parts.join(", ")))?;
    for skipped in source.skipped.iter().take(NAMED_MAX) {
        app.out.line(&format!("  {}: {}", skipped.place, skipped.reason))?;
    }
    if source.skipped.len() > NAMED_MAX {
        app.out.line(&format!("  and {} more", source.skipped.len() - NAMED_MAX))?;
    }
    for uri in plan.kept.iter().take(NAMED_MAX) {
        app.out.note(&format!("kept as it is here: {}", uri.short()));
    }
    for (what, count) in &source.left {
        app.out.note(&format!("left where they are: {count} {what}"));
    }
    if held > 0 {
        app.out.note(&format!("{} for a review: kapsa review", wait(held)));
    }
    if args.dry_run {
        app.out.note("nothing was written; leave out --dry-run");
    }
    Ok(status)
}
