//! `import PRODUCT PATH`: brings the memory that another product keeps. The product's ids name the
//! records, so that nothing comes twice, and what people changed here since is weighed against what
//! the source says now.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kapsa_importers::{Error as SourceError, Item, Product, Source};
use kapsa_memory::request::Change;
use kapsa_memory::{
    BATCH_BYTES_MAX, BATCH_RECORDS_MAX, Error, NewRecord, Reader, Record, Trust, Uri, Writer,
    review,
};

use super::embed::New;
use crate::app::{App, Status, did};
use crate::args::{Import, OnConflict};
use crate::backends::LocalMemory;
use crate::error::{CliError, Done, Result};
use crate::memvid::Helper;
use crate::moment;
use crate::progress::Progress;
use crate::render::counted;
use crate::wire::show;
use crate::wire::transfer::{
    ImportAnswer, ImportComparedOut, ImportFoundOut, ImportLeftOut, ImportSkippedOut, ImportedOut,
};

/// Most things that were skipped or kept that are named one by one in text.
const NAMED_MAX: usize = 10;
/// Exit code when some of a source could not be used.
const SOME_SKIPPED: u8 = 1;
/// Exit code of a comparison that finds differences.
const SOME_DIFFER: u8 = 1;
/// What stands in the name of a backup between that of the capsule and the time.
const BACKUP_MARK: &str = ".before-import-";
/// Most backups that one second has.
const BACKUPS_MAX: usize = 100;

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
    let mut outcome = Outcome::of(product, show(path), &source);
    bring(app, args, &capsule, &mut outcome)?;
    tell(app, args, &outcome)
}

/// `kapsa import local-memory`: its daemon must be well, and its program is searched.
pub(crate) fn of_local_memory(app: &mut App, args: &Import, product: &Product) -> Result<Status> {
    if !(args.status || args.dry_run || args.all || args.verify) {
        return Err(CliError::usage(format!("what is to be done with {}?", product.title))
            .hint("--status counts, --dry-run shows, --all imports, --verify compares"));
    }
    let capsule = app.capsule()?;
    let listing = LocalMemory::of_environment().all().map_err(|error| {
        error.hint("start its daemon; KAPSA_LOCAL_MEMORY_URL and KAPSA_LOCAL_MEMORY name others")
    })?;
    let source = product.read_memories(&listing.memories).unwrap_or_default();
    let found = ImportFoundOut { searches: listing.searches as u64, settled: listing.is_settled };
    if !found.settled {
        let searches = counted(found.searches, "search");
        let message = format!("{} may hold more than {searches} found", product.title);
        app.out.warn("source_not_settled", &message);
    }
    if args.status || args.verify {
        return compare(app, args, product, &source, found);
    }
    let mut outcome = Outcome::of(product, product.name.to_string(), &source);
    outcome.found = Some(found);
    if args.all && !plan(&app.owner_reader()?, &source, args.on_conflict)?.wanted.is_empty() {
        outcome.backup = Some(backup(app, &capsule)?);
    }
    bring(app, args, &capsule, &mut outcome)?;
    tell(app, args, &outcome)
}

/// What came of an import.
struct Outcome<'a> {
    product: &'a Product,
    /// The source, as it is shown.
    from: String,
    source: &'a Source,
    plan: Plan,
    /// How many records wait for a review.
    held: u64,
    found: Option<ImportFoundOut>,
    /// Copy of the capsule as it was.
    backup: Option<PathBuf>,
}

impl<'a> Outcome<'a> {
    /// Nothing yet.
    fn of(product: &'a Product, from: String, source: &'a Source) -> Outcome<'a> {
        let plan = Plan::default();
        Outcome { product, from, source, plan, held: 0, found: None, backup: None }
    }
}

/// Plans, and puts what is wanted.
fn bring(app: &mut App, args: &Import, capsule: &Path, outcome: &mut Outcome) -> Result<()> {
    if args.dry_run {
        outcome.plan = plan(&app.owner_reader()?, outcome.source, args.on_conflict)?;
        return Ok(());
    }
    let new = New::begin(app, args.embed)?;
    let mut writer = app.owner_writer(capsule, None)?;
    outcome.plan = plan(&writer.reader()?, outcome.source, args.on_conflict)?;
    outcome.held = put(app, &mut writer, std::mem::take(&mut outcome.plan.wanted))?;
    drop(writer);
    let count = outcome.plan.added + outcome.plan.replaced;
    let what = format!("imported {}", counted(count, "record"));
    did(app, (count > 0).then(|| Done::new(what)));
    // What failed is a warning already: the records are stored.
    let _failed = new.end(app);
    Ok(())
}

