//! Copies of a capsule that stay the same capsule: clones, and those that catch up with them.
//!
//! Equal chains prove equal histories. Whoever is merely behind gets the missing commits as they
//! are, signatures included, and is the same capsule again. Where both went on, records are
//! exchanged one by one (`fetch`, `push`).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use kapsa_capsule::{FileSystem, Snapshot, Stored, Volume, commits_after};

use crate::error::{Error, Result, misuse};
pub use crate::exchange::fetch::{Fetched, fast_forward as fetch_straight, fetch};
pub use crate::exchange::push::{Pushed, note, push};
use crate::records::branch::Made;
use crate::view::View;
use crate::write::later::{Indexing, TAIL_RECORDS_MAX};
use crate::write::maintain;
use crate::write::options::Progress;
use crate::write::writer::{BATCH_BYTES_MAX, BATCH_RECORDS_MAX, Writer};

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;
/// Bytes of pulled records that wait for an index segment: another batch must fit beside them.
const PULLED_TAIL_BYTES_MAX: u64 = BATCH_BYTES_MAX as u64 / 2;

/// How two capsules stood to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The other has nothing that this one misses.
    UpToDate,
    /// This one was behind: it has the other's history now.
    FastForward,
    /// Both went on, or the other's history holds what it keeps for itself: nothing came.
    Diverged,
    /// They have no history in common: nothing came.
    Unrelated,
}

/// What catching up brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// How the two stood.
    pub relation: Relation,
    /// Commits that both had in common.
    pub common: u64,
    /// Records that came.
    pub records: u64,
}

/// Copies a capsule, while others may write to it. `to` must not exist. The copy has the same id
/// and history.
///
/// # Errors
/// `InvalidOperation` when something is at `to`; when `from` is not a capsule or damaged; what the
/// disk says. Then nothing is left at `to`.
pub fn clone(from: &Path, to: &Path, progress: Progress<'_>) -> Result<()> {
    Snapshot::open(from)?;
    if to.symlink_metadata().is_ok() {
        return Err(taken(to));
    }
    FileSystem.sweep(to).map_err(|source| failed("remove what was left beside", to, source))?;
    let temporary = FileSystem.temporary(to);
    let made = copy(from, &temporary, progress)
        .and_then(|()| check(&temporary))
        .and_then(|()| place(&temporary, to));
    let _a_leftover_is_swept_by_the_next_one = fs::remove_file(&temporary);
    made?;
    FileSystem.sync_folder(to).map_err(|source| failed("sync the folder of", to, source))
}

fn taken(to: &Path) -> Error {
    misuse(&format!("{} already exists; clone creates a new capsule", to.display()))
}

pub(crate) fn failed(operation: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Capsule(kapsa_capsule::Error::Io { operation, path: path.to_path_buf(), source })
}

/// Copies from the start on: the hints come before what they name, and what a hint names is never
/// cut away.
fn copy(from: &Path, to: &Path, progress: Progress<'_>) -> Result<()> {
    let read = |source| failed("read", from, source);
    let write = |source| failed("write", to, source);
    let mut source = File::open(from).map_err(read)?;
    let total = source.metadata().map_err(read)?.len();
    let mut target = File::create_new(to).map_err(write)?;
    // Locked, it is not a leftover.
    target.lock().map_err(write)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut done = 0;
    loop {
        let count = source.read(&mut buffer).map_err(read)?;
        if count == 0 {
            return target.sync_all().map_err(write);
        }
        target.write_all(&buffer[..count]).map_err(write)?;
        done += count as u64;
        progress(done.min(total), Some(total));
    }
}

fn check(copy: &Path) -> Result<()> {
    let report = crate::exchange::check::verify(copy, &mut |_, _| {})?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => Err(misuse(&format!(
            "the capsule is damaged at byte {}: {}",
            problem.offset, problem.what
        ))),
    }
}

