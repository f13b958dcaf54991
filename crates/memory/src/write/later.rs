//! Indexes a large record without the lock: it is durable at once, searched in the tail, and gets
//! its segment when its writer has let go of the capsule, so that nobody waits for its words.
//!
//! A process that dies before that leaves the work to a later writer.

use std::path::{Path, PathBuf};
use std::thread;

use kapsa_capsule::{Snapshot, Stored};

use super::gather::{add_derived, detached};
use super::index_batch::{Entry, index_batch};
use super::options::WriteOptions;
use super::upkeep::is_due;
use crate::error::Result;
use crate::view::View;

/// Records that the tail may hold: the next one brings a segment with it.
pub const TAIL_RECORDS_MAX: u64 = 256;
/// Records that the tail may hold while several threads put at once: an index segment costs
/// milliseconds whatever its size, so that building one for every few shared commits would be most
/// of the work.
pub const TAIL_RECORDS_SHARED_MAX: u64 = 1024;
/// Bytes that the tail may hold; a larger record stays in it until its writer has given the lock
/// back, and is indexed then.
pub const TAIL_BYTES_MAX: u64 = 256 << 10;
/// Most bytes that the tail may hold together with large records, which are those with more than
/// [`TAIL_BYTES_MAX`] each: more than one batch of puts brings.
pub const TAIL_LARGE_BYTES_MAX: u64 = 80 << 20;
/// How often the tail is indexed anew because somebody else indexed a part of it meanwhile.
const TRIES_MAX: usize = 3;

/// What a commit does about the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexing {
    /// The tail has room for the new records.
    None,
    /// The new records and the tail get a segment with the commit.
    Now,
    /// They stay in the tail, which is indexed when the lock is free.
    Later,
}

/// Indexes the tail when it is dropped, if that was put off. A writer drops it after its lock.
#[derive(Debug)]
pub(crate) struct Later {
    /// None where only one process uses the volume: there nobody waits for the lock.
    place: Option<(PathBuf, WriteOptions)>,
    is_due: bool,
    /// Whether there are more segments than a capsule should have.
    wants_upkeep: bool,
}

impl Later {
    pub(super) fn never() -> Later {
        Later { place: None, is_due: false, wants_upkeep: false }
    }

    pub(super) fn at(path: &Path, options: &WriteOptions) -> Later {
        let place = Some((path.to_path_buf(), options.clone()));
        Later { place, ..Later::never() }
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Notes what a commit did; `after` is the capsule since.
    pub(crate) fn note(
        &mut self,
        indexing: Indexing,
        after: impl FnOnce() -> kapsa_capsule::Result<Snapshot>,
    ) {
        let has_upkeep = self.place.as_ref().is_some_and(|(_, options)| options.upkeep.is_some());
        if has_upkeep && indexing == Indexing::Now {
            // What was committed is durable, whatever is known of it now: a later put asks again.
            self.wants_upkeep |= after().is_ok_and(|after| is_due(after.segments()));
        }
        self.is_due = match indexing {
            Indexing::None => self.is_due,
            Indexing::Now => false,
            Indexing::Later => true,
        };
    }

    /// What a commit of `entries` on top of `snapshot` is to do, when the tail may hold
    /// `records_max` records.
    pub(super) fn indexing(
        &self,
        snapshot: &Snapshot,
        entries: &[Entry],
        records_max: u64,
    ) -> Result<Indexing> {
        let tail = snapshot.tail();
        let records = tail.end - tail.start + entries.len() as u64;
        let own = Bytes::of(entries.iter().map(|entry| entry.body.len() as u64));
        let bytes = snapshot.tail_bytes() + own.all;
        if bytes <= TAIL_BYTES_MAX {
            return Ok(if records > records_max { Indexing::Now } else { Indexing::None });
        }
        // What has no words costs nothing to index, and so does not wait in the tail.
        let is_of_blobs = entries.iter().any(|entry| entry.uri.blob_id().is_some());
        let may_grow = bytes <= TAIL_LARGE_BYTES_MAX && records <= TAIL_RECORDS_SHARED_MAX;
        if self.place.is_none() || !may_grow || is_of_blobs {
            return Ok(Indexing::Now);
        }
        let mut lengths = Vec::new();
        for record in snapshot.records(tail.start) {
            if let Stored::Body(body) = record?.stored() {
                lengths.push(body.len() as u64);
            }
        }
        let held = Bytes::of(lengths.into_iter());
        let is_full = records > records_max || own.small + held.small > TAIL_BYTES_MAX;
        let has_large = own.has_large() || held.has_large();
        Ok(match (is_full, has_large) {
            // Whoever holds the lock for long does not put it off twice.
            (true, true) if !self.is_due => Indexing::Later,
            (true, _) => Indexing::Now,
            (false, _) if own.has_large() => Indexing::Later,
            (false, _) => Indexing::None,
        })
    }
}

/// Bytes of bodies.
struct Bytes {
    all: u64,
    /// Of those that are not large.
    small: u64,
}

impl Bytes {
    fn of(lengths: impl Iterator<Item = u64>) -> Bytes {
        lengths.fold(Bytes { all: 0, small: 0 }, |sum, length| Bytes {
            all: sum.all + length,
            small: sum.small + if length <= TAIL_BYTES_MAX { length } else { 0 },
        })
    }

    fn has_large(&self) -> bool {
        self.all > self.small
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        if let (true, Some((path, options))) = (self.is_due && !thread::panicking(), &self.place) {
            // May be dropped: the records are durable and found in the tail, and a later writer
            // indexes what this one could not.
            let _the_tail_stays = index_beside(path, options, TAIL_BYTES_MAX);
        }
        if let (true, Some((path, WriteOptions { upkeep: Some(start), .. }))) =
            (self.wants_upkeep && !thread::panicking(), &self.place)
        {
            start(path);
        }
    }
}

/// Indexes the tail if it has more than `bytes_max` bytes; the lock is taken only to publish the
/// segments.
///
/// # Errors
/// `LockedByWriter` when another writer does not end in time; what the disk says.
pub(super) fn index_beside(path: &Path, options: &WriteOptions, bytes_max: u64) -> Result<()> {
    for _ in 0..TRIES_MAX {
        let snapshot = Snapshot::open(path)?;
        if snapshot.tail().is_empty() || snapshot.tail_bytes() <= bytes_max {
            return Ok(());
        }
        let then = View::new(snapshot.clone());
        let segments = index_batch(&then, &[], || Ok(()))?;
        let now = (options.clock)();
        let mut writer = kapsa_capsule::Writer::open(path, &options.capsule())?;
        let current = writer.snapshot()?;
        let is_same = current.file().generation == snapshot.file().generation
            && current.tail().start == snapshot.tail().start;
        if !is_same {
            continue;
        }
        let mut transaction = writer.begin()?;
        segments.into_iter().try_for_each(|segment| transaction.add_segment(segment))?;
        // Records that came meanwhile stay in the tail, and what is attached to them with them.
        let vectors = detached(then.store(), View::new(current).store(), None);
        // Vectors never keep a tail from its segment: they can be made again.
        add_derived(&mut transaction, vectors.unwrap_or_default())?;
        transaction.commit(now)?;
        return Ok(());
    }
    Ok(())
}