/// Copies the capsule beside itself, under a name that nothing has.
fn backup(app: &mut App, capsule: &Path) -> Result<PathBuf> {
    let stem = capsule.file_stem().unwrap_or_default().to_string_lossy();
    let digits = moment::readable(moment::now()).replace(|it: char| !it.is_ascii_digit(), "");
    let names = (0..BACKUPS_MAX).map(|number| {
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        capsule.with_file_name(format!("{stem}{BACKUP_MARK}{digits}{number}.kapsa"))
    });
    // A link that leads nowhere is something as well.
    let mut free = names.filter(|path| path.symlink_metadata().is_err());
    let to = free.next().ok_or_else(|| {
        CliError::user("exists", format!("{BACKUPS_MAX} backups of this second are there"))
    })?;
    let mut progress = Progress::new("copying", &app.out);
    kapsa_memory::clone(capsule, &to, &mut |done, total| progress.set(done, total))?;
    Ok(to)
}

/// Compares what the source holds with what is here, and writes nothing.
fn compare(
    app: &mut App,
    args: &Import,
    product: &Product,
    source: &Source,
    found: ImportFoundOut,
) -> Result<Status> {
    let reader = app.owner_reader()?;
    let (mut here, mut missing, mut differing) = (0, Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for item in source.items.iter().rev() {
        let Some(uri) = item.record.uri.clone().filter(|uri| seen.insert(uri.clone())) else {
            continue;
        };
        match reader.get(&uri) {
            Ok(record) if is_same(&item.record, &record) => here += 1,
            Ok(_) => differing.push(uri),
            Err(Error::UriNotFound { .. }) => missing.push(uri),
            Err(error) => return Err(error.into()),
        }
    }
    let same = missing.is_empty() && differing.is_empty() && source.skipped.is_empty();
    let status = if args.verify && !same { Status::Told(SOME_DIFFER) } else { Status::Done };
    let names = |uris: &[Uri]| uris.iter().map(|uri| uri.as_str().to_string()).collect();
    if app.out.is_json() {
        app.out.json(&ImportAnswer::Compared(ImportComparedOut {
            product: product.name,
            verified: args.verify,
            same,
            source_count: source.count() as u64,
            here,
            doubled: doubled(source),
            missing: names(&missing),
            differing: names(&differing),
            skipped: source.skipped.iter().map(ImportSkippedOut::from).collect(),
            found,
        }))?;
        return Ok(status);
    }
    let parts = counts(&[
        (missing.len() as u64, "not here"),
        (differing.len() as u64, "that differ here"),
        (doubled(source), "that say the same as another"),
        (source.skipped.len() as u64, "that cannot be used"),
    ]);
    let all = [vec![format!("{here} here as they are there")], parts].concat();
    app.out.line(&format!("{}: {}", memories(product, source), all.join(", ")))?;
    if args.verify {
        for (uris, what) in [(&missing, "not here"), (&differing, "differs")] {
            for uri in uris.iter().take(NAMED_MAX) {
                app.out.line(&format!("  {what}: {}", uri.short()))?;
            }
            if uris.len() > NAMED_MAX {
                app.out.line(&format!("  and {} more", uris.len() - NAMED_MAX))?;
            }
        }
    }
    name_skipped(app, source)?;
    Ok(status)
}

/// Counts that are not 0, with what they count.
fn counts(all: &[(u64, &str)]) -> Vec<String> {
    let some = all.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect()
}

/// How many memories a source holds.
fn memories(product: &Product, source: &Source) -> String {
    let memories = if source.count() == 1 { "memory" } else { "memories" };
    format!("{} {memories} of {}", source.count(), product.title)
}

fn name_skipped(app: &mut App, source: &Source) -> Result<()> {
    for skipped in source.skipped.iter().take(NAMED_MAX) {
        app.out.line(&format!("  {}: {}", skipped.place, skipped.reason))?;
    }
    if source.skipped.len() > NAMED_MAX {
        app.out.line(&format!("  and {} more", source.skipped.len() - NAMED_MAX))?;
    }
    Ok(())
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
    let waiting = review::list(reader, usize::MAX)?;
    let waiting: BTreeMap<Uri, NewRecord> =
        waiting.into_iter().filter_map(|it| Some((it.brought.uri.clone()?, it.brought))).collect();
    // From the last one: of one id it counts.
    for item in source.items.iter().rev() {
        let Some(uri) = item.record.uri.clone() else { continue };
        if !seen.insert(uri.clone()) {
            continue;
        }
        if waiting.get(&uri).is_some_and(|brought| says_the_same(&item.record, brought)) {
            plan.unchanged += 1;
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
    says_the_same(new, &here.as_new())
}

/// Whether two records say the same, whenever they were written.
fn says_the_same(one: &NewRecord, other: &NewRecord) -> bool {
    one.text == other.text
        && one.title == other.title
        && one.tags == other.tags
        && one.metadata == other.metadata
        && one.entity == other.entity
        && one.content == other.content
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

fn tell(app: &mut App, args: &Import, outcome: &Outcome) -> Result<Status> {
    let (source, plan) = (outcome.source, &outcome.plan);
    let status = match source.skipped.is_empty() {
        true => Status::Done,
        false => Status::Told(SOME_SKIPPED),
    };
    warn_of_texts(app, outcome.product, source);
    if app.out.is_json() {
        app.out.json(&ImportAnswer::Memories(answer(args, outcome)))?;
        return Ok(status);
    }
    let would = if args.dry_run { "would be " } else { "" };
    let parts = counts(&[
        (plan.replaced, &format!("{would}replaced")),
        (plan.revisions, &format!("older revisions {would}added")),
        (plan.unchanged, "unchanged"),
        (doubled(source), "with the id of another"),
        (plan.kept.len() as u64, "kept as they are here"),
        (source.skipped.len() as u64, "skipped"),
    ]);
    let all = [vec![format!("{} {would}added", plan.added)], parts].concat();
    app.out.line(&format!("{}: {}", memories(outcome.product, source), all.join(", ")))?;
    name_skipped(app, source)?;
    for uri in plan.kept.iter().take(NAMED_MAX) {
        app.out.note(&format!("kept as it is here: {}", uri.short()));
    }
    for (what, count) in &source.left {
        app.out.note(&format!("left where they are: {count} {what}"));
    }
    if outcome.held > 0 {
        app.out.note(&format!("{} for a review: kapsa review", wait(outcome.held)));
    }
    if let Some(backup) = &outcome.backup {
        app.out.line(&format!("the capsule as it was before: {}", show(backup)))?;
    }
    if args.dry_run {
        let how = if outcome.found.is_some() { "--all imports" } else { "leave out --dry-run" };
        app.out.note(&format!("nothing was written; {how}"));
    }
    Ok(status)
}

fn answer<'a>(args: &Import, outcome: &'a Outcome) -> ImportedOut<'a> {
    let (source, plan) = (outcome.source, &outcome.plan);
    let left = source.left.iter().map(|(what, count)| ImportLeftOut { what, count: *count });
    let count = source.count() as u64;
    let stored = plan.added + plan.replaced;
    let is_asked = outcome.found.is_some();
    ImportedOut {
        product: outcome.product.name,
        source_path: outcome.from.clone(),
        dry_run: args.dry_run,
        source_count: count,
        added: plan.added,
        replaced: plan.replaced,
        unchanged: plan.unchanged,
        revisions: plan.revisions,
        doubled: doubled(source),
        held: outcome.held,
        kept: plan.kept.iter().map(|uri| uri.as_str().to_string()).collect(),
        skipped: source.skipped.iter().map(ImportSkippedOut::from).collect(),
        left: left.collect(),
        stored_count: is_asked.then_some(stored),
        skipped_count: is_asked.then(|| count - stored),
        backup_path: outcome.backup.as_deref().map(show),
        found: outcome.found,
    }
}