/// Gives the copy its name, and takes nobody's place.
fn place(temporary: &Path, to: &Path) -> Result<()> {
    match fs::hard_link(temporary, to) {
        Ok(()) => Ok(()),
        Err(_) if to.symlink_metadata().is_ok() => Err(taken(to)),
        // Some file systems know one name for a file only.
        Err(_) => fs::rename(temporary, to).map_err(|source| failed("put in place", to, source)),
    }
}

/// Brings this capsule to where the one at `from` is, commit by commit as they are there, if it is
/// merely behind. Nothing is written where both have gone on, nor where what is missing holds
/// something that the other keeps for itself. `progress` is how many records are durable: they
/// stay when the rest fails, and the next time goes on after them.
///
/// # Errors
/// What the disks report.
pub fn catch_up(writer: &mut Writer, from: &Path, progress: Progress<'_>) -> Result<Pulled> {
    let theirs = View::new(Snapshot::open(from)?);
    let ours = writer.capsule_mut().snapshot()?;
    let snapshot = theirs.store().snapshot();
    let (here, there) = (ours.commit().number, snapshot.commit().number);
    let common = kapsa_capsule::common(&ours, snapshot)?;
    let told = |relation, records| Pulled { relation, common, records };
    if common == there {
        return Ok(told(Relation::UpToDate, 0));
    }
    if common == 0 && here > 0 {
        return Ok(told(Relation::Unrelated, 0));
    }
    if common < here || keeps_something(&theirs, common)? {
        return Ok(told(Relation::Diverged, 0));
    }
    let records = fast_forward(writer, snapshot, common, progress)?;
    Ok(told(Relation::FastForward, records))
}

/// Whether commits after `common` hold what a capsule keeps for itself: branches that follow
/// others, and remotes.
fn keeps_something(theirs: &View, common: u64) -> Result<bool> {
    let snapshot = theirs.store().snapshot();
    let spans = commits_after(snapshot, common)?;
    let Some(first) = spans.first() else { return Ok(false) };
    for stored in snapshot.records(first.first_sequence) {
        let stored = stored?;
        let Stored::Body(bytes) = stored.stored() else { continue };
        let is_system = crate::records::codec::brief(bytes).is_some_and(|brief| brief.system);
        if !is_system {
            continue;
        }
        let record = crate::records::codec::decode(stored.sequence(), bytes)?.record;
        let follows = Made::of(&record).is_some_and(|made| made.tracks);
        if follows || record.uri.remote_name().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Appends the commits after `common` as they are. `progress` is how many records are durable.
fn fast_forward(
    writer: &mut Writer,
    theirs: &Snapshot,
    common: u64,
    progress: Progress<'_>,
) -> Result<u64> {
    let chains = theirs.chains(common + 1)?;
    let total = theirs.commit().next_sequence;
    let first = writer.capsule_mut().snapshot()?.commit().next_sequence;
    for (span, chain) in
        theirs.commits()?.into_iter().filter(|span| span.number > common).zip(&chains)
    {
        let capsule = writer.capsule_mut();
        let mut transaction = capsule.begin()?;
        for record in theirs
            .records(span.first_sequence)
            .take((span.next_sequence - span.first_sequence) as usize)
        {
            transaction.append_stored(record?.stored())?;
        }
        transaction.commit_as(span.time_us, chain)?;
        progress(span.next_sequence - first, Some(total - first));
        let tail = capsule.snapshot()?;
        if tail.tail().count() >= BATCH_RECORDS_MAX || tail.tail_bytes() >= PULLED_TAIL_BYTES_MAX {
            maintain::index_tail(capsule, span.time_us)?;
        }
    }
    let capsule = writer.capsule_mut();
    if capsule.snapshot()?.tail().count() as u64 > TAIL_RECORDS_MAX {
        maintain::index_tail(capsule, theirs.commit().time_us)?;
    }
    let after = writer.capsule_mut().snapshot();
    writer.later.note(Indexing::Later, || after);
    Ok(total - first)
}
